"""OpenAI's responses: platform.openai.com/docs/api-reference/responses, and their events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count as counting
from typing import Any

from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.proxy import wire
from retrycontract.proxy.contracts import read_declared

CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
# Calls of the provider's own tools that the client runs; what comes with them cannot be asked for alone.
CLIENTS_OWN = frozenset({"computer_call", "local_shell_call", "shell_call", "apply_patch_call"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
CALL_EVENTS = ("response.function_call", "response.custom_tool_call")
TEXT_EVENTS = ("response.output_text", "response.content_part")
WRITTEN = frozenset(
    {"response.function_call_arguments.done", "response.output_item.done", "response.output_item.added"}
)
NOT_DONE = frozenset({"queued", "in_progress", "failed", "cancelled"})
# Items with arguments that are no call of a client's function, beside those that are.
READ = frozenset({*CALLS, "mcp_call", "mcp_approval_request", "tool_search_call"})
# The items, which are read; and members of the request, whose schemas, words and notes may hold what looks like a call.
REPEATED = frozenset({"output", "tools", "tool_choice", "text", "instructions", "input", "prompt", "metadata"})


class OpenAIResponses(wire.Wire):
    """Read and write responses."""

    name = "openai_responses"

    def terms(self, request: wire.Body) -> wire.Terms:
        """Read functions, `text.format` and `tool_choice`."""
        listed = request.get("tools")
        functions = [tool for tool in wire.objects(listed) if tool.get("type") == "function"]
        tools, faults = read_declared(functions)
        wanted = (request.get("text") or {}).get("format")
        output = None
        if isinstance(wanted, dict) and wanted.get("schema") is not None:
            output = DeclaredTool(str(wanted.get("name") or "response"), "", wanted["schema"])
        searched = [item.get("tools") for item in wire.objects(_items(request))]  # tools that were loaded
        return wire.Terms(
            str(request.get("model", "")), tools, output, wire.demanded(request.get("tool_choice"), tools),
            request.get("stream") is True,
            unjudged=frozenset().union(wire.names_of(listed), *map(wire.names_of, searched)) - {t.name for t in tools},
            faults=faults,
        )  # fmt: skip

    def read(self, body: wire.Body) -> wire.ModelAnswer:
        """Read the items; what is not finished, failed or was declined is the client's."""
        items, usage, status = body.get("output"), body.get("usage"), body.get("status")
        if body.get("object", "response") != "response" or not isinstance(items, list):
            raise ValueError("the answer is no response")
        if holds_call_beside(body) or wire.holds_call([item for item in items if item.get("type") not in READ]):
            raise ValueError("the answer's calls cannot be read")
        reason = (body.get("incomplete_details") or {}).get("reason")
        parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
        own = [item["type"] for item in items if item.get("type") in CLIENTS_OWN]
        thoughts = tuple(item for item in items if item.get("type") == "reasoning")
        calls = tuple(
            wire.WrittenCall(
                wire.id_of(item, "call_id"),
                str(item.get("name")),
                item.get("arguments", item.get("input")),
                item,
                thoughts=thoughts,
            )
            for item in items
            if item.get("type") in CALLS
        )
        is_rewritten = False
        for item in items:
            if item.get("type") == "function_call" and isinstance(item.get("arguments"), dict):  # the API has text
                item["arguments"], is_rewritten = json.dumps(item["arguments"]), True
        is_declined = reason == "content_filter" or any(part.get("type") == "refusal" for part in parts)
        return wire.ModelAnswer(
            body, wire.text_of(parts), calls, reason or status, wire.count(usage, "input_tokens"),
            wire.count(usage, "output_tokens"),
            is_final=not calls and (status in NOT_DONE or is_declined or bool(own)),
            unmendable=f"it stands beside {own[0]}" if own else "the provider has declined" if is_declined
            else f"the response is {status}" if status in NOT_DONE else "",
            is_rewritten=is_rewritten,
        )  # fmt: skip

    def continued(self, request: wire.Body, answer: wire.ModelAnswer, replies: Sequence[wire.CallReply]) -> wire.Body:
        """Repeat the items and give each call its output; a conversation that the upstream keeps has them already."""
        told = []
        for reply in replies:
            call, output = reply.call, "function_call_output"
            if call.source is not None:
                output = CALLS[call.source["type"]]
            entry = {"type": output, "call_id": call.id, "output": reply.text}
            told.append(entry if call.id else wire.user_message(reply.text))
        if request.get("conversation"):
            return {**request, "input": told}
        items = answer.body["output"]
        if request.get("store") is False:
            # Thoughts that the upstream does not keep can be sent back in their encrypted form only.
            items = [item for item in items if item.get("type") != "reasoning" or item.get("encrypted_content")]
        return {**request, "input": [*_items(request), *items, *told]}

    def told(self, request: wire.Body, text: str) -> wire.Body:
        return {**request, "input": [*_items(request), wire.user_message(text)]}

    def final(self, answer: wire.FinalAnswer) -> wire.Body:
        """Put calls, text and usage in the place of the newest answer's."""
        body = {
            **answer.base.body,
            "output": _in_order(answer),
            **({} if answer.is_cut else {"status": "completed", "incomplete_details": None}),
        }
        return body if answer.usage is None else body | {"usage": answer.usage}

    def stream(self, terms: wire.Terms) -> wire.AnswerStream:
        return ResponseStream(self, holds_text=terms.output is not None or bool(terms.must_call) or terms.rescues)

    def error_event(self, error: wire.Body) -> bytes:
        """Give the event `error`, in both shapes: the SDKs raise the inner one only."""
        inner = error["error"] if isinstance(error.get("error"), dict) else {}
        told = {name: inner.get(name) for name in ("code", "message", "param")}
        return wire.event({"type": "error"} | told | error, "error")

    def history(self, request: wire.Body) -> list[Any]:
        """Give the items, after the instructions."""
        return _items(request)

    def said(self, body: wire.Body, text: str) -> list[Any]:  # noqa: ARG002 - a stream's last event has all its items
        return list(body["output"])


