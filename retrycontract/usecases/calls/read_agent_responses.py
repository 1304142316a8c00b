"""Read the log of agents' responses, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from retrycontract.contract.webhooks import ResponseStatus
from retrycontract.store.models import Agent, Call, LoggedResponse
from retrycontract.usecases.calls.repeat_request import safe_identifier, safe_tool_name


class UnknownCursorError(ValueError):
    """Raised for a place in the log where no page begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFilters:
    """Say which responses are asked for; filters narrow each other. `agent` None stands for all agents, at the desk."""

    agent: Agent | None = None
    call_id: str | None = None
    tool: str | None = None
    task_id: str | None = None
    turn: int | None = None
    status: ResponseStatus | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ResponseBatch:
    """Hold some responses, and where the next page begins; empty on the last one."""

    responses: tuple[LoggedResponse, ...]
    following: str


def read_agent_responses(filters: ResponseFilters, *, after: str | None, size: int) -> ResponseBatch:
    """Read one page; `after` is `following` of the page before. Raises UnknownCursorError."""
    place = None
    if after:
        call_id, _, number = after.rpartition(".")
        calls = Call.objects.all() if filters.agent is None else Call.objects.of(filters.agent)
        call = calls.filter(public_id=call_id).first()
        # `isdecimal` takes digits of every script, and `int` refuses numbers without end. Nine digits fit the column.
        if call is None or not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise UnknownCursorError(after)
        place = call, int(number)
    tool = safe_tool_name(filters.tool) if filters.tool else None
    task = safe_identifier(filters.task_id)
    log = LoggedResponse.objects.get_queryset().filter(
        **_given(turn=filters.turn, judged_at__gte=filters.since, judged_at__lt=filters.until)
    )
    shown, more = (log if filters.status is None else log.with_status(filters.status)).page(
        Call.objects.filter(**_given(agent=filters.agent, public_id=filters.call_id, tool_name=tool, task_id=task)),
        after=place,
        size=size,
    )
    following = f"{shown[-1].call.public_id}.{shown[-1].number}" if more else ""
    return ResponseBatch(tuple(shown), following)


def _given(**wanted: object) -> dict[str, object]:
    return {name: value for name, value in wanted.items() if value is not None}
