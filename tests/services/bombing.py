"""Bombs on one side, a neighbour and a probe on the other, and the figures of what each saw."""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bombs import Bomb
from tests.serving.service import ROOT, AgentClient, Service

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PAUSE = 0.02  # seconds between two requests of the neighbour, and of the probe
HANG = 120.0  # seconds; a hang guard
PROMISED = 15.0  # seconds in which each bomb is answered, on a machine that has nothing else to do
# `manage.py` without one of the things that keep a bomb from the others.
UNPROTECTED = {
    "child": "import retrycontract.usecases.calls.judge_attempt as it; from retrycontract.usecases.calls.check_output "
             "import check_here; it.check_apart = lambda *asked, **_: check_here(*asked[:2])",
    "table": "import retrycontract.usecases.calls.submit_attempt as it; it.is_quick = lambda submitted, contract: True",
}  # fmt: skip


@dataclass
class Unprotected(Service):
    """One process whose outputs are judged in its own threads: without the child, or without the table of costs."""

    without: str = "child"

    def _manage(self, command: str) -> list[str]:
        if command != "up":
            return super()._manage(command)
        # The use cases can only be loaded when Django is: its own start does that, so the change follows it.
        code = (
            "import sys, os; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'retrycontract.settings');"
            f"sys.path.insert(0, {str(ROOT)!r}); import django; django.setup();"
            f"{UNPROTECTED[self.without]};"
            "from django.core.management import execute_from_command_line as run; run(['manage.py', *sys.argv[1:]])"
        )
        return [sys.executable, "-c", code, command]


@contextmanager
def watched(service: Service, key: str = "") -> Iterator[list[tuple[float, bool]]]:
    """Submit with a key again and again while the block runs, or ask for `/livez`; gives seconds, and what failed.

    In a process of its own: what sends bombs writes megabytes of JSON, and the thread of a neighbour would wait for it.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_watch, args=(service.port, key, theirs))
    process.start()
    seen: list[tuple[float, bool]] = []
    try:
        ours.recv()
        yield seen
    finally:
        ours.send(None)
        seen += ours.recv()
        process.join()


def _watch(port: int, key: str, ends: Connection) -> None:
    service = Service(Path(), port=port)
    seen: list[tuple[float, bool]] = []
    ends.send(None)
    while not ends.poll(PAUSE):
        started = time.monotonic()
        try:
            if key:
                body = {"tool": "count", "tool_call_id": f"{started}", "arguments": {"n": len(seen)}}
                answer = service.send("POST", "/api/v1/calls", body, key=key, timeout=HANG)
            else:
                answer = service.send("GET", "/livez", timeout=HANG)
            is_right = answer.status == 200
        except (OSError, HTTPException):
            is_right = False
        seen.append((time.monotonic() - started, is_right))
    ends.send(seen)


@dataclass
class Seen:
    """Hold what was seen while bombs came in: seconds of the neighbour and of `/livez`, and the bombs' answers."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    livez: list[float] = field(default_factory=list)
    bombs: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    failures: int = 0
    megabytes: int = 0

    @property
    def late(self) -> int:
        """Count the bombs that were answered later than is promised."""
        return sum(seconds > PROMISED for seconds in self.bombs)

    def row(self, name: str) -> str:
        """Write the row of benchmarks/CHAOS.md."""
        alone, beside = (f"{at(seen, 50):,.0f} / {at(seen, 99):,.0f} ms" for seen in (self.alone, self.beside))
        livez = f"{at(self.livez, 99):,.0f} / {max(self.livez) * 1000:,.0f} ms"
        return (
            f"| {name} | {len(self.bombs)} | {alone} | {beside} | {livez} "
            f"| {max(self.bombs):.1f} s, {self.late} | {len(self.unexplained)} | {self.megabytes:,} MB |"
        )

    def figures(self) -> str:
        """Write one line, times in milliseconds but the bombs' own."""
        answers = " ".join(f"{name}={times}" for name, times in sorted(self.answers.items()))
        return (
            f"neighbour_alone_p50={at(self.alone, 50):.0f} p99={at(self.alone, 99):.0f} "
            f"beside_p50={at(self.beside, 50):.0f} p99={at(self.beside, 99):.0f} max={max(self.beside) * 1000:.0f} "
            f"ratio_p99={at(self.beside, 99) / at(self.alone, 99):.1f} livez_max={max(self.livez) * 1000:.0f}ms "
            f"bombs={len(self.bombs)} longest={max(self.bombs):.1f}s beyond_15s={self.late} {answers} "
            f"unexplained={len(self.unexplained)} "
            f"neighbours_failures={self.failures} memory_max={self.megabytes}MB"
        )


