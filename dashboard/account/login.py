"""Logging in, and how long an operator's session may be idle and may last."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, cast

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.shared.forms import LoginForm
from dashboard.shared.responses import LOGIN_FIRST, TOO_MANY, is_htmx
from retrycontract.usecases.people.log_in import is_in_use

BEGAN_AT: Final = "began_at"
SEEN_AT: Final = "seen_at"


class SessionLimits:
    """End sessions that last too long; a person's requests keep them alive, polls of an open page do not."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            now, session, service = timezone.now().timestamp(), request.session, settings.RETRYCONTRACT
            # None where a release began it that did not note it: it ends once it was idle for so long since then.
            began, accepted = session.get(BEGAN_AT), request.headers.get("Accept", "")
            is_asked_by_script = "HX-Request" in request.headers or "text/event-stream" in accepted
            is_person = not is_asked_by_script or request.method == "POST"
            if began is not None and now - began > service.session_max_hours * 3_600:
                logout(request)
            elif began is not None and is_person and now - session[SEEN_AT] > service.session_idle_minutes * 6:
                # What is written starts the time that it may be idle anew; a tenth of it is near enough.
                session[SEEN_AT] = now
        return self._get_response(request)


def begin_session(request: HttpRequest) -> None:
    """Note when a session began, right after the login."""
    now = timezone.now().timestamp()
    request.session.update({BEGAN_AT: now, SEEN_AT: now})


def ways_in() -> dict[str, Any]:
    """Say to the page of the log-in what it may offer."""
    service = settings.RETRYCONTRACT
    return {"provider": service.oidc_name if service.oidc_issuer else "", "takes_passwords": service.password_login}


class Login(LoginView):
    """Let an operator in, unless too many logins failed."""

    template_name = "account/login.html"
    redirect_authenticated_user = True
    authentication_form = LoginForm

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Ask for a code where somebody has one."""
        return super().get_context_data(**context) | {"asks_for_codes": is_in_use()} | ways_in()

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, and note when."""
        response = super().form_valid(form)
        begin_session(self.request)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Show the form again; to who must wait, say so to programs, too."""
        response = super().form_invalid(form)
        if not settings.RETRYCONTRACT.password_login:
            # Nothing that is typed could be right, and a program should learn that.
            response.status_code = 403
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
@require_safe
def favicon(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view's signature
    """Lead browsers that guess the address to the icon."""
    return HttpResponseRedirect(static("dashboard/favicon.svg"))
