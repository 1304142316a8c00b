"""Serve MCP clients over streamable HTTP: each session has a gateway and a connection of its own."""

from __future__ import annotations

import hmac
import logging
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import uvicorn
from anyio.abc import TaskGroup, TaskStatus

from retrycontract.front.connections import Doorkeeper, guarded
from retrycontract.front.descriptors import allow_many_connections
from retrycontract.mcp import messages
from retrycontract.mcp.client_streams import JSON, ClientStream, ClientStreams, StreamWriter
from retrycontract.mcp.connection import VISIT, ServerConnection
from retrycontract.mcp.gateway import NO_MESSAGE, Gateway, Send
from retrycontract.mcp.messages import PROTOCOL_VERSION, Message, UnreadableMessageError, read_sent
from retrycontract.mcp.visiting import BODY_SECONDS, HEADER_SECONDS, NoPayloadError, answer, aside, read_body

PATH: Final = "/mcp"
GRACE_SECONDS: Final = 10  # for answers under way when the gateway is told to end
CLOSED_AT_ONCE: Final = 50  # sessions: each may need a connection, and files are bounded
UNSUPPORTED_VERSION: Final = -32022
VERSIONS: Final = ["2025-11-25", "2025-06-18", "2025-03-26"]  # those whose sessions are served here
logger = logging.getLogger("retrycontract.mcp")

MakeGateway = Callable[[Send, Send, TaskGroup], Gateway]


@dataclass(frozen=True, slots=True)
class ListenSettings:
    """Say who may ask, and how much; `idle` is seconds, `hosts` are names beside localhost and plain addresses."""

    token: str = ""
    hosts: frozenset[str] = frozenset()
    max_body: int = 4 * 1024 * 1024
    max_sessions: int = 1000
    idle: float = 1800.0


class RefusedVisitError(Exception):
    """Raised for a request that gets an error: HTTP status, code of JSON-RPC, and what else is told."""

    def __init__(self, status: int, text: str, code: int = messages.INVALID_REQUEST, **more: Any) -> None:
        self.status, self.code, self.more = status, code, more
        super().__init__(text)


class GatewaySession:
    """Hold what belongs to one client; it ends with its server, or when it is told to."""

    def __init__(self, connection: ServerConnection) -> None:
        self.id, self.streams, self.used = uuid.uuid4().hex, ClientStreams(), anyio.current_time()
        self.connection, self._is_heard, self.has_ended = connection, False, False

    async def live(self, make: MakeGateway, *, task_status: TaskStatus[None]) -> None:
        """Run until the server has ended."""
        try:
            async with anyio.create_task_group() as self._tasks:
                self._gateway = make(self.streams.send, self.connection.send, self._tasks)
                self.connection.bind(self._gateway, self._tasks)
                task_status.started()
                await self.connection.run()
                self.has_ended = True  # from here on nothing new may begin, while what was begun gets its answer
                await self._gateway.refuse_all()
                self._tasks.cancel_scope.cancel()
        finally:
            self.has_ended = True
            self.streams.close()
            with anyio.CancelScope(shield=True):
                await self.connection.close()

    async def take(self, text: str, read: list[Message] | Message, stream: ClientStream) -> None:
        """Take a client's message; what is answered appears in the stream."""
        VISIT.set(stream)
        if stream.waiting:
            # In a task: what is answered at once must not wait for who reads the answers.
            self._tasks.start_soon(self._gateway.take, text, read)
        else:
            await self._gateway.take(text, read)

    def hear(self) -> None:
        """See to it that the client hears what the server says of its own accord."""
        if not self._is_heard:
            self._is_heard = True
            self._tasks.start_soon(self.connection.listen)


