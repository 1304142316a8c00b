"""An MCP server of our own: agents that call tools elsewhere ask it to check a call, and for a person's guidance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from retrycontract.client import AsyncClient
from retrycontract.config.telemetry import note_error, traceparent_of
from retrycontract.contract.events import read_traceparent
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.outputs import MAX_MODEL, Kind
from retrycontract.contract.outputs.json_text import members_of, read_json
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.contract.tool import DATA, Tool
from retrycontract.in_process import RetryContract
from retrycontract.judging import Judge, ModelOutput, as_text
from retrycontract.judging.asking import (
    CallNotOpenError,
    ClientPatience,
    NoVerdictError,
    ask,
    settled,
    verdict_on,
)
from retrycontract.judging.judge import TRACE
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.mcp import messages
from retrycontract.mcp.checkpoint import OpenCalls, connection_details
from retrycontract.mcp.extractions import Extractions, ExtractionStep, read_data
from retrycontract.mcp.readable import RefusedMessageError, readable
from retrycontract.mcp.tracing import RequestSpans, note_code, parent_of
from retrycontract.mcp.visiting import (
    KeyedVisit,
    NoPayloadError,
    answer,
    answer_problem,
    aside,
)

LONGEST_WAIT = 600  # seconds that one question for guidance stays open
SILENT_WAIT = 45.0  # of a client that hears no signs of life: most give up after 60 seconds
TOOLS_URI, CALLS_URI = "retrycontract://tools", "retrycontract://calls"
JSON = "application/json"

# Neither it nor an address is repeated: a model may have written a secret there.
NO_CALL = "This call_id names no open call: try again without call_id to begin a new one."
VALID = "Valid: run the tool with these arguments."
SUBMITTED = "The data conforms, and the extraction has ended."
CHECK, GUIDANCE = "check_tool_call", "get_guidance"
WAIT_TOLD = "Seconds, default 60; fewer where the client did not ask for progress."
INPUTS: dict[str, dict[str, Any]] = {
    CHECK: {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "minLength": 1, "description": "The name of the tool that is to be called."},
            "arguments": {"description": "Its arguments."},
            "call_id": {"type": "string", "description": "From the answer to an earlier attempt of the same call."},
            "model": {"type": "string", "maxLength": MAX_MODEL, "description": "The name of the model that calls."},
        },
        "required": ["tool", "arguments"],
    },
    GUIDANCE: {
        "type": "object",
        "properties": {
            "call_id": {"type": "string", "minLength": 1, "description": "From the answer to the Blocked call."},
            "wait": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "description": WAIT_TOLD},
        },
        "required": ["call_id"],
    },
}
DESCRIPTIONS = {
    CHECK: "Check the arguments of a tool call before the tool is run. An error says what to correct. "
    "Run it only when the answer is valid.",
    GUIDANCE: "Wait for a person's answer to a Blocked call. It says what to do instead.",
}

# What clients put before the model: without it nothing says that the tool is to be asked each time.
INSTRUCTIONS = (
    f"Before you call a tool of another server, ask {CHECK} with its name and arguments, and call it only when the "
    "answer is valid. After an error correct what it names and check again with the call_id of the answer."
)
IF_BLOCKED = f" When the answer says Blocked, ask {GUIDANCE} with that call_id and do what the person says."


def _apart(written: str, name: str) -> tuple[Any, str | None]:
    """Take one member out as it was written; of what is wrong beside it, or no object, give the whole instead."""
    try:
        members = members_of(written)
    except ValueError:
        return written, None
    member = members.pop(name, None)
    read = {other: read_json(text) for other, text in members.items()}
    if member is None or any(fault for _, fault in read.values()):
        return written, None
    return {other: value for other, (value, _) in read.items()}, member


class ContractServer:
    """Serve one connection with the tools that its judge knows."""

    def __init__(
        self, judge: Judge, tools: Sequence[DeclaredTool], *, has_desk: bool, silent_wait: float = SILENT_WAIT
    ) -> None:
        self._silent_wait = silent_wait
        self._judge, self._tools = judge, {tool.name: tool for tool in tools}
        # Without a service nobody is asked, so there is nothing to wait for.
        self._inputs = {name: schema for name, schema in INPUTS.items() if has_desk or name != GUIDANCE}
        self._calls, self._numbers = OpenCalls(), count(1)
        self._extractions = Extractions(judge)
        self._own = RetryContract(Tool(name=name, input_schema=schema) for name, schema in self._inputs.items())

    def as_server(self) -> Server[Any]:
        """Give the SDK's server with our handlers."""
        server = Server(
            "retrycontract",
            instructions=INSTRUCTIONS + (IF_BLOCKED if GUIDANCE in self._inputs else ""),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        # In the place of the SDK's own spans, which hold messages of errors as they are.
        server.middleware[:] = [_traced]
        return server

    async def _list_tools(self, _: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = [
            types.Tool(name=name, description=DESCRIPTIONS[name], input_schema=schema)
            for name, schema in self._inputs.items()
        ]
        with _told_as_error("The extractions cannot be listed"):
            extractions = await self._extractions.listed()
        return types.ListToolsResult(tools=listed + extractions)

    async def _call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        meta = context.meta or {}
        written = await aside(lambda _: messages.as_written(meta), meta.get(messages.RAW, ""))
        try:
            # First: an extraction's tools are no tools of ours, whose inputs are checked below.
            if request := await self._extractions.find(params.name):
                if request.step is ExtractionStep.EXAMPLE:
                    return _result(ToolResult("", await run_sync(request.example), is_error=False))
                if written is None:
                    data, call_id = read_data(params.arguments or {})
                    output = as_text(data)
                else:
                    beside, member = await aside(_apart, written, DATA)
                    output = member if member is not None and beside.keys() <= {"call_id"} else written
                    call_id = read_data({DATA: None} | beside)[1] if output is member else None
                if request.step is ExtractionStep.VALIDATE and await run_sync(request.conforms, output):
                    return _result(ToolResult("", request.advice, is_error=False))
                # Where nothing is blocked but only observed, a failed validate is no end either.
                done = SUBMITTED if request.step is ExtractionStep.SUBMIT else request.advice
                return await self._judged(request.name, output, call_id, kind=Kind.EXTRACTION, done=done)
        except NoVerdictError as error:
            return _result(ToolResult("", f"This could not be done: {error}"))
        # What is asked of us is checked like anything else; an id of its own each time, for nobody counts this.
        asked, member = params.arguments or {}, None
        if written is not None:
            asked, member = await aside(_apart, written, "arguments")
        if member is not None:
            asked |= {"arguments": None}
        outcome = await run_sync(self._own.check, params.name, f"own-{next(self._numbers)}", asked)
        if outcome.tool_result is not None:
            return _result(outcome.tool_result)
        try:
            if params.name == CHECK:
                given = outcome.arguments
                told = {"model": given["model"]} if given.get("model") else {}
                output = as_text(given["arguments"]) if member is None else member
                return await self._judged(
                    given["tool"], output, given.get("call_id"), kind=Kind.TOOL_CALL, done=VALID, told=told
                )
            return await self._guidance(context, **outcome.arguments)
        except NoVerdictError as error:
            return _result(ToolResult("", f"This could not be done: {error}"))

    async def _judged(
        self,
        tool: str,
        output: Any,
        call_id: str | None,
        *,
        kind: Kind,
        done: str,
        told: Mapping[str, Any] = MappingProxyType({}),
    ) -> types.CallToolResult:
        call = self._calls.take(tool, call_id)
        try:
            verdict = await verdict_on(self._judge, ModelOutput(tool, output, kind, call.call_id, generation=told))
            call.take_over(verdict)
        except CallNotOpenError:
            # So that it is not put back: the next attempt without an id must begin a new call.
            call.has_ended = True
            return _result(ToolResult("", NO_CALL))
        finally:
            self._calls.put_back(call)
        twin = {"call_id": verdict.call_id, "status": verdict.status.value}
        if verdict.tool_result is None:
            return _result(ToolResult("", done, is_error=False, metadata=twin))
        await self._calls.settled()
        text = f"{verdict.tool_result.content}\n\nThis call has the call_id {verdict.call_id}."
        return _result(ToolResult("", text, metadata=verdict.tool_result.metadata | twin))

    async def _guidance(self, context: Any, call_id: str, wait: int = 60) -> types.CallToolResult:
        is_heard = "progress_token" in (context.meta or {})
        seconds = wait if is_heard else min(wait, self._silent_wait)
        numbers = count()

        async def tick() -> None:
            await context.session.report_progress(next(numbers), None, "Nobody has answered yet.")

        answer = await ask(self._judge, call_id, ClientPatience.of(seconds, tick))
        if answer is None:
            return _result(ToolResult("", "Nobody has answered. Ask again later.", is_error=False))
        found = {"decision": answer.decision, "arguments": answer.corrected, "patch": answer.patch}
        return _result(ToolResult("", answer.text, is_error=False, metadata=found if answer.decision else {}))

    async def _known_tools(self) -> dict[str, str]:
        """Give the tools of this connection, or else those that the service knows."""
        return {name: tool.description for name, tool in self._tools.items()} or await settled(self._judge.tools())

    async def _list_resources(self, _: Any, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        with _told_as_error("The tools cannot be listed"):
            tools = await self._known_tools()
        every = types.Resource(uri=TOOLS_URI, name="tools", title="Tools that can be checked", mime_type=JSON)
        listed = [
            *([every] if tools else []),
            types.Resource(uri=CALLS_URI, name="calls", title="Open calls", mime_type=JSON),
            *(
                types.Resource(
                    uri=f"{TOOLS_URI}/{quote(name, safe='')}", name=name, description=description, mime_type=JSON
                )
                for name, description in tools.items()
            ),
        ]
        return types.ListResourcesResult(resources=listed)

    async def _read_resource(self, _: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        with _told_as_error("This cannot be read"):
            text = json.dumps(await self._resource(str(params.uri)), ensure_ascii=False, indent=2)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)]
        )

    async def _resource(self, uri: str) -> Any:
        if uri == TOOLS_URI:
            return [{"name": name, "description": text} for name, text in (await self._known_tools()).items()]
        if uri == CALLS_URI:
            # All of the agent's where the service knows them, else those of this connection.
            known = await settled(self._judge.open_calls())
            if known is not None:
                return [{"call_id": call.call_id, "tool": call.tool, "state": call.state} for call in known]
            return [
                {"call_id": call.call_id, "tool": call.tool_name, "state": "blocked" if call.is_blocked else "retrying"}
                for call in self._calls.idle()
            ]
        name = unquote(uri.removeprefix(f"{TOOLS_URI}/"))
        if name in self._tools:
            return self._tools[name].schema
        if not uri.startswith(f"{TOOLS_URI}/") or name not in await settled(self._judge.tools()):
            raise MCPError(types.INVALID_PARAMS, "There is no such resource; resources/list names them.")
        return (await settled(self._judge.tool(name))).input_schema


async def _traced(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    http = ctx.request  # None over stdio
    around = read_traceparent(http.headers.get("traceparent")) if http is not None else None
    parent = parent_of(ctx.meta) or around
    spans = RequestSpans(ValueSanitizer(), "pipe" if http is None else "tcp")
    request_id = None if ctx.request_id is None else str(ctx.request_id)
    span = spans.started(ctx.method, ctx.params or {}, request_id, parent, ctx.protocol_version)
    TRACE.set(traceparent_of(span) or parent)
    try:
        result = await call_next(ctx)
    except Exception as error:
        if isinstance(error, MCPError):
            note_code(span, error.error.code)
        else:
            note_error(span, type(error).__name__)
        raise
    else:
        if (result.get("isError") if isinstance(result, dict) else getattr(result, "is_error", False)) is True:
            note_error(span, "tool_error")
        return result
    finally:
        if span is not None:
            span.end()


def _result(result: ToolResult) -> types.CallToolResult:
    return types.CallToolResult.model_validate(result.render("mcp"))


@contextmanager
def _told_as_error(what: str) -> Iterator[None]:
    try:
        yield
    except NoVerdictError as error:
        raise MCPError(types.INTERNAL_ERROR, f"{what}: {error}") from error


class ServerVisit(KeyedVisit):
    """Let the SDK answer one HTTP request."""

    async def answer(self, client: AsyncClient, key: str, receive: Any, send: Any, max_body_bytes: int) -> None:  # noqa: ARG002
        """Serve a connection of this request alone."""
        try:
            self.refuse_what_no_agent_sends()
            kind = dict(self._scope["headers"]).get(b"content-type", b"").decode("latin-1")
            if kind.partition(";")[0].strip().lower() != JSON:
                raise NoPayloadError(415, f"A message is sent with Content-Type: {JSON}.")  # noqa: TRY301
            body = await self.read(client, receive, max_body_bytes)
        except NoPayloadError as wrong:
            await answer_problem(send, wrong)
            return
        try:
            body = (await aside(readable, body.decode("utf-8", "surrogateescape"))).encode()
        except RefusedMessageError as refused:
            await answer(send, 400, {b"content-type": JSON.encode()}, refused.answer.text.encode())
            return
        read = iter([{"type": "http.request", "body": body}])

        async def received() -> Any:
            return next(read, None) or await receive()

        judge = ServiceJudge(client, "mcp", details=connection_details("mcp"), is_patient=False)
        server = ContractServer(judge, (), has_desk=True).as_server()
        manager = StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=max(len(body), max_body_bytes)
        )
        async with manager.run():
            await manager.handle_request(self._scope, received, send)
