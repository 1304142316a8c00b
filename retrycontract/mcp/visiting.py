"""One HTTP request of an agent, which is answered by asking the API in this process with the agent's own key."""

from __future__ import annotations

import asyncio
import json
import json.decoder
import json.scanner
import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from contextvars import ContextVar
from math import ceil
from time import monotonic, thread_time
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import anyio
import httpx2

from retrycontract.client import AsyncClient
from retrycontract.client.exchange import advance
from retrycontract.contract.errors import WrongInputError
from retrycontract.judging.asking import PATIENCE, NoVerdictError
from retrycontract.mcp.large_visits import LARGE_BYTES, large_visits

Result = TypeVar("Result")
HERE = "http://in.process"  # never looked up: the transport calls the application
# What the application decides by, beside the key: its host, and how a proxy was asked; and what names the request.
HANDED_ON = (b"host", b"x-forwarded-", b"forwarded", b"x-request-id")

BODY_SECONDS = 30.0  # for a whole request; agents write it at once
HEADER_SECONDS = 10.0
MOST_DRAINED = 8  # times the limit; of what is too large
MOST_ASKED = 8  # requests of one visit that the API is busy with; more would only stand before everybody else's


PIECE = 1_000_000  # characters that are looked through at once
MOST_STRINGS = 64  # characters that most strings end within
SHORT = 10_000  # characters that are read at once
FEW = 20_000  # values that are decoded in C, which keeps the interpreter to itself: 2 to 15 ms
_ESCAPED = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u.{4}|\\.", re.DOTALL)
_decoder: Any = json.decoder  # what it does with one string has no type
_scan: Callable[[str, int, bool], tuple[str, int]] = _decoder.scanstring
# In whose turn long texts are read.
asker: ContextVar[bytes] = ContextVar("asker", default=b"")
_readers = ThreadPoolExecutor(2, "retrycontract-reading")
_reading = WeakValueDictionary[Hashable, asyncio.Lock]()
_charges: list[Callable[[str, float], int]] = []
_overdrawn_until = dict[str, float]()  # by key; on the clock that only goes on


def charge_with(charge: Callable[[str, float], int]) -> None:
    """Have `charge` told of what long texts took to read: the key that they came with, and processor seconds.

    It gives the whole seconds that the key's agent has to wait for more, 0 for none.
    """
    _charges[:] = [charge]


def seconds_overdrawn(text: bytes | bytearray) -> int:
    """Tell how long whoever sends a long text has to wait, 0 for not at all: earlier ones took too much to read."""
    until = _overdrawn_until.get(_key(), 0.0) if len(text) > SHORT else 0.0
    return max(0, ceil(until - monotonic()))


def _key() -> str:
    return asker.get().decode("latin-1").rpartition(" ")[2]


def _charged(work: Callable[..., Result], key: str, *given: Any) -> Result:
    begun = thread_time()
    try:
        return work(*given)
    finally:
        for charge in _charges:
            if wait := charge(key, thread_time() - begun):
                _overdrawn_until[key] = monotonic() + wait


async def aside(work: Callable[..., Result], text: str | bytes, *more: Any) -> Result:
    """Read a long text in a thread, one of a key at a time: meanwhile the loop serves everybody else."""
    if len(text) <= SHORT:
        return work(text, *more)
    loop = asyncio.get_running_loop()
    async with _reading.setdefault((loop, asker.get()), asyncio.Lock()):
        return await loop.run_in_executor(_readers, _charged, work, _key(), text, *more)


async def _advance_aside(conversation: Any, answered: Any) -> Any:
    """Write and read what is as large as the request, in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_readers, _charged, advance, _key(), conversation, answered)


def most_values(text: str | bytes) -> int:
    """Bound how many values a JSON text holds, by the signs that would part them; they may stand in strings."""
    signs: Any = (b"[", b"{", b",") if isinstance(text, bytes) else ("[", "{", ",")
    return 1 + sum(text.count(sign, at, at + PIECE) for at in range(0, len(text), PIECE) for sign in signs)


class PatientDecoder(json.JSONDecoder):
    """Decode many values in Python, which takes some times as long as in C, and lets other threads run meanwhile."""

    def __init__(self, **hooks: Any) -> None:
        super().__init__(**hooks)
        self._patient = json.JSONDecoder(**hooks)
        # Python has it for where there is no C, and types for neither.
        in_python: Any = json.scanner
        vars(self._patient)["parse_string"] = _text_in_pieces
        vars(self._patient)["scan_once"] = in_python.py_make_scanner(self._patient)

    def decode(self, text: str) -> Any:  # type: ignore[override]
        """Decode as `json.loads` does."""
        is_small = len(text) <= FEW or (len(text) <= 2 * PIECE and most_values(text) <= FEW)
        return super().decode(text) if is_small else self._patient.decode(text)


def _text_in_pieces(text: str, begin: int, strict: bool = True) -> tuple[str, int]:
    """Read a string as Python's scanner does, one of many megabytes in pieces."""
    if _ends_soon(text, begin):
        return _scan(text, begin, strict)
    read, at = list[str](), begin
    try:
        while len(text) - at > PIECE:
            end = _before_escapes(text, at + PIECE)
            piece, length = _scan(f'{text[at:end]}"', 0, strict)
            read.append(piece)
            if length <= end - at:
                return "".join(read), at + length
            at = end
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, text, at + error.pos) from None
    try:
        piece, end = _scan(text, at, strict)
    except json.JSONDecodeError as error:  # one without an end is told where it begins
        raise json.JSONDecodeError(error.msg, text, begin - 1 if error.pos == at - 1 else error.pos) from None
    return "".join([*read, piece]), end


