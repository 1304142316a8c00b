"""Ask the upstream: with the client's own headers and key, of which nothing is kept, logged or changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import httpx2

from retrycontract.client.connection import split_address
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.json_types import write_json
from retrycontract.mcp.events import AnswerTooLargeError, documents, events_of
from retrycontract.mcp.streamable import http_client
from retrycontract.proxy.wire import Body, ModelAnswer, Terms, Wire, parse, tells_error

# What belongs to one connection, and what is made anew; RFC 9110, 7.6.1.
HOP_BY_HOP: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
LONG: Final = 100_000  # bytes of events, put together in a millisecond or two
LONG_LOOK: Final = 0.002  # seconds, at events of an answer
MAX_CALLS: Final = 200  # of one answer: no model makes so many, and each is an attempt that is stored
Result = TypeVar("Result")
OURS: Final = b"x-retrycontract-"

Headers = Sequence[tuple[bytes, bytes]]


class UpstreamError(Exception):
    """Raised for an upstream that gave no answer: none at all, a broken one, or one that is no answer of its API."""

    def __init__(self, message: str, status: int = 502, event: bytes = b"") -> None:
        self.status, self.event = status, event  # in which the upstream itself says so
        super().__init__(message)


class RefusedByUpstreamError(Exception):
    """Raised for an answer of the upstream's that is an error; the client gets it as it is."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body
        self.status_code = status  # where failures are recognised by
        super().__init__(f"HTTP {status}")

    @property
    def response(self) -> httpx2.Response:
        """Give what Retry-After is read from."""
        return httpx2.Response(self.status, headers=list(self.headers))


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """Hold what a client asks: everything but its body; `headers` hold its key, and are never shown."""

    method: str
    target: str
    headers: Headers = field(repr=False)
    mount: str = ""  # what a path begins with for the client, and not for the proxy

    def sent_on(self, *, is_judged: bool) -> list[tuple[bytes, bytes]]:
        """Give the headers for the upstream; an answer that is judged must not come compressed."""
        named = {
            name.strip().lower() for key, value in self.headers if key == b"connection" for name in value.split(b",")
        }
        # What was expected of us has been done: the body is here.
        left = (
            HOP_BY_HOP
            | named
            | {b"host", b"content-length", b"expect"}
            | ({b"accept-encoding"} if is_judged else set())
        )
        # An empty key leaves `Bearer ` and its space, which no client may send.
        kept = [(name, value.strip()) for name, value in self.headers if name not in left and not name.startswith(OURS)]
        return [*kept, (b"accept-encoding", b"identity")] if is_judged else kept


