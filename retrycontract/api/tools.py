"""The tools of an agent's namespace, read at the API's door."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from django.http import Http404, HttpRequest
from ninja import Schema
from ninja.params.functions import Query
from pydantic import Field

from retrycontract.api import presenters, problems
from retrycontract.api.schemas import Strict, ToolName
from retrycontract.contract.kinds import Kind
from retrycontract.store.models import Agent, Tool


class ToolQuery(Strict):
    """Which tools are asked for."""

    kind: Kind | None = None
    cursor: ToolName | None = Field(None, description="The name after which the page begins.")
    limit: int = Field(50, ge=1, le=100)


class ToolSummary(Schema):
    """A tool without its schema; what is null is as the configuration says."""

    name: str
    kind: Kind
    description: str
    strict: bool
    hold: bool
    mode: Literal["enforce", "observe"] | None
    max_attempts: int | None
    expires_after: int | None = Field(description="Seconds.")
    on_expiry: Literal["expire", "reject"] | None
    version: int
    schema_hash: str
    created_at: datetime
    updated_at: datetime
    link: str = Field(description="Its address.")


class ToolDetail(ToolSummary):
    """A tool with its present schema."""

    input_schema: Any = Field(description="Redacted, where secrets were written into it.")


class ToolPage(Schema):
    """Some tools, by name."""

    tools: list[ToolSummary]
    next: str | None = Field(description="The address of the next page; null on the last one.")


def get_tools(request: HttpRequest, query: Annotated[ToolQuery, Query()]) -> ToolPage:
    """List the tools of your namespace by name, a page at a time."""
    problems.refuse_others(request, ToolQuery)
    tools = Tool.objects.of(_namespace(request), query.kind)
    found = tools.page(after=query.cursor, size=query.limit + 1)
    shown = found[: query.limit]
    asked = query.model_dump(mode="json", exclude_none=True) | {"cursor": shown[-1].name if shown else ""}
    return ToolPage(
        tools=[ToolSummary(**_summary(tool)) for tool in shown],
        next=f"{presenters.PREFIX}/tools?{urlencode(asked)}" if len(found) > len(shown) else None,
    )


def get_tool(request: HttpRequest, name: str) -> ToolDetail:
    """Read a tool with its present schema."""
    tool = Tool.objects.of(_namespace(request)).filter(name=name).first() if name.isprintable() else None
    if tool is None or tool.current_version is None:
        raise Http404
    return ToolDetail(**_summary(tool), input_schema=tool.current_version.schema)


def get_tool_named_import(request: HttpRequest) -> ToolDetail:
    """Read a tool of that very name, whose address is the list's."""
    return get_tool(request, "import")


def _namespace(request: HttpRequest) -> str:
    agent: Agent = request.auth  # type: ignore[attr-defined]  # ninja puts what ApiKeyAuth returns here
    return agent.namespace


def _summary(tool: Tool) -> dict[str, Any]:
    version = tool.current_version
    assert version is not None, "what has no version is not listed"
    own = ("name", "kind", "description", "strict", "hold", "mode", "max_attempts", "on_expiry")
    return {name: getattr(tool, name) for name in (*own, "created_at", "updated_at")} | {
        "expires_after": int(tool.expires_after.total_seconds()) if tool.expires_after else None,
        "version": version.number,
        "schema_hash": version.schema_hash,
        "link": f"{presenters.PREFIX}/tools/{quote(tool.name, safe='')}",
    }
