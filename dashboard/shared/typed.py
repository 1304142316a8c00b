"""What was typed into a form that could not be taken: given back to be copied, since nothing was sent."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.defaults import server_error

from dashboard.shared.responses import LOGIN_FIRST, is_htmx

logger = logging.getLogger("retrycontract")

# Named one by one: a password or a code is never written into a page.
FIELDS: Final = {
    "text": "Your text",
    "arguments": "Your arguments",
    "schema": "Your schema",
    "output": "Your output",
    "description": "Your description",
}
FORBIDDEN: Final = 403
UNAVAILABLE: Final = 503
RELOAD_SECONDS: Final = 5
# A form with one of these is typed anew: neither a password nor a code is written into a page.
UNREPEATABLE: Final = ("password", "old_password", "new_password", "code", "secret", "token")


class TypedKept:
    """Tell who has no session any more so, and give back every word that came with a form."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Answer scripts and forms of the desk; who only looks is led to the login."""
        is_desk = request.resolver_match is not None and request.resolver_match.app_name == "dashboard"
        if not is_desk or request.user.is_authenticated or not getattr(view, "login_required", True):
            return None
        if is_htmx(request):
            return HttpResponse(status=LOGIN_FIRST)
        return _give_back(request, "account/session_ended.html", LOGIN_FIRST) if request.method == "POST" else None


def out_of_date(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - as Django calls it
    """Refuse a form whose token does not fit; what was typed is shown to be copied."""
    return _give_back(request, "account/out_of_date.html", FORBIDDEN)


def failed(request: HttpRequest) -> HttpResponse:
    """Answer what raised: 503 while the database is away, with every word that came; else the page that says 500."""
    error = sys.exception()
    if not isinstance(error, (OperationalError, InterfaceError)):
        return server_error(request)
    logger.warning("A page could not be made without the database", extra={"reason": type(error.__cause__).__name__})
    was_sent = request.method == "POST" and not any(name.startswith(UNREPEATABLE) for name in request.POST)
    sent = [(name, value) for name, values in request.POST.lists() for value in values] if was_sent else []
    context = {
        "was_sent": was_sent, "fields": sent, "typed": _typed(request) if was_sent else [],
        "address": request.get_full_path() if request.method in ("GET", "POST") else "/", "seconds": RELOAD_SECONDS,
    }  # fmt: skip
    # Without a request: the processors of a page's context read the session, which lies in the database.
    page = render_to_string("unavailable.html", context)
    response = HttpResponse(page, status=UNAVAILABLE, headers={"Retry-After": str(RELOAD_SECONDS)})
    response._has_been_logged = True  # type: ignore[attr-defined] # noqa: SLF001 - Django's line would hold the whole traceback
    return response


def _typed(request: HttpRequest) -> list[tuple[str, str]]:
    return [(title, request.POST[name]) for name, title in FIELDS.items() if request.POST.get(name)]


def _give_back(request: HttpRequest, template: str, status: int) -> HttpResponse:
    return render(request, template, {"typed": _typed(request), "came_from": _came_from(request)}, status=status)


def _came_from(request: HttpRequest) -> str:
    """Give the page that the form stood on: the address of the form itself may take nothing but forms."""
    referer = request.headers.get("Referer", "")
    page = urlsplit(referer)._replace(scheme="", netloc="").geturl()
    is_ours = url_has_allowed_host_and_scheme(referer, {request.get_host()}) and page.startswith("/")
    return page if is_ours else reverse("dashboard:inbox")
