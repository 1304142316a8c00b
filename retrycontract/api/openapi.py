"""What the OpenAPI document says beside pydantic's types: fields, headers, problems, examples; a test sends each."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    JsonValue,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    WrapValidator,
)  # fmt: skip

from retrycontract.contract.configuration import LONGEST, SHORTEST, parse_duration
from retrycontract.contract.matching import ID_OF_ITS_OWN, is_unfilled
from retrycontract.contract.outputs import MAX_TOKENS
from retrycontract.contract.schemas.tool_lists import MAX_NAME, MAX_TOOLS

TEXT: Final = {"type": "string"}
HASH: Final = r"^[0-9a-f]{64}$"
POINTER: Final = r"^(/.*)?$"
EVENT_ID: Final = r"^[0-9]{1,18}$"  # the most digits that always fit into a bigint
SECONDS: Final = {"type": "string", "pattern": "^[0-9]+$"}
TRACEPARENT: Final = {"type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"}
# What cannot be read in these is passed over, never refused, so that any text is right.
REQUEST_HEADERS: Final[dict[str, str]] = {
    "traceparent": "The trace that the request belongs to (W3C Trace Context); stored with an attempt.",
    "X-Request-ID": "A name for the request, up to 128 letters, digits and ._:-; it stands in the service's log.",
}
PREFER: Final = "`wait=N`: how many seconds the answer may take, at most 60 (RFC 7240); 10 where nothing is said."

_REQUEST_ID: Final = {"X-Request-ID": ("The name that was given, or one made here.", TEXT)}
_TRACE: Final = {"traceparent": ("The trace that the request came with; absent when it came with none.", TRACEPARENT)}
_LATER: Final = {"Retry-After": ("Seconds to wait before asking again.", SECONDS)}
_ETAG: Final = {"ETag": ("Names this revision, for If-Match and If-None-Match.", TEXT)}
_LOCATION: Final = {"Location": ("Where the answer is, or will be.", TEXT)}
_WAITED: Final = {"Preference-Applied": ("How long the answer was waited for at most, if that was asked.", TEXT)}
_BY_STATUS: Final[dict[int, dict[str, Any]]] = {
    202: _LOCATION | _LATER,
    401: {"WWW-Authenticate": ("The scheme that is spoken here.", TEXT)},
    412: _ETAG,
    429: _LATER,
    503: _LATER,
}
_READ: Final = {200: _ETAG, 304: _ETAG}
_WRITTEN: Final = {200: _ETAG, 201: _ETAG | _LOCATION}
_OF_OPERATIONS: Final[dict[str, dict[int, dict[str, Any]]]] = {
    "get_tool": _READ,
    "get_tool_named_import": _READ,
    "get_tools": _READ,
    "put_tool": _WRITTEN,
    "put_tool_named_import": _WRITTEN,
}
# Where an answer leads: the operation that comes next, and where its parameters stand in this one.
_OF_CALL: Final = {"call_id": "$response.body#/call_id"}
_AFTER_A_CALL: Final = {
    operation: {"operationId": operation, "parameters": _OF_CALL}
    for operation in ("get_call", "get_wait", "get_guidance", "post_guidance_ack", "post_cancel")
}
_AFTER_A_TOOL: Final = {"get_tool": {"operationId": "get_tool", "parameters": {"name": "$request.path.name"}}}
_LINKS: Final = {"post_call": _AFTER_A_CALL, "put_tool": _AFTER_A_TOOL}


def complete(document: dict[str, Any], *, of_problems: str) -> None:
    """Declare every header, and errors under the media type `of_problems`, that they are sent with."""
    for operations in document["paths"].values():
        for operation in operations.values():
            waits = 202 in operation["responses"]
            for parameter in operation["parameters"]:
                # What may be left out is declared as just that: an address or a header cannot carry null.
                schema = dict(parameter["schema"])
                kinds = [kind for kind in schema.pop("anyOf", ()) if kind != {"type": "null"}]
                parameter["schema"] = schema | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})
            described = REQUEST_HEADERS | ({"Prefer": PREFER} if waits else {})
            operation["parameters"] += [
                {"in": "header", "name": name, "schema": TEXT, "required": False, "description": description}
                for name, description in described.items()
            ]
            for status, response in operation["responses"].items():
                if status >= 400:
                    response["content"] = dict.fromkeys([of_problems], *response["content"].values())
                elif len(response.get("content", ())) > 1:
                    del response["content"]["application/json"]  # a stream: ninja knows no other type
                elif status < 300 and operation["operationId"] in _LINKS:
                    response["links"] = _LINKS[operation["operationId"]]
                waited = _WAITED if waits and status < 400 else {}
                own = _OF_OPERATIONS.get(operation["operationId"], {}).get(status, {})
                headers = _REQUEST_ID | _TRACE | _BY_STATUS.get(status, {}) | waited | own
                response["headers"] = {
                    name: {"description": description, "schema": schema}
                    for name, (description, schema) in headers.items()
                }


def written_once(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Keep what a view gives: whoever asks has no key, and to make the document anew takes a quarter of a second."""
    kept: list[bytes] = []

    @require_safe
    def answer(request: HttpRequest) -> HttpResponse:
        if not kept:
            kept.append(view(request).content)
        return HttpResponse(kept[0], content_type="application/json")

    return answer


