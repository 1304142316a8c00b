"""The components page: everything that pages are made of, in every state, for those who build them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.call.diagnosis import compare
from dashboard.navigation import is_staff
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.lifecycle import CallState

BEFORE: dict[str, Any] = {"service": "web", "region": "europe", "tags": ["a"], "dry_run": True}
AFTER: dict[str, Any] = {"service": "web", "region": "eu-west", "tags": ["a", "b"], "token": "[REDACTED: token]"}
ERRORS = (
    ValidationError(error_code=ErrorCode.INVALID_ENUM_VALUE, field_path="/region", message="Invalid enum value"),
    ValidationError(
        error_code=ErrorCode.REQUIRED_FIELD_MISSING, field_path="/replicas", message="Required field is missing"
    ),
)
SPACES = ("s1", "s2", "s3", "s4", "s5", "s6", "s7")
SIZES = ("xs", "s", "m", "l", "xl", "2xl")
COLOURS = ("bg", "surface", "sunk", "line", "line-strong", "text", "soft", "faint", "accent", "blocked", "guided",
           "work", "good", "ended", "mark")  # fmt: skip


@require_safe
@never_cache
def components(request: HttpRequest) -> HttpResponse:
    if not is_staff(request.user):
        raise PermissionDenied
    now = timezone.now()
    passed = {"seconds": 4, "minute": 61, "hours": 9_000, "days": 200_000, "weeks": 2_000_000}
    context = {
        "now": now,
        "times": [now - timedelta(seconds=seconds) for seconds in passed.values()],
        "states": [state.value for state in CallState],
        "document": AFTER,
        "errors": ERRORS,
        "changes": compare(BEFORE, AFTER),
        "spaces": SPACES,
        "sizes": SIZES,
        "colours": COLOURS,
    }
    return render(request, "shared/components.html", context)