def _ends_soon(text: str, begin: int) -> bool:
    """Tell whether a string ends within a piece."""
    size = MOST_STRINGS
    while size < 8 * PIECE:
        piece = text[begin : begin + min(size, PIECE)]
        if "\\" in piece:  # what is escaped goes in two steps, not one by one
            piece = piece.replace("\\\\", "").replace('\\"', "")
        if '"' in piece:
            return True
        size *= 8
    return False


def _before_escapes(text: str, at: int) -> int:
    """Give where the escape begins in which a place stands, or the pair of them that is one character; else itself."""
    for begin in range(at - len(r"\ud83d\ude0"), at):
        before = text[at - PIECE : begin]
        if text[begin] == "\\" and (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            escaped = _ESCAPED.match(text, begin)
            if escaped is not None and escaped.end() > at:
                return begin
    return at


CODES = {400: "bad-json", 403: "foreign-origin", 404: "not-found", 405: "method-not-allowed", 408: "too-slow",
         413: "body-too-large", 415: "encoded-body", 429: "too-much-work"}  # fmt: skip


USED_UP = "Reading this agent's requests took more processor time than it may have"


class NoPayloadError(Exception):
    """Raised for a request that cannot be taken: `status` and reason."""

    def __init__(self, status: int, reason: str, allow: bytes = b"", retry_after: int = 0) -> None:
        self.status, self.allow, self.retry_after = status, allow, retry_after
        super().__init__(reason)


class KeyedVisit(ABC):
    """Answer one HTTP request whose key the API takes; `app` speaks the API."""

    METHODS: tuple[str, ...] = ("POST",)  # a stream that nobody writes to would only be held open; () stands for all
    KEY_HEADERS: tuple[bytes, ...] = ()  # that hold the key itself, where `Authorization` is for somebody else

    def __init__(self, app: Any, scope: Any, *, is_closing: Callable[[], bool]) -> None:
        self._app, self._scope, self._is_closing = app, scope, is_closing
        self._came_at = monotonic()
        self._asking = asyncio.Semaphore(MOST_ASKED)
        self._turn = AsyncExitStack()  # of a large request, until it waits for a verdict or a person
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._transport = httpx2.ASGITransport(app=self._ask)

    async def serve(self, receive: Any, send: Any, *, max_body_bytes: int) -> None:
        """Check the key and let the kind of visit answer."""
        if self.METHODS and self._scope["method"] not in self.METHODS:
            allowed = ", ".join(self.METHODS)
            await answer_problem(send, NoPayloadError(405, f"This address takes {allowed}.", allowed.encode()))
            return
        own = next((b"Bearer " + self._headers[name] for name in self.KEY_HEADERS if name in self._headers), None)
        authorization = own or self._headers.get(b"authorization", b"")
        asker.set(authorization)
        # The API is asked with the key: nobody else needs to know which keys, hosts and rates are right.
        async with httpx2.AsyncClient(transport=self._transport) as http:
            headers = {b"Authorization": authorization} if authorization else {}
            found = await http.get(f"{HERE}/api/v1/calls?limit=1", headers=headers)
        # A key that may not read may do other things here, and is told so where it may not.
        if found.status_code not in (200, 403):
            headers = {name.encode(): value.encode("latin-1") for name, value in found.headers.items()}
            kept = {name: headers[name] for name in (b"content-type", b"retry-after", b"location") if name in headers}
            challenge = {b"www-authenticate": b"Bearer"} if found.status_code == 401 else {}
            await answer(send, found.status_code, kept | challenge, found.content)
            return
        key = authorization.decode().partition(" ")[2]

        async def pause(seconds: float) -> None:
            if self._is_closing():
                raise NoVerdictError("the service is being restarted. Ask again in a moment.")
            await asyncio.sleep(seconds)

        client = AsyncClient(HERE, key, transport=self._transport, patience=PATIENCE, sleep=pause)
        async with client, self._turn:
            await self.answer(client, key, receive, send, max_body_bytes)

    async def read(self, client: AsyncClient, receive: Any, limit: int) -> bytes:
        """Read the body, and wait for the turn of a large one; raises NoPayloadError as `read_body` does."""
        body = await read_body(receive, limit, BODY_SECONDS)
        if len(body) > LARGE_BYTES:
            await self._turn.enter_async_context(large_visits().turn(asker.get(), len(body)))
            client._advance = _advance_aside  # noqa: SLF001 - who uses the client has no large request to answer
        return body

    @abstractmethod
    async def answer(self, client: AsyncClient, key: str, receive: Any, send: Any, max_body_bytes: int) -> None:
        """Answer an agent whose key is right; `client` asks in its name."""

    def refuse_what_no_agent_sends(self) -> None:
        """Raise NoPayloadError for a page of another origin, and for a body that is compressed."""
        origin = self._headers.get(b"origin", b"").decode("latin-1")
        if origin and urlsplit(origin).netloc != self._headers.get(b"host", b"").decode("latin-1"):
            raise NoPayloadError(403, "Tool calls are sent by agents, not by pages of another origin.")
        if self._headers.get(b"content-encoding", b"identity").strip().lower() not in (b"identity", b""):
            raise NoPayloadError(415, "A body is sent as it is, without a Content-Encoding.")

    async def _ask(self, scope: Any, receive: Any, send: Any) -> None:
        """Call the application in the name of who called us."""
        mine = [pair for pair in scope["headers"] if not pair[0].startswith(HANDED_ON)]
        # So that the application refuses, limits and logs this request as if its sender had asked it directly.
        theirs = [pair for pair in self._scope["headers"] if pair[0].startswith(HANDED_ON)]
        if b"traceparent" in self._headers and b"traceparent" not in dict(mine):  # else the message named its own
            theirs.append((b"traceparent", self._headers[b"traceparent"]))
        outer = {name: self._scope[name] for name in ("scheme", "client", "server") if name in self._scope}
        asked = {**scope, **outer, "headers": mine + theirs}
        if scope["path"].endswith("/wait"):  # for a verdict or a person, which keeps nobody busy
            await self._turn.aclose()
            await self._app(asked, receive, send)
            return
        async with self._asking:
            await self._app(asked, receive, send)


async def gone(receive: Any) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def answer_problem(send: Any, wrong: NoPayloadError) -> None:
    """Say in a problem document what is wrong with a request."""
    title, code = str(wrong), CODES.get(wrong.status, "invalid-request")
    said = json.dumps({"title": title, "status": wrong.status, "code": code, "detail": title}).encode()
    headers = {b"content-type": b"application/problem+json"} | ({b"allow": wrong.allow} if wrong.allow else {})
    headers |= {b"retry-after": b"%d" % wrong.retry_after} if wrong.retry_after else {}
    await answer(send, wrong.status, headers, said)


async def read_body(receive: Any, limit: int, seconds: float) -> bytes:
    """Read a whole body; raises NoPayloadError for one that is too large, too late or of who has sent too much."""
    body = bytearray()
    size = 0
    with anyio.move_on_after(seconds) as patience:
        more = True
        while more:
            message = await receive()
            piece = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(piece)
            if size <= limit:
                body += piece
            elif not more or size > limit * MOST_DRAINED:
                # Read to its end before: a client that is still sending would not see the answer.
                raise NoPayloadError(413, f"A request may have {limit} bytes: send less in one.")
    if patience.cancelled_caught:
        raise NoPayloadError(408, f"The request did not arrive within {seconds:g} seconds.")
    if wait := seconds_overdrawn(body):
        raise NoPayloadError(429, f"{USED_UP}; wait as long as Retry-After says, and send less.", retry_after=wait)
    return bytes(body)


async def answer(send: Any, status: int, headers: dict[bytes, bytes], body: bytes = b"") -> None:
    sized = [*headers.items(), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})


def bound_socket(address: str) -> socket.socket:
    """Take the address that `--listen` names; raises ValueError."""
    host, _, port = address.rpartition(":")
    # Beyond it, some systems take the remainder.
    if not host or not port.isdecimal() or int(port[:9]) > 65535:
        raise WrongInputError(f"--listen takes host:port, not {address!r}")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        # With its protocol: asyncio sends small packets at once on such sockets only.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except OSError as error:
        raise WrongInputError(f"--listen {address} cannot be used: {error.strerror}") from error
    return listening
