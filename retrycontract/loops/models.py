"""What a loop needs of a model, in the shape of OpenAI's chat, and the clients of providers as such models.

Neither package is imported: the client is handed in, synchronous or asynchronous. Its own retries are switched off,
so that every request is one attempt of the loop's budget.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from retrycontract.contract.json_types import Schema
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.loops.failures import ModelApiError

Message: TypeAlias = Mapping[str, Any]  # {"role": "user", "content": …}, with tool_calls and tool_call_id as in chat


MOST_TOKENS = 2**31 - 1  # of one completion, as the service keeps them


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Hold one call that the model asks for; `arguments` are the text that it wrote, or the parsed value."""

    id: str
    name: str
    arguments: Any

    def __post_init__(self) -> None:
        """Take bytes for the text that they are."""
        object.__setattr__(self, "arguments", _decoded(self.arguments))


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

    def __post_init__(self) -> None:
        """Take bytes for the text that they are; raises TypeError for what is no text."""
        text = _decoded(self.text)
        if not isinstance(text, str):
            raise TypeError(f"a model answered with {type(text).__name__}: give a text or a Completion")
        object.__setattr__(self, "text", text)
        # What no provider can mean is no report: the run is not to end over a figure.
        tokens = [] if self.usage is None else [self.usage.input_tokens, self.usage.output_tokens]
        if not all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in tokens):
            object.__setattr__(self, "usage", None)


def _decoded(written: Any) -> Any:
    # What is not UTF-8 becomes halves of characters, which every check refuses.
    return bytes(written).decode("utf-8", "surrogateescape") if isinstance(written, bytes | bytearray) else written


def as_written(value: Any) -> str:
    """Write a value as a model would; what is no JSON, as Python shows it."""
    try:
        return value if isinstance(value, str) else json.dumps(value, default=str)
    except (TypeError, ValueError):  # keys that are no texts, a value within itself
        return str(value)
    except RecursionError:
        return "…"


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


MAX_TOKENS = 4_096  # Anthropic asks for a limit; every model of theirs can write this much


class OpenAIModel:
    """Ask through an `OpenAI` or `AsyncOpenAI` client, Azure's too; `options` go along with each request."""

    def __init__(self, client: Any, model: str, **options: Any) -> None:
        self._client, self._options = _without_retries(client), {"model": model, **options}
        self.name = model

    def complete(
        self, messages: Sequence[Message], /, *, tools: Sequence[OfferedTool] = ()
    ) -> Completion | Awaitable[Completion]:
        """Ask for a chat completion; raises what the client raises."""
        offered = [
            {
                "type": "function",
                "function": {"name": it.name, "description": it.description, "parameters": it.parameters},
            }
            for it in tools
        ]
        options = self._options | ({"tools": offered} if offered else {})
        answer = self._client.chat.completions.create(messages=[_openai_message(each) for each in messages], **options)
        return _read(answer, _openai_completion)


class AnthropicModel:
    """Ask through an `Anthropic` or `AsyncAnthropic` client; `options` go along with each request."""

    def __init__(self, client: Any, model: str, *, max_tokens: int = MAX_TOKENS, **options: Any) -> None:
        self._client, self.name = _without_retries(client), model
        self._options = {"model": model, "max_tokens": max_tokens, **options}

    def complete(
        self, messages: Sequence[Message], /, *, tools: Sequence[OfferedTool] = ()
    ) -> Completion | Awaitable[Completion]:
        """Ask for a message; raises what the client raises."""
        offered = [{"name": it.name, "description": it.description, "input_schema": it.parameters} for it in tools]
        options = self._options | ({"tools": offered} if offered else {})
        system = "\n\n".join(str(each["content"]) for each in messages if each["role"] in ("system", "developer"))
        options |= {"system": system} if system else {}
        translated: list[dict[str, Any]] = []
        for message in messages:
            if message["role"] in ("system", "developer"):
                continue
            role = "assistant" if message["role"] == "assistant" else "user"
            blocks = list(_blocks(message))
            # Anthropic wants the results of all calls of a turn in the one message that follows it.
            if translated and translated[-1]["role"] == role:
                translated[-1]["content"] += blocks
            else:
                translated.append({"role": role, "content": blocks})
        answer = self._client.messages.create(messages=translated, **options)
        return _read(answer, _anthropic_completion)