def at(seconds: Sequence[float], percent: int) -> float:
    """Give a percentile in milliseconds."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


def bombard(service: Service, bombs: Sequence[Bomb], *, keys: int, at_once: int, alone: float = 12.0) -> Seen:
    """Send bombs, so many at once in all, of so many keys; a neighbour submits and a probe asks meanwhile."""
    seen = Seen()
    neighbour = AgentClient(service, service.new_key("neighbour"))
    assert neighbour.register("count", SCHEMA).status == 201
    senders = [AgentClient(service, service.new_key(f"sender {number}")) for number in range(keys)]
    for number, bomb in enumerate(bombs):
        registered = senders[number % keys].register(f"bomb{number}", bomb.schema)
        assert registered.status == 201, registered.text

    # Written beforehand: the megabytes of JSON would take the neighbour's processors, which the service does not.
    bodies = [
        json.dumps({"tool": f"bomb{number}", "tool_call_id": f"b{number}", "arguments": bomb.value}).encode()
        for number, bomb in enumerate(bombs)
    ]

    def drop(number: int) -> None:
        started = time.monotonic()
        answer = senders[number % keys].send(
            "POST", "/calls", bodies[number], headers={"Prefer": "wait=60"}, timeout=HANG
        )
        while answer.status == 202:
            path = f"/calls/{answer.body['call_id']}/wait?for=verdict"
            answer = senders[number % keys].send("GET", path, headers={"Prefer": "wait=60"}, timeout=HANG)
        seen.bombs.append(time.monotonic() - started)
        told = answer.body if isinstance(answer.body, dict) else {}
        seen.answers[str(told.get("status")) if answer.status == 200 else str(answer.status)] += 1
        is_told = told.get("status") == "valid" or told.get("tool_result") or told.get("detail")
        if not is_told:
            seen.unexplained.append(f"{bombs[number].name}: {answer.status} {answer.text[:200]}")

    with watched(service, neighbour.key) as before:
        time.sleep(alone)
    with watched(service, neighbour.key) as during, watched(service) as probed, measured_memory(service, seen):
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(drop, range(len(bombs))))
        time.sleep(0.5)
    with watched(service, neighbour.key) as after:  # what else the machine does may have changed meanwhile
        time.sleep(alone)
    before += after
    seen.alone, seen.beside, seen.livez = ([seconds for seconds, _ in each] for each in (before, during, probed))
    seen.failures = sum(not is_right for _, is_right in [*before, *during, *probed])
    return seen


@contextmanager
def measured_memory(service: Service, seen: Seen) -> Iterator[None]:
    """Keep the most that the service's processes held together."""
    stopping = threading.Event()
    started = [service.process, *getattr(service, "web_processes", ()), *getattr(service, "worker_processes", ())]

    def look() -> None:
        while not stopping.wait(0.2):
            seen.megabytes = max(seen.megabytes, sum(held(p.pid) for p in started if p is not None) // 1024)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def held(pid: int) -> int:
    """Give the kilobytes of a process and of all below it; 0 where the system doesn't say."""
    kilobytes = 0
    with suppress(OSError, StopIteration):
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        kilobytes = int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])
        for thread in Path(f"/proc/{pid}/task").iterdir():
            kilobytes += sum(map(held, map(int, (thread / "children").read_text(encoding="ascii").split())))
    return kilobytes
