"""Tell which requests belong to one conversation, and keep what its next request has to know. Nothing is guessed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import uuid
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

from retrycontract.client import CorrectionError
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.matching import is_unfilled
from retrycontract.judging import Verdict
from retrycontract.judging.asking import CallNotOpenError, NoVerdictError, guidance_on
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.proxy.wire import Body, json_object, objects, text_of

MAX_PLACES: Final = 50_000  # points in conversations that are remembered, each with some hundred bytes
MAX_OPEN: Final = 20  # calls of one conversation that wait for a person
MAX_CONTEXT: Final = 2_000  # characters of each text that a person at the desk sees beside a call
PIECE: Final = 100_000  # characters that are hashed at once
SHOWN: Final = frozenset({"image", "document", "image_url", "input_image", "input_file", "file", "input_audio"})
KEY_HEADERS: Final = frozenset({b"authorization", b"x-api-key", b"api-key"})

logger = logging.getLogger("retrycontract.proxy")


@dataclass(slots=True)
class WaitingCall:
    """Remember a call that is Blocked, or that a person has helped on."""

    call_id: str
    tool_name: str
    is_blocked: bool = True


@dataclass(slots=True)
class Conversation:
    """Hold what is known of one conversation: the service's session, its open calls, and outputs that were accepted.

    `unread` is what people have said and no model has read yet.
    """

    session: str
    unread: tuple[str, ...] = ()
    waiting: list[WaitingCall] = field(default_factory=list)
    accepted: list[tuple[str, str]] = field(default_factory=list)
    # What is still being judged for requests whose clients have left.
    settling: set[asyncio.Task[Verdict]] = field(default_factory=set)

    def continued_by(self, tool_name: str) -> WaitingCall | None:
        """Give the open call that an attempt of this tool belongs to; each is given once in a request."""
        found = next((call for call in self.waiting if call.tool_name == tool_name), None)
        if found is not None:
            self.waiting.remove(found)
        return found

    def wait_for(self, call_id: str, tool_name: str) -> None:
        """Note that a person is asked about a call."""
        self.waiting = [*self.waiting[1 - MAX_OPEN :], WaitingCall(call_id, tool_name)]

    def accept(self, tool_name: str, arguments: Any) -> None:
        """Note that a person lets an output pass as it is."""
        self.accepted = [*self.accepted[1 - MAX_OPEN :], (tool_name, canonical(arguments))]

    def has_read(self, news: Sequence[str]) -> None:
        """Note what a model has read."""
        self.unread = tuple(text for text in self.unread if text not in news)

    def lets_pass(self, tool_name: str, arguments: Any) -> bool:
        """Tell whether an output was accepted, once for each time: a person said yes to one call, not to all."""
        if not self.accepted or (made := (tool_name, canonical(arguments))) not in self.accepted:
            return False
        self.accepted.remove(made)
        return True


class ConversationTurn:
    """Hold what one request takes out of its conversation, and whom it has asked.

    Left by an exception it gives all of it back: the upstream has failed or the client has left, and whoever repeats
    the request has to find what people have said, or are about to say.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._open: dict[str, WaitingCall] = {}
        self._passed: list[tuple[str, Any]] = []
        self._judging: set[asyncio.Task[Verdict]] = set()
        self._has_left = False

    def __enter__(self) -> None:
        return

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            return
        self._has_left = True
        conversation = self.conversation
        for task in self._judging:
            conversation.settling.add(task)
            task.add_done_callback(conversation.settling.discard)
        known = {call.call_id for call in conversation.waiting}
        left = [call for call in self._open.values() if call.call_id not in known]
        conversation.waiting = [*left, *conversation.waiting][-MAX_OPEN:]
        for tool_name, arguments in self._passed:
            conversation.accept(tool_name, arguments)

    def continued_by(self, tool_name: str) -> str | None:
        """Take out the open call that an attempt of this tool belongs to."""
        if (found := self.conversation.continued_by(tool_name)) is None:
            return None
        self._open[found.call_id] = found
        return found.call_id

    async def judged(self, judging: Coroutine[Any, Any, Verdict], tool_name: str) -> Verdict:
        """Wait for a verdict, and note a call that people are asked about, now or after what they said of it before.

        A client that leaves meanwhile ends the wait alone: its next request has to find that people are asked.
        """
        task = asyncio.create_task(judging)
        self._judging.add(task)
        task.add_done_callback(partial(self._note, tool_name))
        return await asyncio.shield(task)

    def _note(self, tool_name: str, task: asyncio.Task[Verdict]) -> None:
        self._judging.discard(task)
        if task.cancelled() or task.exception() is not None or not is_before_people(verdict := task.result()):
            return
        if self._has_left:
            self.conversation.wait_for(verdict.call_id, tool_name)
        else:
            self._open[verdict.call_id] = WaitingCall(verdict.call_id, tool_name)

    def lets_pass(self, tool_name: str, arguments: Any) -> bool:
        """Tell whether an output was accepted, and use that up."""
        passes = self.conversation.lets_pass(tool_name, arguments)
        self._passed += [(tool_name, arguments)] if passes else []
        return passes


