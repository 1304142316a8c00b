"""Bound what a connection may take, and tell who has no answer when the server ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NoReturn

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from retrycontract.front.addresses import counted_as

if TYPE_CHECKING:
    pass


LOOKS_EVERY: Final = 1.0  # seconds between two looks at who takes too long
MOST_DRAINED: Final = 16_000_000
# Of a request's head and of its trailers: what an application does with headers grows with the square of their number,
# and what Python does with a cookie with that of its escapes (`http.cookies` before 3.11.10).
MOST_HEAD, MOST_HEADERS, MOST_ESCAPES = 65_536, 200, 50
# Chunks of a body, and the bytes that each further one has to bring: a crumb of one byte costs as much as a kilobyte.
MOST_CHUNKS, LEAST_OF_CHUNK = 5_000, 64
# Bytes of a body that every connection may hold; of larger ones all together hold no more than a process has room for.
SMALL_BODY: Final = 65_536
MOST_PIPELINED: Final = 100  # requests that are sent before the first is answered; hardly any client sends two
LINGER_SECONDS: Final = 2.0  # so long a client that still sends may read why it is refused


@dataclass(frozen=True)
class Rejection:
    """Say why a request is not taken, whatever it asks."""

    status: str
    told: str
    headers: str = ""


TOO_MUCH: Final = Rejection(
    "431 Request Header Fields Too Large",
    f"A request may have {MOST_HEADERS} headers, {MOST_HEAD} bytes before its body, and {MOST_ESCAPES} backslashes in"
    " its cookies. Send fewer and shorter ones.",
)
CRUMBS: Final = Rejection(
    "400 Bad Request",
    f"A body may come in {MOST_CHUNKS} chunks, and in more where they have {LEAST_OF_CHUNK} bytes each. Send larger"
    " ones, or the whole body with a Content-Length.",
)
# Nothing is said: it would stand among the answers that are on their way. Clients send again what was not answered.
TOO_MANY: Final = Rejection("", "")
NO_ROOM: Final = Rejection(
    "503 Service Unavailable",
    "Too many large requests are under way. Send this one again in a moment.",
    "retry-after: 1\r\n",
)
ENDING: Final = Rejection(
    "503 Service Unavailable",
    "The service was told to end before this request had come whole. Nothing of it was taken; send it again.",
    "retry-after: 1\r\n",
)
CUT_OFF: Final = Rejection(
    "503 Service Unavailable",
    "The service ended before it had answered. What this request asks for may have been done; ask, or send it again.",
    "retry-after: 1\r\n",
)

Protocol: Any = AutoHTTPProtocol


@dataclass
class Doorkeeper:
    """Count the connections of a process, and end those that take too long; 0 means any number."""

    most: int
    most_of_one_address: int
    header_seconds: float
    body_seconds: float
    trusted: frozenset[str] = frozenset()
    _open: set[GuardedConnection] = field(default_factory=set)
    _of_address: Counter[str] = field(default_factory=Counter)
    _timer: asyncio.TimerHandle | None = None

    def admit(self, connection: GuardedConnection, address: str) -> bool:
        """Let a connection in unless there are too many; a proxy that is trusted speaks for many addresses."""
        if self.most and len(self._open) >= self.most:
            return False
        of_one = self._of_address[counted_as(address)]
        # A socket file has no address: what comes through it is the proxy of this machine, for many others.
        is_bounded = bool(address) and 0 < self.most_of_one_address <= of_one
        if is_bounded and "*" not in self.trusted:
            try:
                is_trusted = any(ip_address(address) in ip_network(proxy) for proxy in self.trusted)
            except ValueError:  # an address with a zone, which stands in no network
                is_trusted = False
            if not is_trusted:
                return False
        self._open.add(connection)
        self._of_address[counted_as(address)] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOKS_EVERY, self._look)
        return True

    def forget(self, connection: GuardedConnection, address: str) -> None:
        """Count a connection out."""
        # One that was refused was never counted, and its end is told all the same.
        if connection in self._open:
            self._open.discard(connection)
            one = counted_as(address)
            self._of_address[one] -= 1
            if not self._of_address[one]:
                del self._of_address[one]

    def _look(self) -> None:
        # One timer for all: a timer for each of thousands of connections would cost more than the connections.
        now = monotonic()
        for connection in list(self._open):
            limit = self.body_seconds if connection.reads_body else self.header_seconds
            if limit and connection.since is not None and now - connection.since > limit:
                connection.end()
        self._timer = asyncio.get_running_loop().call_later(LOOKS_EVERY, self._look) if self._open else None


@dataclass
class BodyRoom:
    """Count the bytes of large bodies that a process holds at once; 0 means any number."""

    most: int = 0
    held: int = 0


room: Final = BodyRoom()


class BoundedRequest(Protocol):  # type: ignore[misc] # which parser it is depends on what is installed
    """Serve one connection as uvicorn does, and refuse too large a head, and a body in crumbs or beyond the room."""

    _is_head = hasattr(Protocol, "on_header")  # the other parser, h11, bounds the bytes of a head itself
    _head = _headers = 0  # bytes and number of those of one request
    _body = _chunks = 0  # likewise
    _held = 0  # bytes of large bodies that have no answer yet
    _rejection: Rejection | None = None
    _is_ending = False
    _answered: Any = None  # the request that is being answered; `cycle` is the last one that came, pipelined

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin."""
        self._pieces: list[bytes] = []
        super().connection_made(transport)

    @property
    def app(self) -> Any:
        """Give what answers; kept, it would hold the connection that holds it, and wait for the collector."""
        return self._serve_to_the_end

    @app.setter
    def app(self, app: Any) -> None:
        self._serve = app

    async def _serve_to_the_end(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request; when the server's grace is over, say so instead of a failure of the application."""
        try:
            await self._serve(scope, receive, send)
        except asyncio.CancelledError:
            cycle = self._answered or self.cycle
            if cycle.response_complete:
                return
            if not cycle.response_started:
                self.transport.write(_written(CUT_OFF))
            cycle.disconnected = True
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Let the parser have what has come, of a head no more than is allowed."""
        while data and self._is_head and not self._rejection:
            piece, data = data[: MOST_HEAD - self._head + 1], data[MOST_HEAD - self._head + 1 :]
            self._head += len(piece)
            super().data_received(piece)
            if self._is_head and self._head > MOST_HEAD:
                self._refuse(TOO_MUCH)
            if self.transport.is_closing():
                return
        if data and not self._rejection:
            super().data_received(data)
        self._hand_on()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header in; raises ValueError for one too many, which ends the request."""
        self._headers += 1
        if self._headers > MOST_HEADERS or (name.lower() == b"cookie" and value.count(b"\\") > MOST_ESCAPES):
            self._end_with(TOO_MUCH)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer; what follows is the body. Raises ValueError for one too many that wait for their turn."""
        if len(self.pipeline) >= MOST_PIPELINED:
            self._end_with(TOO_MANY)
        self._is_head = False
        super().on_headers_complete()
        if not self.pipeline:
            self._answered = self.cycle

    def on_body(self, body: bytes) -> None:
        """Keep a chunk until the parser has read what came with it; raises ValueError for what is too much."""
        self._body += len(body)
        self._chunks += bool(self._pieces)  # what comes alone costs no more than its packet
        if self._chunks > MOST_CHUNKS + self._body // LEAST_OF_CHUNK:
            self._end_with(CRUMBS)
        if self._body > SMALL_BODY and not self.cycle.response_complete:
            size = min(len(body), self._body - SMALL_BODY)
            self._held += size
            room.held += size
            if 0 < room.most < room.held:
                self._end_with(NO_ROOM)
        self._pieces.append(body)

    def on_response_complete(self) -> None:
        """Let go of the body."""
        self._let_go()
        if getattr(self, "pipeline", ()):  # the other parser reads no request before its turn
            self._answered = self.pipeline[-1][0]
        super().on_response_complete()
        if self._is_ending:  # one that waited for its turn may have a body that is still coming
            self.shutdown()

    def shutdown(self) -> None:
        """Close a connection that asks nothing, refuse a request whose body still comes, let others be answered."""
        self._is_ending, cycle = True, self.cycle
        is_turn = cycle is not None and not self.pipeline
        if is_turn and cycle.more_body and not cycle.response_started and not self._rejection:
            self._refuse(ENDING)  # its end might never come, and everybody's restart would wait for it
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of it here, too, and tell who answers, which uvicorn tells the last one that came instead."""
        self._let_go()
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def _let_go(self) -> None:
        room.held -= self._held
        self._held = 0

    def on_message_complete(self) -> None:
        """Await the next request."""
        self._hand_on()
        self._is_head, self._head, self._headers, self._body, self._chunks = True, 0, 0, 0, 0
        super().on_message_complete()

    def _hand_on(self) -> None:
        if self._pieces:
            body, self._pieces = b"".join(self._pieces), []
            super().on_body(body)

    def _end_with(self, rejection: Rejection) -> NoReturn:
        self._rejection = rejection  # the parser answers an exception with `send_400_response`
        raise ValueError(rejection)

    def _refuse(self, rejection: Rejection) -> None:
        self._rejection, self._pieces = rejection, []
        self._let_go()
        cycle = self.cycle
        is_next = cycle is None or not cycle.response_started or (cycle.response_complete and self._is_head)
        if rejection.told and is_next:
            self.transport.write(_written(rejection))
        if cycle is not None and not cycle.response_complete:  # else what was read of it is held as long as we linger
            cycle.disconnected = True
            cycle.message_event.set()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or one of which something is too large."""
        if self._rejection:
            self._refuse(self._rejection)
        else:
            super().send_400_response(msg)


def _written(rejection: Rejection) -> bytes:
    head = f"{rejection.headers}content-type: text/plain; charset=utf-8\r\ncontent-length: {len(rejection.told)}"
    return f"HTTP/1.1 {rejection.status}\r\n{head}\r\nconnection: close\r\n\r\n{rejection.told}".encode()


class GuardedConnection(BoundedRequest):
    """Serve one connection as uvicorn does, under a doorkeeper's limits."""

    doorkeeper: Doorkeeper
    since: float | None = None  # when it began to say what it wants; nothing while it is answered
    reads_body = False
    _address = ""
    _drained = 0  # bytes of a request that has its answer

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Refuse what is one too many before a byte is read."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if isinstance(peer, tuple) else ""
        self.since = monotonic()
        if not self.doorkeeper.admit(self, self._address):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection out."""
        self.doorkeeper.forget(self, self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Note how far the request has come."""
        if self.since is None and (self.cycle is None or self.cycle.response_complete):
            self.since, self.reads_body = monotonic(), False
        super().data_received(data)
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            # So much lets a client that is still sending see its answer; one that sends without end is never done.
            self._drained += len(data) if cycle is not None and cycle.more_body else -self._drained
            if self._drained > MOST_DRAINED:
                self.end()
            return
        if not cycle.more_body:
            self.since, self.reads_body = None, False
        elif not self.reads_body:
            self.since, self.reads_body = monotonic(), True

    def end(self) -> None:
        """Close a connection that took too long; what it had begun is dropped."""
        self.transport.close()


def guarded(doorkeeper: Doorkeeper) -> type[GuardedConnection]:
    """Give the protocol for a server whose connections this doorkeeper counts."""
    return type("GuardedConnection", (GuardedConnection,), {"doorkeeper": doorkeeper})
