"""What goes to a client over streamable HTTP: the answers to its POSTs, and what its server says of its own accord."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final

import anyio

from retrycontract.mcp.connection import VISIT, Headers
from retrycontract.mcp.events import written_event
from retrycontract.mcp.messages import Message, UnreadableMessageError, key_of, read_line
from retrycontract.mcp.visiting import answer, gone

QUIET_SECONDS = 5.0  # until an answer that is not there yet is begun as a stream, which shows that we are
SIGN_SECONDS = 15.0  # between signs of life on a stream
WRITE_SECONDS = 60.0  # until a client that does not take what it is sent counts as gone
JSON: Final = {b"content-type": b"application/json"}
EVENTS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
MOST_HELD = 256  # messages of a stream; what is written but not yet dropped can be asked for again
MOST_OPEN = 1000  # requests of one client that wait for their answers
MOST_ENDED = 4  # streams of a session that can be taken up although they have ended


class ClientStream:
    """Hold the messages of one stream of events, numbered from 1; `waiting` counts the requests to be answered.

    It is the visit of the request that opened it.
    """

    def __init__(self, name: str, headers: Headers, asked: Sequence[Message] = (), *, is_general: bool = False) -> None:
        self.name, self.headers, self._is_general = name, headers, is_general
        self.waiting = Counter(message.key for message in asked)
        self.tokens = {key_of(message.meta.get("progressToken")) for message in asked} - {"null"}
        self.refused: tuple[int, Headers, bytes] | None = None
        self.dropped = self.written = 0
        self.reader: object | None = None
        self.is_streamed, self.is_failed = is_general, False
        self._held: deque[tuple[str, bool]] = deque()
        self._asked = frozenset(self.waiting)
        self._changed = anyio.Event()
        self._is_closed = False

    @property
    def is_complete(self) -> bool:
        """Tell whether nothing more will come."""
        return self._is_closed or self.refused is not None or not (self._is_general or self.waiting.total())

    @property
    def count(self) -> int:
        """Give the number of the newest message."""
        return self.dropped + len(self._held)

    def behind(self, number: int) -> list[tuple[int, str]]:
        first = max(number - self.dropped, 0)
        return [(self.dropped + at + 1, text) for at, (text, _) in enumerate(self._held) if at >= first]

    @property
    def answers(self) -> list[str]:
        return [text for text, is_answer in self._held if is_answer]

    async def put(self, text: str, answered: str | None = None) -> None:
        """Add a message; one that nobody reads any more makes room for the newest."""
        while (
            self.is_streamed
            and self.reader is not None
            and self.count - self.written >= MOST_HELD
            and not self.is_complete
        ):
            await self.changed()  # a client that reads slowly holds up its own server, as at any full pipe
        self._held.append((text, answered is not None))
        if len(self._held) > MOST_HELD:
            self._held.popleft()
            self.dropped += 1
        if answered is not None:
            self.waiting[answered] -= 1
            self.waiting += Counter()
        self.stir()

    def refuse(self, keys: Iterable[str], status: int, headers: Headers, body: bytes) -> bool:
        """Answer with what the server answered; False when it was asked something else, or more was said."""
        if frozenset(keys) != self._asked or self.count:
            return False
        kept = (b"content-type", b"www-authenticate", b"retry-after", b"location")
        self.refused = (status, [pair for pair in headers if pair[0] in kept], body)
        self.stir()
        return True

    def close(self) -> None:
        """Let nothing more come."""
        self._is_closed = True
        self.stir()

    async def changed(self) -> None:
        await self._changed.wait()

    def stir(self) -> None:
        """Wake who waits for a change."""
        self._changed.set()
        self._changed = anyio.Event()


class StreamWriter:
    """Write a stream as the answer to one request; `session` are headers that name a session that begins."""

    def __init__(self, stream: ClientStream, send: Any, session: Headers | None = None) -> None:
        self._stream, self._send, self._session = stream, send, session or []

    async def follow(self, receive: Any, writing: Coroutine[Any, Any, None]) -> None:
        """Write until all is said, the client has left, or another request has taken its place."""

        async def leave_with_client() -> None:
            await gone(receive)
            tasks.cancel_scope.cancel()

        # The newest request reads: a client that has lost its connection asks again before we notice.
        self._stream.reader = self
        self._stream.stir()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(leave_with_client)
                await writing
                tasks.cancel_scope.cancel()
        finally:
            writing.close()
            if self._stream.reader is self:
                self._stream.reader = None
            self._stream.stir()

    async def answer_post(self, *, takes_events: bool) -> None:
        """Answer with what the server refused with, with one message as JSON, or with a stream of events."""
        stream = self._stream
        if not stream.waiting and not stream.count and stream.refused is None:
            await answer(self._send, 202, dict(self._session))
            return
        with anyio.move_on_after(QUIET_SECONDS if takes_events else None):
            while not stream.is_complete and not (stream.count and takes_events):
                await stream.changed()
        if stream.refused is not None:
            status, headers, body = stream.refused
            await answer(self._send, status, dict(headers), body)
        elif stream.is_complete and (stream.count == 1 or not takes_events):
            text = stream.answers[0] if len(stream.answers) == 1 else f"[{', '.join(stream.answers)}]"
            await answer(self._send, 200, JSON | dict(self._session), text.encode("utf-8", "surrogateescape"))
        else:
            await self.write_events(0)

    async def write_events(self, at: int) -> None:
        """Write what comes behind a message's number, until nothing more will."""
        stream = self._stream
        stream.is_streamed = True
        await self._send({"type": "http.response.start", "status": 200, "headers": [*EVENTS, *self._session]})
        # An id alone: from here on the client can take up the stream.
        await self._write(f"id: {stream.name}-{at}\n\n".encode())
        while True:
            news = stream.behind(at)
            for number, text in news:
                await self._write(written_event(text.encode("utf-8", "surrogateescape"), f"{stream.name}-{number}"))
                at = number
                stream.written = max(stream.written, at)
                stream.stir()
            if stream.reader is not self or (stream.is_complete and at >= stream.count):
                break
            if not news:
                with anyio.move_on_after(SIGN_SECONDS) as quiet:
                    await stream.changed()
                if quiet.cancelled_caught:
                    await self._write(b": \n\n")
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, data: bytes) -> None:
        with anyio.fail_after(WRITE_SECONDS):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})


