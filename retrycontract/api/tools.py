"""The tools of an agent's namespace: registered, read again only when they changed, changed only as they were read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Body, Router, Status
from ninja.params.functions import Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints

from retrycontract.api import openapi as examples
from retrycontract.api import presenters, problems
from retrycontract.api.known_fields import Strict
from retrycontract.api.openapi import AttemptCount, Duration, InputSchema, ToolList, ToolName
from retrycontract.api.preconditions import (
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    agent_of,
    entity_tag,
    is_known,
    may_replace,
    once_in_steps,
    tag_of,
)
from retrycontract.api.problems import OF_BODIES, OF_KEYED_POSTS, OF_WORK, refusals
from retrycontract.api.requests import READ, TOOLS_WORK
from retrycontract.api.schemas import Kinds
from retrycontract.checking import AT_ONCE
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.tool_lists import read_tool_list
from retrycontract.store.models import Tool
from retrycontract.usecases.tools.contracts import attempts_allowed, schema_to_show
from retrycontract.usecases.tools.register_tool import (
    Registration,
    ToolSettings,
    import_tools,
    register_tool,
)


class ToolIn(Strict):
    """A tool to register."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.TOOL]})

    kind: Kinds | None = Field(None, description="What is checked against the schema (default tool_call).")
    input_schema: InputSchema = Field(description="The JSON Schema of the tool's arguments.")
    description: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    strict: StrictBool | None = Field(
        None, description="Refuse fields that the schema does not declare (default true)."
    )
    hold: StrictBool | None = Field(None, description="Keep a Blocked call closed until a person answered.")
    mode: Literal["enforce", "observe"] | None = None
    max_attempts: AttemptCount | None = None
    expires_after: Duration | None = Field(
        None, description="How long a Blocked call waits for an answer: seconds, or text such as 30m, 12h or 7d."
    )
    on_expiry: Literal["expire", "reject"] | None = Field(
        None, description="What becomes of a Blocked call that nobody answered in time (default expire)."
    )


class ListSettings(Strict):
    """What all tools of an imported list are registered with; what is not given stays as it is."""

    kind: Literal["tool_call", "extraction"] | None = Field(None, description="What is checked against the schemas.")
    strict: bool | None = Field(None, description="Refuse fields that a schema does not declare.")
    hold: bool | None = Field(None, description="Keep a Blocked call closed until a person answered.")
    mode: Literal["enforce", "observe"] | None = None
    max_attempts: int | None = Field(None, ge=1, le=10)


class ToolWarning(BaseModel):
    """What does nothing in a schema, or makes it dear to judge by."""

    pointer: str
    detail: str


class ToolOut(BaseModel):
    """A registered tool."""

    name: str
    namespace: str
    version: int
    schema_hash: str
    created: bool = Field(description="The tool was not known before.")
    changed: bool = Field(description="The schema made a new version.")
    max_attempts: int = Field(description="Of its calls that name none themselves.")
    warnings: list[ToolWarning] = Field(description="Of the schema, which is registered all the same.")


class RefusedTool(BaseModel):
    """A tool of an imported list that was refused."""

    name: str
    pointer: str
    code: str
    detail: str


class ImportOut(BaseModel):
    """What became of an imported list."""

    registered: list[ToolOut]
    refused: list[RefusedTool]


class ToolQuery(Strict):
    """Which tools are asked for."""

    kind: Kind | None = None
    cursor: ToolName | None = Field(None, description="The name after which the page begins.")
    limit: int = Field(50, ge=1, le=100)


class ToolSummary(BaseModel):
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
    etag: str = Field(description="Names this revision; send it as If-Match to change no other.")
    created_at: datetime
    updated_at: datetime
    link: str = Field(description="Its address.")


class ToolDetail(ToolSummary):
    """A tool with its present schema."""

    input_schema: Any = Field(description="Redacted, where secrets were written into it.")


class ToolPage(BaseModel):
    """Some tools, by name."""

    tools: list[ToolSummary]
    next: str | None = Field(description="The address of the next page; null on the last one.")


router = Router(tags=["tools"])

PUT_PROBLEMS = refusals(
    *OF_WORK, *OF_BODIES, "not-found", "invalid-name", "invalid-schema", "unknown-language", "precondition-failed"
)
READ_PROBLEMS = refusals("not-found", "invalid-request")
FOUND: dict[Any, Any] = {200: ToolDetail, 304: None, **READ_PROBLEMS}
MADE: dict[Any, Any] = {200: ToolOut, 201: ToolOut, **PUT_PROBLEMS}


@router.post(
    "/tools/import",
    auth=TOOLS_WORK,
    response={200: ImportOut, **refusals(*OF_BODIES, *OF_KEYED_POSTS, *OF_WORK, "invalid-tool-list")},
    openapi_extra={"requestBody": {"content": {"application/json": {"examples": examples.TOOL_LISTS}}}},
)
def post_tool_import(
    request: HttpRequest,
    body: Body[ToolList],
    settings: Annotated[ListSettings, Query()],
    key: IdempotencyKey = None,
) -> Any:
    """Register a tool list as OpenAI, Anthropic or MCP write it; what cannot be registered is named with its fault."""
    agent = agent_of(request)

    def imported() -> ImportOut:
        of_all = ToolSettings(**settings.model_dump())
        result = import_tools(agent, read_tool_list(body), settings=of_all, now=timezone.now())
        return ImportOut(
            registered=[_tool(done) for done in result.registered],
            refused=[RefusedTool(name=name, **problems.shown_fault(fault)) for name, fault in result.refused],
        )

    return once_in_steps(request, key, imported)


