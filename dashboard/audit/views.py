"""The audit trail, for those who look after the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from dashboard.audit.trail import AuditLine, EventChoices, read_options
from dashboard.navigation import is_staff
from dashboard.shared.exports import TYPES, export
from dashboard.shared.long_list import MOST_EXPORTED, Search, read_all, read_page
from retrycontract.store.models import Event

COLUMNS: Final = ("number", "at", "actor", "door", "event", "call_id", "from_state", "to_state", "details")


@require_GET
@never_cache
@gzip_page
def audit(request: HttpRequest) -> HttpResponse:
    """Show a page of it."""
    if not is_staff(request.user):
        raise PermissionDenied
    choices, after = EventChoices.of(request.GET), request.GET.get("after", "")
    page = read_page(choices.search, after)
    context: dict[str, Any] = {
        "title": "Audit", "route": "dashboard:audit", "files": "dashboard:export_audit", "noun": "events",
        "choices": choices, "page": page, "lines": [AuditLine(event) for event in page.rows], "after": after,
        "now": timezone.now(), "options": read_options(), "most": MOST_EXPORTED,
    }  # fmt: skip
    return render(request, "audit/audit.html", context)


@require_GET
@never_cache
def export_audit(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Give what was chosen as a file, from the page on that one looks at."""
    if not is_staff(request.user):
        raise PermissionDenied
    if kind not in TYPES:
        raise Http404
    return export("audit", kind, COLUMNS, _lines(EventChoices.of(request.GET).search, request.GET.get("after", "")))


def _lines(search: Search[Event], after: str) -> Iterator[tuple[Any, ...]]:
    for event in read_all(search, after):
        yield (
            event.pk, event.at, event.actor, event.door, event.name, event.call.public_id if event.call else "",
            event.from_state, event.to_state, event.data,
        )  # fmt: skip