class Upstream:
    """Hold the connections to one upstream; `stall` is how many seconds it may be silent."""

    def __init__(self, url: str, *, stall: float, max_answer: int) -> None:
        parts = split_address(url)
        if parts is None or parts.query:
            raise WrongInputError(
                "the upstream's address is http:// or https:// and a host, with no user name or query in it"
            )
        self.url, self._prefix = url.rstrip("/"), parts.path.rstrip("/")
        self._base = str(httpx2.URL(self.url)).rstrip("/")
        self.max_answer = max_answer
        self._http = http_client(stall)

    async def close(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def answered(
        self, request: ClientRequest, body: bytes | AsyncIterator[bytes], *, is_judged: bool = False
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request and give the answer, unread; raises UpstreamError."""
        headers = request.sent_on(is_judged=is_judged)
        told = dict(request.headers)
        # Else a body that comes piece by piece would go on in chunks, although its length was told.
        if not isinstance(body, bytes) and (length := told.get(b"content-length")):
            headers.append((b"content-length", length))
        # Without either there is none, and a GET in chunks is refused by some.
        has_body = isinstance(body, bytes) or b"content-length" in told or b"transfer-encoding" in told
        # Made by hand: the client's own way adds headers, and the upstream is to get those that came.
        target = request.target
        # `--upstream https://host/v1` and a base URL that ends in /v1 mean the same path.
        version = self._prefix.rpartition("/")[2]
        if version and target.startswith(f"/{version}/"):
            target = target[len(version) + 1 :]
        asked = httpx2.Request(
            request.method, f"{self.url}{target}", headers=headers, content=body if has_body else None
        )
        # A request that the client did not build has none of its defaults.
        asked.extensions["timeout"] = self._http.timeout.as_dict()
        try:
            response = await self._http.send(asked, stream=True, follow_redirects=False)
        except httpx2.TimeoutException as error:
            raise UpstreamError("the upstream does not answer in time", 504) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise UpstreamError(f"the upstream cannot be reached ({type(error).__name__})") from error
        try:
            # A redirect leads through the proxy: a client that left for the upstream would leave its key behind.
            if "location" in response.headers:
                with suppress(httpx2.InvalidURL):
                    place = str(response.url.join(response.headers["location"]))
                    if place.startswith(f"{self._base}/"):
                        response.headers["location"] = request.mount + place.removeprefix(self._base)
            yield response
        finally:
            await response.aclose()

    async def whole(self, response: httpx2.Response) -> bytes:
        """Read an answer's body, as long as it may be; raises UpstreamError and AnswerTooLargeError."""
        body = bytearray()
        async for chunk in received(response):
            body += chunk
            if len(body) > self.max_answer:
                raise AnswerTooLargeError("the upstream's answer is too large to be judged")
        return bytes(body)

    async def ask(self, wire: Wire, request: ClientRequest, body: Body, terms: Terms) -> ModelAnswer:
        """Ask for one more answer; raises RefusedByUpstreamError, UpstreamError and AnswerTooLargeError."""
        began = time.monotonic()
        written = await asyncio.to_thread(write_json, body)
        async with self.answered(request, written.encode(), is_judged=True) as response:
            if not is_stream(response, terms):
                content = await self.whole(response)
                if not response.is_success or is_error(content):
                    raise RefusedByUpstreamError(response.status_code, end_to_end(response), content)
                return read(wire, content, time.monotonic() - began)
            stream, size, rests = wire.stream(terms), 0, Rests()
            async for event in events_of(received(response)):
                size += len(event)
                if size > self.max_answer:
                    raise AnswerTooLargeError("the upstream's answer is too large to be judged")
                for data in documents(event):
                    stream.feed(data)
                if stream.has_failed:
                    raise UpstreamError("the upstream's answer ended in an error", event=event)
                await rests.take()
            seconds = time.monotonic() - began
            return await aside_if_long(
                size, lambda: put_together(wire, stream.body(), seconds, is_garbled=stream.is_garbled)
            )


def is_readable(response: httpx2.Response) -> bool:
    """Tell whether a body comes as it is, or in a coding that can be undone; none was asked for."""
    codings = response.headers.get("content-encoding", "").lower().split(",")
    return all(coding.strip() in ("", "identity", "gzip", "deflate") for coding in codings)


def is_stream(response: httpx2.Response, terms: Terms) -> bool:
    """Tell a stream of events from a whole answer; some servers do not say of one that it is."""
    kind = response.headers.get("content-type", "").lower()
    is_told = kind.startswith("text/event-stream") or (terms.streams and not kind.startswith("application/json"))
    return response.is_success and is_told


def end_to_end(response: httpx2.Response) -> list[tuple[bytes, bytes]]:
    """Give the headers that are for the client."""
    return [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in HOP_BY_HOP]


async def aside_if_long(size: int, work: Callable[[], Result]) -> Result:
    """Put together what came in parts, in a thread where it is long: meanwhile the loop serves everybody else."""
    return await asyncio.to_thread(work) if size > LONG else work()


class Rests:
    """Leave half of the time to others where events come as fast as one looks at them."""

    def __init__(self) -> None:
        self._begun = time.thread_time()

    async def take(self) -> None:
        """Rest as long as was looked, once that is long: whoever else is served waits for it at each of many steps."""
        if (taken := time.thread_time() - self._begun) > LONG_LOOK:
            await asyncio.sleep(taken)
            self._begun = time.thread_time()


async def received(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Give the body as it comes, decoded; raises UpstreamError where it breaks off or stalls."""
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx2.TimeoutException as error:
        raise UpstreamError("the upstream has fallen silent in the middle of its answer", 504) from error
    except (httpx2.HTTPError, OSError) as error:
        raise UpstreamError(f"the upstream broke off in the middle of its answer ({type(error).__name__})") from error


def read(wire: Wire, content: bytes, seconds: float | None = None) -> ModelAnswer:
    """Read a whole answer; raises UpstreamError for what is none."""
    try:
        body = parse(content)
    except ValueError:
        body = None
    is_object = isinstance(body, dict)
    return put_together(wire, body if is_object else None, seconds, is_garbled=not is_object)


def is_error(content: bytes) -> bool:
    """Recognise the error that routers answer with in spite of a status of 200."""
    try:
        return tells_error(parse(content))
    except (ValueError, AttributeError):
        return False


def put_together(wire: Wire, body: Body | None, seconds: float | None, *, is_garbled: bool = False) -> ModelAnswer:
    """Read an answer that came in parts; raises UpstreamError where one is missing or unreadable."""
    if is_garbled:
        raise UpstreamError("the upstream's answer cannot be read")
    if body is None:
        raise UpstreamError("the upstream's answer broke off before its end")
    try:
        answer = wire.read(body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UpstreamError("the upstream's answer cannot be read") from error
    if (made := sum(len(choice.calls) for choice in (answer, *answer.choices))) > MAX_CALLS:
        raise UpstreamError(f"the upstream's answer makes {made} calls, and at most {MAX_CALLS} are checked at once")
    return replace(answer, seconds=seconds)
