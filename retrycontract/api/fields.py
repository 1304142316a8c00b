"""What pydantic's types do not say of the API's fields, and the examples of the OpenAPI document; a test sends each."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, JsonValue, StringConstraints, WithJsonSchema

from retrycontract.contract.configuration import LONGEST, SHORTEST, parse_duration
from retrycontract.contract.generation import MAX_TOKENS
from retrycontract.contract.schemas.tool_lists import MAX_NAME, MAX_TOOLS

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

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
ONE_OUTPUT: dict[str, Any] = {"oneOf": [{"required": ["arguments"]}, {"required": ["raw"]}]}
# Where the model could not be asked there is no output: `arguments` is null.
UNASKED: dict[str, Any] = {"allOf": [{"anyOf": [
    {"properties": {"api_error": {"type": "null"}}},
    {"required": ["arguments"], "properties": {"arguments": {"type": "null"}}},
]}]}  # fmt: skip
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


def _duration(value: Any) -> timedelta:
    return parse_duration(int(value) if isinstance(value, float) and value.is_integer() else value)  # 5.0 is 5 in JSON


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


Moment = Annotated[AwareDatetime, BeforeValidator(_moment), AfterValidator(_in_utc)]

# A pattern cannot say that the text must not exceed 365d either.
_DURATION = {
    "anyOf": [
        {"type": "integer", "minimum": SHORTEST.total_seconds(), "maximum": LONGEST.total_seconds()},
        {"type": "string", "pattern": "^[0-9]{1,9}[smhd]?$"},
    ]
}
Duration = Annotated[timedelta, BeforeValidator(_duration), WithJsonSchema(_DURATION)]
