"""What this client has sent, so that a correction can be applied to it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from retrycontract.contract.outputs.json_text import JsonFault, parse_json

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