READ_FILE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["path"],
}
TOOL: Final[dict[str, Any]] = {
    "input_schema": READ_FILE,
    "description": "Read a file.",
    "max_attempts": 3,
    "expires_after": "12h",
}
CALL: Final[dict[str, Any]] = {
    "tool": "read_file",
    "tool_call_id": "call_abc",
    "arguments": {"path": 5},
    "session_id": "s-1",
    "turn": 4,
    "render": "openai",
    "context": {"goal": "Summarise the report"},
}
RAW_CALL: Final[dict[str, Any]] = {"tool": "read_file", "tool_call_id": "call_abc", "raw": '{"path": "report.txt"}'}
CHECK: Final[dict[str, Any]] = {"input_schema": READ_FILE, "arguments": {"path": 5}, "tool": "read_file"}
TOOL_LISTS: Final[dict[str, Any]] = {
    "OpenAI": {"value": [{"type": "function", "function": {"name": "read_file", "parameters": READ_FILE}}]},
    "Anthropic": {"value": [{"name": "read_file", "input_schema": READ_FILE}]},
    "MCP": {"value": {"tools": [{"name": "read_file", "inputSchema": READ_FILE}]}},
}


def _refuse_unfilled(session_id: str) -> str:
    if is_unfilled(session_id):
        raise ValueError(f"{ID_OF_ITS_OWN}")
    return session_id


_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_ONE_LINE)]
# What others name their things by has no length that is known here: `safe_identifier` gives what is kept of it.
GivenId = Annotated[str, StringConstraints(min_length=1, pattern=_ONE_LINE)]
# Any text is taken, also one that holds half a character, which pydantic refuses.
_AS_IT_IS = WrapValidator(lambda given, check: given if given and isinstance(given, str) else check(given))
# No agent can choose these, and what a model has written gets a verdict.
ProvidersId = Annotated[
    str, WithJsonSchema({"type": "string", "minLength": 1}), _AS_IT_IS, StringConstraints(min_length=1)
]
ModelsName = Annotated[str, WithJsonSchema({"type": "string"}), _AS_IT_IS]
AnyText = Annotated[str | None, WithJsonSchema({"type": "string"}), _AS_IT_IS]
_NOT_BLANK = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
SessionId = Annotated[str, StringConstraints(min_length=1, pattern=_NOT_BLANK), AfterValidator(_refuse_unfilled)]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=_ONE_LINE)]
# What a pattern asks for; itself it says nothing to whoever reads a refusal.
IN_WORDS: Final = {
    _ONE_LINE: "Write it in one line, without control characters.",
    _NOT_BLANK: "Write it in one line, without control characters, and not of blanks alone.",
    HASH: "Write the hash of a version: 64 digits and letters from a to f.",
    POINTER: "Write a JSON Pointer, which begins with /, or nothing for the whole.",
    EVENT_ID: "Write the id of an event: at most 18 digits.",
}
ONE_OUTPUT: dict[str, Any] = {"oneOf": [{"required": ["arguments"]}, {"required": ["raw"]}]}
# Where the model could not be asked there is no output: `arguments` is null. Only there is something given up.
UNASKED: dict[str, Any] = {"allOf": [
    {"anyOf": [
        {"properties": {"api_error": {"type": "null"}}},
        {"required": ["arguments"], "properties": {"arguments": {"type": "null"}}},
    ]},
    {"anyOf": [
        {"properties": {"gives_up": {"const": False}}},
        {"required": ["api_error"], "properties": {"api_error": {"type": "string"}}},
    ]},
]}  # fmt: skip
# Of a response it must be told where it stands.
PLACED: dict[str, Any] = {
    "if": {"properties": {"kind": {"const": "agent_response"}}, "required": ["kind"]},
    "then": {
        "properties": {"task_id": {"type": "string"}, "turn": {"type": "integer"}},
        "required": ["task_id", "turn"],
    },
}

