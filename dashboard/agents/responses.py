"""The log of agents' responses at the desk."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.agent_events import ResponseStatus
from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.store.models import LoggedResponse
from retrycontract.usecases.calls.read_agent_responses import ResponseFilters, UnknownCursorError, read_agent_responses

PAGE = 50
MAX_SEARCH = 200  # the longest id
PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
TABS = [("", "All"), *((status.value, status.value.capitalize().replace("_", " ")) for status in ResponseStatus)]
MARKS = {
    ResponseStatus.SUCCESS: ("valid", "Success"),
    ResponseStatus.MALFORMED: ("failed", "Malformed"),
    ResponseStatus.SCHEMA_VIOLATION: ("alert", "Schema violation"),
}


@dataclass(frozen=True, slots=True)
class ResponseLine:
    """Show one reply; `begins` where the one before it, on the page, is of another call."""

    response: LoggedResponse
    begins: bool

    @property
    def mark(self) -> tuple[str, str]:
        """Name the icon and the word for how it went."""
        return MARKS[self.response.response_status]

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """Give what is wrong, the worst first; a reply that went well has nothing wrong."""
        if self.response.is_valid:
            return ()
        return tuple(error for error in self.response.errors if error.severity is ErrorSeverity.ERROR)


@require_GET
@never_cache
def log(request: HttpRequest) -> HttpResponse:
    """Show a page of the log."""
    status, task, period = (request.GET.get(name, "") for name in ("status", "task", "period"))
    filters = ResponseFilters(
        status=ResponseStatus(status) if status in list(ResponseStatus) else None,
        task_id=task.strip()[:MAX_SEARCH].replace("\x00", "\ufffd") or None,
        since=_since(period, timezone.now()),
    )
    try:
        page = read_agent_responses(filters, after=request.GET.get("after"), size=PAGE)
    except UnknownCursorError:
        raise Http404 from None
    context: dict[str, Any] = {
        "lines": _lines(page.responses), "following": page.following, "now": timezone.now(), "tabs": TABS,
        "filters": filters, "period": period if period in PERIODS else "", "periods": list(PERIODS),
        "task": visible(filters.task_id or ""),
    }  # fmt: skip
    return render(request, "agents/agent_responses.html", context)


def _since(period: str, now: datetime) -> datetime | None:
    return now - PERIODS[period] if period in PERIODS else None


def _lines(responses: tuple[LoggedResponse, ...]) -> list[ResponseLine]:
    before = [None, *(response.call_id for response in responses)]
    return [ResponseLine(response, response.call_id != last) for response, last in zip(responses, before, strict=False)]
