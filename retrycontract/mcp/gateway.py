"""Stand between an MCP client and an MCP server: pass every message on, and look at tool calls.

It passes messages, not features: resources, prompts, sampling, elicitation, tasks and whatever the protocol will bring
arrive as they were sent, in both directions and in every version of the protocol.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup

from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.judging import Judge
from retrycontract.judging.asking import NoVerdictError
from retrycontract.mcp import messages
from retrycontract.mcp.checkpoint import Checkpoint, Refusal
from retrycontract.mcp.connection import ENDED, NEVER_SENT
from retrycontract.mcp.messages import Message, UnreadableMessageError
from retrycontract.mcp.results import ResultContract
from retrycontract.mcp.toolbox import NoToolListError, Toolbox, ToolListing
from retrycontract.mcp.tracing import RequestSpans

WAITING = "The call is Blocked; a person has been asked and is waited for."
NO_ANSWER = "The MCP server's answer cannot be read: it is {reason}. The call may have been executed."
NO_CALL = "A tool call needs an id, a name, and each of them once."
NO_MESSAGE = "This is no JSON-RPC message."

logger = logging.getLogger("retrycontract.mcp")

# Writes one message; tells whether the other side still reads.
Send = Callable[[str], Awaitable[bool]]


class CallOrder:
    """Keep what a client sends in its order, although each call takes its own time to be judged."""

    def __init__(self) -> None:
        self._waiting: deque[anyio.Event] = deque()

    @property
    def is_free(self) -> bool:
        return not self._waiting

    def take(self) -> anyio.Event:
        """Line up; the event tells that everything sent before is on its way."""
        turn = anyio.Event()
        self._waiting.append(turn)
        self._call_next()
        return turn

    def end(self, turn: anyio.Event) -> None:
        """Let the next one go; also for who steps aside because it waits for a person."""
        if turn in self._waiting:
            self._waiting.remove(turn)
            turn.set()
            self._call_next()

    def _call_next(self) -> None:
        if self._waiting:
            self._waiting[0].set()


@dataclass(slots=True)
class _Forwarded:
    """Remember a request that the upstream has to answer."""

    request: Message
    note: str | None = None


class Gateway:
    """Connect one client with one upstream. `to_client` and `to_upstream` write a message each."""

    def __init__(
        self,
        to_client: Send,
        to_upstream: Send,
        judge: Judge,
        checkpoint: Checkpoint,
        tasks: TaskGroup,
        results: ResultContract | None,
        spans: RequestSpans | None = None,
    ) -> None:
        self._to_client, self._to_upstream, self._tasks = to_client, to_upstream, tasks
        self._checkpoint, self._listing = checkpoint, ToolListing(self._send_upstream)
        self._toolbox, self._results = Toolbox(judge, self._listing, checkpoint.calls.begin_anew), results
        self._forwarded: dict[str, _Forwarded] = {}
        self._being_judged: dict[str, tuple[Message, anyio.CancelScope]] = {}
        self._turns = CallOrder()
        self._spans = spans or RequestSpans(ValueSanitizer(), "pipe")
        self._greeting: list[Message] = []
        self._upstream_listens = anyio.Event()
        # Set from the start: the gateway is made once the upstream runs, and only a restart has to be waited for.
        self._upstream_listens.set()

    async def from_client(self, line: str) -> None:
        """Take a line of the client's; what takes time goes on in a task."""
        try:
            read = messages.read_sent(line)
        except UnreadableMessageError as error:
            await self._answer(messages.failure(error.request_id, error.code, f"The message is {error}."))
        else:
            await self.take(line, read)

    async def take(self, line: str, read: list[Message] | Message | None) -> None:
        """Take a line of the client's that was read."""
        match read:
            case None:
                await self._answer(messages.failure(None, messages.INVALID_REQUEST, NO_MESSAGE))
            case Message():
                await self._take(read)
            case [*batch] if any(
                message.method in ("tools/call", None) or message.has_two_methods for message in batch
            ):
                for message in batch:  # one by one, as each call has a fate of its own
                    await self._take(message)
            case [*batch]:
                for message in batch:
                    self._spans.begin(message)
                self._remember(*batch)
                await self._send_or_give_up(line, batch)

    async def _take(self, message: Message) -> None:
        self._spans.begin(message)
        is_call = message.method == "tools/call"
        if message.has_two_methods or (is_call and (message.id is None or message.repeated or not message.is_call)):
            await self._answer(messages.failure(message.id, messages.INVALID_REQUEST, NO_CALL))
        elif message.is_call:
            is_next = self._turns.is_free and self._upstream_listens.is_set()
            name, refusal = message.params["name"], None
            if is_next and self._toolbox.is_shown(name) and self._checkpoint.is_quick(name, output := message.output):
                refusal = await self._decide(message, output, None)  # a task of its own would take as long as the rest
                if refusal is None:
                    return
            # Noted at once: the client's next message may be its cancellation.
            self._being_judged[message.key] = (message, scope := anyio.CancelScope())
            self._tasks.start_soon(self._judge_call, message, self._turns.take(), scope, refusal)
        elif message.method == "notifications/cancelled":
            key = messages.key_of(message.params.get("requestId"))
            # What was cancelled is owed no answer, and none of ours must be given when the upstream ends.
            self._forwarded.pop(key, None)
            self._spans.cancel(key)
            if key in self._being_judged:
                self._being_judged[key][1].cancel()
            else:
                await self._send_upstream(message)
        # What was sent behind a call reaches the server behind it; a ping only asks whether anybody is there.
        elif message.is_request and message.method != "ping" and self._being_judged:
            self._tasks.start_soon(self._forward_in_turn, message, self._turns.take())
        elif message.is_request:
            await self._forward(message)
        elif message.method or message.is_answer:
            if message.method == "notifications/initialized":
                self._greeting.append(message)
            await self._send_upstream(message)
        else:
            await self._answer(messages.failure(message.id, messages.INVALID_REQUEST, NO_MESSAGE))

    async def _judge_call(
        self, request: Message, turn: anyio.Event, scope: anyio.CancelScope, refusal: Refusal | None
    ) -> None:
        self._spans.join(request)
        try:
            with scope:
                refusal = refusal or await self._decide(request, request.output, turn)
                if refusal is not None:
                    self._turns.end(turn)
                    await self._checkpoint.calls.settled()
                    await self._answer(messages.refusal(request, refusal.result))
        finally:
            self._turns.end(turn)
            # A client that uses one id twice has put another call in this one's place: that one still needs its entry.
            if self._being_judged.get(request.key, (None, None))[1] is scope:
                del self._being_judged[request.key]

    async def _decide(self, request: Message, output: Any, turn: anyio.Event | None) -> Refusal | None:
        """Forward a call, or give what it is to be answered."""
        name = request.params["name"]
        try:
            if turn is not None:
                await self._toolbox.look_up(name, request.meta)
        except NoToolListError as error:
            logger.warning("Tool %r is passed on unchecked: %s", name, error)
            await self._forward_in_turn(request, turn)
            return None
        except NoVerdictError as error:
            await self._refuse(request, f"This call could not be checked: {error} Nothing was executed.")
            return None
        # A schema that cannot be judged by is its server's fault: without the gateway the tool could be called.
        if self._toolbox.is_unchecked(name):
            await self._forward_in_turn(request, turn)
            return None
        token, counter = request.meta.get("progressToken"), itertools.count()

        async def tick() -> None:
            if turn is not None:
                self._turns.end(turn)
            # MCP lets progress be sent only to who gave a token with the request.
            if isinstance(token, str | int):
                await self._answer(messages.progress(token, next(counter), WAITING))

        decision = await self._checkpoint.decide(name, output, tick, is_heard=token is not None)
        if isinstance(decision, Refusal):
            return decision
        if decision.note is not None:
            request = request.with_arguments(decision.arguments)
        await self._forward_in_turn(request, turn, decision.note)
        return None

    async def _forward_in_turn(self, request: Message, turn: anyio.Event | None, note: str | None = None) -> None:
        if turn is None:
            await self._forward(request, note)
            return
        try:
            if not turn.is_set():  # each wait is a round of the event loop, also where there is nothing to wait for
                await turn.wait()
            await self._forward(request, note)
        finally:
            self._turns.end(turn)

    async def _forward(self, request: Message, note: str | None = None) -> None:
        if request.method == "initialize":
            self._greeting = [request]
        self._remember(request, note=note)
        await self._send_or_give_up(request.text, [request])

    def _remember(self, *sent: Message, note: str | None = None) -> None:
        self._forwarded |= {message.key: _Forwarded(message, note) for message in sent if message.is_request}

    async def _send_or_give_up(self, text: str, sent: list[Message]) -> None:
        if not await self._when_it_listens(text):
            for message in sent:
                await self.give_up(message.key, NEVER_SENT)

    async def _send_upstream(self, message: Message) -> bool:
        return await self._when_it_listens(message.text)

    async def _when_it_listens(self, text: str) -> bool:
        if not self._upstream_listens.is_set():
            await self._upstream_listens.wait()
        return await self._to_upstream(text)

    async def _answer(self, message: Message) -> None:
        self._spans.end(message)
        await self._to_client(message.text)

    async def _refuse(self, request: Message, text: str) -> None:
        await self._answer(messages.refusal(request, ToolResult("", text)))

    async def from_upstream(self, line: str) -> None:
        try:
            read = messages.read_line(line)
        except UnreadableMessageError as error:
            logger.warning("The MCP server sent what cannot be read: %s", error)
            key = messages.key_of(error.request_id)
            if self._listing.cannot_read(key):
                return
            asked = self._forwarded.pop(key, None)
            # Too deep for us: who has asked may be able to read it.
            if asked is None or (error.is_too_deep and not self._holds_back(asked.request)):
                await self._to_client(line)
            elif asked.request.is_call:
                await self._refuse(asked.request, NO_ANSWER.format(reason=error))
            else:
                text = f"The MCP server's answer is {error}."
                await self._answer(messages.failure(asked.request.id, messages.PARSE_ERROR, text))
            return
        if isinstance(read, Message):
            answers, batch = [read], False
        else:
            answers, batch = read or [], True
        passed = [await self._answered(message) for message in answers if not self._listing.takes(message)]
        if passed == answers:
            await self._to_client(line)  # as it came, also what is no message: the client knows what to make of it
        elif passed:
            texts = [message.text for message in passed]
            await self._to_client(f"[{', '.join(texts)}]" if batch else texts[0])

    async def _answered(self, message: Message) -> Message:
        if message.method == "notifications/tools/list_changed":
            self._toolbox.has_changed()
        answered = self._forwarded.pop(message.key, None) if message.is_answer else None
        if answered is None:
            return message
        self._spans.end(message)
        if answered.request.method == "tools/list":
            self._toolbox.read_along(answered.request, message)
        if self._results is not None and answered.request.is_call:
            schema = self._toolbox.output_schema(answered.request.params["name"])
            if schema is not None:
                message = await self._results.judged(answered.request, message, schema)
        return message.with_note(answered.note) if answered.note else message

    def _holds_back(self, request: Message) -> bool:
        """Say whether the result of a call must fit a schema."""
        is_enforced = self._results is not None and self._results.enforces and request.is_call
        return is_enforced and self._toolbox.output_schema(request.params["name"]) is not None

    async def upstream_ended(self) -> None:
        """Answer whoever waits for the upstream, and let what comes next wait for a new one."""
        logger.error("The MCP server behind the gateway has ended")
        self._upstream_listens = anyio.Event()
        self._listing.give_up()
        for key in list(self._forwarded):
            await self.give_up(key, ENDED)

    async def refuse_all(self) -> None:
        """Answer every call that is being judged: there will be nobody to run it."""
        for request, scope in list(self._being_judged.values()):
            # First: else the verdict could come in between, and the call be answered twice.
            scope.cancel()
            await self._refuse(request, NEVER_SENT)

    async def answer_all(self) -> None:
        """Return when every request has its answer; one that waits for a person may have none for hours."""
        while self._being_judged or self._forwarded:
            await anyio.sleep(0.01)

    async def greet_again(self) -> None:
        """Tell an upstream that was started again what the first one was told."""
        # It may be another version of the server, with other tools.
        self._toolbox.has_changed()
        for message in self._greeting:
            if message.is_request:
                await self._listing.ask(message, self._to_upstream)
            else:
                await self._to_upstream(message.text)
        # Last: a server takes no request before it has been initialized.
        self._upstream_listens.set()

    def awaits(self, key: str) -> bool:
        return key in self._forwarded or self._listing.awaits(key)

    def forget(self, key: str) -> None:
        self._forwarded.pop(key, None)
        self._listing.lose(key)

    async def give_up(self, key: str, text: str) -> None:
        forwarded = self._forwarded.pop(key, None)
        if forwarded is None:
            self._listing.lose(key)
        elif forwarded.request.is_call:
            await self._refuse(forwarded.request, text)
        else:
            await self._answer(messages.failure(forwarded.request.id, messages.CONNECTION_CLOSED, text))
