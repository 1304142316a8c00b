"""Read on in what happened to an agent's calls: a page at a time, each event at least once."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from retrycontract.contract.webhooks import DETAILS, RECORDED_AS, AgentEvent
from retrycontract.store.models import Agent, Attempt, Call, Event
from retrycontract.store.transactions import Position
from retrycontract.usecases.notify.write_message import write_event

PAGE = 200  # events; some 100 kB, and what a page may keep an API thread for
# The columns that are told; a call has three times as many.
TOLD = (
    "name", "at", "to_state", "attempts_made", "data", "call__public_id", "call__tool_name", "call__session_id",
    "call__task_id", "call__correlation_id", "call__attempts_made", "call__last_tool_call_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """Hold an event as it is sent; the body is JSON on one line."""

    id: int
    type: AgentEvent
    body: str


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Hold some events and where to go on; `has_more` when that is worth asking at once."""

    events: tuple[ToldEvent, ...]
    next: Position
    has_more: bool


class AttemptRow(NamedTuple):
    """Hold what is told of an attempt."""

    call_id: int
    number: int
    tool_call_id: str
    status: str | None


def follow_events(
    agent: Agent, position: Position, *, types: Collection[AgentEvent] = (), call: Call | None = None, size: int = PAGE
) -> EventBatch:
    """Read the next events of an agent's calls, or of one of them; no types are all types.

    What is not wanted is passed over, too: however rare the wanted ones are, a page looks at `size` events at most.
    """
    mine = Event.objects.of(agent)
    rows = mine.rows_behind(position, size)
    ids = position.unread(rows, size)
    recorded_as = [name for name, told in RECORDED_AS.items() if not types or told in types]
    wanted = mine.filter(pk__in=ids, name__in=recorded_as).select_related("call").only(*TOLD)
    events = list(wanted if call is None else wanted.filter(call=call)) if ids else []
    # The attempts that they are about: the one judged, else the newest of that time.
    numbers = {(event.call_id, _number(event)) for event in events}
    calls, counted = {call_id for call_id, _ in numbers}, {number for _, number in numbers}
    made = Attempt.objects.filter(call__in=calls, number__in=counted).order_by().values_list(*AttemptRow._fields)
    attempts: dict[tuple[int | None, int], AttemptRow] = {}
    attempts |= {(row.call_id, row.number): row for row in itertools.starmap(AttemptRow, made)} if events else {}
    told = []
    for event in events:
        if (call := event.call) is None:
            continue
        kind = RECORDED_AS[event.name]
        details = {name: event.data[name] for name in DETAILS.get(kind, ()) if name in event.data}
        attempt = attempts.get((call.pk, _number(event)))
        if attempt is not None and kind is AgentEvent.ATTEMPT_JUDGED:
            details["status"] = attempt.status
        # All are this agent's calls: assigned, it is not looked up again for each of them.
        call.agent = agent
        body = write_event(
            kind.value, call, at=event.at, state=event.to_state, attempts=event.attempts_made or call.attempts_made,
            tool_call_id=attempt.tool_call_id if attempt else call.last_tool_call_id, **details,
        )  # fmt: skip
        told.append(ToldEvent(event.pk, kind, body))
    return EventBatch(tuple(told), position.after(ids, rows), has_more=len(ids) == size)


def _number(event: Event) -> int:
    return int(event.data.get("attempt") or event.attempts_made or 0)
