"""The child process: reads jobs from a pipe, does each within its limits, and writes what came of it.

A job is a pickle after its length, since only the parent writes there; an answer is one line of JSON, since what a
child answers was made of somebody's output and must not be able to run anything in the parent. Texts that the parent is
to pass on unread follow the line, which tells their lengths.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

READY = b"{}\n"
TEXTS = "texts"
LENGTH_BYTES = 8
# Grammars give back what they read level by level, by 48 bytes of the stack for each token: those of 2 MB need 100 MB.
# Linux leaves 128 MB below the stack of a process that began with less.
STACK = 120 * 1_048_576
NICENESS = 5  # requests that wait for a thread of the service go before checks that take seconds
# What a child can do; by name, so that the pool knows neither languages nor schemas.
JOBS = {
    "compile": ("retrycontract.languages.compiling", "compile_here"),
    "judge": ("retrycontract.checking.jobs", "judge_here"),
    "outline": ("retrycontract.checking.jobs", "outline_here"),
    "admit": ("retrycontract.checking.jobs", "admit_here"),
}


def serve(requests: BinaryIO, answers: BinaryIO, *, memory: int) -> None:
    """Answer until nobody asks any more."""
    with suppress(AttributeError, OSError):
        os.nice(NICENESS)
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # nor does one that wakes up interrupt them
    _job("judge")  # on a busy machine importing takes seconds, which must not be those of the first job
    _bound("RLIMIT_AS", memory)
    _bound("RLIMIT_STACK", STACK)
    # A core dump would leave an agent's output on the disk.
    _bound("RLIMIT_CORE", 0)
    # A check writes no file; pipes, through which it answers, are none.
    _bound("RLIMIT_FSIZE", 0)
    answers.write(READY)
    answers.flush()
    while length := requests.read(LENGTH_BYTES):
        name, cpu_seconds, request = pickle.loads(requests.read(int.from_bytes(length, "big")))  # noqa: S301 - of ours
        job = _job(name)  # what is imported the first time is not the job's work
        started = time.process_time()
        _bound_cpu(cpu_seconds)
        # Both are an output's doing. What else is raised is a mistake of ours: it ends the child, a crash.
        try:
            answer = {"done": job(request)}
        except MemoryError:
            answer = {"failed": "memory"}
        except RecursionError:
            answer = {"failed": "depth"}
        _bound_cpu(0)
        answer |= {"cpu": time.process_time() - started, "memory": _memory_used()}
        done = answer.get("done")
        texts = done.pop(TEXTS, []) if isinstance(done, dict) else []
        answers.write(json.dumps(answer | {TEXTS: list(map(len, texts))}).encode() + b"\n")
        answers.writelines(texts)
        answers.flush()


@cache
def _job(name: str) -> Callable[[Any], Any]:
    module, function = JOBS[name]
    found: Callable[[Any], Any] = getattr(import_module(module), function)
    return found


def _bound(name: str, limit: int) -> None:
    """Set one limit where the system has it: the parent's clock bounds the rest."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))


def _bound_cpu(seconds: float) -> None:
    """Have the system end this process when it has worked for so long; 0 calls that off.

    Nobody handles the signal, so that it ends native code, too, in which Python would never hear it.
    """
    with suppress(AttributeError):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _memory_used() -> int:
    """Give the most that this process ever held, in bytes; 0 where the system doesn't say."""
    # On Linux `ru_maxrss` begins with what the process held that started this one.
    with suppress(OSError, StopIteration), open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) * 1024
    with suppress(ImportError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return 0


def main() -> None:
    """Serve on standard input and output; what else might write there is sent nowhere."""
    memory = int(sys.argv[1])
    with suppress(AttributeError, ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal is for the service, which ends its own
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, answers, memory=memory)
