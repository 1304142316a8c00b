"""What all pages share: how htmx asks, and the statuses that mean something to our script."""

from __future__ import annotations

from typing import Any, Final, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from django_htmx.middleware import HtmxDetails

from retrycontract.store.models import Door

UNCHANGED: Final = 204  # htmx swaps nothing
LOGIN_FIRST: Final = 401
TOO_LATE: Final = 409
REFUSED: Final = 422
TOO_MANY: Final = 429


class HtmxHttpRequest(HttpRequest):
    """Name what the htmx middleware adds to a request."""

    htmx: HtmxDetails


def is_htmx(request: HttpRequest) -> bool:
    """Tell whether a part of a page is asked for, not the page."""
    return bool(cast(HtmxHttpRequest, request).htmx)


def by(request: HttpRequest) -> dict[str, Any]:
    """Say who does it, when, and through which door, as the use cases want to know."""
    return {"now": timezone.now(), "actor": cast(User, request.user).get_username(), "door": Door.DASHBOARD}
