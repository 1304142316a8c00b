"""What the APIs have in common: an answer with text and calls, and what is due by the request."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any, Final, Protocol, TypeAlias

from retrycontract.contract.outputs.json_text import TOO_LARGE, cut_at_depth, depth_fault, fault_in, parse_json
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.mcp.visiting import PatientDecoder

Body: TypeAlias = dict[str, Any]

# Levels that are read: twice what arguments may have, and what the encoder and the sums over usage can still write.
MAX_DEPTH: Final = 200
MAX_DIGITS: Final = 400  # of a number; Python itself refuses to read 4,300
CALLS: Final = frozenset({"toolcalls", "functioncall"})


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """Hold one call as the model wrote it; `source` is the API's own entry, which is put back as it came.

    An output that is no call has no `id`; `absent` says why there is none where one is due. `thoughts` are those of its
    answer: providers that sign them refuse a call without them.
    """

    id: str
    name: str
    arguments: Any
    source: Any = None
    absent: str | None = None
    thoughts: tuple[Body, ...] = ()

    def comes_of(self, entries: Sequence[Body]) -> bool:
        """Tell whether these entries of an answer hold its thoughts; one without any fits everywhere."""
        return all(any(thought is entry for entry in entries) for thought in self.thoughts)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """Hold one whole answer: the API's `body`, and what of it is judged.

    `is_final` tells an answer that holds nothing to judge: declined by the provider, filtered, or not done yet.
    `unmendable` says why nobody can ask for another one in its place, `choices` are the further ones. `is_rewritten`
    tells that a call came in another form than its API has, which `body` has mended. `seconds` is what it took.
    """

    body: Body
    text: str = ""
    calls: tuple[WrittenCall, ...] = ()
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    is_final: bool = False
    unmendable: str = ""
    choices: tuple[ModelAnswer, ...] = ()
    is_rewritten: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Say what a request asks for: its tools, the schema of its output, and whether a call is demanded.

    `must_call` names the tools of which one has to be called; empty where text is an answer. `output` is the name and
    the schema of structured output. `rescues` tells that calls are looked for in the text. `unjudged` names the tools
    that a client runs and for which the request has no schema: the provider's own, and custom ones.
    """

    model: str
    tools: tuple[DeclaredTool, ...] = ()
    output: DeclaredTool | None = None
    must_call: tuple[str, ...] = ()
    streams: bool = False
    rescues: bool = False
    unjudged: frozenset[str] = frozenset()
    faults: Mapping[str, str] = field(default_factory=dict)  # tools that cannot be read, with the reason

    @property
    def has_contract(self) -> bool:
        """Tell whether there is anything to judge an answer by, or was meant to be."""
        return bool(self.tools or self.output or self.faults)


@dataclass(frozen=True, slots=True)
class CallReply:
    """Answer one call of the model's in the conversation with the upstream."""

    call: WrittenCall
    text: str
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """Hold what the client gets where that is not an upstream's answer as it came.

    `base` is the newest answer, whose fields it keeps; `usage` counts all of them. `explains` tells that the text is
    ours: it says why there is nothing else.
    """

    base: ModelAnswer
    calls: tuple[WrittenCall, ...]
    text: str
    usage: Any = None
    explains: bool = False

    @property
    def is_cut(self) -> bool:
        """Tell whether it explains an answer for which there were not enough tokens; clients know it by the reason."""
        return (
            self.explains
            and not self.calls
            and self.base.finish_reason in ("length", "max_tokens", "max_output_tokens")
        )

    def after_words(self) -> FinalAnswer:
        """Give what is left to say to a client that has read the first answer's text."""
        return replace(self, text=f"\n\n{self.text}" if self.text and (self.explains or not self.calls) else "")

    def with_own_ids(self) -> FinalAnswer:
        """Give its calls different ids: some servers number those of each answer from 0."""
        calls, known = list[WrittenCall](), set[str]()
        for call in self.calls:
            if call.id in known:
                own, source = new_id(), call.source
                if source is not None and "call_id" in source:  # an item, whose own id is made of the call's
                    source = {name: value for name, value in source.items() if name != "id"} | {"call_id": own}
                elif source is not None:
                    source = source | {"id": own}
                call = replace(call, id=own, source=source)
            known.add(call.id)
            calls.append(call)
        return replace(self, calls=tuple(calls))


