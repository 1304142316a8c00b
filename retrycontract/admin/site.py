"""The admin's site: entered through the desk's login, for staff alone, its pages grouped by what they are about."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme

GROUPS = {
    "Who comes in": ("Agent", "ApiKey", "User", "ProviderIdentity", "SecondFactor", "Preferences", "FailedLogins"),
    "What is checked": ("Tool", "ToolVersion"),
    "What happened": (
        "Call",
        "Attempt",
        "LoggedResponse",
        "Escalation",
        "Guidance",
        "GuidanceVersion",
        "Event",
        "IdempotencyKey",
        "Rollup",
        "Summary",
    ),
    "How people answer": ("Claim", "Snooze", "HeldAnswer", "SavedReply", "AnswerRecord", "StandingHint"),
    "What goes out": ("WebhookEndpoint", "OutboxMessage", "WebhookDelivery", "Notice", "ChannelTurn"),
    "Who works": ("WorkerBeat",),
}
OTHERS = "More"


class Site(AdminSite):
    """Show the pages to staff."""

    site_title = site_header = "retrycontract admin"
    index_title = "Look after the service"
    index_template = "admin/pages.html"
    empty_value_display = "–"

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002 - Django's signature
        """Lead to the desk's login; who is in already, but no staff, is refused."""
        index = reverse("admin:index")
        target = request.GET.get(REDIRECT_FIELD_NAME, index)
        is_ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
        target = target if is_ours else index
        if self.has_permission(request):
            return HttpResponseRedirect(target)
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(target, resolve_url(settings.LOGIN_URL))

    def password_change(  # type: ignore[override]  # the stubs leave the redirect out
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's signature
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Lead to the desk's page: the one that counts wrong passwords, and knows who has none."""
        return HttpResponseRedirect(reverse("dashboard:password"))

    password_change_done = password_change  # type: ignore[assignment]  # as above

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """List the pages in our groups."""
        apps = super().get_app_list(request, app_label)
        pages = [page for app in apps for page in app["models"]]
        named = {name for names in GROUPS.values() for name in names}
        groups = {
            title: [page for name in names for page in pages if page["object_name"] == name]
            for title, names in GROUPS.items()
        }
        groups[OTHERS] = [page for page in pages if page["object_name"] not in named]
        return [
            {
                "name": title,
                "app_label": title.lower().replace(" ", "-"),
                "app_url": reverse("admin:index"),
                "has_module_perms": True,
                "models": models,
            }
            for title, models in groups.items()
            if models
        ]
