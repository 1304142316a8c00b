"""The child process: reads files from a pipe, compiles each within its limits, and writes what it found.

Source is compiled, never run. A request is one line of JSON, its length included, and the source; an answer is one line
of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language, SourceFault
from retrycontract.languages import data_files, grammars, python_source

MAX_FAULTS = 20
MAX_REASON = 300  # characters of a compiler's text
READY = b"ready\n"
TOO_LARGE = SourceFault(FaultKind.DEPTH, "it takes more memory than a file may")
READERS: dict[Language, Callable[[str], Iterator[SourceFault]]] = {
    Language.PYTHON: python_source.compile_python,
    Language.TOML: data_files.read_toml,
    Language.YAML: data_files.read_yaml,
}


def serve(requests: BinaryIO, answers: BinaryIO, *, memory: int, cpu_seconds: int) -> None:
    """Answer until nobody asks any more."""
    _bound("RLIMIT_AS", memory)
    _bound("RLIMIT_CORE", 0)
    _bound("RLIMIT_FSIZE", 0)
    answers.write(READY)
    answers.flush()
    for line in requests:
        asked = json.loads(line)
        source = requests.read(asked["length"]).decode()
        _bound_cpu(cpu_seconds)
        faults = _compile(Language(asked["language"]), source)
        answers.write(json.dumps({"faults": faults, "memory": _memory_used()}).encode() + b"\n")
        answers.flush()


def _compile(language: Language, source: str) -> list[list[Any]]:
    reader = READERS.get(language)
    try:
        found = reader(source) if reader else grammars.parse(language, source)
        return [_written(fault) for fault in islice(found, MAX_FAULTS)]
    except MemoryError:
        return [_written(TOO_LARGE)]


def _written(fault: SourceFault) -> list[Any]:
    return [fault.kind.value, fault.reason[:MAX_REASON], fault.line, fault.column, fault.is_warning]


def _bound(name: str, limit: int) -> None:
    """Set one limit where the system has it: the parent's clock bounds the rest."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))


def _bound_cpu(seconds: int) -> None:
    _bound("RLIMIT_CPU", int(time.process_time()) + 1 + seconds)


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
    memory, cpu_seconds = map(int, sys.argv[1:3])
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, answers, memory=memory, cpu_seconds=cpu_seconds)