OwnWords = Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
# The largest whole number that every reader of JSON keeps exactly (RFC 8259, 6).
MAX_TURN = 2**53 - 1
MAX_SECONDS = 365 * 86_400
# Admission says the rest; what a validator of JSON could say of it is the metaschema, in several drafts.
InputSchema = Annotated[JsonValue, WithJsonSchema({"type": ["object", "boolean"]})]


_TOOL_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": "^[ -~]+$"}
_NAMED = {"type": "object", "properties": {"name": _TOOL_NAME}, "required": ["name"]}
_TOOL = {
    "anyOf": [
        {"type": "object", "properties": {"function": _NAMED}, "required": ["function"]},
        _NAMED | {"properties": {"name": _TOOL_NAME, "function": {"not": {"type": "object"}}}},
    ]
}
_TOOLS = {"type": "array", "items": _TOOL, "maxItems": MAX_TOOLS}
# As OpenAI (chat), or as OpenAI (responses), Anthropic and MCP write them. The names may hold any printable character.
ToolList = Annotated[
    JsonValue,
    WithJsonSchema({"anyOf": [_TOOLS, {"type": "object", "properties": {"tools": _TOOLS}, "required": ["tools"]}]}),
]


def _a_number(value: Any, what: str = "a number") -> Any:
    """Refuse what pydantic would read a number from: the document says number, and "3" or true is none."""
    if isinstance(value, str | bool):
        raise ValueError(f"must be {what}")  # noqa: TRY004 - pydantic makes a fault of a ValueError only
    return value


def _a_whole_number(value: Any) -> Any:
    return _a_number(value, "a whole number")


AttemptCount = Annotated[int, Field(ge=1, le=10), BeforeValidator(_a_whole_number)]
TokenCount = Annotated[int, Field(ge=0, le=MAX_TOKENS), BeforeValidator(_a_whole_number)]
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False), BeforeValidator(_a_number)]
Turn = Annotated[int, Field(ge=-MAX_TURN, le=MAX_TURN), BeforeValidator(_a_whole_number)]

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _moment(value: str) -> str:
    """Refuse what pydantic would read a time from: the document says date-time, and seconds since 1970 are none."""
    if not _RFC_3339.fullmatch(value):
        raise ValueError("must be a time with its zone, as in 2030-01-01T12:00:00Z")
    return value


def _in_utc(value: datetime) -> datetime:
    """Give the same moment as databases keep it: with its zone it may lie before the first year, or after the last."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a time of the years 1 to 9999") from None


# Written as everywhere, by Django: in milliseconds, whoever writes the answer around it.
Time = Annotated[
    datetime,
    PlainSerializer(DjangoJSONEncoder().default, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
Moment = Annotated[AwareDatetime, BeforeValidator(_moment), AfterValidator(_in_utc)]

# A pattern cannot say that the text must not exceed 365d either.
_DURATION = {
    "anyOf": [
        {"type": "integer", "minimum": SHORTEST.total_seconds(), "maximum": LONGEST.total_seconds()},
        {"type": "string", "pattern": "^[0-9]{1,9}[smhd]?$"},
    ]
}
Duration = Annotated[
    timedelta,
    # 5.0 is 5 in JSON.
    BeforeValidator(lambda it: parse_duration(int(it) if isinstance(it, float) and it.is_integer() else it)),
    WithJsonSchema(_DURATION),
]
