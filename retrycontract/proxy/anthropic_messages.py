"""Anthropic's messages: docs.anthropic.com/en/api/messages, streaming, tool use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.proxy import wire
from retrycontract.proxy.contracts import read_declared

# The provider's own ends: declined, or a pause in which its server's tools run.
NOT_TO_MEND = frozenset({"refusal", "pause_turn"})
# Blocks with an input: calls, and what the provider runs itself.
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
RUN = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# Which member of a block a part of a stream goes on with.
PARTS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking",
         "signature_delta": "signature"}  # fmt: skip


class AnthropicMessages(wire.Wire):
    """Read and write messages."""

    name = "anthropic"
    begins_with_thoughts = True
    heartbeat = b'event: ping\ndata: {"type": "ping"}\n\n'

    def terms(self, request: wire.Body) -> wire.Terms:
        """Read tools, `output_format` (or `output_config.format`) and `tool_choice`."""
        listed = request.get("tools")
        # What the provider's servers run, and its own tools for clients (bash, text editor), have a type and no schema.
        own = [tool for tool in wire.objects(listed) if "input_schema" in tool]
        (tools, faults), choice = read_declared(own), request.get("tool_choice")
        kind = choice.get("type") if isinstance(choice, dict) else None
        must_call = tuple(tool.name for tool in tools) if kind == "any" else ()
        if kind == "tool" and isinstance(choice, dict):
            must_call = (str(choice.get("name")),)
        wanted = request.get("output_format") or (request.get("output_config") or {}).get("format")
        schema = wanted.get("schema") if isinstance(wanted, dict) else None
        output = DeclaredTool("response", "", schema) if schema is not None else None
        return wire.Terms(
            str(request.get("model", "")), tools, output, must_call, request.get("stream") is True,
            unjudged=wire.names_of(listed) - {tool.name for tool in tools}, faults=faults,
        )  # fmt: skip

    def read(self, body: wire.Body) -> wire.ModelAnswer:
        blocks, usage, finish = body.get("content"), body.get("usage"), body.get("stop_reason")
        if body.get("type", "message") != "message" or not isinstance(blocks, list):
            raise ValueError("the answer is no message")
        others = [block for block in blocks if block.get("type") not in RUN]
        if wire.holds_call([body | {"content": None}, others]) or any("input" in block for block in others):
            raise ValueError("the answer's calls cannot be read")
        made = [block for block in blocks if block.get("type") == "tool_use"]
        is_rewritten = False
        for block in made:
            if isinstance(written := block.get("input"), str):  # the API has an object
                value, fault = parse_json(written)
                block["input"], is_rewritten = (written, is_rewritten) if fault else (value, True)
        thoughts = tuple(block for block in blocks if block.get("type") in THOUGHTS)
        calls = tuple(
            wire.WrittenCall(
                wire.id_of(block, "id"), str(block.get("name")), block.get("input"), block, thoughts=thoughts
            )
            for block in made
        )
        is_declined = finish in NOT_TO_MEND
        return wire.ModelAnswer(
            body, wire.text_of(blocks), calls, finish, wire.count(usage, "input_tokens"),
            wire.count(usage, "output_tokens"), is_final=is_declined and not calls,
            unmendable="the provider has declined, or pauses" if is_declined else "", is_rewritten=is_rewritten,
        )  # fmt: skip

    def continued(self, request: wire.Body, answer: wire.ModelAnswer, replies: Sequence[wire.CallReply]) -> wire.Body:
        """Repeat the model's blocks, thoughts and signatures too, and answer each call; results come first."""
        # Anthropic refuses an empty block of text, although it may have sent one.
        said = [
            {**block, "input": wire.sendable(block.get("input"))} if block.get("type") == "tool_use" else block
            for block in answer.body["content"]
            if block.get("type") != "text" or block.get("text")
        ]
        results = [
            {"type": "tool_result", "tool_use_id": reply.call.id, "content": reply.text, "is_error": reply.is_error}
            for reply in replies
            if reply.call.id
        ]
        told = [*results, *({"type": "text", "text": reply.text} for reply in replies if not reply.call.id)]
        turns = [{"role": "assistant", "content": said}] if said else []
        return {**request, "messages": [*self.history(request), *turns, {"role": "user", "content": told}]}

    def told(self, request: wire.Body, text: str) -> wire.Body:
        """Add a message of the user's; two in a row are one to the provider."""
        return {**request, "messages": [*self.history(request), {"role": "user", "content": text}]}

    def final(self, answer: wire.FinalAnswer) -> wire.Body:
        """Put calls, text and usage in the place of the newest answer's."""
        others = [block for block in answer.base.body["content"] if block.get("type") not in ("text", "tool_use")]
        said = [{"type": "text", "text": answer.text}] if answer.text else []
        # Of the answers before, once each, in the place where the API wants them: before everything else.
        kept = {id(each): each for call in answer.calls if not call.comes_of(others) for each in call.thoughts}
        body = {**answer.base.body, "content": [*kept.values(), *others, *said, *map(_entry, answer.calls)],
                "stop_reason": _stop(answer), "stop_sequence": None}  # fmt: skip
        return body if answer.usage is None else body | {"usage": answer.usage}

    def stream(self, terms: wire.Terms) -> wire.AnswerStream:
        return MessageStream(holds_text=terms.output is not None or bool(terms.must_call) or terms.rescues)

    def error(self, status: int, message: str) -> wire.Body:
        """Give `{"type": "error", …}`."""
        kind = "invalid_request_error" if status < 500 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self, error: wire.Body) -> bytes:
        return wire.event({"type": "error"} | error, "error")

    def said(self, body: wire.Body, text: str) -> list[Any]:
        calls = [block for block in body["content"] if block.get("type") == "tool_use"]
        return [{"role": "assistant", "content": [{"type": "text", "text": text}, *calls]}]


