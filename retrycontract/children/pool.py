"""The child processes of this process: few, kept warm, shared in turn, replaced when they die."""

from __future__ import annotations

import atexit
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retrycontract.children.child import LENGTH_BYTES, TEXTS
from retrycontract.children.turns import TooManyWaitingError, Turns

MEGABYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound a job: `cpu_seconds` of processor time, `seconds` on the clock, `memory` in bytes of address space.

    Processor time is what a job is judged by, since a busy machine must not refuse what an idle one takes; the clock
    ends what waits. A process is replaced after `jobs`, and once it has grown beyond `tidy` bytes: it gives nothing
    back to the system.
    """

    cpu_seconds: float = 5.0
    seconds: float = 10.0
    memory: int = 1_024 * MEGABYTE  # a generated file of 2 MB needs a third of it
    tidy: int = 256 * MEGABYTE
    jobs: int = 1_000
    processes: int = 2  # at work at the same time; more callers wait
    queued: int | None = None  # of these, at most so many on what came out of a queue; None: all
    has_spare: bool = False  # whether one more is started while others work, so that nobody waits for its start


logger = logging.getLogger("retrycontract")

USER_TICKS = 11  # of what `/proc/…/stat` tells behind the name, next to those of the system
STARTUP_SECONDS = 30.0  # a machine under load needs long to start a process
PACKAGES = ("retrycontract", "jsonschema_rs", "yaml", "tree_sitter")  # whose folders the child may import from
START = "import sys; sys.path += sys.argv.pop().split('\\n'); from retrycontract.children.child import main; main()"


class ChildUnavailableError(RuntimeError):
    """Raised when no child process can be started: nothing is known of the work then."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"outputs and source files cannot be checked here: {reason}")


class Death(StrEnum):
    """Say why a child did not answer."""

    WORK = "work"  # it used up its processor time, or its time on the clock
    MEMORY = "memory"
    DEPTH = "depth"
    CRASH = "crash"


class ChildDiedError(Exception):
    """Raised when a job was not finished; `death` says why, `cpu_seconds` what is charged for it.

    Of a job that `is_starved` nothing is known: the clock ended it before it had a half of its processor time.
    """

    def __init__(self, death: Death, cpu_seconds: float, *, is_starved: bool = False) -> None:
        self.death, self.cpu_seconds, self.is_starved = death, cpu_seconds, is_starved
        super().__init__(death.value)


@dataclass(frozen=True, slots=True)
class Done:
    """Hold what a job gave, the processor seconds that it took, and texts that nobody has read yet."""

    answer: Any
    cpu_seconds: float
    texts: tuple[bytes, ...] = ()


