"""Pages of events as server-sent events: where a stream begins, and what is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from retrycontract.api.problems import Problem
from retrycontract.store.event_position import Position
from retrycontract.store.models import Agent, Event
from retrycontract.usecases.notify.follow_events import EventBatch

MEDIA_TYPE: Final = "text/event-stream"
DECLARED: Final[dict[str, Any]] = {
    "responses": {
        200: {
            "description": "Events as they happen; the `data` of each is an EventOut, `event` its type.",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/EventOut"}}},
        }
    }
}


@dataclass(frozen=True, slots=True)
class Beginning:
    """Say where a page begins, and what is written before it."""

    position: Position
    opening: str = ""


def begin(agent: Agent, cursor: str | None, last_event_id: str | None) -> Beginning:
    """Go on at a cursor, else behind the last event that was seen, else with what happens from now on.

    Who begins now is told an id at once: a stream that breaks before its first event must not lose what came meanwhile.
    """
    mine = Event.objects.of(agent)
    if cursor is not None:
        return Beginning(_position(cursor))
    if last_event_id is not None:
        return Beginning(mine.position_behind(int(last_event_id)))
    now = mine.position_now()
    return Beginning(now, f"id: {max(now.beyond, default=now.settled)}\n\n")


def frames(page: EventBatch) -> str:
    """Write the events of a page."""
    return "".join(f"id: {event.id}\nevent: {event.type.value}\ndata: {event.body}\n\n" for event in page.events)


def _position(cursor: str) -> Position:
    try:
        return Position.parse(cursor)
    except ValueError:
        raise Problem(422, "unknown-cursor", "No page begins there; send Last-Event-ID.") from None