class ResponseStream(wire.AnswerStream):
    """Read along: the last event has the whole response."""

    def __init__(self, api: OpenAIResponses, *, holds_text: bool) -> None:
        super().__init__(holds_text=holds_text)
        self._api = api
        self._begun_as: wire.Body = {}
        self._response: wire.Body | None = None
        self._done: list[wire.Body] = []
        self._free = 0  # items of which the client has all
        self._next = 0
        self._parts: dict[str, list[str]] = {}
        self._written: list[Any] = []  # arguments, wherever events say them whole

    def take(self, document: wire.Body) -> None:
        """Take an event, and what it says of calls wherever it says that."""
        kind = document["type"]
        item = document.get("item") or {}
        self.holds = self.holds or self._is_judged(kind, document, item)
        if kind == "response.output_item.done":
            self._done.append(item)
            self._free += not self.holds
        elif kind in ENDS:
            self._response = document["response"]
        elif kind == "response.created":
            self._begun_as = document["response"]
        elif kind == "response.function_call_arguments.delta":
            place = str(document.get("item_id", document.get("output_index")))
            self._parts.setdefault(place, []).append(document["delta"])
        self._written += [told["arguments"] for told in (document, item)
                          if kind in WRITTEN and told.get("arguments")]  # fmt: skip
        if not self.holds:
            self._next = document.get("sequence_number", self._next) + 1

    def _is_judged(self, kind: str, document: wire.Body, item: wire.Body) -> bool:
        """Tell whether what is judged begins here; raises ValueError for what may be a call and cannot be read."""
        response = document.get("response") or {}
        output = response.get("output") or ()
        is_item = kind.startswith("response.output_item.")
        others = [value for name, value in document.items() if name not in ("response", "item")]
        is_stray = holds_call_beside(response) or (item.get("type") not in READ and wire.holds_call(item))
        if is_stray or wire.holds_call(others):
            raise ValueError("an event that may hold a call")
        if output and kind not in ENDS:
            raise ValueError("a response that begins with its items")
        texts = ("message",) if self.holds_text else ()
        found = [item] if is_item else output
        begins = (*CALL_EVENTS, *(TEXT_EVENTS if self.holds_text else ()))
        return kind.startswith(begins) or any(each.get("type") in (*CALLS, *texts) for each in found)

    @property
    def spoken(self) -> str:
        """Give the text of the items before what is held."""
        return wire.text_of([part for item in self._done[: self._free] for part in item.get("content") or ()])

    def body(self) -> wire.Body | None:
        """Give the response; some servers end without its items."""
        if self._response is None:
            return None
        whole = self._response if self._response.get("output") else {**self._response, "output": self._done}
        # Whichever of its events a client goes by, it has to read the calls that were judged.
        judged = [item.get("arguments") for item in whole["output"] if isinstance(item, dict)]
        written = [*self._written, *("".join(parts) for parts in self._parts.values())]
        self.is_garbled = self.is_garbled or any(each not in judged for each in written)
        return whole

    def events(self, final: wire.FinalAnswer, *, begun: bool) -> Iterator[bytes]:
        """Write text and calls as items that follow those which the client has, and the response that holds all."""
        numbers = counting(self._next)

        def made(kind: str, **members: Any) -> bytes:
            return wire.event({"type": kind, "sequence_number": next(numbers), **members}, kind)

        if not begun:
            yield made("response.created", response=self._begun_as)
        free = self._done[: self._free]
        had = {item.get("id") for item in free if item.get("type") == "reasoning"}
        listed = [item for item in _in_order(final) if item.get("type") in ("reasoning", "message", *CALLS)]
        new = [item for item in listed if item.get("id") not in had]
        for place, item in enumerate(new, len(free)):
            at = {"output_index": place}
            inner = {**at, "item_id": item["id"]}
            if item["type"] == "reasoning":
                yield made("response.output_item.added", **at, item=item)
            elif item["type"] == "message":
                part = item["content"][0]
                inner |= {"content_index": 0}
                yield made("response.output_item.added", **at, item={**item, "status": "in_progress", "content": []})
                yield made("response.content_part.added", **inner, part={**part, "text": ""})
                yield made("response.output_text.delta", **inner, delta=part["text"], logprobs=[])
                yield made("response.output_text.done", **inner, text=part["text"], logprobs=[])
                yield made("response.content_part.done", **inner, part=part)
            elif item["type"] == "custom_tool_call":
                yield made("response.output_item.added", **at, item={**item, "status": "in_progress", "input": ""})
                yield made("response.custom_tool_call_input.delta", **inner, delta=item["input"])
                yield made("response.custom_tool_call_input.done", **inner, input=item["input"])
            else:
                arguments, name = item["arguments"], item["name"]
                yield made("response.output_item.added", **at, item={**item, "status": "in_progress", "arguments": ""})
                yield made("response.function_call_arguments.delta", **inner, delta=arguments)
                yield made("response.function_call_arguments.done", **inner, arguments=arguments, name=name)
            yield made("response.output_item.done", **at, item=item)
        response = {**self._api.final(final), "output": [*free, *new]}
        yield made(f"response.{response['status']}", response=response)


