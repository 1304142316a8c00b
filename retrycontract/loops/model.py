"""What a loop needs of a model: messages in, one completion out; messages have the shape of OpenAI's chat."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from retrycontract.contract.json_types import Schema

Message: TypeAlias = Mapping[str, Any]  # {"role": "user", "content": …}, with tool_calls and tool_call_id as in chat


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Hold one call that the model asks for; `arguments` are the text that it wrote, or the parsed value."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Count the tokens of one completion, as the provider reports them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """Hold what the model answered; `usage` is None where the provider reports none."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """Declare a tool that the model may call."""

    name: str
    description: str
    parameters: Schema


class Model(Protocol):
    """Complete a conversation; an asynchronous model gives an awaitable, and is for the asynchronous loops."""

    def complete(self, messages: Sequence[Message], /) -> Completion | Awaitable[Completion]:
        """Answer the messages."""


class ToolModel(Model, Protocol):
    """Complete a conversation with tools at hand: what extraction needs."""

    def complete(
        self, messages: Sequence[Message], /, *, tools: Sequence[OfferedTool] = ()
    ) -> Completion | Awaitable[Completion]:
        """Answer the messages, or call some of the tools."""


def as_message(completion: Completion) -> Message:
    """Give a completion as the assistant's message of the conversation that goes on."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]
    return {"role": "assistant", "content": completion.text} | ({"tool_calls": calls} if calls else {})
