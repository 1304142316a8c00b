"""All calls, whatever became of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from dashboard.calls.call_list import CallChoices
from dashboard.inbox.filters import read_options
from dashboard.inbox.groups import rows_of
from dashboard.shared.choices import MAX_OPTIONS, plain
from dashboard.shared.exports import TYPES, export
from dashboard.shared.long_list import MOST_EXPORTED, Search, read_all, read_page
from dashboard.shared.wording import state_word
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Call
from retrycontract.store.statements import different

STATES: Final = [(state.value, state_word(state)) for state in CallState]
COLUMNS: Final = (
    "number", "call_id", "state", "kind", "tool", "agent", "model", "session_id", "task_id", "correlation_id",
    "last_tool_call_id", "attempts_made", "attempts_allowed", "created_at", "updated_at",
)  # fmt: skip


@require_GET
@never_cache
@gzip_page
def calls(request: HttpRequest) -> HttpResponse:
    """Show a page of them."""
    choices, after = CallChoices.of(request.GET), request.GET.get("after", "")
    page = read_page(choices.search, after)
    context: dict[str, Any] = {
        "title": "Calls", "route": "dashboard:calls", "files": "dashboard:export_calls", "noun": "calls",
        "choices": choices, "page": page, "lines": rows_of(page.rows, {}, {}), "after": after, "now": timezone.now(),
        "options": read_options(),
        "models": plain(different(Call, "model", most=MAX_OPTIONS)), "states": STATES, "most": MOST_EXPORTED,
    }  # fmt: skip
    if not page.rows and not choices.is_any:
        context["address"] = request.build_absolute_uri("/").rstrip("/")
    return render(request, "calls/calls.html", context)


@require_GET
@never_cache
def export_calls(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Give what was chosen as a file, from the page on that one looks at."""
    if kind not in TYPES:
        raise Http404
    return export("calls", kind, COLUMNS, _lines(CallChoices.of(request.GET).search, request.GET.get("after", "")))


def _lines(search: Search[Call], after: str) -> Iterator[tuple[Any, ...]]:
    for call in read_all(search, after):
        yield (
            call.pk, call.public_id, call.state, call.kind, call.tool_name, call.agent.name, call.model,
            call.session_id, call.task_id, call.correlation_id, call.last_tool_call_id, call.attempts_made,
            call.attempts_allowed, call.created_at, call.updated_at,
        )  # fmt: skip