def holds_call_beside(response: wire.Body) -> bool:
    """Tell whether a response has a call beside its items; what it repeats of the request may read like one."""
    return wire.holds_call({name: value for name, value in response.items() if name not in REPEATED})


def with_outputs(request: wire.Body, call_ids: Sequence[str], text: str) -> wire.Body:
    """Give a request that goes on from a response, with an output for each of these calls of it."""
    outputs = [{"type": "function_call_output", "call_id": call_id, "output": text} for call_id in call_ids]
    return {**request, "input": [*outputs, *_items(request)]}


def _items(request: wire.Body) -> list[Any]:
    given = request.get("input")
    return [wire.user_message(given)] if isinstance(given, str) else list(given) if isinstance(given, list) else []


def _in_order(answer: wire.FinalAnswer) -> list[wire.Body]:
    """Give a final answer's items; a call of an answer before comes behind its own thoughts, as the API wants it."""
    others = [item for item in answer.base.body["output"] if item.get("type") not in ("message", *CALLS)]
    kept = [call for call in answer.calls if not call.comes_of(others)]
    thoughts = {id(each): each for call in kept for each in call.thoughts}
    before = _made(replace(answer, text="", calls=tuple(kept)))
    rest = _made(replace(answer, calls=tuple(call for call in answer.calls if call not in kept)))
    return [*thoughts.values(), *before, *others, *rest]


def _made(answer: wire.FinalAnswer) -> list[wire.Body]:
    """Give what a final answer says as items."""
    part = {"type": "output_text", "text": answer.text, "annotations": []}
    message = {"id": f"msg_{answer.base.body.get('id')}", "type": "message", "role": "assistant",
               "status": "completed", "content": [part]}  # fmt: skip
    items: list[wire.Body] = [message] if answer.text else []
    for call in answer.calls:
        if call.source is not None and call.source["type"] == "custom_tool_call":
            items.append({"id": f"ctc_{call.id}", **call.source})
            continue
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        # A person's or a rescued one has no source.
        made = call.source or {"type": "function_call", "call_id": call.id, "name": call.name, "status": "completed"}
        items.append({"id": f"fc_{call.id}", **made, "arguments": arguments})
    return items