@router.get("/tools", auth=READ, response={200: ToolPage, 304: None, **refusals("invalid-request")})
def get_tools(
    request: HttpRequest,
    response: HttpResponse,
    query: Annotated[ToolQuery, Query()],
    if_none_match: IfNoneMatch = None,
) -> Status[Any]:
    """List the tools of your namespace by name, a page at a time; 304 when If-None-Match names the page's ETag."""
    tools = Tool.objects.of(agent_of(request).namespace, query.kind)
    found = tools.page(after=query.cursor, size=query.limit + 1)
    shown = found[: query.limit]
    page = ToolPage(
        tools=[ToolSummary(**_summary(tool)) for tool in shown],
        next=presenters.next_page("/tools", query, shown[-1].name if len(found) > len(shown) else ""),
    )
    return _unless_known(response, if_none_match, tag_of(page), page)


# An address is found before its method: that of `POST /tools/import` would answer 405 here, and never reach the route
# by name.
@router.get("/tools/import", auth=READ, response=FOUND)
def get_tool_named_import(
    request: HttpRequest, response: HttpResponse, if_none_match: IfNoneMatch = None
) -> Status[Any]:
    """Read a tool of that very name, whose address is the list's."""
    return get_tool(request, response, "import", if_none_match)


@router.get("/tools/{path:name}", auth=READ, response=FOUND)
def get_tool(request: HttpRequest, response: HttpResponse, name: str, if_none_match: IfNoneMatch = None) -> Status[Any]:
    """Read a tool with its present schema; 304 when If-None-Match names its ETag."""
    # What is not printable cannot have been registered, and PostgreSQL refuses to look for a NUL.
    tool = Tool.objects.of(agent_of(request).namespace).filter(name=name).first() if name.isprintable() else None
    if tool is None or tool.current_version is None:
        raise Http404
    found = ToolDetail(**_summary(tool), input_schema=schema_to_show(tool.current_version.schema))
    return _unless_known(response, if_none_match, entity_tag(tool.revision), found)


@router.put("/tools/import", auth=TOOLS_WORK, response=MADE)
def put_tool_named_import(
    request: HttpRequest,
    response: HttpResponse,
    body: ToolIn,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Status[ToolOut]:
    """Register a tool of that very name, whose address is the list's."""
    return put_tool(request, response, "import", body, if_match, if_none_match)


@router.put("/tools/{path:name}", auth=TOOLS_WORK, response=MADE)
def put_tool(
    request: HttpRequest,
    response: HttpResponse,
    name: str,
    body: ToolIn,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Status[ToolOut]:
    """Register a tool, or a new version of it when its schema changed.

    With `If-Match` only while it is as you read it, with `If-None-Match: *` only when there is none of that name.
    """
    if not name or len(name) > 300 or not name.isprintable():
        raise problems.Problem("invalid-name", "A tool's name has 1 to 300 printable characters.")
    settings = ToolSettings(**body.model_dump(exclude={"input_schema"}))
    done = register_tool(
        agent_of(request), name, body.input_schema, now=timezone.now(), settings=settings,
        may_replace=may_replace(if_match, if_none_match), at_once=AT_ONCE,
    )  # fmt: skip
    response["ETag"] = entity_tag(done.tool.revision)
    if done.is_new_tool:
        response["Location"] = address(done.tool)
    return Status(201 if done.is_new_tool else 200, _tool(done))


def address(tool: Tool) -> str:
    """Give the address of a tool, whatever its name holds."""
    return f"{presenters.PREFIX}/tools/{quote(tool.name, safe='')}"


def _unless_known(response: HttpResponse, if_none_match: str | None, tag: str, answer: BaseModel) -> Status[Any]:
    """Answer with the ETag, and with nothing else when the client has the answer already."""
    response["ETag"] = tag
    return Status(304, None) if is_known(if_none_match, tag) else Status(200, answer)


def _tool(done: Registration) -> ToolOut:
    return ToolOut(
        name=done.tool.name,
        namespace=done.tool.namespace,
        version=done.version.number,
        schema_hash=done.version.schema_hash,
        created=done.is_new_tool,
        changed=done.is_new_version,
        max_attempts=attempts_allowed(done.tool, done.tool.name),
        warnings=[ToolWarning(**problems.shown_warning(warning)) for warning in done.warnings],
    )


def _summary(tool: Tool) -> dict[str, Any]:
    version = tool.current_version
    assert version is not None, "what has no version is not listed"
    own = ("name", "kind", "description", "strict", "hold", "mode", "max_attempts", "on_expiry")
    return {name: getattr(tool, name) for name in (*own, "created_at", "updated_at")} | {
        "expires_after": int(tool.expires_after.total_seconds()) if tool.expires_after else None,
        "version": version.number,
        "schema_hash": version.schema_hash,
        "etag": entity_tag(tool.revision),
        "link": address(tool),
    }