class GatewayApp:
    """Answer HTTP requests; an ASGI application."""

    def __init__(
        self, connect: Callable[[], ServerConnection], make: MakeGateway, settings: ListenSettings, tasks: TaskGroup
    ) -> None:
        self._connect, self._make, self._settings, self._tasks = connect, make, settings, tasks
        self._sessions: dict[str, GatewaySession] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._admit(scope, headers)
            match scope["method"]:
                case "POST":
                    await self._post(headers, scope, receive, send)
                case "GET":
                    await self._get(headers, receive, send)
                case "DELETE":
                    await self._find(headers).connection.close()
                    await answer(send, 204, {})
                case _:
                    await answer(send, 405, {b"allow": b"GET, POST, DELETE"})
        except NoPayloadError as wrong:
            await _refuse(send, RefusedVisitError(wrong.status, str(wrong)))
        except RefusedVisitError as refused:
            await _refuse(send, refused)

    async def end_idle_sessions(self) -> None:
        """End, again and again, those that nobody has used for long."""
        idle = self._settings.idle
        while True:
            await anyio.sleep(min(idle / 4, 30))
            for session in list(self._sessions.values()):
                if not session.streams.are_read and anyio.current_time() - session.used > idle:
                    self._tasks.start_soon(session.connection.close)

    async def close(self) -> None:
        """End all sessions, as far as that is quick."""
        leaving = list(self._sessions.values())

        async def end() -> None:
            while leaving:
                await leaving.pop().connection.close()

        with anyio.move_on_after(GRACE_SECONDS):
            async with anyio.create_task_group() as closing:
                for _ in range(CLOSED_AT_ONCE):
                    closing.start_soon(end)

    def _admit(self, scope: Any, headers: dict[bytes, str]) -> None:
        host, origin = headers.get(b"host", ""), headers.get(b"origin", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
            is_ours = name == "localhost" or name in self._settings.hosts or bool(ip_address(name))
        except ValueError:
            is_ours = False
        # A page whose name was bound to our address has a name of its own; so has a page of another origin.
        if not is_ours:
            raise RefusedVisitError(421, "This gateway is not known by that host name: --allow-host NAME adds one.")
        if origin and urlsplit(origin).netloc != host:
            raise RefusedVisitError(403, "Pages of another origin may not ask here.")
        scheme, _, given = headers.get(b"authorization", "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), self._settings.token.encode())
        if self._settings.token and not (is_right and scheme.lower() == "bearer"):
            raise RefusedVisitError(401, "This gateway wants its token: Authorization: Bearer …")
        if scope["path"].rstrip("/") != PATH:
            raise RefusedVisitError(404, f"MCP is served at {PATH}.")

    def _find(self, headers: dict[bytes, str]) -> GatewaySession:
        session = self._sessions.get(headers.get(b"mcp-session-id", ""))
        if session is None or session.has_ended:
            if b"mcp-session-id" in headers:
                raise RefusedVisitError(404, "This session is over, or never was: begin a new one with initialize.")
            raise RefusedVisitError(400, "Mcp-Session-Id is missing: the answer to initialize gives it.")
        session.used = anyio.current_time()
        return session

    async def _post(self, headers: dict[bytes, str], scope: Any, receive: Any, send: Any) -> None:
        if headers.get(b"content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RefusedVisitError(415, "A message is sent as application/json.")
        if headers.get(b"content-encoding", "identity").strip().lower() not in ("identity", ""):
            raise RefusedVisitError(415, "A message is sent as it is, without a Content-Encoding.")
        body = await read_body(receive, self._settings.max_body, BODY_SECONDS)
        text = body.decode("utf-8", "surrogateescape")
        # In a thread where it is long: one session's message holds up no other.
        read = await aside(_read, text)
        sent = [read] if isinstance(read, Message) else read
        begins = b"mcp-session-id" not in headers and any(message.method == "initialize" for message in sent)
        if not begins and b"mcp-session-id" not in headers:
            _refuse_stateless(sent, headers)
        session = await self._begin() if begins else self._find(headers)
        if session.streams.is_full:
            raise RefusedVisitError(503, "Too many requests of this session wait for their answers.")
        # Our own token is for nobody else.
        passed = [pair for pair in scope["headers"] if pair[0] != b"authorization" or not self._settings.token]
        # What is wrong, and names no id, gets an answer too.
        owed = [it for it in sent if not it.is_answer and (it.id is not None or it.method in (None, "tools/call"))]
        stream = session.streams.open(passed, owed)
        writer = StreamWriter(stream, send, [(b"mcp-session-id", session.id.encode())] if begins else [])
        is_well = False
        try:
            await session.take(text, read, stream)
            takes_events = "text/event-stream" in headers.get(b"accept", "")
            await writer.follow(receive, writer.answer_post(takes_events=takes_events))
            is_well = not stream.refused and not stream.is_failed
        finally:
            # What begins a session that comes to nothing leaves none behind.
            if begins and not is_well:
                await session.connection.close()
            if stream.is_complete or not stream.is_streamed:
                session.streams.end(stream, can_be_taken_up=stream.is_streamed)

    async def _begin(self) -> GatewaySession:
        if len(self._sessions) >= self._settings.max_sessions:
            raise RefusedVisitError(503, "Too many sessions are open; try again later.", messages.CONNECTION_CLOSED)
        try:
            session = GatewaySession(self._connect())
        except OSError as error:
            raise RefusedVisitError(502, f"The MCP server cannot be started: {error.strerror}.") from None
        self._sessions[session.id] = session

        async def live(*, task_status: TaskStatus[None]) -> None:
            try:
                await session.live(self._make, task_status=task_status)
            except Exception:
                logger.exception("A session failed")
            finally:
                del self._sessions[session.id]

        await self._tasks.start(live)
        return session

    async def _get(self, headers: dict[bytes, str], receive: Any, send: Any) -> None:
        session = self._find(headers)
        if "text/event-stream" not in headers.get(b"accept", ""):
            raise RefusedVisitError(406, "What is sent is a stream of events: accept text/event-stream.")
        found = session.streams.find(headers.get(b"last-event-id", ""))
        stream, at = found or (session.streams.general, session.streams.general.written)
        session.hear()
        writer = StreamWriter(stream, send)
        await writer.follow(receive, writer.write_events(at))


def _read(text: str) -> list[Message] | Message:
    try:
        read = read_sent(text)
    except UnreadableMessageError as error:
        raise RefusedVisitError(400, f"The message is {error}.", error.code, id=error.request_id) from None
    if read is None:
        raise RefusedVisitError(400, NO_MESSAGE)
    return read


def _refuse_stateless(sent: list[Message], headers: dict[bytes, str]) -> None:
    """Send a client of the protocol without sessions to one that has them, which clients of both speak."""
    asked = sent[0].meta.get(PROTOCOL_VERSION, headers.get(b"mcp-protocol-version", VERSIONS[0]))
    if asked not in VERSIONS:
        text = "This gateway serves the protocol with sessions: begin with initialize."
        data = {"supported": VERSIONS, "requested": str(asked)}
        raise RefusedVisitError(400, text, UNSUPPORTED_VERSION, id=sent[0].id, data=data)


async def _refuse(send: Any, refused: RefusedVisitError) -> None:
    challenge = {b"www-authenticate": b"Bearer"} if refused.status == 401 else {}
    later = {b"retry-after": b"60"} if refused.status == 503 else {}
    said = messages.failure(refused.more.get("id"), refused.code, str(refused), refused.more.get("data"))
    await answer(send, refused.status, JSON | challenge | later, said.text.encode())


class GatewayServer(uvicorn.Server):
    """Serve until it is told to end; signals are for who runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(listening: socket.socket, app: GatewayApp, ended: Callable[[], Awaitable[None]]) -> None:
    """Serve at an address until `ended` returns; then every session is ended in good order."""
    # Who begins a request and does not end it holds its connection no longer than one of the service.
    most = allow_many_connections()
    doorkeeper = Doorkeeper(most, most_of_one_address=0, header_seconds=HEADER_SECONDS, body_seconds=2 * BODY_SECONDS)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, date_header=False, lifespan="off", ws="none",
        timeout_graceful_shutdown=GRACE_SECONDS, http=guarded(doorkeeper),
    )  # fmt: skip
    server = GatewayServer(config)

    async def stop() -> None:
        await ended()
        # First: streams that stay open would hold the server up. Both have one grace together.
        until = anyio.current_time() + GRACE_SECONDS
        await app.close()
        config.timeout_graceful_shutdown = max(1, round(until - anyio.current_time()))
        server.should_exit = True

    async with anyio.create_task_group() as serving:
        serving.start_soon(stop)
        serving.start_soon(app.end_idle_sessions)
        await server.serve([listening])
        serving.cancel_scope.cancel()
