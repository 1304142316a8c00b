"""The second factor: an operator sets up an app that makes codes for the login."""

from __future__ import annotations

from typing import cast

import segno
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.shared.responses import REFUSED, TOO_LATE
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.people.second_factor import (
    AlreadyConfirmedError,
    address_for_apps,
    begin_factor,
    confirm_factor,
    factor_of,
)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def second_factor(request: HttpRequest) -> HttpResponse:
    """Show how things stand; POST begins, or confirms with a code."""
    if request.method != "POST":
        return _page(request)
    operator, now = cast(User, request.user), timezone.now()
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
    secret, confirmed = _secret(operator), factor_of(operator, is_confirmed=True)
    address = address_for_apps(secret, operator.get_username()) if secret else ""
    context = {
        "confirmed": confirmed,
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "address": address,
        "picture": _picture(address) if secret else "",
        "is_wrong": is_wrong,
        "now": timezone.now(),
    }
    return render(request, "account/second_factor.html", context, status=status)


def _picture(address: str) -> SafeString:
    """Draw an address as a QR code; black on white in both themes, since cameras expect that."""
    drawn = segno.make(address, error="m").svg_inline(scale=4, border=4, dark="#000", light="#fff", omitsize=False)
    return mark_safe(drawn)  # noqa: S308 - the library writes numbers only


def _secret(operator: User) -> str:
    """Give the secret that is being set up, or nothing: a confirmed one is never shown again."""
    factor = factor_of(operator, is_confirmed=False)
    try:
        return factor.secret if factor else ""
    except UnreadableError:  # begun with a key that is lost: begin anew
        return ""
