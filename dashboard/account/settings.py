"""The settings: how an operator wants their desk."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.navigation import is_administrator
from dashboard.shared.responses import REFUSED
from dashboard.shared.service_facts import service_facts
from retrycontract.store.models import Preferences
from retrycontract.usecases.people.admit_operator import (
    UnknownTimeZoneError,
    is_time_zone,
    keep_preferences,
    time_zones,
)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def settings(request: HttpRequest) -> HttpResponse:
    """Show the settings; POST saves them."""
    context = {"zones": time_zones(), "facts": service_facts(), "may_tend": is_administrator(request.user)}
    if request.method != "POST":
        return render(request, "account/settings.html", context)
    chosen = request.POST.get("time_zone", "").strip()
    try:
        keep_preferences(cast(User, request.user), time_zone=chosen, has_shortcuts="has_shortcuts" in request.POST)
    except UnknownTimeZoneError as error:
        context |= {"typed_zone": chosen, "refused": str(error)}
        return render(request, "account/settings.html", context, status=REFUSED)
    messages.success(request, "Your settings are saved.")
    return redirect("dashboard:settings")


ZONE_COOKIE = "zone"  # the browser's own, told by desk.js
APP = "dashboard"


class OperatorPreferences:
    """Put `preferences` on the requests for pages of the desk, and write their times in the operator's zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self._get_response(request)
        finally:
            timezone.deactivate()

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Read them once it is known that a page of the desk is asked for."""
        match, user = request.resolver_match, request.user
        if match is None or match.app_name != APP or not isinstance(user, User):
            return
        found = Preferences.objects.filter(operator=user).first() or Preferences(operator=user)
        request.preferences = found  # type: ignore[attr-defined]  # what templates read
        timezone.activate(zone_of(request, found))


def zone_of(request: HttpRequest, preferences: Preferences) -> tzinfo:
    """Give the chosen zone, else the browser's, else UTC."""
    for name in (preferences.time_zone, request.COOKIES.get(ZONE_COOKIE, "")):
        if is_time_zone(name):
            return ZoneInfo(name)
    return timezone.get_default_timezone()
