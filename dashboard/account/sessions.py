"""Sessions of operators: how long they may be idle, and how long they may last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

BEGAN_AT: Final = "began_at"
SEEN_AT: Final = "seen_at"


class SessionLimits:
    """End sessions that last too long; a person's requests keep them alive, polls of an open page do not."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            _limit(request, timezone.now().timestamp())
        return self._get_response(request)


def _limit(request: HttpRequest, now: float) -> None:
    session, service = request.session, settings.RETRYCONTRACT
    began = session.get(BEGAN_AT)
    if began is None:  # begun by a release that did not note it: it ends once it was idle for so long since then
        return
    if now - began > service.session_max_hours * 3_600:
        logout(request)
        return
    is_asked_by_script = "HX-Request" in request.headers or "text/event-stream" in request.headers.get("Accept", "")
    is_person = not is_asked_by_script or request.method == "POST"
    # What is written starts the time that it may be idle anew; a tenth of it is near enough.
    if is_person and now - session[SEEN_AT] > service.session_idle_minutes * 6:
        session[SEEN_AT] = now


def begin_session(request: HttpRequest) -> None:
    """Note when a session began, right after the login."""
    now = timezone.now().timestamp()
    request.session.update({BEGAN_AT: now, SEEN_AT: now})
