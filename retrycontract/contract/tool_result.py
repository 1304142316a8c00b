"""The answer that goes back into the conversation, and the same answer in each provider's shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback_text import FORMAT

Provider = Literal["openai", "openai_responses", "anthropic", "mcp"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Answer one tool call: `content` is what the model reads, `metadata` the same for machines.

    `tool_call_id` is the provider's id of the attempt that it answers.
    """

    tool_call_id: str
    content: str
    is_error: bool = True
    role: str = "tool"
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the neutral shape: role, tool_call_id, content, is_error, metadata."""
        return {
            "role": self.role,
            "tool_call_id": self.tool_call_id,
            "content": self.content,
            "is_error": self.is_error,
            "metadata": self.metadata,
        }

    def render(self, provider: Provider) -> dict[str, Any]:
        """Give the provider's own shape, ready to be put into the conversation; raises ValueError for others."""
        try:
            renderer = RENDERERS[provider]
        except KeyError:
            raise ValueError(f"no rendering for {provider!r}; known are {', '.join(RENDERERS)}") from None
        return renderer(self)


def metadata(errors: tuple[ValidationError, ...], *, attempt: int, max_attempts: int, status: str) -> dict[str, Any]:
    """Build the machine-readable twin of a feedback text: every error, none cut."""
    return {
        "format": FORMAT,
        "status": status,
        "attempt": attempt,
        "max_attempts": max_attempts,
        "errors": [error.to_json() for error in errors],
    }


def _openai(result: ToolResult) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content}


def _openai_responses(result: ToolResult) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": result.tool_call_id, "output": result.content}


def _anthropic(result: ToolResult) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": result.content,
        "is_error": result.is_error,
    }


def _mcp(result: ToolResult) -> dict[str, Any]:
    # structuredContent must be plain JSON; the twin is, and is copied so that nobody edits ours.
    return {
        "content": [{"type": "text", "text": result.content}],
        "isError": result.is_error,
        "structuredContent": json.loads(json.dumps(result.metadata)),
    }


RENDERERS: dict[str, Callable[[ToolResult], dict[str, Any]]] = {
    "openai": _openai,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "mcp": _mcp,
}
