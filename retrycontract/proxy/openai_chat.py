"""OpenAI's chat completions, as all compatible servers speak them: platform.openai.com/docs/api-reference/chat."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.proxy import wire
from retrycontract.proxy.contracts import read_declared

# What of an answer belongs into the next request. Providers refuse members that they do not know, and some that reason
# want their thoughts back with the calls that came of them.
REPEATED = (
    "role", "content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning", "reasoning_details",
)  # fmt: skip
DECLINED = frozenset({"content_filter"})
BEGINS = frozenset("<[{`")  # with one of these every dialect's mark of a call begins, or goes on
# What `functions` answer with, the older form of `tools`: one call without an id, for which this stands.
FUNCTION_CALL = "function_call"


class OpenAIChat(wire.Wire):
    """Read and write chat completions."""

    name = "openai"

    def terms(self, request: wire.Body) -> wire.Terms:
        """Read tools, `response_format` and `tool_choice`, or `functions` and `function_call`."""
        listed, older = request.get("tools"), request.get("functions")
        functions = [tool for tool in wire.objects(listed) if tool.get("type", "function") == "function"]
        tools, faults = read_declared([*functions, *(older if isinstance(older, list) else ())])
        choice = request.get("tool_choice") if listed else request.get(FUNCTION_CALL)
        response_format = request.get("response_format")
        declared = response_format.get("json_schema") if isinstance(response_format, dict) else None
        output = None
        if isinstance(declared, dict) and declared.get("schema") is not None:
            output = DeclaredTool(str(declared.get("name") or "response"), "", declared["schema"])
        return wire.Terms(
            str(request.get("model", "")), tools, output, wire.demanded(choice, tools), request.get("stream") is True,
            unjudged=wire.names_of(listed) - {tool.name for tool in tools}, faults=faults,
        )  # fmt: skip

    def read(self, body: wire.Body) -> wire.ModelAnswer:
        """Read the choices: of several none can be asked for again."""
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            raise ValueError("the answer holds no choice")
        if wire.holds_call({name: value for name, value in body.items() if name != "choices"}):
            raise ValueError("the answer's calls cannot be read")
        first, *others = (self._choice(body, choice) for choice in choices)
        several = "it is one of several choices" if others else ""
        return replace(first, choices=tuple(others), unmendable=first.unmendable or several)

    def _choice(self, body: wire.Body, choice: wire.Body) -> wire.ModelAnswer:
        message, usage, finish = choice.get("message"), body.get("usage"), choice.get("finish_reason")
        if not isinstance(message, dict):
            raise ValueError("the answer's choice holds no message")  # noqa: TRY004 - it is a body that is none
        listed, made = message.get("tool_calls"), message.get(FUNCTION_CALL)
        rest = [message | {"tool_calls": None, FUNCTION_CALL: None}, choice | {"message": None}]
        if not isinstance(listed, list | None) or not isinstance(made, dict | None) or wire.holds_call(rest):
            raise ValueError("the answer's calls cannot be read")
        made = made if made and any(made.values()) else None  # some servers have an empty one in every answer
        is_rewritten, entries = False, list[tuple[wire.Body, wire.Body]]()
        for call in listed or ():
            inner = call.get("custom" if call.get("type") == "custom" else "function")
            if not isinstance(inner, dict):
                raise ValueError("one of the answer's calls cannot be read")  # noqa: TRY004 - it is a body that is none
            entries.append((call, inner))
        for inner in [inner for _, inner in entries] + ([made] if made else []):
            if isinstance(inner.get("arguments"), dict):  # the API has them as text
                inner["arguments"], is_rewritten = json.dumps(inner["arguments"]), True
        calls = tuple(
            wire.WrittenCall(wire.id_of(call, "id"), _name(inner), inner.get("arguments", inner.get("input")), call)
            for call, inner in entries
        )
        if made:
            calls = (*calls, wire.WrittenCall(FUNCTION_CALL, _name(made), made.get("arguments"), made))
        is_declined = bool(message.get("refusal")) or finish in DECLINED
        return wire.ModelAnswer(
            body, wire.text_of(message.get("content")), calls, finish if isinstance(finish, str) else None,
            wire.count(usage, "prompt_tokens"), wire.count(usage, "completion_tokens"),
            is_final=is_declined and not calls, unmendable="the provider has declined" if is_declined else "",
            is_rewritten=is_rewritten,
        )  # fmt: skip

    def continued(self, request: wire.Body, answer: wire.ModelAnswer, replies: Sequence[wire.CallReply]) -> wire.Body:
        """Repeat the model's message and answer each of its calls."""
        message = answer.body["choices"][0]["message"]
        said = {name: message[name] for name in REPEATED if message.get(name) is not None}
        turn = {"role": "assistant", "content": None} | said
        answers: list[wire.Body] = []
        for reply in replies:
            if reply.call.id == FUNCTION_CALL:
                answers.append({"role": "function", "name": reply.call.name, "content": reply.text})
            elif reply.call.id:
                answers.append({"role": "tool", "tool_call_id": reply.call.id, "content": reply.text})
            else:
                answers.append(wire.user_message(reply.text))
        # One choice is mended, whatever was asked for.
        return {
            **request,
            **({"n": 1} if "n" in request else {}),
            "messages": [*self.history(request), turn, *answers],
        }

    def told(self, request: wire.Body, text: str) -> wire.Body:
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
        holds_text = terms.output is not None or bool(terms.must_call)
        return ChatStream(holds_text=holds_text, watches=terms.rescues)

    def error_event(self, error: wire.Body) -> bytes:
        """Give an event that the SDKs raise as an APIError."""
        return wire.event(error)

    def said(self, body: wire.Body, text: str) -> list[Any]:
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


