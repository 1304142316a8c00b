"""JSON-RPC messages as they were sent: read for what the gateway must know, changed where it must, never written anew.

A message that was parsed and serialised again would lose what its reader cannot hold: lone surrogates, numbers beyond a
float, the first of two equal keys. Only what is put in is written here.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeAlias

from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.outputs.json_text import depth_of, end_of_value, members_of, read_json
from retrycontract.judging import as_text
from retrycontract.mcp.json_places import (
    equal_keys,
    items_from,
    members_at,
    replaced,
    skip,
    stands_once,
    start_of,
)

ENVELOPE: Final = "io.modelcontextprotocol/"  # what a client of the stateless protocol (2026) sends with every request
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
PARSE_ERROR, INVALID_REQUEST, CONNECTION_CLOSED = -32700, -32600, -32000
DEEPEST: Final = 500  # levels; Python reads somewhat more, depending on where it is asked to
LONGEST_INTEGER: Final = 4000  # digits; Python refuses to read more than 4300
DECIDES: Final = ("method", "params", "name", "arguments")  # two of them could mean one call here and another there

# Where arguments travel through the SDK as they were written. New in each process: no client can write it.
RAW = f"retrycontract/{uuid.uuid4().hex}"

RequestId: TypeAlias = str | int | float


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float("-inf" if digits.startswith("-") else "inf")


_DECODER = json.JSONDecoder(parse_int=_integer)
_EMPTY = {"{": "{}", "[": "[]"}
MOST_AT_ONCE: Final = 100  # messages of one list
MANY = 20_000  # values and characters; to make so many takes 2 to 15 ms, in which the interpreter serves nobody else
# For lines that break off: a string counts although the line ends in it, a number only where something follows that
# ends it, for the rest of an id would make it another one.
MOST_TOKENS: Final = 200_000  # of a line that cannot be read, in which its id is looked for
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},:]|-?\d+(?=[\s,}])', re.DOTALL)


class UnreadableMessageError(ValueError):
    """Raised for a line that is no JSON, or nests too deep; `request_id` is what can be made out of it."""

    code = PARSE_ERROR

    def __init__(self, text: str, *, is_too_deep: bool) -> None:
        self.text, self.is_too_deep = text, is_too_deep
        super().__init__("nested too deeply to be read" if is_too_deep else "no JSON")

    @property
    def request_id(self) -> RequestId | None:
        """Look for the id, token by token, which not everybody asks for."""
        return _id_in(self.text)


class TooManyMessagesError(UnreadableMessageError):
    """Raised for a list of more messages than are taken at once."""

    code = INVALID_REQUEST

    def __init__(self, text: str) -> None:
        super().__init__(text, is_too_deep=False)
        self.args = (f"a list of more than {MOST_AT_ONCE}: send fewer at once",)

    @property
    def request_id(self) -> None:
        """Name none: a list has no id."""
        return


@dataclass(slots=True)
class Message:
    """Hold a message as it was sent, and as it reads: `method`, the `id` if it can be answered, and its `key`."""

    text: str
    value: Mapping[str, Any]
    method: str | None = field(init=False)
    id: RequestId | None = field(init=False)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        """Look at what is asked for again and again on a message's way."""
        method, found = self.value.get("method"), self.value.get("id")
        self.method = method if isinstance(method, str) else None
        # To Python `true` is an integer, to JSON-RPC it is no id.
        self.id = found if isinstance(found, str | int | float) and not isinstance(found, bool) else None
        self.key = key_of(self.id)

    @property
    def params(self) -> Mapping[str, Any]:
        params = self.value.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def meta(self) -> Mapping[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_request(self) -> bool:
        """Tell whether an answer is owed."""
        return self.method is not None and self.id is not None

    @property
    def is_call(self) -> bool:
        return self.method == "tools/call" and isinstance(self.params.get("name"), str)

    @property
    def is_answer(self) -> bool:
        """Tell whether a request is answered here."""
        return "method" not in self.value and ("result" in self.value or "error" in self.value)

    @property
    def has_two_methods(self) -> bool:
        """Tell whether it can be read as two different requests."""
        return not stands_once(self.text, "method") and equal_keys(self.text, "method") is not None

    @property
    def repeated(self) -> str | None:
        """Name a key that appears twice although only one can be meant."""
        if all(stands_once(self.text, name) for name in DECIDES):
            return None
        where = [start_of(self.text, ()), start_of(self.text, ("params",))]
        for start in where:
            names = Counter(name for name, _, _ in members_at(self.text, start) if name in DECIDES)
            if twice := next((name for name, count in names.items() if count > 1), None):
                return twice
        return None

    @property
    def output(self) -> Any:
        """Give a call's arguments as they are judged: their own text where it holds what JSON does not allow."""
        if self.params.get("arguments") is None:
            return {}
        if not stands_once(self.text, "arguments"):
            return output_at(self.text, "params", "arguments")
        # Its name is there, and only there: nothing before it has to be walked through.
        after = skip(self.text, self.text.index('"arguments"') + len('"arguments"'))
        return _as_judged(self.text, skip(self.text, after + 1))

    def with_arguments(self, arguments: Any) -> Message:
        """Put other arguments into a tools/call."""
        written = json.dumps(arguments)
        if start_of(self.text, ("params", "arguments"), any_value=True) is None:
            return read_message(self._with_first(("params",), f'"arguments": {written}'))
        return read_message(replaced(self.text, ("params", "arguments"), written))

    def with_note(self, note: str) -> Message:
        """Put a text before what the upstream answered."""
        result = self.value.get("result")
        content = result.get("content") if isinstance(result, dict) else None
        if not isinstance(content, list):  # a handle or a question of the server's, which has no place for a text
            return self
        return read_message(self._with_first(("result", "content"), json.dumps({"type": "text", "text": note})))

    def with_meta(self, name: str, written: str) -> Message:
        """Put a note for machines into a result."""
        member = f"{json.dumps(name)}: {written}"
        if isinstance(self.value["result"].get("_meta"), dict):
            return read_message(self._with_first(("result", "_meta"), member))
        return read_message(self._with_first(("result",), f'"_meta": {{{member}}}'))

    def with_id(self, request_id: RequestId | None) -> Message:
        """Say the same under another id."""
        return read_message(replaced(self.text, ("id",), json.dumps(request_id)))

    def _with_first(self, path: tuple[str, ...], written: str) -> str:
        start = start_of(self.text, path, any_value=True)
        assert start is not None, "the caller has seen that it is there"
        is_empty = self.text[skip(self.text, start + 1)] in "]}"
        return f"{self.text[: start + 1]}{written}{'' if is_empty else ', '}{self.text[start + 1 :]}"


def read_line(text: str) -> list[Message] | Message | None:
    """Read a message or a batch; None for JSON that is neither. Raises UnreadableMessageError."""
    value = _outline(text)
    if isinstance(value, dict):
        return Message(text, value)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [
            Message(text[start:end], item)
            for item, (start, end) in zip(value, items_from(text, skip(text, 0)), strict=True)
        ]
    return None


def read_sent(text: str) -> list[Message] | Message | None:
    """Read what a client sends as a line is read; raises UnreadableMessageError, also for a list of too many."""
    if text[(start := skip(text, 0)) : start + 1] == "[":
        items = 0
        with suppress(ValueError, IndexError):  # what cannot be read is said below
            items = sum(1 for _ in islice(items_from(text, start), MOST_AT_ONCE + 1))
        if items > MOST_AT_ONCE:
            raise TooManyMessagesError(text)
    return read_line(text)


def read_again(text: str) -> list[Message] | Message | None:
    """Read what was read before; of very many values those are left out that nobody looks at on the way."""
    if _holds_many(text) and (value := _without_values(text)) is not None:
        return Message(text, value)
    return read_line(text)


def read_payload(text: str) -> list[Message] | Message | None:
    """Read what a door of the service is asked, which passes nothing on, as a line is read.

    Arguments of many values are judged as text; so are those of a hook that are no JSON, since agents may run a tool
    whose hook is refused. What a guardrail lets pass others read, so that it has to be JSON.
    """
    if _holds_many(text) and (value := _without_output(text)) is not None:
        return Message(text, value)
    try:
        return read_line(text)
    except UnreadableMessageError:
        if "tool_input" not in (value := _without_output(text) or {}):
            raise
        return Message(text, value)


def read_message(text: str) -> Message:
    """Read what was put together here."""
    return Message(text, _outline(text))


def key_of(request_id: Any) -> str:
    """Give an id in a form that keeps 1, 1.0 and "1" apart."""
    return str(request_id) if type(request_id) is int else json.dumps(request_id)


def output_at(text: str, *path: str) -> Any:
    """Give what stands at a path of readable JSON, as it is judged: its own text where it holds what JSON forbids."""
    start = start_of(text, path, any_value=True)
    return {} if start is None else _as_judged(text, start)


def _as_judged(text: str, start: int) -> Any:
    written = text[start : end_of_value(text, start)]
    if _holds_many(written):
        return written
    value, fault = read_json(written)
    return as_text(value) if fault is None else written


def refusal(request: Message, result: ToolResult) -> Message:
    """Answer a tools/call with our feedback: a result with isError, never a protocol error."""
    rendered = result.render("mcp")
    if PROTOCOL_VERSION in request.meta:
        # The stateless protocol demands it of every result; earlier versions do not know it.
        rendered["resultType"] = "complete"
    return _written({"id": request.id, "result": rendered})


def progress(token: str | int, count: int, text: str) -> Message:
    """Say that we are at work. The numbers must rise, also when the upstream starts its own at 1 afterwards."""
    params = {"progressToken": token, "progress": count / 1000, "message": text}
    return _written({"method": "notifications/progress", "params": params})


def list_request(request_id: str, asked: Mapping[str, Any], cursor: str | None, method: str = "tools/list") -> Message:
    """Ask for a page of a list in the name of the client, whose envelope the upstream may need to see."""
    envelope = {key: value for key, value in asked.items() if key.startswith(ENVELOPE)}
    params = ({"_meta": envelope} if envelope else {}) | ({"cursor": cursor} if cursor is not None else {})
    return _written({"id": request_id, "method": method, "params": params})


def result(request_id: RequestId | None, written: str) -> Message:
    """Answer a request with what is written already."""
    return read_message(f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": {written}}}')


def failure(request_id: RequestId | None, code: int, message: str, data: Any = None) -> Message:
    """Answer what cannot be done with an error of the protocol."""
    more = {} if data is None else {"data": data}
    return _written({"id": request_id, "error": {"code": code, "message": message} | more})


def has_odd_arguments(value: Any) -> bool:
    """Tell whether a tools/call has arguments that are no object, for which the SDK refuses it."""
    params = value.get("params") if isinstance(value, dict) and value.get("method") == "tools/call" else None
    return isinstance(params, dict) and not isinstance(params.get("arguments"), dict | None)


def set_apart(text: str, *, always: bool = False) -> str:
    """Put a call's arguments into its `_meta` as they were written, where they are no strict JSON or no object."""
    members = members_of(text)
    if read_json(members.get("method", "null"))[0] != "tools/call":
        return text
    params = members_of(members["params"]) if members.get("params", "").startswith("{") else {}
    written = params.get("arguments", "null")
    if written == "null" or (not always and written.startswith("{") and read_json(written)[1] is None):
        return text
    meta = params.get("_meta", "null")
    noted = members_of(meta) if meta.startswith("{") else {}
    noted[RAW] = json.dumps(base64.b64encode(written.encode("utf-8", "surrogateescape")).decode())
    return _joined(members | {"params": _joined(params | {"arguments": "{}", "_meta": _joined(noted)})})


def _joined(members: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{json.dumps(name)}: {written}' for name, written in members.items())}}}"


def as_written(meta: Mapping[str, Any]) -> str | None:
    """Give the arguments that were set apart."""
    return base64.b64decode(meta[RAW]).decode("utf-8", "surrogateescape") if RAW in meta else None


def _written(value: dict[str, Any]) -> Message:
    return Message(json.dumps(whole := {"jsonrpc": "2.0", **value}), whole)


def _outline(text: str) -> Any:
    """Read JSON; where a model's arguments nest too deep, without them: they are judged as the text that they are."""
    try:
        return _read(text)
    except UnreadableMessageError as error:
        if not error.is_too_deep or (value := _without_output(text)) is None:
            raise
        return value


def _holds_many(text: str) -> bool:
    """Tell a text whose values are not to be made here: meanwhile the interpreter would serve nobody else."""
    return len(text) > MANY and sum(map(text.count, ",[{")) > MANY


def _without_values(text: str) -> Any:
    """Read a message with empty objects and lists in the place of what holds many values; None where that is none."""
    with suppress(ValueError):
        members = members_of(text)
        if members.get("params", "").startswith("{"):
            members["params"] = _few(members_of(members["params"]))
        return _read(_few(members))
    return None


def _few(members: Mapping[str, str]) -> str:
    return _joined({name: _EMPTY.get(text[:1], text) if _holds_many(text) else text for name, text in members.items()})


def _without_output(text: str) -> Any:
    """Read a call or a hook with an empty object or list in the place of its arguments; None where that is none."""
    with suppress(ValueError):
        members = members_of(text)
        params = members_of(members["params"]) if members.get("params", "").startswith("{") else {}
        if empty := _EMPTY.get(params.get("arguments", "")[:1]):
            return _read(_joined(members | {"params": _joined(params | {"arguments": empty})}))
        if empty := _EMPTY.get(members.get("tool_input", "")[:1]):  # of a hook
            return _read(_joined(members | {"tool_input": empty}))
    return None


def _read(text: str) -> Any:
    # Counted first, which is quick: few lines have so many brackets, and only those are walked through.
    if text.count("[") + text.count("{") > DEEPEST and depth_of(text) > DEEPEST:
        raise UnreadableMessageError(text, is_too_deep=True)
    try:
        return _DECODER.decode(text)
    except ValueError:
        raise UnreadableMessageError(text, is_too_deep=False) from None


def _id_in(text: str) -> RequestId | None:
    """Make out the id of a line that cannot be read, so that whoever waits for its answer gets one."""
    depth, before = 0, ["", ""]
    # Depth by depth, since `params` may hold an "id" of its own.
    for found_token in islice(_TOKEN.finditer(text), MOST_TOKENS):
        token = found_token[0]
        depth += (token in "{[") - (token in "]}")
        if depth == 1 and before == ['"id"', ":"] and token not in "[]{},:":
            try:
                found: RequestId = json.loads(token)
            except ValueError:
                return None
            return found
        before = [before[1], token]
    return None
