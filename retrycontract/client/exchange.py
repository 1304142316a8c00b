"""What is asked and what comes back, without saying how, and what this client has sent for corrections to apply to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias, TypeVar

from retrycontract.contract.outputs.json_text import JsonFault, parse_json

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
        # `isdigit` alone takes superscripts and the digits of other scripts.
        if asked.isascii() and asked.isdigit():
            return float(asked)
        try:
            # From the answer's own date: this machine's clock may be wrong, or the service's.
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


MAX_CALLS = 1_000  # the oldest are forgotten: an agent has few calls open at once
MAX_ATTEMPTS = 20  # kept of each call: what is tried while Blocked has no limit


class Submissions:
    """Remember the text of each attempt by call and number; thread-safe. It holds secrets: nothing prints it."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, dict[int, str]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, call_id: str, number: int, text: str) -> None:
        """Remember an attempt."""
        with self._lock:
            attempts = self._calls.setdefault(call_id, {})
            # So that the call that was silent longest gives way, and not the one that began first.
            self._calls.move_to_end(call_id)
            attempts[number] = text
            if len(attempts) > MAX_ATTEMPTS:
                del attempts[min(attempts)]
            if len(self._calls) > MAX_CALLS:
                self._calls.popitem(last=False)

    def text_of(self, call_id: str, number: int | None) -> str | None:
        """Give the text of an attempt, or None when it is not known."""
        with self._lock:
            return self._calls.get(call_id, {}).get(number or 0)

    def forget(self, call_id: str) -> None:
        """Drop a call that has ended."""
        with self._lock:
            self._calls.pop(call_id, None)


def value_of(text: str) -> tuple[Any, JsonFault | None]:
    """Parse what was sent; a response's value may stand in a fence or between words, as the service forgives it."""
    from retrycontract.contract.checks.reading import unwrapped  # with the checks it would double the client's import

    value, fault = parse_json(text)
    within = unwrapped(text) if fault else None
    return parse_json(within[0]) if within else (value, fault)