@dataclass(slots=True)
class _ChoiceParts:
    """Collect one choice of a stream."""

    message: wire.Assembled = field(default_factory=lambda: wire.Assembled(role="assistant", content=None))
    finish: wire.Assembled = field(default_factory=wire.Assembled)
    calls: list[_CallParts] = field(default_factory=list)
    places: dict[Any, _CallParts] = field(default_factory=dict)
    function_call: wire.Assembled = field(default_factory=wire.Assembled)

    @property
    def has_calls(self) -> bool:
        """Tell whether a call has begun."""
        return bool(self.calls or self.function_call.members)

    def take(self, told: wire.Body) -> wire.Body:
        """Add what a chunk says of it, and give that; some servers say `message` for it, or end with the whole one."""
        delta, message = told.get("delta") or {}, told.get("message") or {}
        others = {name: value for name, value in told.items() if name not in ("delta", "message")}
        if told.get("finish_reason") is not None:
            self.finish = wire.Assembled(**others)
        if message and (self.has_calls or "content" in self.message) and not (delta or wire.holds_call(others)):
            written = [call.function.members for call in self.calls]
            again = [call.get("function") or {} for call in message.get("tool_calls") or ()]
            came, repeated = ([(it.get("name"), it.get("arguments")) for it in each] for each in (written, again))
            if again and came != repeated:
                raise ValueError("the end does not repeat the calls that came")
            delta = {}
        elif message and not delta:
            calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls") or ())]
            delta = message | {"tool_calls": calls}
        rest = {name: value for name, value in delta.items() if name not in ("tool_calls", FUNCTION_CALL)}
        if wire.holds_call([others, rest, message if told.get("delta") else None]):
            raise ValueError("calls where none are read")
        for part in delta.get("tool_calls") or ():
            # A part belongs to the call of its index, but some servers number every call 0 and give each an id.
            place, name = part.get("index", 0), part.get("id")
            function, custom = part.get("function") or {}, part.get("custom") or {}
            call = self.places.get(place)
            if call is None or (function.get("name") and name not in (None, "", call.id)):
                self.places[place] = call = _CallParts(name or "")
                self.calls.append(call)
            call.function.take({key: value for key, value in function.items() if value is not None})
            call.custom.take({key: value for key, value in custom.items() if value is not None})
            taken = ("index", "id", "function", "custom")
            call.others |= {key: value for key, value in part.items() if key not in taken and value is not None}
        made = delta.get(FUNCTION_CALL) or {}
        self.function_call.take({name: value for name, value in made.items() if value not in (None, "")})
        self.message.take({name: value for name, value in rest.items() if name != "role" and value not in (None, "")})
        return rest

    def whole(self, index: Any) -> wire.Body | None:
        """Give it as it would have come whole."""
        if "finish_reason" not in self.finish:
            return None
        message = self.message.members
        if self.calls:
            message["tool_calls"] = [call.entry for call in self.calls]
        if self.function_call.members:
            message[FUNCTION_CALL] = {"arguments": "", **self.function_call.members}
        return {"index": index, **self.finish.members, "message": message}


class ChatStream(wire.AnswerStream):
    """Put chunks together; with `watches` the text is held from the first sign on with which a call may begin."""

    def __init__(self, *, holds_text: bool, watches: bool) -> None:
        super().__init__(holds_text=holds_text)
        self._watches, self._spoken = watches, list[str]()
        self._envelope: wire.Body = {}
        self._choices: dict[Any, _ChoiceParts] = {}
        self._has_usage = False

    @property
    def spoken(self) -> str:
        return "".join(self._spoken)

    def take(self, document: wire.Body) -> None:
        """Take a chunk; what follows the first part of a call is held with it, so that nothing overtakes it."""
        self._envelope |= {name: value for name, value in document.items() if name != "choices" and value is not None}
        self._has_usage = self._has_usage or document.get("usage") is not None
        if wire.holds_call({name: value for name, value in document.items() if name != "choices"}):
            raise ValueError("a call where none is read")
        for told in document.get("choices") or ():
            choice = self._choices.setdefault(told.get("index") or 0, _ChoiceParts())
            has_had_calls = choice.has_calls
            delta = choice.take(told)
            said = delta.get("content")
            if isinstance(said, str) and not (self.holds_text or has_had_calls or choice.has_calls):
                if self._watches and not BEGINS.isdisjoint(said):
                    self.holds_text = True
                elif choice is self._choices.get(0):
                    self._spoken.append(said)
            self.holds = self.holds or choice.has_calls or (self.holds_text and "content" in choice.message)

    def body(self) -> wire.Body | None:
        """Give the chat completion; without a finish reason it broke off."""
        found = [choice.whole(index) for index, choice in sorted(self._choices.items())]
        if not found or None in found:
            return None
        return {**self._envelope, "object": "chat.completion", "choices": found}

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


def _name(made: wire.Body) -> str:
    """Give the name of the tool; a call without one is of no tool that was declared."""
    return name if isinstance(name := made.get("name"), str) else ""


def _entry(call: wire.WrittenCall) -> wire.Body:
    """Give a call as the API has it; a person's or a rescued one has no source."""
    source: wire.Body = call.source or {}
    if source.get("type") == "custom":
        return source
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    if call.id == FUNCTION_CALL and source:
        return {**source, "arguments": arguments}
    if source:
        return {**source, "function": {**source["function"], "arguments": arguments}}
    made = {"name": call.name, "arguments": arguments}
    return made if call.id == FUNCTION_CALL else {"id": call.id, "type": "function", "function": made}


def _finish(answer: wire.FinalAnswer) -> str:
    if any(call.id == FUNCTION_CALL for call in answer.calls):
        return FUNCTION_CALL
    return "tool_calls" if answer.calls else "length" if answer.is_cut else "stop"
