"""How an operator wants the desk: read once for each page, the clock set to their zone while it is made."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from retrycontract.store.models import Preferences
from retrycontract.usecases.people.keep_preferences import is_time_zone

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
