"""Turns of the large requests at the doors of a service: one is worked on at a time, of all keys together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from retrycontract.front.turns import Line

LARGE_BYTES: Final = 65_536  # of a body; to read, hand on and answer more takes 20 to 500 ms of the interpreter


class LargeVisits:
    """Let large requests in one at a time: the smaller ones first, and of one key no second one stands in line.

    Several at once would be done no sooner, and each would take its share of the interpreter from everybody else.
    """

    def __init__(self) -> None:
        self._line = Line()
        self._of_key = WeakValueDictionary[bytes, asyncio.Lock]()

    @asynccontextmanager
    async def turn(self, key: bytes, size: int) -> AsyncIterator[None]:
        """Wait for the turn of a request of so many bytes, and hold it."""
        async with self._of_key.setdefault(key, asyncio.Lock()), self._line.turn(size):
            yield


_here = WeakKeyDictionary[asyncio.AbstractEventLoop, LargeVisits]()


def large_visits() -> LargeVisits:
    """Give the turns that all doors on this event loop share."""
    return _here.setdefault(asyncio.get_running_loop(), LargeVisits())