def is_before_people(verdict: Verdict) -> bool:
    """Tell whether people are asked: nobody reads of what the proxy judged while the service was away."""
    return verdict.status in (Status.BLOCKED, Status.UNAVAILABLE) and verdict.escalation is None


async def news_for(conversation: Conversation, service: ServiceJudge) -> tuple[str, ...]:
    """Ask what people have answered since the last request; gives the texts that the model has to read.

    They stay unread until an answer of the upstream has come whole: a request that fails is sent again without them.
    """
    if conversation.settling:
        await asyncio.wait(conversation.settling)
    for call in [call for call in conversation.waiting if call.is_blocked]:
        try:
            guidance = await guidance_on(service, call.call_id, wait=0)
        except (NoVerdictError, CallNotOpenError) as error:
            logger.warning("Cannot ask for the answer to a Blocked call: %s", error)
            continue
        # Another request of this conversation may have told of it, or gone on with the call, meanwhile.
        if guidance is None or not guidance.text or not call.is_blocked or call not in conversation.waiting:
            continue
        told = f"About your call of tool '{call.tool_name}', which was Blocked:\n\n{guidance.text}"
        call.is_blocked = False
        if guidance.decision is None or guidance.decision.leads_to.has_ended:
            conversation.waiting.remove(call)
        with suppress(CorrectionError):  # another process has sent it: then the model's next attempt is judged
            if guidance.decision is not None and guidance.decision.entry.keeps_output:
                conversation.accept(call.tool_name, guidance.arguments)
            # The call stands nowhere in what the model reads: what was wrong has never reached the client.
            if guidance.corrected is None and guidance.arguments is not None:
                told += f"\n\nIn full:\n{json.dumps(guidance.arguments, ensure_ascii=False)}"
        conversation.unread = (*conversation.unread[1 - MAX_OPEN :], told)
    return conversation.unread


def canonical(arguments: Any) -> str:
    """Write arguments so that equal ones are equal texts."""
    return json.dumps(json_object(arguments), sort_keys=True)


