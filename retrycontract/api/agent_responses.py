"""The log of agents' responses at the API's door."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja.params.functions import Query
from pydantic import BaseModel, Field

from retrycontract.api import presenters
from retrycontract.api.known_fields import Strict
from retrycontract.api.openapi import MAX_TURN, GivenId, Identifier, Moment, Time, ToolName
from retrycontract.api.schemas import ErrorOut, Links
from retrycontract.contract.webhooks import ResponseStatus
from retrycontract.store.models import Agent
from retrycontract.usecases.calls.read_agent_responses import ResponseFilters, read_agent_responses
from retrycontract.usecases.counts.keep_count import charged_reading


class ResponseQuery(Strict):
    """Which responses are asked for; filters narrow each other."""

    call_id: Identifier | None = None
    tool: ToolName | None = None
    task_id: GivenId | None = None
    turn: int | None = Field(None, ge=-MAX_TURN, le=MAX_TURN)
    status: ResponseStatus | None = None
    since: Moment | None = Field(None, description="Judged at this time or later.")
    until: Moment | None = Field(None, description="Judged before this time.")
    cursor: Identifier | None = Field(None, description="Where the page begins, as the page before says.")
    limit: int = Field(50, ge=1, le=100)


class ResponseOut(BaseModel):
    """One line of the log."""

    call_id: str
    tool: str
    task_id: str | None
    turn: int | None
    status: ResponseStatus = Field(description="MALFORMED when it is no JSON.")
    raw: Any = Field(description="What the model wrote, redacted: the value, or the text that is no JSON.")
    violations: list[ErrorOut]
    correction_attempt: int = Field(description="0 for the reply itself, 1 for its first correction.")
    at: Time | None
    links: Links


class ResponsePageOut(BaseModel):
    """Some lines of the log: the newest call first, its replies one after the other."""

    responses: list[ResponseOut]
    next: str | None = Field(description="The address of the next page; null on the last one.")


def get_agent_responses(request: HttpRequest, query: Annotated[ResponseQuery, Query()]) -> HttpResponse | BaseModel:
    """Read the log of your agent's responses, a page at a time."""
    agent: Agent = request.auth  # type: ignore[attr-defined]  # ninja puts what ApiKeyAuth returns here
    with charged_reading(agent.pk):
        return presenters.written(_page_of(agent, query))


def _page_of(agent: Agent, query: ResponseQuery) -> ResponsePageOut:
    filters = ResponseFilters(agent=agent, **query.model_dump(exclude={"cursor", "limit"}))
    page = read_agent_responses(filters, after=query.cursor, size=query.limit)
    return ResponsePageOut(
        responses=[
            ResponseOut(
                call_id=response.call.public_id,
                tool=response.call.tool_name,
                task_id=response.call.task_id,
                turn=response.turn,
                status=response.response_status,
                raw=response.output,
                violations=response.errors_json,
                correction_attempt=response.correction_attempt,
                at=response.judged_at,
                links=presenters.links(response.call),
            )
            for response in page.responses
        ],
        next=presenters.next_page("/agent-responses", query, page.following),
    )