class ChildProcess:
    """Start a child that imports nothing of its surroundings, and ask it job by job; for one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked = 0
        self._memory = 0
        self._used: float | None = None
        # Within a program that carries its interpreter in it this would start that program once more.
        if not sys.executable or getattr(sys, "frozen", False):
            raise ChildUnavailableError("there is no Python interpreter to start")
        try:
            # Isolated: neither variables of the environment nor the working directory say what is imported.
            found = (find_spec(package) for package in PACKAGES)
            folders = (str(Path(spec.origin).parent.parent.resolve()) for spec in found if spec and spec.origin)
            self._child = subprocess.Popen(  # noqa: S603 - our own interpreter, and nothing that anybody sends
                [sys.executable, "-I", "-S", "-c", START, str(limits.memory), "\n".join(dict.fromkeys(folders))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
            )
        except OSError as error:
            raise ChildUnavailableError(f"no process can be started ({type(error).__name__})") from error
        line, is_late = self._exchange(b"", STARTUP_SECONDS)
        if line is None:
            self.stop()
            slow = f"has not started within {STARTUP_SECONDS:.0f} seconds, as the machine has too much to do"
            raise ChildUnavailableError(f"the process that checks {slow if is_late else 'ends at once'}")

    @property
    def is_worn(self) -> bool:
        """Tell whether the next job should find a new process."""
        return self._asked >= self._limits.jobs or self._memory > self._limits.tidy

    def run(self, job: str, request: Any, *, cpu_seconds: float) -> Done:
        """Have a job done; raises ChildDiedError."""
        body = pickle.dumps((job, cpu_seconds, request), pickle.HIGHEST_PROTOCOL)
        self._asked += 1
        before = self._used = self._cpu_seconds()
        answer, is_late = self._exchange(len(body).to_bytes(LENGTH_BYTES, "big") + body, self._limits.seconds)
        if answer is None:
            status = self._child.wait()
            if status == -getattr(signal, "SIGPROF", 0):
                raise ChildDiedError(Death.WORK, cpu_seconds)
            if is_late:
                used = cpu_seconds if before is None or self._used is None else self._used - before
                raise ChildDiedError(Death.WORK, min(used, cpu_seconds), is_starved=2 * used < cpu_seconds)
            logger.warning("A child process ended in the middle of its work", extra={"status": status})
            raise ChildDiedError(Death.CRASH, cpu_seconds)
        self._memory = answer["memory"]
        if "failed" in answer:
            raise ChildDiedError(Death(answer["failed"]), answer["cpu"])
        return Done(answer["done"], answer["cpu"], answer[TEXTS])

    def stop(self) -> None:
        """End the child and wait for its end."""
        self._child.kill()
        self._child.wait()
        self.let_go()

    def let_go(self) -> None:
        """Close this process's ends of the pipes; a child that nobody asks ends by itself."""
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _cpu_seconds(self) -> float | None:
        """Tell how long the child has worked so far; None where the system does not say."""
        try:
            status = Path(f"/proc/{self._child.pid}/stat").read_bytes().rpartition(b")")[2].split()
            return (int(status[USER_TICKS]) + int(status[USER_TICKS + 1])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return None

    def _exchange(self, request: bytes, seconds: float) -> tuple[dict[str, Any] | None, bool]:
        """Send a request and wait for its answer, None when the child died; tells, too, if it was too late."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        late = threading.Event()

        def stop_late() -> None:
            late.set()
            self._used = self._cpu_seconds()
            self._child.kill()

        watchdog = threading.Timer(seconds, stop_late)
        # A job under way must not keep the service from ending.
        watchdog.daemon = True
        watchdog.start()
        try:
            self._child.stdin.write(request)
            self._child.stdin.flush()
            line = self._child.stdout.readline()
            # Half an answer is none: the child was ended while it wrote.
            answer = json.loads(line) if line.endswith(b"\n") else None
            if answer and (lengths := answer.get(TEXTS)):
                answer[TEXTS] = tuple(map(self._child.stdout.read, lengths))
                answer = answer if [*map(len, answer[TEXTS])] == lengths else None
        except OSError:
            answer = None
        finally:
            watchdog.cancel()
        if answer is None:
            self._child.kill()  # it closed its pipe, or is about to end: `wait` must not wait for ever
        return answer, answer is None and late.is_set()


class Pool:
    """Do jobs in child processes, no more at a time than the limits allow; for any number of threads."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self._turns = Turns(limits.processes, limits.queued)
        self._idle: list[ChildProcess] = []
        self._working = 0
        self._is_warming = False
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
        is_queued: bool = False,
    ) -> Done:
        """Do a job; raises ChildDiedError for what exceeds the limits or crashes, and ChildUnavailableError.

        `key` says who asks: keys take turns. With `at_once` a key that has so many jobs here, or waits long for
        its turn, gets TooManyWaitingError; so does one whose job a busy machine gives no time.
        What `is_queued` came out of a queue, and leaves a place for who waits for an answer.
        """
        seconds = self.limits.cpu_seconds if cpu_seconds is None else cpu_seconds
        with self._turns.taken(key, at_once=at_once, is_queued=is_queued):
            try:
                return self._run(job, request, seconds)
            except ChildDiedError as death:
                # A child may also die of something else than its job, and a busy machine may leave it no time, so a
                # crash counts when it comes again.
                if death.death is not Death.CRASH and not death.is_starved:
                    raise
                if death.is_starved and at_once is not None:  # its sender waits, and has waited long enough
                    raise TooManyWaitingError from death
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
            self._working += 1
        is_lost = True
        try:
            process = process or ChildProcess(self.limits)
            if self.limits.has_spare:
                self._warm_apart()
            done = process.run(job, request, cpu_seconds=cpu_seconds)
            is_lost = process.is_worn
        finally:
            with self._lock:
                self._working -= 1
                # Nobody ends the children of a closed pool; others may have been started meanwhile, too.
                is_spare = len(self._idle) >= self.limits.processes
                if process and (is_kept := not (is_lost or is_spare or self._is_closed)):
                    self._idle.append(process)
            if process and not is_kept:
                # Stopped whatever it was: an answer that is still to come would be read as that of the next job.
                process.stop()
            if process and is_lost:
                self._warm_apart()
        return done

    def _warm_apart(self) -> None:
        """Have a child started if none is idle: the next caller shall not wait for what takes longer than most jobs."""
        with self._lock:
            if self._idle or self._is_warming or self._is_closed or self._working >= self.limits.processes:
                return
            self._is_warming = True
        threading.Thread(target=self._warm_once, name="retrycontract-child", daemon=True).start()

    def _warm_once(self) -> None:
        try:
            self.warm()
        finally:
            self._is_warming = False


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
