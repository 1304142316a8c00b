"""The settings: how an operator wants their desk, and the app that makes codes for their login."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, cast
from zoneinfo import ZoneInfo

import segno
from django.conf import settings as service_settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.account.login import ways_in
from dashboard.account.provider import BY_PROVIDER, connect_token
from dashboard.navigation import has_password, is_administrator
from dashboard.shared.choices import service_facts
from dashboard.shared.responses import LOGIN_FIRST, REFUSED, TOO_LATE, is_htmx
from retrycontract.store.models import Preferences, ProviderIdentity
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.people.admit import (
    UnknownTimeZoneError,
    is_time_zone,
    keep_preferences,
    time_zones,
)
from retrycontract.usecases.people.log_in import (
    AlreadyConfirmedError,
    address_for_apps,
    begin_factor,
    confirm_factor,
    factor_of,
)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def settings(request: HttpRequest) -> HttpResponse:
    """Show the settings; POST saves them."""
    context = {"zones": time_zones(), "facts": service_facts(), "may_tend": is_administrator(request.user)}
    context["has_password"] = has_password(request.user)
    if ways_in()["provider"] and not ProviderIdentity.objects.filter(operator=cast(User, request.user)).exists():
        context |= ways_in() | {"connect": connect_token(request)}
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
OPEN_WITHOUT_FACTOR = frozenset(f"dashboard:{name}" for name in ("second_factor", "login", "logout", "favicon"))


class OperatorPreferences:
    """Put `preferences` on the requests for pages of the desk, and write their times in the operator's zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self._get_response(request)
        finally:
            # The thread goes on to the next request, which may be of another operator.
            timezone.deactivate()

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Read them once it is known that a page of the desk is asked for."""
        match, user = request.resolver_match, request.user
        if match is None or match.app_name != APP or not isinstance(user, User):
            return
        found = Preferences.objects.filter(operator=user).first() or Preferences(operator=user)
        request.preferences = found  # type: ignore[attr-defined]  # what templates read
        timezone.activate(zone_of(request, found))


class SecondFactorRequired:
    """Lead operators who came by password to the second factor, until they have set one up, where that is asked.

    Who came through the identity provider was asked there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """Answer in place of every page but those that lead on."""
        user, match = request.user, request.resolver_match
        if not (service_settings.RETRYCONTRACT.require_second_factor and isinstance(user, User)):
            return None
        if (match is not None and match.view_name in OPEN_WITHOUT_FACTOR) or BY_PROVIDER in request.session:
            return None
        if factor_of(user, is_confirmed=True) is not None:
            return None
        return HttpResponse(status=LOGIN_FIRST) if is_htmx(request) else redirect("dashboard:second_factor")


def zone_of(request: HttpRequest, preferences: Preferences) -> tzinfo:
    """Give the chosen zone, else the browser's, else UTC."""
    for name in (preferences.time_zone, request.COOKIES.get(ZONE_COOKIE, "")):
        if is_time_zone(name):
            return ZoneInfo(name)
    return timezone.get_default_timezone()


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def second_factor(request: HttpRequest) -> HttpResponse:
    """Show how things stand; POST begins, or confirms with a code."""
    if request.method != "POST":
        return _page(request)
    operator, now = cast(User, request.user), timezone.now()
    # The form that begins has no field for a code, so that an empty code is a wrong one and begins nothing anew.
    if "code" not in request.POST:
        try:
            begin_factor(operator, now=now)
        except AlreadyConfirmedError:
            return _page(request, status=TOO_LATE)
    elif confirm_factor(operator, request.POST["code"], now=now):
        messages.success(request, "From now on the login asks you for a code.")
    else:
        return _page(request, is_wrong=True, status=REFUSED)
    return redirect("dashboard:second_factor")


def _page(request: HttpRequest, *, is_wrong: bool = False, status: int = 200) -> HttpResponse:
    operator = cast(User, request.user)
    # The secret that is being set up: a confirmed one is never shown again.
    factor, confirmed = (factor_of(operator, is_confirmed=is_confirmed) for is_confirmed in (False, True))
    try:
        secret = factor.secret if factor else ""
    except UnreadableError:  # begun with a key that is lost: begin anew
        secret = ""
    address = address_for_apps(secret, operator.get_username()) if secret else ""
    drawn = ""
    if secret:  # black on white in both themes, since cameras expect that
        drawn = segno.make(address, error="m").svg_inline(scale=4, border=4, dark="#000", light="#fff", omitsize=False)
    context = {
        "confirmed": confirmed,
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "address": address,
        "picture": mark_safe(drawn),  # noqa: S308 - the library writes numbers only
        "is_wrong": is_wrong,
        "is_required": service_settings.RETRYCONTRACT.require_second_factor,
        "now": timezone.now(),
    }
    return render(request, "account/second_factor.html", context, status=status)
