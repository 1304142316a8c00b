"""The door: logging in, and the icon that browsers ask for before."""

from __future__ import annotations

import math
from typing import Any, cast

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from dashboard.account.sessions import begin_session
from dashboard.shared.forms import LoginForm
from dashboard.shared.responses import LOGIN_FIRST, TOO_MANY, is_htmx
from retrycontract.usecases.people.second_factor import is_in_use


class Login(LoginView):
    """Let an operator in, unless too many logins failed."""

    template_name = "account/login.html"
    redirect_authenticated_user = True
    authentication_form = LoginForm

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Ask for a code where somebody has one."""
        return super().get_context_data(**context) | {"asks_for_codes": is_in_use()}

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, and note when."""
        response = super().form_valid(form)
        begin_session(self.request)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Show the form again; to who must wait, say so to programs, too."""
        response = super().form_invalid(form)
        if form.pause is not None:
            response.status_code = TOO_MANY
            response["Retry-After"] = str(math.ceil(form.pause.total_seconds()))
        return response


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """Let an operator in; a poll that was sent here is told that its session has ended."""
    if is_htmx(request):
        return HttpResponse(status=LOGIN_FIRST)
    return cast(HttpResponse, Login.as_view()(request))


@login_not_required
@require_GET
def favicon(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view's signature
    """Lead browsers that guess the address to the icon."""
    return HttpResponseRedirect(static("dashboard/favicon.svg"))
