"""One request of a client's, over ASGI: read it, answer it, and notice when the client leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NoReturn
from urllib.parse import unquote

from retrycontract.contract.outputs.json_text import depth_fault
from retrycontract.mcp.visiting import PatientDecoder, most_values
from retrycontract.proxy.upstream import ClientRequest, Headers
from retrycontract.proxy.wire import MAX_DEPTH, NUMBERS, Body

MOST_VALUES: Final = 1_000_000  # of a request that is judged: ten times those of 2,000 tools, and 100 MB
SIGN_SECONDS: Final = 5.0  # between signs of life; clients give up after 30 to 60 silent ones


class RequestTooLargeError(ValueError):
    """Raised for a request that is larger than what is read of one."""


class BusyError(Exception):
    """Raised where a request is not taken for now; `wait` is in whole seconds."""

    def __init__(self, told: str, wait: int = 1) -> None:
        self.wait = wait
        super().__init__(told)


class Room:
    """Bound the bytes of all bodies that are held at once; one within another takes from both."""

    def __init__(self, size: int, within: Room | None = None) -> None:
        self._left, self._within = size, within

    def take(self, size: int) -> None:
        """Take so many bytes, or give them back; raises BusyError."""
        if size > self._left:
            raise BusyError("too much of other requests is held already; ask again in a moment")
        if self._within is not None:
            self._within.take(size)
        self._left -= size


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


DECODER: Final = PatientDecoder(**NUMBERS, parse_constant=_no_number)


def parsed(content: bytes) -> tuple[Body | None, str]:
    """Read a request, or say why it is not judged; one that is none is the upstream's to refuse."""
    found = None
    if most_values(content) > MOST_VALUES:
        return None, f"the request may hold more than {MOST_VALUES:,} values: nothing is judged by it"
    try:
        found = DECODER.decode(content.decode(json.detect_encoding(content), "surrogatepass"))
        # It is hashed, and written again when the upstream is asked again, by functions that recurse.
        is_deep = depth_fault(found, MAX_DEPTH) is not None
    except RecursionError:
        is_deep = True
    except ValueError:
        is_deep = False
    if not isinstance(found, dict) and not is_deep:
        return None, "the request cannot be read as JSON: nothing is judged by it"
    if is_deep:
        return None, f"the request nests deeper than {MAX_DEPTH} levels: nothing is judged by it"
    return found, ""


def settled_path(raw: str) -> str | None:
    """Take the dot segments out of a path, `%2e` too, as servers do; None for what two servers may read differently.

    Nothing leads above its beginning, below which the upstream stands; a `#` would end it where it is sent.
    """
    if "#" in raw or not raw.startswith("/"):
        return None if raw else ""
    segments, ends = list[str](), False
    for segment in raw.split("/")[1:]:
        plain = unquote(segment)
        ends = plain in (".", "..")
        if plain == ".." and not segments:
            return None
        if plain == "..":
            segments.pop()
        elif plain != ".":
            segments.append(segment)
        if not ends and not {".", ".."}.isdisjoint(plain.replace("\\", "/").split("/")):
            return None  # behind what only some servers take for a slash
    return f"/{'/'.join(segments)}{'/' if ends and segments else ''}"


class ClientVisit:
    """Hold the connection with a client until its request is answered; its body takes `room`, which others need too."""

    def __init__(self, scope: Any, receive: Any, send: Any, room: Room | None = None) -> None:
        self._room, self._held = room, 0
        self._receive, self._send = receive, send
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        raw = scope.get("raw_path") or scope["path"].encode()
        query = scope.get("query_string") or b""
        path, told = settled_path(raw.decode("latin-1")), query.decode("latin-1")
        self.is_astray = path is None or "#" in told
        # One path for both: what is sent is what was looked at.
        self.path = unquote(path or "")
        target = f"{path or ''}?{told}" if told else path or ""
        self.request = ClientRequest(scope["method"], target, self._headers, scope.get("root_path") or "")
        # `gone` listens only once the body is read: two readers of one channel would take each other's messages.
        self._is_read = asyncio.Event()
        self.has_begun = self.has_ended = False
        self._wrote = 0.0

    def header(self, name: bytes) -> str:
        """Give a header's value; empty where it was not sent."""
        return next((value for key, value in self._headers if key == name), b"").decode("latin-1")

    async def chunks(self) -> AsyncIterator[bytes]:
        """Give the request's body as it comes."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._is_read.set()
                raise asyncio.CancelledError
            more = message.get("more_body", False)
            if not more:
                self._is_read.set()
            # Behind the flag: whoever takes the last piece may never ask for another.
            yield message.get("body", b"")

    async def body(self, limit: int) -> bytes:
        """Read the whole body; raises RequestTooLargeError and BusyError."""
        pieces = list[bytes]()
        async for chunk in self.chunks():
            if self._room is not None:
                self._room.take(len(chunk))
            self._held += len(chunk)
            pieces.append(chunk)
            if self._held > limit:
                raise RequestTooLargeError
        return b"".join(pieces)

    def leave(self) -> None:
        """Give back the room that the body has taken."""
        if self._room is not None:
            self._room.take(-self._held)
            self._held = 0

    async def gone(self) -> None:
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def begin(self, status: int, headers: Headers, ours: Sequence[tuple[str, str]] = ()) -> None:
        """Send status and headers, ours at their end."""
        own = [(f"x-retrycontract-{name}".encode(), value.encode("ascii", "replace")) for name, value in ours]
        self.has_begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, *own]})

    async def write(self, content: bytes) -> None:
        """Send a part of the body."""
        self._wrote = asyncio.get_running_loop().time()
        await self._send({"type": "http.response.body", "body": content, "more_body": True})

    async def end(self) -> None:
        """Send the body's end."""
        self.has_ended = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def answer(
        self, status: int, body: Any, *, headers: Headers = (), ours: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send a whole answer: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        if self.has_begun:  # while a person was waited for; status and headers have gone
            await self.write(content)
            await self.end()
            return
        plain = [pair for pair in headers if pair[0] not in (b"content-length", b"content-encoding")]
        if not isinstance(body, bytes):
            plain = [pair for pair in plain if pair[0] != b"content-type"] + [(b"content-type", b"application/json")]
        await self.begin(status, [*plain, (b"content-length", b"%d" % len(content))], ours)
        await self._send({"type": "http.response.body", "body": content, "more_body": False})

    @asynccontextmanager
    async def waited(self) -> AsyncIterator[None]:
        """Begin an answer in JSON, and keep it alive with the white space that may stand before it."""
        if not self.has_begun:
            await self.begin(200, [(b"content-type", b"application/json")])
        async with self.kept_alive(b"\n"):
            yield

    @asynccontextmanager
    async def kept_alive(self, sign: bytes) -> AsyncIterator[None]:
        """Write a sign of life whenever nothing else was written for some seconds."""

        async def write_signs() -> None:
            while True:
                await asyncio.sleep(SIGN_SECONDS)
                if asyncio.get_running_loop().time() - self._wrote >= SIGN_SECONDS:
                    await self.write(sign)

        signs = asyncio.create_task(write_signs())
        try:
            yield
        finally:
            signs.cancel()
            # Until it has ended, so that no sign of life is written into what follows.
            await asyncio.wait([signs])
