"""What the event stream takes and gives, as pydantic models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from retrycontract.api.schemas import Identifier, Strict
from retrycontract.contract.feedback.agent_events import AgentEvent
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.event_position import Position


def _at_commas(texts: list[str]) -> list[str]:
    return [part for text in texts for part in text.split(",")]


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

    types: Annotated[list[AgentEvent], BeforeValidator(_at_commas)] = Field(
        [], description="Of these types only, comma separated or repeated."
    )
    call_id: Identifier | None = Field(None, description="Of this call only.")
    cursor: str | None = Field(None, description="Where the service itself goes on; clients send Last-Event-ID.")

    def going_on_at(self, position: Position) -> dict[str, str]:
        """Give the query that asks for the next page."""
        asked = {"types": ",".join(self.types), "call_id": self.call_id or "", "cursor": str(position)}
        return {name: value for name, value in asked.items() if value}