class AnswerStream(ABC):
    """Put a streamed answer together, event by event; with `holds_text` the text is what is judged, else calls are."""

    def __init__(self, *, holds_text: bool) -> None:
        self.holds_text, self.holds, self.is_garbled = holds_text, False, False
        self.has_failed = False  # the upstream has said so itself

    @property
    @abstractmethod
    def spoken(self) -> str:
        """Give the text that was not held."""

    def feed(self, data: bytes) -> bool:
        """Take an event's data; tells whether it is, or may be, of what is judged, and has to be held.

        Errors are never held.
        """
        try:
            document = parse(data)
            if tells_error(document):
                self.has_failed = True
                return False
            self.take(document)
        except (ValueError, TypeError, AttributeError, KeyError):
            self.is_garbled = True
            self.holds = self.holds or b"{" in data  # other words are no call
        return self.holds

    @abstractmethod
    def take(self, document: Body) -> None:
        """Take an event, and set `holds` where what is judged begins; raises for what cannot be read."""

    @abstractmethod
    def body(self) -> Body | None:
        """Give the answer as it would have come whole; None where it broke off before its end."""

    @abstractmethod
    def events(self, final: FinalAnswer, *, begun: bool) -> Iterator[bytes]:
        """Write a final answer as events; `begun` tells that text of this stream has reached the client."""


class Wire(Protocol):
    """Know one API: its bodies and its streams; what most have in common stands here."""

    name: str
    heartbeat: bytes = b": retrycontract\n\n"  # an event that every client passes over
    begins_with_thoughts: bool = False  # a turn of a model that thinks, or the API refuses it

    def terms(self, request: Body) -> Terms:
        """Read what a request asks for; raises InvalidToolListError for tools that are none."""

    def read(self, body: Body) -> ModelAnswer:
        """Read an answer; raises ValueError for a body that is none."""

    def continued(self, request: Body, answer: ModelAnswer, replies: Sequence[CallReply]) -> Body:
        """Give the request that goes on from an answer; a reply to no call is the user's next message."""

    def told(self, request: Body, text: str) -> Body:
        """Give the request with a further message of the user's at its end."""

    def final(self, answer: FinalAnswer) -> Body:
        """Give the body of a final answer."""

    def stream(self, terms: Terms) -> AnswerStream:
        """Begin to put a streamed answer together."""

    def error(self, status: int, message: str) -> Body:
        """Give an error in the API's own shape, which is OpenAI's."""
        return openai_error(status, message)

    def error_event(self, error: Body) -> bytes:
        """Write an error, ours or an upstream's, as an event of a stream."""

    def history(self, request: Body) -> list[Any]:
        """Give the messages that identify the conversation, as the client repeats them."""
        messages = request.get("messages")
        return messages if isinstance(messages, list) else []

    def said(self, body: Body, text: str) -> list[Any]:
        """Give an answer as the client will repeat it, with the text that has reached it."""


