"""One child process, kept for the next job as long as it is well."""

from __future__ import annotations

import json
import logging
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retrycontract.children.child import LENGTH_BYTES

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


logger = logging.getLogger("retrycontract")

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
    """Raised when a job was not finished; `death` says why, `cpu_seconds` what is charged for it."""

    def __init__(self, death: Death, cpu_seconds: float) -> None:
        self.death, self.cpu_seconds = death, cpu_seconds
        super().__init__(death.value)


@dataclass(frozen=True, slots=True)
class Done:
    """Hold what a job gave, and the processor seconds that it took."""

    answer: Any
    cpu_seconds: float


class ChildProcess:
    """Start a child that imports nothing of its surroundings, and ask it job by job; for one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked = 0
        self._memory = 0
        try:
            # Isolated: neither variables of the environment nor the working directory say what is imported.
            self._child = subprocess.Popen(  # noqa: S603 - our own interpreter, and nothing that anybody sends
                [sys.executable, "-I", "-S", "-c", START, str(limits.memory), "\n".join(_folders())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
            )
        except OSError as error:
            raise ChildUnavailableError(f"no process can be started ({type(error).__name__})") from error
        if not self._exchange(b"", STARTUP_SECONDS)[0]:
            self.stop()
            raise ChildUnavailableError("the process that checks ends at once")

    @property
    def is_worn(self) -> bool:
        """Tell whether the next job should find a new process."""
        return self._asked >= self._limits.jobs or self._memory > self._limits.tidy

    def run(self, job: str, request: Any, *, cpu_seconds: float) -> Done:
        """Have a job done; raises ChildDiedError."""
        body = pickle.dumps((job, cpu_seconds, request), pickle.HIGHEST_PROTOCOL)
        self._asked += 1
        line, is_late = self._exchange(len(body).to_bytes(LENGTH_BYTES, "big") + body, self._limits.seconds)
        if not line:
            raise ChildDiedError(self._death(is_late=is_late), cpu_seconds)
        answer = json.loads(line)
        self._memory = answer["memory"]
        if "failed" in answer:
            raise ChildDiedError(Death(answer["failed"]), answer["cpu"])
        return Done(answer["done"], answer["cpu"])

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

    def _death(self, *, is_late: bool) -> Death:
        """Tell an end by the limits from one that the job brought about."""
        status = self._child.wait()
        if is_late or status == -getattr(signal, "SIGPROF", 0):
            return Death.WORK
        logger.warning("A child process ended in the middle of its work", extra={"status": status})
        return Death.CRASH

    def _exchange(self, request: bytes, seconds: float) -> tuple[bytes, bool]:
        """Send a request and wait for its line of answer, empty when the child died; tells, too, if it was too late."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        late = threading.Event()
        watchdog = threading.Timer(seconds, self._stop_late, (late,))
        # A job under way must not keep the service from ending.
        watchdog.daemon = True
        watchdog.start()
        try:
            self._child.stdin.write(request)
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except OSError:
            answer = b""
        finally:
            watchdog.cancel()
        # Half a line is no answer: the child was ended while it wrote.
        if not answer.endswith(b"\n"):
            self._child.kill()  # it closed its pipe, or is about to end: `wait` must not wait for ever
            return b"", late.is_set()
        return answer, False

    def _stop_late(self, late: threading.Event) -> None:
        late.set()
        self._child.kill()


def _folders() -> list[str]:
    """List the folders that hold what the child imports."""
    found = (find_spec(package) for package in PACKAGES)
    folders = (Path(spec.origin).parent.parent for spec in found if spec is not None and spec.origin)
    return list(dict.fromkeys(str(folder.resolve()) for folder in folders))
