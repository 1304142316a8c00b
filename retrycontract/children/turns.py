"""The turns that callers take at the child processes."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class TooManyWaitingError(Exception):
    """Raised for a job of a key that has others under way, or would wait too long for its turn among all keys.

    The threads that wait for them are needed by others.
    """


LONGEST_TURN = 4.0  # seconds that a job waits whose sender waits for it; the check itself takes 10, fifteen in all


class Turns:
    """Let callers in, so many at a time, in turn between their keys: whoever asks often waits for itself alone.

    One place is left for the other keys, where there are several: a key's jobs that take seconds each must not hold
    all of them at once. Callers without a key are not told apart, and may have all places. At most `queued` places are
    given to what came out of a queue.
    """

    def __init__(self, places: int, queued: int | None = None) -> None:
        self._free, self._most = places, max(1, places - 1)
        self._free_for_queued = places if queued is None else queued
        # Who waits, by key and whether it came out of a queue.
        self._waiting: OrderedDict[tuple[Hashable, bool], deque[threading.Event]] = OrderedDict()
        self._held: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, key: Hashable = None, *, at_once: int | None = None, is_queued: bool = False) -> Iterator[None]:
        """Wait for a place, and hold it.

        With `at_once` TooManyWaitingError is raised where so many of the key are here, or no place is free in time.
        """
        called, line = threading.Event(), (key, is_queued)
        with self._lock:
            here = self._held[key] + sum(len(self._waiting.get((key, each), ())) for each in (False, True))
            if at_once is not None and here >= at_once:
                raise TooManyWaitingError
            self._waiting.setdefault(line, deque()).append(called)
            self._call()
        try:
            if not called.wait(None if at_once is None else LONGEST_TURN):
                raise TooManyWaitingError
            yield
        finally:
            with self._lock:
                # An interrupt may come before the place: then nobody may be called to it any more.
                if called.is_set():
                    self._free += 1
                    self._free_for_queued += is_queued
                    self._held[key] -= 1
                    if not self._held[key]:
                        del self._held[key]
                    self._call()
                else:
                    self._waiting[line].remove(called)
                    if not self._waiting[line]:
                        del self._waiting[line]

    def _call(self) -> None:
        """Give the free places away: the line that was served last comes last."""
        while self._free:
            line = next((line for line in self._waiting if self._has_place(*line)), None)
            if line is None:
                return
            key, is_queued = line
            waiting = self._waiting.pop(line)
            self._free -= 1
            self._free_for_queued -= is_queued
            self._held[key] += 1
            waiting.popleft().set()
            if waiting:
                self._waiting[line] = waiting

    def _has_place(self, key: Hashable, is_queued: bool) -> bool:
        return (key is None or self._held[key] < self._most) and (self._free_for_queued > 0 or not is_queued)
