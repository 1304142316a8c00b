"""The answer that goes back into the conversation, and the same answer in each provider's shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs.no_attempt import METADATA as NO_ATTEMPT_KEY
from retrycontract.contract.outputs.no_attempt import reason_of

FORMAT = "retrycontract/1"  # of the text and of its twin for machines
MAX_LISTED = 100  # errors of one submission that a reply lists; all are stored, and the text has a bound of its own
MAX_LISTED_CHARACTERS = 60_000  # of JSON in all places of a reply together, which has 64 kB
MAX_LISTED_TEXT = 300  # characters of each text of an error that has not the room alone
# In MCP the twin travels where no client looks for a tool's own result: clients hold `structuredContent` to the tool's
# output schema, and some refuse the whole answer over it, errors too.
MCP_META_KEY = "retrycontract/feedback"

Provider = Literal["openai", "openai_responses", "anthropic", "gemini", "mcp", "langchain", "pydantic_ai"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Answer one tool call: `content` is what the model reads, `metadata` the same for machines.

    `tool_call_id` is the provider's id of the attempt that it answers, `name` the tool's name, which some providers
    want beside it.
    """

    tool_call_id: str
    content: str
    is_error: bool = True
    role: str = "tool"
    metadata: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the neutral shape: role, tool_call_id, content, is_error, metadata, name."""
        return {
            "role": self.role,
            "tool_call_id": self.tool_call_id,
            "content": self.content,
            "is_error": self.is_error,
            "metadata": self.metadata,
            "name": self.name,
        }

    def render(self, provider: Provider) -> dict[str, Any]:
        """Give the provider's own shape, ready to be put into the conversation; raises ValueError for others."""
        try:
            renderer = RENDERERS[provider]
        except KeyError:
            raise ValueError(f"no rendering for {provider!r}; known are {', '.join(RENDERERS)}") from None
        return renderer(self)


ERROR = ErrorSeverity.ERROR.name.lower()  # as errors are stored


def metadata(errors: tuple[ValidationError, ...], *, attempt: int, max_attempts: int, status: str) -> dict[str, Any]:
    """Build the machine-readable twin of a feedback text: the first errors, and how many are left out."""
    told = [error.to_json() for error in errors]
    return stored_metadata(told, attempt=attempt, max_attempts=max_attempts, status=status)


def first_errors(told: list[dict[str, Any]], *, beside: str = "") -> tuple[list[dict[str, Any]], int]:
    """Give as many errors as a reply lists, the first ones, and how many are left out.

    `beside` is an id that a reply bears as well, once more where it is rendered.
    """
    room, listed = MAX_LISTED_CHARACTERS - 2 * len(json.dumps(beside)), list[dict[str, Any]]()
    for error in told[:MAX_LISTED]:
        # An error stands in the list, the twin and the rendered twin; each twin lists what only warns once more.
        room -= len(json.dumps(error)) * (3 if error["severity"] == ERROR else 5)
        if room < 0 and listed:
            break
        # One alone is too long where a model has made up a name of a megabyte.
        listed.append(error if room >= 0 else {name: _shortened(value) for name, value in error.items()})
    return listed, len(told) - len(listed)


def _shortened(value: Any) -> Any:
    # Imported here, since what is behind it takes time to import and a client never comes here.
    from retrycontract.contract.redaction.previews import elide_middle

    return elide_middle(value, MAX_LISTED_TEXT) if isinstance(value, str) else value


def stored_metadata(
    told: list[dict[str, Any]], *, attempt: int, max_attempts: int, status: str, beside: str = ""
) -> dict[str, Any]:
    """Build it of errors as they were stored; `no_attempt` says why an answer was none, where it was none."""
    told, left_out = first_errors(told, beside=beside)
    twin = {
        "format": FORMAT,
        "status": status,
        "attempt": attempt,
        "max_attempts": max_attempts,
        "errors": told,
        "warnings": [error for error in told if error["severity"] != ERROR],
    }
    if left_out:
        twin["errors_left_out"] = left_out
    reason = reason_of(told)
    return twin | {NO_ATTEMPT_KEY: reason} if reason else twin


def _openai(result: ToolResult) -> dict[str, Any]:
    """Chat Completions, a message of role `tool`: platform.openai.com/docs/guides/function-calling."""
    return {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content}


def _openai_responses(result: ToolResult) -> dict[str, Any]:
    """Responses, an input item: platform.openai.com/docs/guides/function-calling."""
    return {"type": "function_call_output", "call_id": result.tool_call_id, "output": result.content}


def _anthropic(result: ToolResult) -> dict[str, Any]:
    """Messages, a content block of the user's turn: docs.anthropic.com, tool use."""
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": result.content,
        "is_error": result.is_error,
    }


def _gemini(result: ToolResult) -> dict[str, Any]:
    """A part of the user's content: ai.google.dev/api/caching#FunctionResponse; `error` is the key for failures."""
    said = {"error" if result.is_error else "output": result.content}
    return {"functionResponse": {"id": result.tool_call_id, "name": result.name, "response": said}}


def _mcp(result: ToolResult) -> dict[str, Any]:
    """A CallToolResult: modelcontextprotocol.io/specification, server, tools."""
    rendered = {"content": [{"type": "text", "text": result.content}], "isError": result.is_error}
    return rendered | ({"_meta": {MCP_META_KEY: _own(result.metadata)}} if result.metadata else {})


def _langchain(result: ToolResult) -> dict[str, Any]:
    """The fields of a ToolMessage: reference.langchain.com, langchain_core.messages.ToolMessage.

    `artifact` is kept for the application and never sent to the model.
    """
    return {
        "type": "tool",
        "status": "error" if result.is_error else "success",
        "tool_call_id": result.tool_call_id,
        "name": result.name,
        "content": result.content,
        "artifact": _own(result.metadata),
    }


def _pydantic_ai(result: ToolResult) -> dict[str, Any]:
    """A part of a ModelRequest: ai.pydantic.dev/api/messages.

    Pydantic AI adds 'Fix the errors and try again.' to a RetryPromptPart, which a Blocked call must not be told: that
    one is a failed ToolReturnPart.
    """
    part = {"tool_name": result.name, "content": result.content, "tool_call_id": result.tool_call_id}
    if result.metadata.get("status") == Status.BLOCKED:
        return part | {"part_kind": "tool-return", "outcome": "failed"}
    return part | {"part_kind": "retry-prompt"}


def _own(metadata: dict[str, Any]) -> Any:
    """Copy the twin as plain JSON, so that nobody edits ours."""
    return json.loads(json.dumps(metadata))


RENDERERS: dict[Provider, Callable[[ToolResult], dict[str, Any]]] = {
    "openai": _openai,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
    "langchain": _langchain,
    "pydantic_ai": _pydantic_ai,
}
