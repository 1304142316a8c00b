"""Where the service is and who asks, and the way between our requests and httpx2's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

import httpx2

from retrycontract.client.errors import AddressError, MissingKeyError, UnreachableError
from retrycontract.client.exchange import API, Lost, Reply, Request

DEFAULT_URL = "http://127.0.0.1:8000"
AN_ADDRESS = "the service's address is http:// or https:// and a host, with no user name, blank or query in it"
CONNECT_SECONDS = 5.0
# The service closes a silent connection after five seconds; ours must be gone before, for a request that is sent at
# that very moment is lost, and its repetition waits.
KEEP_ALIVE_SECONDS = 2.0


def split_address(address: str) -> SplitResult | None:
    """Take an address apart; None for one that nothing can be asked of, or that holds a name or password."""
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and parts.port != 0
        httpx2.URL(address)
    except (ValueError, httpx2.InvalidURL):
        return None
    return parts if is_one and address.isprintable() and " " not in address else None


@dataclass(frozen=True, slots=True)
class Connection:
    """Hold the service's address and the API key; the key is never shown."""

    url: str
    api_key: str = field(repr=False)

    @classmethod
    def of(cls, url: str | None, api_key: str | None) -> Connection:
        """Take what is given, else RETRYCONTRACT_URL and RETRYCONTRACT_API_KEY.

        Raises MissingKeyError, and AddressError for an address that is none.
        """
        if not isinstance(url, str | None):
            raise AddressError(AN_ADDRESS)
        if not isinstance(api_key, str | None):
            raise MissingKeyError(f"the API key is a text, not {type(api_key).__name__}")
        # Without its slash: the API's path, which begins with one, is put behind it.
        address = (url or os.environ.get("RETRYCONTRACT_URL") or DEFAULT_URL).strip().rstrip("/")
        key = (api_key or os.environ.get("RETRYCONTRACT_API_KEY") or "").strip()
        # A user name or password in the address would stand in every error that names it; for the same reason what is
        # refused here is not repeated.
        parts = split_address(address)
        if parts is None or parts.query or parts.fragment:
            raise AddressError(AN_ADDRESS)
        if parts.path.endswith(API):
            raise AddressError(f"the service's address stands without {API}, which is put behind it")
        if not key:
            raise MissingKeyError("no API key")
        # A header cannot carry it: said here, where it is known that the key is what is wrong.
        if not key.isascii() or not key.isprintable() or " " in key:
            raise MissingKeyError("the API key holds characters that none has")
        return cls(address, key)

    @property
    def options(self) -> dict[str, Any]:
        """Give httpx2 what both of its clients need; threads may hold as many connections as they are."""
        return {
            "base_url": f"{self.url}{API}",
            "headers": {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"},
            "limits": httpx2.Limits(max_connections=None, keepalive_expiry=KEEP_ALIVE_SECONDS),
        }


C = TypeVar("C")


class Owned(Generic[C]):
    """Hold what only its owner may use, by default a process; for another one it is made anew.

    Two processes on one connection, as after a fork, would read each other's answers.
    """

    def __init__(self, make: Callable[[], C], owner: Callable[[], object] = os.getpid) -> None:
        self._make, self._owner = make, owner
        self._owned: tuple[object, C] | None = None
        if owner is os.getpid:  # now, not in many threads at once; an event loop may not run yet
            self.get()

    def get(self) -> C:
        """Give what the caller may use."""
        owner, owned = self._owner(), self._owned
        if owned is None or owned[0] != owner:
            # Threads that come at once may each make one, and each goes on with its own.
            owned = self._owned = owner, self._make()
        return owned[1]

    def made(self) -> C | None:
        """Give what the caller has used, if anything."""
        return self._owned[1] if self._owned is not None and self._owned[0] == self._owner() else None


def opened(kind: Callable[..., C], connection: Connection, transport: Any) -> C:
    """Make one of httpx2's clients; raises UnreachableError where the environment names a proxy that cannot be used."""
    try:
        return kind(transport=transport, **connection.options)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        reason = f"the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names cannot be used: {error}"
        raise UnreachableError(connection.url, reason) from None


def running_loop() -> object:
    """Name the owner of a connection in an event loop: what one loop opened no other can use, nor another process."""
    return os.getpid(), asyncio.get_running_loop()


def to_httpx(request: Request) -> dict[str, Any]:
    """Give the arguments of httpx2's `request`."""
    return {
        "method": request.method,
        "url": request.path,
        "content": request.body,
        "headers": dict(request.headers),
        "timeout": httpx2.Timeout(request.wait + request.within, connect=min(CONNECT_SECONDS, request.within)),
    }


class Whole:
    """Put an answer together, in the time that its request has: httpx2's own limit begins anew with every piece."""

    def __init__(self, clock: Callable[[], float], request: Request) -> None:
        self._clock, self._until = clock, clock() + request.wait + request.within
        self._pieces: list[bytes] = []

    def __enter__(self) -> Whole:
        self._before = AWAITED.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        AWAITED.reset(self._before)

    def left(self) -> float:
        """Give the seconds that are left; raises ReadTimeout when there are none."""
        left = self._until - self._clock()
        if left < 0:
            raise httpx2.ReadTimeout("the answer took too long to arrive")
        return left

    def take(self, piece: bytes) -> None:
        """Take a piece of the body; raises ReadTimeout when time is up."""
        self.left()
        self._pieces.append(piece)

    def reply(self, response: httpx2.Response) -> Reply:
        return from_httpx(response, b"".join(self._pieces))


AWAITED: ContextVar[Whole | None] = ContextVar("AWAITED", default=None)  # what this thread's request waits for


def bound(http: httpx2.Client) -> httpx2.Client:
    """Let every read of a client's sockets end with the time of its request, those of the headers too."""
    # httpx2 takes a limit for each read alone, and no backend of one's own beside its handling of proxies.
    for transport in (http._transport, *http._mounts.values()):  # noqa: SLF001
        pool = getattr(transport, "_pool", None)  # only sockets have one
        if pool is not None:
            pool._network_backend = _Bound(pool._network_backend)  # noqa: SLF001
    return http


class _Bound:
    """Stand before a network backend, and before each stream that it opens."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **options: Any) -> _Bound:
        return _Bound(self._inner.connect_tcp(*args, **options))

    # TLS puts another stream in the place of the first, whose reads must end in time as well.
    def start_tls(self, *args: Any, **options: Any) -> _Bound:
        return _Bound(self._inner.start_tls(*args, **options))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        # Without one a stream of events is read, which has no end that it could be late for.
        if (awaited := AWAITED.get()) is not None:
            timeout = awaited.left()
        found: bytes = self._inner.read(max_bytes, timeout=timeout)
        return found


def from_httpx(response: httpx2.Response, body: bytes) -> Reply:
    """Take an answer over."""
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def lost(error: httpx2.RequestError | TimeoutError) -> Lost:
    """Say what a failure means."""
    return Lost(str(error) or type(error).__name__)
