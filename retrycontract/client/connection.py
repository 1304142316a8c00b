"""Where the service is and who asks, and the way between our requests and httpx2's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from retrycontract.client.errors import MissingKeyError
from retrycontract.client.exchange import API, Lost, Reply, Request

DEFAULT_URL = "http://127.0.0.1:8000"
CONNECT_SECONDS = 5.0
# The service closes a silent connection after five seconds; ours must be gone before, for a request that is sent at
# that very moment is lost, and its repetition waits.
KEEP_ALIVE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Hold the service's address and the API key; the key is never shown."""

    url: str
    api_key: str = field(repr=False)

    @classmethod
    def of(cls, url: str | None, api_key: str | None) -> Connection:
        """Take what is given, else RETRYCONTRACT_URL and RETRYCONTRACT_API_KEY.

        Raises MissingKeyError, and ValueError for an address that is none.
        """
        address = (url or os.environ.get("RETRYCONTRACT_URL") or DEFAULT_URL).rstrip("/")
        key = (api_key or os.environ.get("RETRYCONTRACT_API_KEY") or "").strip()
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ValueError("the service's address is http:// or https:// and a host, with no user name in it")
        if not key:
            raise MissingKeyError("no API key")
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

    def take(self, piece: bytes) -> None:
        """Take a piece of the body; raises ReadTimeout when time is up."""
        if self._clock() > self._until:
            raise httpx2.ReadTimeout("the answer took too long to arrive")
        self._pieces.append(piece)

    def reply(self, response: httpx2.Response) -> Reply:
        """Give the answer when all of it is there."""
        return from_httpx(response, b"".join(self._pieces))


def from_httpx(response: httpx2.Response, body: bytes) -> Reply:
    """Take an answer over."""
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def lost(error: httpx2.RequestError) -> Lost:
    """Say what a failure means."""
    return Lost(str(error) or type(error).__name__)