class ClientStreams:
    """Find the stream for each message to one client."""

    def __init__(self) -> None:
        self.general = ClientStream("0", [], is_general=True)
        self._open: OrderedDict[str, ClientStream] = OrderedDict()
        self._ended: OrderedDict[str, ClientStream] = OrderedDict()
        self._opened = 0

    @property
    def are_read(self) -> bool:
        """Tell whether the client listens at the moment, or is owed an answer."""
        return any(stream.reader is not None for stream in (self.general, *self._open.values()))

    @property
    def is_full(self) -> bool:
        """Tell whether no more requests are taken."""
        return len(self._open) >= MOST_OPEN

    def open(self, headers: Headers, asked: Sequence[Message]) -> ClientStream:
        self._opened += 1
        stream = ClientStream(str(self._opened), headers, asked)
        self._open[stream.name] = stream
        return stream

    def end(self, stream: ClientStream, *, can_be_taken_up: bool) -> None:
        """Forget a stream, the last ones not at once: the client may not have got the end of it."""
        if self._open.pop(stream.name, None) is not None and can_be_taken_up:
            self._ended[stream.name] = stream
            while len(self._ended) > MOST_ENDED:
                self._ended.popitem(last=False)

    def find(self, event_id: str) -> tuple[ClientStream, int] | None:
        """Give the stream that an event was of, and the event's number."""
        name, _, number = event_id.partition("-")
        stream = self.general if name == "0" else self._open.get(name) or self._ended.get(name)
        if stream is None or not number.isdecimal() or len(number) > 9:
            return None
        return stream, min(int(number), stream.count)

    def close(self) -> None:
        """Let nothing more come to anybody."""
        for stream in (self.general, *self._open.values()):
            stream.close()

    async def send(self, text: str) -> bool:
        """Put what the server or the gateway says where the client looks for it; False when nobody asked."""
        try:
            read = read_line(text)
        except UnreadableMessageError as error:  # too deep for us, not for everybody
            return await self._answer(key_of(error.request_id), text)
        for message in [read] if isinstance(read, Message) else read or []:
            if message.method is None:
                await self._answer(message.key, message.text, is_error="error" in message.value)
            else:
                await self._told_by(message).put(message.text)
        return True

    async def _answer(self, key: str, text: str, *, is_error: bool = False) -> bool:
        here = VISIT.get()
        # One id may be used twice: then the request at hand is meant, or the one that has waited longest.
        for stream in sorted(self._open.values(), key=lambda stream: stream is not here):
            if stream.waiting[key] > 0:
                stream.is_failed |= is_error
                await stream.put(text, key)
                if stream.is_complete and stream.reader is None:
                    self.end(stream, can_be_taken_up=True)
                return True
        return False

    def _told_by(self, message: Message) -> ClientStream:
        """Choose the stream of the request that a message belongs to; else the one for all that belongs to none."""
        here = VISIT.get()
        if isinstance(here, ClientStream) and here.waiting.total():
            return here
        token = message.params.get("progressToken")
        for stream in self._open.values():
            if isinstance(token, str | int) and key_of(token) in stream.tokens:
                return stream
        if self.general.reader is None and self._open:  # a client that opens no stream of that kind still hears of it
            return next(reversed(self._open.values()))
        return self.general
