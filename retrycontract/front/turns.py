"""Turns of requests that are read one at a time, and who reads what takes long."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from time import monotonic
from typing import Final

# What a byte is put back for: a request of 1.8 MB comes after one of 100 kB that came up to 3.4 seconds later.
SECONDS_OF_BYTE: Final = 2e-6
DEAR_TIMES: Final = 200  # a reader is remembered for so many times as long as the read took
MOST_REMEMBERED: Final = 1_000


class Line:
    """Let requests in one at a time: the smaller ones first, but for those that have waited long."""

    def __init__(self) -> None:
        self._waiting = list[tuple[float, int, asyncio.Future[None]]]()
        self._numbers = count()
        self._is_taken = False

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Wait for the turn of a request of so many bytes, and hold it."""
        if self._is_taken:
            loop = asyncio.get_running_loop()
            called = loop.create_future()
            heappush(self._waiting, (loop.time() + size * SECONDS_OF_BYTE, next(self._numbers), called))
            try:
                await called
            except asyncio.CancelledError:
                # It may have been called just before: then another one is, in its place.
                if not called.cancelled():
                    self._call_next()
                raise
        self._is_taken = True
        try:
            yield
        finally:
            self._call_next()

    def _call_next(self) -> None:
        while self._waiting:
            *_, called = heappop(self._waiting)
            if not called.done():
                called.set_result(None)
                return
        self._is_taken = False


class DearReaders:
    """Remember who has read what took long."""

    def __init__(self) -> None:
        self._until = OrderedDict[bytes, float]()

    def has(self, reader: bytes) -> bool:
        """Say whether this one is remembered."""
        return self._until.get(reader, 0.0) > monotonic()

    def add(self, reader: bytes, seconds: float) -> None:
        """Remember one, in place of the one that came first if there are too many."""
        self._until[reader] = monotonic() + DEAR_TIMES * seconds
        self._until.move_to_end(reader)
        if len(self._until) > MOST_REMEMBERED:
            self._until.popitem(last=False)
