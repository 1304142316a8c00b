"""Speak with an MCP server over streamable HTTP; what it sends is handed on as it was written."""

from __future__ import annotations

import base64
import logging
import math
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import anyio
import httpx2
from anyio.abc import TaskGroup

from retrycontract.mcp.behind import HttpServer
from retrycontract.mcp.connection import VISIT, Headers, Receiver, Visit
from retrycontract.mcp.events import AnswerTooLargeError, data_of, events_of, field_of
from retrycontract.mcp.messages import PROTOCOL_VERSION, Message, UnreadableMessageError, key_of, read_again, read_line
from retrycontract.mcp.visiting import aside

CONNECT_SECONDS, LEAVE_SECONDS = 10.0, 2.0
MAX_ANSWER: Final = 64 * 1024 * 1024  # bytes of one message: a server that never ends one must not fill our memory
MAX_REFUSAL: Final = 64 * 1024
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 30.0  # before a stream that broke off is asked for again, unless the server says
MOST_FAILURES: Final = 5  # to take up the stream of an answer, one after another
# What belongs to one connection (RFC 9110, 7.6.1), what is said anew here, and what is for the gateway's own host.
NOT_PASSED: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade host content-length content-type accept accept-encoding expect origin referer cookie "
    b"mcp-session-id mcp-protocol-version mcp-method mcp-name last-event-id".split()
)
NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")

NOT_REACHED = "The MCP server behind the gateway cannot be reached ({reason}). Nothing was executed."
BROKEN_OFF = (
    "The connection with the MCP server behind the gateway broke off ({reason}). The call may have been executed."
)
REFUSED = "The MCP server behind the gateway answers {status}. {said}"

logger = logging.getLogger("retrycontract.mcp")