class Assembled:
    """Collect the members of an object that comes in parts: texts are joined, other values replaced."""

    def __init__(self, **members: Any) -> None:
        self._members, self._parts = members, dict[str, list[str]]()

    def take(self, delta: Mapping[str, Any]) -> None:
        """Add one part."""
        for name, value in delta.items():
            if isinstance(value, str):  # joined at the end: an answer comes in thousands of parts
                self._parts.setdefault(name, []).append(value)
            else:
                self._members[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._parts or self._members.get(name) is not None

    @property
    def members(self) -> Body:
        """Give the object as far as it has come."""
        return self._members | {name: "".join(parts) for name, parts in self._parts.items()}


def holds_call(value: Any) -> bool:
    """Tell whether a part of an answer that its API does not have looks like a call that a client may run."""
    if isinstance(value, list):
        return any(map(holds_call, value))
    if not isinstance(value, dict):
        return False
    return (
        any(
            each and not isinstance(each, int | float) and name.replace("_", "").lower() in CALLS  # a count is none
            for name, each in value.items()
        )
        or (isinstance(value.get("name"), str) and not {"arguments", "partial_json"}.isdisjoint(value))
        or value.get("type") in ("tool_use", "function_call")
        or any(map(holds_call, value.values()))
    )


def parse(content: bytes | str) -> Any:
    """Parse what an upstream says; raises ValueError, for two equal keys as well: readers differ in which one counts.

    What nests too deep is null, a number that nothing can carry is a large one, and bytes that are no UTF-8 are marked,
    as a lenient client reads them: the model's mistakes are judged, and must not become ours.
    """
    text = content.decode("utf-8", "replace").removeprefix("\ufeff") if isinstance(content, bytes) else content
    try:
        value = DECODER.decode(text)
        # Most events are too short to nest so deep.
        is_deep = len(text) > 2 * MAX_DEPTH and depth_fault(value, MAX_DEPTH) is not None
    except RecursionError:
        is_deep = True
    return DECODER.decode(cut_at_depth(text, MAX_DEPTH)) if is_deep else value


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= MAX_DIGITS else -TOO_LARGE if digits[0] == "-" else TOO_LARGE


def _real(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else -TOO_LARGE if digits[0] == "-" else TOO_LARGE


def _once(members: list[tuple[str, Any]]) -> Body:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a key stands there twice")
    return found


NUMBERS: Final = {"parse_int": _integer, "parse_float": _real}  # of what is written again: JSON has no `Infinity`
DECODER: Final = PatientDecoder(**NUMBERS, object_pairs_hook=_once)


def summed(usages: Sequence[Any]) -> Any:
    """Add up what several answers cost: numbers by their names, at every depth; None where nothing was reported."""
    told = [usage for usage in usages if usage is not None]
    if not told:
        return None
    if all(isinstance(usage, dict) for usage in told):
        names = dict.fromkeys(name for usage in told for name in usage)
        return {name: summed([usage.get(name) for usage in told]) for name in names}
    numbers = [usage for usage in told if isinstance(usage, int | float) and not isinstance(usage, bool)]
    # What is no number (a tier, a flag) is told as the newest answer has it.
    return sum(numbers) if len(numbers) == len(told) else told[-1]


def demanded(choice: Any, tools: Sequence[DeclaredTool]) -> tuple[str, ...]:
    """List the tools of which OpenAI's `tool_choice` demands one; empty where text is an answer as well."""
    if choice == "required":
        return tuple(tool.name for tool in tools)
    if not isinstance(choice, dict):
        return ()
    allowed = choice.get("allowed_tools") or choice  # chat wraps them, responses do not
    if choice.get("type") == "allowed_tools":
        named = [(tool.get("function") or tool).get("name") for tool in allowed.get("tools") or ()]
        return tuple(map(str, named)) if allowed.get("mode") == "required" else ()
    name = (choice.get("function") or choice).get("name")
    return (name,) if isinstance(name, str) and choice.get("type", "function") == "function" else ()


def sendable(arguments: Any) -> Any:
    """Give arguments as an object that an upstream reads again: what JSON cannot hold goes back as text."""
    fault = fault_in(arguments)
    return json_object(arguments if fault is None else json.dumps(json.dumps(arguments)))


def json_object(arguments: Any) -> Any:
    """Give arguments as the object that an API wants, where the model wrote something else."""
    value = arguments
    if isinstance(arguments, str):
        value, fault = parse_json(arguments.strip() or "{}")
        value = arguments if fault else value
    return value if isinstance(value, dict) else {"arguments": value}


class MadeId(str):
    """Mark the id of a call whose server gave it none."""

    __slots__ = ()


def id_of(call: Body, name: str) -> str:
    """Give the id of a call, and a new one to a call that has none: by it the call is answered, and told from text."""
    call[name] = found = call.get(name) or MadeId(new_id())
    return found if isinstance(found, str) else str(found)


def new_id() -> str:
    return f"call_{token_hex(12)}"


def event(document: Body, name: str = "") -> bytes:
    return f"{f'event: {name}' + chr(10) if name else ''}data: {json.dumps(document)}\n\n".encode()


def openai_error(status: int, message: str) -> Body:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": "retrycontract"}}


def tells_error(document: Any) -> bool:
    """Tell whether an event, or a body, is an error and nothing else; compatible servers leave out the type."""
    is_error = document.get("type") == "error" or ("type" not in document and bool(document.get("error")))
    return is_error and not holds_call(document)


def user_message(text: str) -> Body:
    return {"role": "user", "content": text}


def objects(listed: Any) -> list[Body]:
    """Give the objects of a list; of anything else none."""
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def names_of(tools: Any) -> frozenset[str]:
    """Name the tools of a list, those within a namespace as well."""
    listed = objects(tools)
    found = {(tool.get("custom") or tool).get("name") for tool in listed}
    inner = (names_of(tool.get("tools")) for tool in listed)
    return frozenset().union({name for name in found if isinstance(name, str)}, *inner)


def text_of(content: Any) -> str:
    """Give the words of a message's content, which is a text or a list of parts."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def count(usage: Any, name: str) -> int | None:
    """Read a number of tokens; None where none is told."""
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
