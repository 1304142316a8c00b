"""The child processes of this process: few, kept warm, shared in turn, replaced when they die."""

from __future__ import annotations

import atexit
import os
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from retrycontract.children.process import ChildDiedError, ChildProcess, ChildUnavailableError, Death, Done, Limits


class TooManyWaitingError(Exception):
    """Raised for a job of a key that has others under way: threads that wait for them are needed by other keys."""


class Turns:
    """Let callers in, so many at a time, in turn between their keys: whoever asks often waits for itself alone.

    One place is left for the other keys, where there are several: a key's jobs that take seconds each must not hold
    all of them at once. Callers without a key are not told apart, and may have all places.
    """

    def __init__(self, places: int) -> None:
        self._free, self._most = places, max(1, places - 1)
        self._waiting: OrderedDict[Hashable, deque[threading.Event]] = OrderedDict()
        self._held: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, key: Hashable = None, *, at_once: int | None = None) -> Iterator[None]:
        """Wait for a place, and hold it; raises TooManyWaitingError where `at_once` of the key's jobs are here."""
        called = threading.Event()
        with self._lock:
            here = self._held[key] + len(self._waiting.get(key, ()))
            if at_once is not None and here >= at_once:
                raise TooManyWaitingError
            self._waiting.setdefault(key, deque()).append(called)
            self._call()
        try:
            called.wait()
            yield
        finally:
            with self._lock:
                # An interrupt may come before the place: then nobody may be called to it any more.
                if called.is_set():
                    self._give_back(key)
                else:
                    self._waiting[key].remove(called)
                    if not self._waiting[key]:
                        del self._waiting[key]

    def _give_back(self, key: Hashable) -> None:
        self._free += 1
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
        self._call()

    def _call(self) -> None:
        """Give the free places away: the key that was served last comes last."""
        while self._free:
            key = next((key for key in self._waiting if key is None or self._held[key] < self._most), None)
            # Not `is None`: that is also the key of callers that are not told apart.
            if key not in self._waiting:
                return
            waiting = self._waiting.pop(key)
            self._free -= 1
            self._held[key] += 1
            waiting.popleft().set()
            if waiting:
                self._waiting[key] = waiting


class Pool:
    """Do jobs in child processes, no more at a time than the limits allow; for any number of threads."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - it is immutable
        self.limits = limits
        self._turns = Turns(limits.processes)
        self._idle: list[ChildProcess] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def run(
        self,
        job: str,
        request: Any,
        *,
        key: Hashable = None,
        at_once: int | None = None,
        cpu_seconds: float | None = None,
    ) -> Done:
        """Do a job; raises ChildDiedError for what exceeds the limits or crashes, and ChildUnavailableError.

        `key` says who asks: keys take turns. With `at_once` a key that has so many jobs here gets TooManyWaitingError.
        """
        seconds = self.limits.cpu_seconds if cpu_seconds is None else cpu_seconds
        with self._turns.taken(key, at_once=at_once):
            try:
                return self._run(job, request, seconds)
            except ChildDiedError as death:
                # A child may also die of something else than its job, so a crash counts when it comes again.
                if death.death is not Death.CRASH:
                    raise
                return self._run(job, request, seconds)

    def warm(self) -> None:
        """Start a child before somebody waits for it."""
        with suppress(ChildUnavailableError):
            process = ChildProcess(self.limits)
            try:
                process.run("judge", None, cpu_seconds=0)  # imports what outputs need
            except ChildDiedError:  # on a machine so busy that importing takes too long: the next job starts its own
                process.stop()
                return
            with self._lock:
                if not self._is_closed and len(self._idle) < self.limits.processes:
                    self._idle.append(process)
                    return
            process.stop()

    def close(self) -> None:
        """End the children that wait for work."""
        with self._lock:
            self._is_closed = True
            ended, self._idle = self._idle, []
        for process in ended:
            process.stop()

    def let_go(self) -> None:
        """Leave the children to the process that started them."""
        while self._idle:
            self._idle.pop().let_go()

    def _run(self, job: str, request: Any, cpu_seconds: float) -> Done:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or ChildProcess(self.limits)
        try:
            done = process.run(job, request, cpu_seconds=cpu_seconds)
        except BaseException:
            # Stopped whatever it was: an answer that is still to come would be read as that of the next job.
            process.stop()
            # The next caller shall not wait for a start that takes longer than most jobs.
            threading.Thread(target=self.warm, name="retrycontract-child", daemon=True).start()
            raise
        with self._lock:
            # Nobody ends the children of a pool that was closed meanwhile.
            if is_kept := not (process.is_worn or self._is_closed):
                self._idle.append(process)
        if not is_kept:
            process.stop()
        return done


def shared_pool() -> Pool:
    """Give the pool that everything in this process shares."""
    global _shared
    with _sharing:
        if _shared is None:
            _shared = Pool(_limits)
        return _shared


def bound_shared_pool(limits: Limits) -> None:
    """Set the limits of the pool that everything in this process shares; children at work finish under the old ones."""
    global _shared, _limits
    with _sharing:
        if limits == _limits:
            return
        old, _shared, _limits = _shared, None, limits
    if old is not None:
        old.close()


def _close() -> None:
    if _shared is not None:
        _shared.close()


def _forget() -> None:
    """Let a forked process have children of its own: two that ask through one pipe would mix their answers."""
    global _shared, _sharing
    if _shared is not None:
        _shared.let_go()
    # A new lock: the old one may have been held when the process was forked, by a thread that is not here.
    _shared, _sharing = None, threading.Lock()


_shared: Pool | None = None
_limits = Limits()
_sharing = threading.Lock()
atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
