"""The child processes of this process: few, kept warm, replaced when they die."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language, SourceFault
from retrycontract.languages.limits import Limits
from retrycontract.languages.process import CompilingProcess, DiedError

TOO_SLOW = SourceFault(FaultKind.DEPTH, "it takes longer to compile than a file may")
TOO_MUCH = SourceFault(FaultKind.DEPTH, "its compiler ends without an answer: too deeply nested, or too large")


class Pool:
    """Compile files in child processes, no more at a time than the limits allow; for any number of threads."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - it is immutable
        self._limits = limits
        self._turns = threading.BoundedSemaphore(limits.processes)
        self._idle: list[CompilingProcess] = []
        self._lock = threading.Lock()

    def compile(self, language: Language, source: str) -> tuple[SourceFault, ...]:
        """Compile a file; what exceeds the limits is a fault of the file. Raises CompilerUnavailableError."""
        # A child may also die of something else than the file, so a death counts when it comes again.
        for _ in range(2):
            try:
                with self._process() as process:
                    return process.compile(language, source)
            except DiedError as death:
                if death.timed_out:
                    return (TOO_SLOW,)
        return (TOO_MUCH,)

    def close(self) -> None:
        """End the children that wait for work."""
        while self._idle:
            self._idle.pop().stop()

    def let_go(self) -> None:
        """Leave the children to the process that started them."""
        while self._idle:
            self._idle.pop().let_go()

    @contextmanager
    def _process(self) -> Iterator[CompilingProcess]:
        with self._turns:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            process = process or CompilingProcess(self._limits)
            try:
                yield process
            except BaseException:
                process.stop()
                raise
            if process.is_worn:
                process.stop()
                return
            with self._lock:
                self._idle.append(process)


def shared_pool() -> Pool:
    """Give the pool that everything in this process shares."""
    global _shared
    with _sharing:
        if _shared is None:
            _shared = Pool()
        return _shared


def _close() -> None:
    if _shared is not None:
        _shared.close()


def _forget() -> None:
    """Let a forked process have children of its own: two that ask through one pipe would mix their answers."""
    global _shared, _sharing
    if _shared is not None:
        _shared.let_go()
    _shared, _sharing = None, threading.Lock()


_shared: Pool | None = None
_sharing = threading.Lock()
atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