class Conversations:
    """Find conversations by a header's name, or by what was said in them, each key's apart from every other's."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)  # of a key nothing is kept but a hash that no other process could make
        # Where an answer of ours ended a history: its conversation, or None where two ended alike.
        self._places: OrderedDict[bytes, Conversation | None] = OrderedDict()
        self._nameless: OrderedDict[bytes, None] = OrderedDict()  # where a server gave its calls no ids
        self._unanswered: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()  # calls, by the response that made them

    def places(self, headers: Iterable[tuple[bytes, bytes]], history: Sequence[Any]) -> list[bytes]:
        """Name the points of a request's history, from its owner's beginning to where the request stands."""
        owner = self._owner(headers)
        return [owner, *(place for place, _ in self._chained(owner, history))]

    def find(self, name: str, places: Sequence[bytes], response_id: Any) -> tuple[Conversation, bytes]:
        """Give the conversation of a request, and the place in it where the request stands."""
        owner, here = places[0], places[-1]
        if not is_unfilled(name):
            # Under the owner: two clients may give their conversations the same name.
            place = _hashed(owner, f"named {name}")
            found = self._places.get(place) or Conversation(f"proxy-{place.hex()[:32]}")
            self._keep(place, found)
            return found, here
        # From the end: the newest messages are the client's, and before them stands the last answer of ours. A request
        # that continues a response repeats nothing.
        known = [_hashed(owner, f"response {response_id}")] if response_id else reversed(places[1:])
        for place in known:
            if place in self._places:
                return self._places[place] or _new(), here
        return _new(), here

    def remember(
        self, conversation: Conversation, here: bytes, said: Sequence[Any], *, is_nameless: bool = False
    ) -> None:
        """Note that a conversation has come to the end of these messages; `is_nameless`: their calls have no ids."""
        places = list(self._chained(here, said, is_nameless=is_nameless))
        for place, _ in (each for each in places if each[1]):
            self._nameless[place] = None
            if len(self._nameless) > MAX_PLACES:
                self._nameless.popitem(last=False)
        if places:
            self._keep(places[-1][0], conversation)

    def _chained(
        self, start: bytes, messages: Iterable[Any], *, is_nameless: bool = False
    ) -> Iterator[tuple[bytes, bool]]:
        """Give a hash for the end of each message that tells all before it as well, and whether its calls lack ids.

        What a client writes in the place of an id that there never was says nothing, whatever it is.
        """
        place, nothing = start, set[Any]()
        for message in messages:
            if (told := _told(message, nothing)) is None:
                continue
            ids = [each.get("id") for each in objects(message.get("tool_calls"))]
            ids += [each.get("id") for each in objects(message.get("content")) if each.get("type") == "tool_use"]
            ids += [message.get("call_id")] if message.get("type") == "function_call" else []
            if made := {each if isinstance(each, str) else None for each in ids}:  # None for a call without
                bare = _hashed(place, f"nameless {_told(message, nothing | made)}")
                if is_nameless or bare in self._nameless:
                    nothing |= made
                    place = bare
                    yield place, True
                    continue
            place = _hashed(place, told)
            yield place, False

    def remember_response(self, conversation: Conversation, headers: Iterable[tuple[bytes, bytes]], body: Body) -> None:
        """Note the id by which a later request may continue a response."""
        if body.get("object") == "response" and body.get("id"):
            self._keep(_hashed(self._owner(headers), f"response {body['id']}"), conversation)

    def leave_unanswered(self, headers: Iterable[tuple[bytes, bytes]], body: Body, call_ids: Iterable[str]) -> None:
        """Note the calls of a response that its client has never seen, and so will not answer."""
        ids = tuple(call_ids)
        if ids and body.get("object") == "response" and body.get("id"):
            self._unanswered[_hashed(self._owner(headers), f"response {body['id']}")] = ids
            if len(self._unanswered) > MAX_PLACES:
                self._unanswered.popitem(last=False)

    def unanswered(self, headers: Iterable[tuple[bytes, bytes]], response_id: Any) -> tuple[str, ...]:
        """Name the calls of a response that are still to be answered before it goes on."""
        return self._unanswered.get(_hashed(self._owner(headers), f"response {response_id}"), ())

    def _owner(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        keys = sorted(pair for pair in headers if pair[0] in KEY_HEADERS)
        return hashlib.sha256(self._salt + repr(keys).encode()).digest()

    def _keep(self, place: bytes, conversation: Conversation) -> None:
        before = self._places.get(place, conversation)
        # Two conversations that read alike up to here cannot be told apart: then it is nobody's, for a guess could hand
        # one person's answer to another.
        self._places[place] = conversation if before is conversation else None
        self._places.move_to_end(place)
        if len(self._places) > MAX_PLACES:
            self._places.popitem(last=False)


def context_of(history: Sequence[Any]) -> dict[str, str]:
    """Give what helps a person: what the conversation began with, and what was said last."""

    def first(messages: Iterable[Any]) -> str:
        users = (each for each in messages if isinstance(each, dict) and each.get("role") == "user")
        return next(filter(None, (text_of(message.get("content")) for message in users)), "")[:MAX_CONTEXT]

    goal = first(history)
    return {"goal": goal, "last_user_message": first(reversed(history))} if goal else {}


def is_repeated(history: Sequence[Any], name: str, arguments: Any, times: int) -> bool:
    """Tell whether a call would be the same one so many times in a row, or one of two that take turns as often."""
    # Of a long conversation no more is read than is compared.
    made = [(name, canonical(arguments)), *islice(newest_calls(history), 2 * times - 1)]
    last, turns = made[:times], made
    if len(last) == times and len(set(last)) == 1:
        return True
    return len(turns) == 2 * times and len(set(turns)) == 2 and len(set(turns[::2])) == len(set(turns[1::2])) == 1


def newest_calls(history: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Give the calls that a conversation has seen, whichever API it is of, the last one first."""
    for message in reversed(history):
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        entries = [each.get("function") for each in objects(message.get("tool_calls"))]
        entries += [message.get("function_call")]
        entries += content if isinstance(content, list) else []
        entries += [message] if message.get("type") == "function_call" else []
        for entry in reversed(entries):
            if isinstance(entry, dict) and isinstance(name := entry.get("name"), str):
                yield name, canonical(entry["input"] if "input" in entry else entry.get("arguments"))


