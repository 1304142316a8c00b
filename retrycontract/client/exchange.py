"""What is asked and what comes back, without saying how: the words between the operations and their drivers."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeAlias, TypeVar

T = TypeVar("T")

API = "/api/v1"
ANSWER_SECONDS = 30.0  # for a request that the service does not hold: its database may be busy for twenty


@dataclass(frozen=True, slots=True)
class Request:
    """Ask the service for something; `path` stands below /api/v1.

    `wait` is how many seconds the service may hold the answer back, `within` how many it may take beyond that, `after`
    how many to sleep before sending. It may be
    sent again: what must not be done twice carries an idempotency key.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: int = 0
    after: float = 0.0
    within: float = ANSWER_SECONDS


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold an answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def retry_after(self) -> float:
        """Give how many seconds the answer asks to wait, 0 when it does not; a date counts from the answer's own."""
        asked = self.headers.get("retry-after", "").strip()
        if asked.isascii() and asked.isdigit():
            return float(asked)
        try:
            until, now = parsedate_to_datetime(asked), parsedate_to_datetime(self.headers.get("date", ""))
            return max(0.0, (until - now).total_seconds())
        except (TypeError, ValueError):  # no dates, or one of them without a time zone
            return 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """Say that no answer came; the request may have reached the service."""

    reason: str


# An operation yields requests, is sent what came of each, and returns its result: written once, driven by threads or
# by an event loop.
Conversation: TypeAlias = Generator[Request, Reply | Lost, T]
