"""OpenAI's chat completions, as all compatible servers speak them: platform.openai.com/docs/api-reference/chat."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from retrycontract.contract.schemas.tool_lists import DeclaredTool, read_tool_list
from retrycontract.proxy import wire

# What of an answer belongs into the next request. Providers refuse members that they do not know, and some that reason
# want their thoughts back with the calls that came of them.
REPEATED = (
    "role", "content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning", "reasoning_details",
)  # fmt: skip
DECLINED = frozenset({"content_filter"})
BEGINS = frozenset("<[{`")  # with one of these every dialect's mark of a call begins, or goes on
# What `functions` answer with, the older form of `tools`: one call without an id, for which this stands.
FUNCTION_CALL = "function_call"


class OpenAIChat:
    """Read and write chat completions."""

    name = "openai"
    heartbeat = b": retrycontract\n\n"

    def terms(self, request: wire.Body) -> wire.Terms:
        """Read tools, `response_format` and `tool_choice`, or `functions` and `function_call`."""
        listed, older = request.get("tools"), request.get("functions")
        functions = [tool for tool in listed if _is_function(tool)] if isinstance(listed, list) else []
        tools = tuple(read_tool_list([*functions, *(older if isinstance(older, list) else ())]))
        choice = request.get("tool_choice") if listed else request.get(FUNCTION_CALL)
        return wire.Terms(
            str(request.get("model", "")), tools, _output(request.get("response_format")),
            wire.demanded(choice, tools), request.get("stream") is True,
            unjudged=wire.names_of(listed) - {tool.name for tool in tools},
        )  # fmt: skip

    def read(self, body: wire.Body) -> wire.ModelAnswer:
        """Read the one choice; several are left to the client."""
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise ValueError("the answer holds no choice")
        choice, usage = choices[0], body.get("usage")
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ValueError("the answer's choice holds no message")  # noqa: TRY004 - it is a body that is none
        finish = choice.get("finish_reason")
        calls = tuple(
            wire.WrittenCall(wire.id_of(call, "id"), made["name"], made.get("arguments", made.get("input")), call)
            for call in message.get("tool_calls") or ()
            if (made := _made(call))
        )
        if isinstance(made := message.get(FUNCTION_CALL), dict) and isinstance(made.get("name"), str):
            calls = (*calls, wire.WrittenCall(FUNCTION_CALL, made["name"], made.get("arguments"), made))
        return wire.ModelAnswer(
            body, wire.text_of(message.get("content")), calls, finish if isinstance(finish, str) else None,
            wire.count(usage, "prompt_tokens"), wire.count(usage, "completion_tokens"),
            is_final=len(choices) > 1 or bool(message.get("refusal")) or finish in DECLINED,
        )  # fmt: skip

    def continued(self, request: wire.Body, answer: wire.ModelAnswer, replies: Sequence[wire.CallReply]) -> wire.Body:
        """Repeat the model's message and answer each of its calls."""
        message = answer.body["choices"][0]["message"]
        said = {name: message[name] for name in REPEATED if message.get(name) is not None}
        turn = {"role": "assistant", "content": None} | said
        return {**request, "messages": [*self.history(request), turn, *map(_told, replies)]}

    def told(self, request: wire.Body, text: str) -> wire.Body:
        """Add a message of the user's."""
        return {**request, "messages": [*self.history(request), wire.user_message(text)]}

    def final(self, answer: wire.FinalAnswer) -> wire.Body:
        """Put calls, text and usage in the place of the newest answer's."""
        choice = answer.base.body["choices"][0]
        message = {**choice["message"], "content": answer.text or None}
        message.pop("tool_calls", None)
        message.pop(FUNCTION_CALL, None)
        finish = _finish(answer)
        if finish == FUNCTION_CALL:
            message[FUNCTION_CALL] = _entry(answer.calls[0])
        elif answer.calls:
            message["tool_calls"] = [_entry(call) for call in answer.calls]
        body = {**answer.base.body, "choices": [{**choice, "message": message, "finish_reason": finish}]}
        return body if answer.usage is None else body | {"usage": answer.usage}

    def stream(self, terms: wire.Terms) -> wire.AnswerStream:
        """Begin an answer that comes as chunks."""
        holds_text = terms.output is not None or bool(terms.must_call)
        return ChatStream(holds_text=holds_text, watches=terms.rescues)

    def error(self, status: int, message: str) -> wire.Body:
        """Give `{"error": {…}}`."""
        return wire.openai_error(status, message)

    def error_event(self, error: wire.Body) -> bytes:
        """Give an event that the SDKs raise as an APIError."""
        return wire.event(error)

    def history(self, request: wire.Body) -> list[Any]:
        """Give the messages."""
        messages = request.get("messages")
        return messages if isinstance(messages, list) else []

    def said(self, body: wire.Body, text: str) -> list[Any]:
        """Give the message."""
        return [{**body["choices"][0]["message"], "content": text}]