class MessageStream(wire.AnswerStream):
    """Put blocks together; a block of text or thoughts is whole before the next one begins."""

    def __init__(self, *, holds_text: bool) -> None:
        super().__init__(holds_text=holds_text)
        self._message: wire.Body = {}
        self._blocks: dict[int, wire.Assembled] = {}
        self._end: wire.Body = {}
        self._usage: wire.Body = {}
        self._held_from: int | None = None

    def take(self, document: wire.Body) -> None:
        """Take an event; a block that goes on was begun."""
        match document["type"]:
            case "message_start":
                self._message = document["message"]
                if self._message.get("content"):
                    raise ValueError("a message that begins with its blocks")
                self._usage |= _told(self._message.get("usage"))
            case "content_block_start":
                index, begun = document["index"], document["content_block"]
                may_be_call = begun.get("type") not in RUN and (wire.holds_call(begun) or "input" in begun)
                if index in self._blocks or may_be_call:
                    raise ValueError("a block that may be a call")
                self._blocks[index] = wire.Assembled(
                    **{n: v for n, v in begun.items() if not (isinstance(v, str) and v == "")}
                )
                is_judged = begun.get("type") == "tool_use" or (self.holds_text and begun.get("type") == "text")
                if is_judged and self._held_from is None:
                    self._held_from, self.holds = index, True
            case "content_block_delta":
                delta, block = document["delta"], self._blocks[document["index"]]
                part = PARTS.get(delta["type"])
                if part == "partial_json" and block.members.get("type") not in RUN:
                    raise ValueError("the input of a block that is no call")
                if part is not None:
                    block.take({part: delta[part]})
                elif "citation" in delta:
                    block.take({"citations": [*(block.members.get("citations") or ()), delta["citation"]]})
            case "message_delta":
                if document["delta"].get("content"):
                    raise ValueError("blocks in the end of a message")
                self._end |= document["delta"]
                self._usage |= _told(document.get("usage"))
            case _ if wire.holds_call(document) or {"content", "input", "content_block"} & set(document):
                raise ValueError("an event that may hold a call")

    @property
    def spoken(self) -> str:
        """Give the text of the blocks before what is held."""
        before = [
            each.members for index, each in self._blocks.items() if self._held_from is None or index < self._held_from
        ]
        return wire.text_of(before)

    def body(self) -> wire.Body | None:
        # Without an end nobody knows whether another block was still to come.
        if self._end.get("stop_reason") is None:
            return None
        blocks = []
        for index in sorted(self._blocks):
            block = self._blocks[index].members
            # As it would have come whole: the arguments parsed, or as text where they are no JSON.
            if "partial_json" in block:
                text = block.pop("partial_json")
                if block.get("input"):
                    raise ValueError("a block that begins with an input, and goes on with one")
                value, fault = parse_json(text)
                block["input"] = text if fault else value
            blocks.append(block | {"text": block.get("text", "")} if block.get("type") == "text" else block)
        return {**self._message, "content": blocks, **self._end, "usage": self._usage}

    def events(self, final: wire.FinalAnswer, *, begun: bool) -> Iterator[bytes]:
        """Write text and calls as blocks that follow those which the client has."""
        # The client has had the beginning of the first answer, and a message begins once.
        if not begun:
            yield wire.event({"type": "message_start", "message": self._message}, "message_start")
        index = len(self._blocks) if self._held_from is None else self._held_from
        blocks: list[tuple[wire.Body, wire.Body]] = []
        if final.text:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": final.text}))
        for entry in map(_entry, final.calls):
            # As the API does it: a block begins with an empty object, and its arguments follow as deltas.
            written = {"type": "input_json_delta", "partial_json": json.dumps(entry["input"])}
            blocks.append(({**entry, "input": {}}, written))
        for place, (block, delta) in enumerate(blocks, index):
            start = {"type": "content_block_start", "index": place, "content_block": block}
            yield wire.event(start, "content_block_start")
            yield wire.event({"type": "content_block_delta", "index": place, "delta": delta}, "content_block_delta")
            yield wire.event({"type": "content_block_stop", "index": place}, "content_block_stop")
        delta = {"stop_reason": _stop(final), "stop_sequence": None}
        yield wire.event({"type": "message_delta", "delta": delta, "usage": final.usage or {}}, "message_delta")
        yield wire.event({"type": "message_stop"}, "message_stop")


def _told(usage: Any) -> wire.Body:
    """Give what is told of the usage; later events repeat numbers, or leave them null."""
    return {name: value for name, value in usage.items() if value is not None} if isinstance(usage, Mapping) else {}


def _stop(answer: wire.FinalAnswer) -> str:
    return "tool_use" if answer.calls else "max_tokens" if answer.is_cut else "end_turn"


def _entry(call: wire.WrittenCall) -> wire.Body:
    """Give a call as a block; a person's or a rescued one has no source."""
    made = call.source or {"type": "tool_use", "id": call.id, "name": call.name}
    return {**made, "input": wire.json_object(call.arguments)}