def http_client(stall: float | None = None) -> httpx2.AsyncClient:
    """Make what all clients of an upstream share; `stall` is how many seconds it may be silent, None for any number."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(stall, connect=CONNECT_SECONDS, pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=20),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # one client's must not go along with another's
    )


class EventReader:
    """Read a stream of events, also in several pieces; `hand_on` takes what they hold."""

    def __init__(self, connection: HttpConnection, is_wanted: Callable[[], bool]) -> None:
        self._connection, self._is_wanted = connection, is_wanted
        self.last_id: bytes | None = None
        self.pause = PAUSE_SECONDS

    async def read(self, response: httpx2.Response) -> None:
        """Read until the stream ends or nobody wants more."""
        async for event in events_of(response.aiter_bytes(), MAX_ANSWER):
            self.last_id = field_of(event, b"id") or self.last_id
            if (retry := field_of(event, b"retry")) is not None and retry.isdigit():
                self.pause = min(int(retry[:9]) / 1000, LONGEST_PAUSE)
            if data := data_of(event):
                await self._connection.hand_on(data)
            if not self._is_wanted():
                return

    async def take_up(self, most_failures: float) -> None:
        """Ask for the rest again and again, as long as it is wanted and the server has it."""
        failures = 0
        while self._is_wanted() and failures < most_failures:
            await anyio.sleep(min(self.pause * 2 ** min(failures, 5), LONGEST_PAUSE))
            try:
                async with self._connection.opened(self.last_id) as response:
                    if response.status_code in range(400, 500):
                        return
                    if is_events(response):
                        failures = 0
                        await self.read(response)
                    else:
                        failures += 1
            except (httpx2.HTTPError, OSError, AnswerTooLargeError):
                failures += 1


class HttpConnection:
    """Hold one client's session with a server; requests that need an answer go out side by side."""

    def __init__(self, server: HttpServer, http: httpx2.AsyncClient) -> None:
        self._server, self._http = server, http
        self._session: bytes | None = None
        self._version: bytes | None = None
        self._theirs: Headers = []
        self._ended, self._beginning = anyio.Event(), anyio.Lock()
        self._asking: dict[str, anyio.CancelScope] = {}

    def bind(self, receiver: Receiver, tasks: TaskGroup) -> None:
        self._receiver, self._tasks = receiver, tasks

    async def send(self, text: str) -> bool:
        """Send a message; what becomes of it the receiver hears."""
        read = await aside(read_again, text)
        sent = [read] if isinstance(read, Message) else read or []
        requests = [message for message in sent if message.is_request]
        if requests:
            if requests[0].method == "initialize":
                self._session = self._version = None
            self._tasks.start_soon(self._ask, text, requests)
        elif not self._is_cancelled_by_closing(sent):
            try:
                async with self._posted(text, sent) as response:
                    if response.status_code >= 300:
                        await self._refused(response, [])
                    elif any(message.method == "notifications/initialized" for message in sent) and VISIT.get() is None:
                        self._tasks.start_soon(self.listen)
            except (httpx2.HTTPError, OSError) as error:
                logger.warning("A notification did not reach the MCP server: %s", _reason(error))
        return True

    @property
    def _visit(self) -> Visit | None:
        """Give the client's request that is under way, if this server is all that the client speaks with."""
        return VISIT.get() if self._server.passes_headers else None

    async def run(self) -> int:
        """Wait for the end; a server that is away for a while comes back."""
        await self._ended.wait()
        return 0

    async def close(self) -> None:
        """End the session, in case the server still listens."""
        if self._ended.is_set():
            return
        self._ended.set()
        with anyio.move_on_after(LEAVE_SECONDS, shield=True):
            try:
                if self._session is not None:
                    await self._http.request("DELETE", self._server.url, headers=self._head())
            except (httpx2.HTTPError, OSError) as error:
                logger.warning("The session could not be ended: %s", error)

    async def listen(self) -> None:
        """Read what the server says of its own accord, until it has no such stream."""
        reader = EventReader(self, lambda: not self._ended.is_set())
        reader.pause = 0
        await reader.take_up(math.inf)

    def opened(self, last_id: bytes | None) -> AbstractAsyncContextManager[httpx2.Response]:
        """Ask for a stream of events, behind the one with that id."""
        return self._http.stream("GET", self._server.url, headers=self._head(last_id=last_id))

    async def hand_on(self, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        if self._version is None:
            # The answer to `initialize` says which version each request has to name.
            with suppress(UnreadableMessageError):
                read = read_line(text)
                result = read.value.get("result") if isinstance(read, Message) else None
                version = result.get("protocolVersion") if isinstance(result, dict) else None
                if isinstance(version, str) and PLAIN.fullmatch(version):
                    self._version = version.encode()
        await self._receiver.from_upstream(text)

    def _is_cancelled_by_closing(self, sent: Sequence[Message]) -> bool:
        """Close what is cancelled: the stateless protocol knows no other sign, and a session's server hears of it."""
        for message in sent:
            if message.method == "notifications/cancelled":
                scope = self._asking.get(key_of(message.params.get("requestId")))
                if scope is not None and self._version is None:
                    scope.cancel()
                    return True
        return False

    async def _ask(self, text: str, requests: list[Message]) -> None:
        keys = [request.key for request in requests]
        scope = anyio.CancelScope()
        self._asking |= dict.fromkeys(keys, scope)
        try:
            with scope:
                await self._ask_again_in_a_new_session(text, requests, keys)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.ProxyError) as error:
            await self._give_up(keys, NOT_REACHED.format(reason=_reason(error)))
        except (httpx2.HTTPError, OSError, AnswerTooLargeError) as error:
            await self._give_up(keys, BROKEN_OFF.format(reason=_reason(error)))
        finally:
            for key in keys:
                if self._asking.get(key) is scope:
                    del self._asking[key]

    async def _ask_again_in_a_new_session(self, text: str, requests: list[Message], keys: list[str]) -> None:
        for may_begin_again in (True, False):
            session = self._session
            async with self._posted(text, requests) as response:
                if session is not None and self._visit is None and may_begin_again and response.status_code == 404:
                    await response.aread()  # the session is over, which a client at a pipe cannot be told
                else:
                    await self._answered(response, keys)
                    return
            async with self._beginning:
                if self._session == session:  # else another request has begun a new one meanwhile
                    await self._receiver.greet_again()

    async def _answered(self, response: httpx2.Response, keys: list[str]) -> None:
        if response.status_code >= 300:
            await self._refused(response, keys)
            return
        self._session = response.headers.get("mcp-session-id", "").encode() or self._session
        if is_events(response):
            reader = EventReader(self, lambda: any(self._receiver.awaits(key) for key in keys))
            try:
                await reader.read(response)
            except (httpx2.HTTPError, OSError):
                if reader.last_id is None:
                    raise
            if reader.last_id is not None:
                await response.aclose()
                await reader.take_up(MOST_FAILURES)
        elif body := await _whole(response, MAX_ANSWER):
            await self.hand_on(body)
        await self._give_up(keys, BROKEN_OFF.format(reason="it ended without an answer"))

    async def _refused(self, response: httpx2.Response, keys: list[str]) -> None:
        body = await _whole(response, MAX_REFUSAL)
        visit = self._visit
        kept = [(name.lower(), value) for name, value in response.headers.raw]
        if visit is not None and visit.refuse(keys, response.status_code, kept, body):
            for key in keys:
                self._receiver.forget(key)
            return
        said = body.decode("utf-8", "surrogateescape")
        try:
            read = read_line(said)
        except UnreadableMessageError:
            read = None
        if isinstance(read, Message) and read.is_answer and read.key in keys:
            await self._receiver.from_upstream(said)
        status = f"{response.status_code} {response.reason_phrase}".strip()
        logger.warning("The MCP server answers %s", status)
        await self._give_up(keys, REFUSED.format(status=status, said=" ".join(said.split())[:500]).strip())

    async def _give_up(self, keys: list[str], text: str) -> None:
        for key in keys:
            if self._receiver.awaits(key):
                await self._receiver.give_up(key, text)

    def _posted(self, text: str, sent: Sequence[Message]) -> AbstractAsyncContextManager[httpx2.Response]:
        content = text.encode("utf-8", "surrogateescape")
        return self._http.stream("POST", self._server.url, headers=self._head(sent), content=content)

    def _head(self, sent: Sequence[Message] = (), *, last_id: bytes | None = None) -> Headers:
        visit = self._visit
        if visit is not None:
            # The newest, since a token may have been renewed.
            # An empty token leaves `Bearer ` and its space, which no client may send.
            self._theirs = [(name, value.strip()) for name, value in visit.headers if name not in NOT_PASSED]
        own = [*self._server.headers, (b"accept", b"application/json, text/event-stream")]
        if sent:
            own += [(b"content-type", b"application/json"), *_stateless(sent[0])]
        named = {name for name, _ in own}
        for name, value in (
            (b"mcp-protocol-version", self._version), (b"mcp-session-id", self._session), (b"last-event-id", last_id),
        ):  # fmt: skip
            own += [(name, value)] if value is not None and name not in named else []
        return [pair for pair in self._theirs if pair[0] not in named] + own


def is_events(response: httpx2.Response) -> bool:
    """Tell a stream of events from a whole answer."""
    return response.is_success and response.headers.get("content-type", "").lower().startswith("text/event-stream")


def _stateless(message: Message) -> Headers:
    """Say beside a message what the stateless protocol wants to see without reading it."""
    version = message.meta.get(PROTOCOL_VERSION)
    if not isinstance(version, str) or message.method is None:
        return []
    name = message.params.get(NAMES.get(message.method, ""))
    named = [("mcp-name", name)] if isinstance(name, str) else []
    told = [("mcp-protocol-version", version), ("mcp-method", message.method), *named]
    headers = []
    for member, value in told:
        if PLAIN.fullmatch(value):
            headers.append((member.encode(), value.encode()))
        else:
            coded = base64.b64encode(value.encode("utf-8", "surrogatepass"))
            headers.append((member.encode(), b"=?base64?" + coded + b"?="))
    return headers


async def _whole(response: httpx2.Response, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            raise AnswerTooLargeError("it sent more than is held of one message")
    return bytes(body)


def _reason(error: Exception) -> str:
    return f"{error}".strip() or type(error).__name__
