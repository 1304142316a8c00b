"""Pages of events as server-sent events: where a stream begins, and what is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from retrycontract.api.known_fields import Strict
from retrycontract.api.openapi import Identifier
from retrycontract.api.problems import Problem
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.webhooks import AgentEvent
from retrycontract.store.models import Agent, Event
from retrycontract.store.transactions import Position
from retrycontract.usecases.notify.follow_events import EventBatch

MEDIA_TYPE: Final = "text/event-stream"
# As OpenAPI 3.2 describes a stream: event by event, with the fields that stand beside its data.
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"$ref": "#/components/schemas/AgentEvent"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/EventOut"},
        },
    },
}
DECLARED: Final[dict[str, Any]] = {
    "responses": {
        200: {
            "description": "Events as they happen; the `data` of each is an EventOut, `event` its type.",
            "content": {MEDIA_TYPE: {"schema": _EVENT}},
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
        try:
            return Beginning(Position.parse(cursor))
        except ValueError:
            raise Problem("unknown-cursor", "No page begins there; send Last-Event-ID.") from None
    if last_event_id is not None:
        return Beginning(mine.position_behind(int(last_event_id)))
    now = mine.position_now()
    return Beginning(now, f"id: {max(now.beyond, default=now.settled)}\n\n")


def frames(page: EventBatch) -> str:
    """Write the events of a page."""
    return "".join(f"id: {event.id}\nevent: {event.type.value}\ndata: {event.body}\n\n" for event in page.events)


class EventLinks(BaseModel):
    """Where to read on about an event."""

    self: str
    guidance: str
    desk: str


class EventData(BaseModel):
    """Where a call stood when something happened to it; each type of event adds its details."""

    model_config = ConfigDict(extra="allow")

    call_id: str
    agent: str
    tool: str
    tool_call_id: str
    session_id: str | None
    task_id: str | None
    correlation_id: str | None
    state: CallState
    attempts: int
    links: EventLinks


class EventOut(BaseModel):
    """The `data` of a streamed event, on one line; its `id` and `event` (the type) stand beside it."""

    type: AgentEvent
    timestamp: datetime
    data: EventData


class EventFilters(Strict):
    """Which events are asked for; filters narrow each other."""

    types: Annotated[
        list[AgentEvent], BeforeValidator(lambda said: [it for text in said for it in text.split(",")])
    ] = Field([], description="Of these types only, comma separated or repeated.")
    call_id: Identifier | None = Field(None, description="Of this call only.")
    cursor: str | None = Field(None, description="Where the service itself goes on; clients send Last-Event-ID.")

    @property
    def tells_of_answers(self) -> bool:
        """Tell whether who reads this stream hears of a person's answer."""
        return not self.types or AgentEvent.GUIDANCE_GIVEN in self.types

    def going_on_at(self, position: Position) -> dict[str, str]:
        """Give the query that asks for the next page."""
        asked = {"types": ",".join(self.types), "call_id": self.call_id or "", "cursor": str(position)}
        return {name: value for name, value in asked.items() if value}