class CallableModel:
    """Ask a function: it takes the messages, and `tools=` where there are any, and gives text or a Completion."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def complete(
        self, messages: Sequence[Message], /, *, tools: Sequence[OfferedTool] = ()
    ) -> Completion | Awaitable[Completion]:
        """Call the function."""
        answer = self._function(messages, tools=tools) if tools else self._function(messages)
        return _read(answer, lambda made: made if isinstance(made, Completion) else Completion(made))


def as_model(model: Model | Callable[..., Any]) -> Model:
    if hasattr(model, "complete"):
        return model
    if not callable(model):
        raise TypeError(f"model is {model!r}: give a function of messages, or an object with a method complete")
    return CallableModel(model)


def _without_retries(client: Any) -> Any:
    if not callable(getattr(client, "with_options", None)):
        raise TypeError(f"client is {client!r:.80}: give a client of the provider's package")
    return client.with_options(max_retries=0)


def _read(answer: Any, reader: Callable[[Any], Completion]) -> Completion | Awaitable[Completion]:
    return _Awaited(answer, reader) if inspect.isawaitable(answer) else reader(answer)


class _Awaited:
    """Read an answer once it has come; it can be closed unawaited, as a coroutine can."""

    def __init__(self, answer: Any, reader: Callable[[Any], Completion]) -> None:
        self._answer, self._reader = answer, reader

    def __await__(self) -> Generator[Any, None, Completion]:
        return self._reader((yield from self._answer.__await__()))

    def close(self) -> None:
        if inspect.iscoroutine(self._answer):
            self._answer.close()


def _openai_message(message: Message) -> Message:
    # Anthropic's word for a failed call; OpenAI refuses members that it does not know.
    message = {name: value for name, value in message.items() if name != "is_error"}
    if "tool_calls" not in message:
        return message
    calls = []
    for call in message["tool_calls"]:
        given = call["function"]["arguments"]
        function = call["function"] | {"arguments": as_written(given)}
        calls.append({**call, "function": function})
    return {**message, "tool_calls": calls}


def _openai_completion(answer: Any) -> Completion:
    if not getattr(answer, "choices", None):  # compatible servers report their own failures so
        raise ModelApiError("the answer holds no choice")
    choice = answer.choices[0]
    if getattr(choice, "message", None) is None:
        raise ModelApiError("the answer holds no message")
    # A call of a custom tool has no function; none was offered here.
    calls = [call for call in choice.message.tool_calls or () if getattr(call, "function", None)]
    return Completion(
        text=_text_of(choice.message.content),
        tool_calls=tuple(ToolCall(call.id, call.function.name, call.function.arguments) for call in calls),
        usage=_usage(answer.usage, "prompt_tokens", "completion_tokens"),
        finish_reason=choice.finish_reason,
    )


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content,
               "is_error": bool(message.get("is_error"))}  # fmt: skip
        return
    if isinstance(content, str) and content.strip():  # an empty text block is refused
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from content
    for call in message.get("tool_calls") or ():
        arguments = call["function"]["arguments"]
        value = parse_json(arguments)[0] if isinstance(arguments, str) else arguments
        # The model's own mistake has to go back into the conversation, where the API takes nothing but an object.
        yield {"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
               "input": value if isinstance(value, dict) else {"arguments": arguments}}  # fmt: skip


def _anthropic_completion(answer: Any) -> Completion:
    content = getattr(answer, "content", None)
    if content is None:
        raise ModelApiError("the answer holds no content")
    blocks = [] if isinstance(content, str) else content
    calls = [block for block in blocks if block.type == "tool_use"]
    return Completion(
        text=_text_of([block for block in blocks if block.type == "text"] or content),
        tool_calls=tuple(ToolCall(call.id, call.name, call.input) for call in calls),
        usage=_usage(answer.usage, "input_tokens", "output_tokens"),
        finish_reason=answer.stop_reason,
    )


def _text_of(content: Any) -> str:
    """Join the texts of a content that came in parts, as some compatible servers write it."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(usage: Any, given: str, written: str) -> Usage | None:
    before, after = getattr(usage, given, None), getattr(usage, written, None)
    return Usage(before, after) if isinstance(before, int) and isinstance(after, int) else None