@dataclass(slots=True)
class _CallParts:
    """Collect one call of a stream."""

    id: str
    function: wire.Assembled = field(default_factory=lambda: wire.Assembled(name="", arguments=""))
    custom: wire.Assembled = field(default_factory=wire.Assembled)
    others: wire.Body = field(default_factory=dict)

    @property
    def entry(self) -> wire.Body:
        if self.custom.members:
            return {
                "id": self.id,
                "type": "custom",
                **self.others,
                "custom": {"name": "", "input": "", **self.custom.members},
            }
        return {"id": self.id, "type": "function", **self.others, "function": self.function.members}


class ChatStream:
    """Put chunks together; with `holds_text` the text is what is judged, else calls are.

    With `watches` the text is held from the first sign on with which a call may begin.
    """

    def __init__(self, *, holds_text: bool, watches: bool = False) -> None:
        self._watches, self._spoken = watches, list[str]()
        self.holds_text, self.is_garbled, self.has_failed = holds_text, False, False
        self._envelope: wire.Body = {}
        self._message, self._finish = wire.Assembled(role="assistant", content=None), wire.Assembled()
        self._calls: list[_CallParts] = []
        self._places: dict[Any, _CallParts] = {}
        self._function_call = wire.Assembled()
        self._has_usage = self._has_several = False

    def feed(self, data: bytes) -> bool:
        """Take a chunk; what follows the first part of a call is held with it, so that nothing overtakes it."""
        if data != b"[DONE]":
            try:
                chunk = wire.parse(data)
                if wire.tells_error(chunk):
                    self.has_failed = True
                    return False
                self._take_chunk(chunk)
            except (ValueError, TypeError, AttributeError):
                self.is_garbled = True
        return self._has_calls or (self.holds_text and "content" in self._message)

    @property
    def _has_calls(self) -> bool:
        return bool(self._calls) or "name" in self._function_call

    @property
    def spoken(self) -> str:
        """Give the text before what is held."""
        return "".join(self._spoken)

    def _take_chunk(self, chunk: wire.Body) -> None:
        self._envelope |= {name: value for name, value in chunk.items() if name != "choices" and value is not None}
        self._has_usage = self._has_usage or chunk.get("usage") is not None
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) != 0:
                self._has_several = True
                continue
            delta = choice.get("delta") or {}
            if choice.get("finish_reason") is not None:
                self._finish = wire.Assembled(**{name: value for name, value in choice.items() if name != "delta"})
            for part in delta.get("tool_calls") or ():
                self._take_call(part)
            self._function_call.take(delta.get(FUNCTION_CALL) or {})
            if isinstance(said := delta.get("content"), str) and not self.holds_text and not self._has_calls:
                if self._watches and not BEGINS.isdisjoint(said):
                    self.holds_text = True
                else:
                    self._spoken.append(said)
            self._message.take({
                name: value for name, value in delta.items()
                if name not in ("role", "tool_calls", FUNCTION_CALL) and value not in (None, "")
            })  # fmt: skip

    def _take_call(self, part: wire.Body) -> None:
        """Add a part to its call: by its index, but some servers number every call 0 and give each an id."""
        place, name = part.get("index", 0), part.get("id")
        function, custom = part.get("function") or {}, part.get("custom") or {}
        call = self._places.get(place)
        if call is None or (function.get("name") and name not in (None, "", call.id)):
            self._places[place] = call = _CallParts(name or "")
            self._calls.append(call)
        call.function.take({key: value for key, value in function.items() if value is not None})
        call.custom.take({key: value for key, value in custom.items() if value is not None})
        taken = ("index", "id", "function", "custom")
        call.others |= {key: value for key, value in part.items() if key not in taken and value is not None}

    def body(self) -> wire.Body | None:
        """Give the chat completion; without its finish reason it broke off."""
        if "finish_reason" not in self._finish:
            return None
        message = self._message.members
        if self._calls:
            message["tool_calls"] = [call.entry for call in self._calls]
        if "name" in self._function_call:
            message[FUNCTION_CALL] = {"arguments": "", **self._function_call.members}
        # An empty second one is enough for `read` to leave several choices to the client.
        choices = [{"index": 0, **self._finish.members, "message": message}] + ([{}] if self._has_several else [])
        return {**self._envelope, "object": "chat.completion", "choices": choices}

    def events(self, final: wire.FinalAnswer, *, begun: bool) -> Iterator[bytes]:
        """Write what has not been said yet as chunks of this stream's id: role, text, calls, end, usage."""
        envelope = {name: value for name, value in self._envelope.items() if name != "usage"}
        envelope |= {"object": "chat.completion.chunk"}

        def chunk(delta: wire.Body, finish: str | None = None) -> bytes:
            return wire.event({**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        if not begun:
            yield chunk({"role": "assistant", "content": None if final.calls else ""})
        if final.text:
            yield chunk({"content": final.text})
        for place, call in enumerate(final.calls):
            entry = _entry(call)
            if call.id == FUNCTION_CALL:
                yield chunk({FUNCTION_CALL: {**entry, "arguments": ""}})
                yield chunk({FUNCTION_CALL: {"arguments": entry["arguments"]}})
                continue
            kind, member = ("custom", "input") if entry["type"] == "custom" else ("function", "arguments")
            written = entry[kind][member]
            yield chunk({"tool_calls": [{"index": place, **entry, kind: {**entry[kind], member: ""}}]})
            yield chunk({"tool_calls": [{"index": place, kind: {member: written}}]})
        yield chunk({}, _finish(final))
        if self._has_usage:
            yield wire.event({**envelope, "choices": [], "usage": final.usage})
        yield b"data: [DONE]\n\n"


def _is_function(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type", "function") == "function"


def _made(call: Any) -> wire.Body | None:
    """Give name and arguments of a call, of a function or of a custom tool; None for what is no call."""
    made = call.get("custom" if call.get("type") == "custom" else "function") if isinstance(call, dict) else None
    return made if isinstance(made, dict) and isinstance(made.get("name"), str) else None


def _output(response_format: Any) -> DeclaredTool | None:
    declared = response_format.get("json_schema") if isinstance(response_format, dict) else None
    if not isinstance(declared, dict) or declared.get("schema") is None:
        return None
    return DeclaredTool(str(declared.get("name") or "response"), "", declared["schema"])


def _entry(call: wire.WrittenCall) -> wire.Body:
    """Give a call as the API has it; a person's or a rescued one has no source."""
    if call.source is not None:
        source: wire.Body = call.source
        return source
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    made = {"name": call.name, "arguments": arguments}
    return made if call.id == FUNCTION_CALL else {"id": call.id, "type": "function", "function": made}


def _finish(answer: wire.FinalAnswer) -> str:
    if any(call.id == FUNCTION_CALL for call in answer.calls):
        return FUNCTION_CALL
    return "tool_calls" if answer.calls else "length" if answer.is_cut else "stop"


def _told(reply: wire.CallReply) -> wire.Body:
    if reply.call.id == FUNCTION_CALL:
        return {"role": "function", "name": reply.call.name, "content": reply.text}
    if reply.call.id:
        return {"role": "tool", "tool_call_id": reply.call.id, "content": reply.text}
    return wire.user_message(reply.text)