def _told(message: Any, nothing: set[Any]) -> str | None:
    """Give what a message says, whichever API it is of; clients repeat messages with fields more or less.

    `nothing` are ids that say nothing.
    """
    # Clients may leave thoughts out when they repeat an answer.
    if not isinstance(message, dict) or message.get("type") == "reasoning":
        return None

    def named(place: Body, name: str) -> Any:
        found = place.get(name)
        return None if isinstance(found, str) and (found in nothing or not found) else found

    content = message.get("content")
    blocks = objects(content)
    calls = [
        *([named(each, "id"), each.get("function")] for each in objects(message.get("tool_calls"))),
        *(
            [named(each, "id"), each.get("name"), each.get("input")]
            for each in blocks
            if each.get("type") == "tool_use"
        ),
        *([named(each, "tool_use_id"), each.get("content")] for each in blocks if each.get("type") == "tool_result"),
    ]
    others = [named(message, "tool_call_id"), named(message, "call_id")]
    others += [message.get(name) for name in ("name", "arguments", "output", "function_call")]
    # Pictures, files, sounds; what is said of a cache moves on from message to message.
    shown = [{name: value for name, value in each.items() if name != "cache_control"}
             for each in blocks if each.get("type") in SHOWN]  # fmt: skip
    told = _in_short([message.get("role"), text_of(content).strip(), calls, others, shown])
    return json.dumps(told, sort_keys=True, default=str)


def _in_short(value: Any) -> Any:
    """Give the hashes of long texts in their place: written whole, a picture would keep the interpreter to itself."""
    if isinstance(value, list):
        return [_in_short(each) for each in value]
    if isinstance(value, dict):
        return {name: _in_short(each) for name, each in value.items()}
    if not isinstance(value, str) or len(value) <= PIECE:
        return value
    whole = hashlib.sha256()
    for begin in range(0, len(value), PIECE):
        whole.update(value[begin : begin + PIECE].encode("utf-8", "surrogatepass"))
    return {"sha256": whole.hexdigest()}  # no text: one that reads like it is another


def _hashed(place: bytes, told: str) -> bytes:
    return hashlib.sha256(place + told.encode("utf-8", "surrogatepass")).digest()


def _new() -> Conversation:
    return Conversation(f"proxy-{uuid.uuid4().hex}")
