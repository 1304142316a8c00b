"""A load whose every answer is remembered, and the count of what became of it while services were killed."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psycopg

from tests.serving.scaled import ScaledService
from tests.serving.service import AgentClient, Service

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
OUTPUTS: tuple[Any, ...] = ({"n": "x"}, {"n": "y"}, {"n": 1})  # two failures, then what is right
# Hang guard for one attempt; a service that is killed every few seconds takes one of them.
LONGEST_SECONDS = 300.0


@dataclass
class Storm:
    """Agents that send three attempts for each call, each with a key of its own, again and again until it is judged."""

    service: Service
    threads: int = 6
    verdicts: dict[str, str] = field(default_factory=dict)  # by the attempt's key
    seconds: list[float] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    calls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def load(self, most_calls: int) -> Iterator[None]:
        """Send calls while the block runs, at most so many; what was begun is finished behind it."""
        agent = AgentClient(self.service, self.service.new_key("storm"))
        assert agent.register("count", SCHEMA).status == 201
        numbers = iter(range(most_calls))
        with ThreadPoolExecutor(self.threads) as pool:
            working = [pool.submit(self._work, agent, numbers) for _ in range(self.threads)]
            try:
                yield
            finally:
                self.stopping.set()
            for done in working:
                done.result()

    def _work(self, agent: AgentClient, numbers: Iterator[int]) -> None:
        while not self.stopping.is_set():
            with self._lock:
                number = next(numbers, None)
                self.calls += number is not None
            if number is None:
                return
            for turn, output in enumerate(OUTPUTS):
                self._attempt(agent, f"c{number}", turn, output)

    def _attempt(self, agent: AgentClient, call: str, turn: int, output: Any) -> None:
        """Send one attempt until it is judged; the same key makes it one attempt however often it is sent."""
        body = {"tool": "count", "tool_call_id": call, "session_id": call, "arguments": output}
        headers = {"Prefer": "wait=5", "Idempotency-Key": f"{call}-{turn}"}
        started = time.monotonic()
        while time.monotonic() - started < LONGEST_SECONDS:
            try:
                answer = agent.send("POST", "/calls", body, headers=headers, timeout=20)
            except (OSError, HTTPException):
                time.sleep(0.1)
                continue
            if answer.status == 200:
                self.verdicts[f"{call}-{turn}"] = answer.body["status"]
                self.seconds.append(time.monotonic() - started)
                return
            # Nothing else is an answer to an outage; too much work is one to a clock that was set back by a minute.
            assert answer.status in (202, 503) or answer.body["code"] == "too-much-work", answer.text
            time.sleep(0.05)
        raise AssertionError(f"{call}-{turn} was never judged")

    def check(self, ask: Callable[[str], Any]) -> tuple[int, int]:
        """Count what was lost and what was done twice; `ask` gives the one value of a question to the database."""
        attempts = len(self.verdicts)
        stored = ask("SELECT count(*) FROM retrycontract_attempt WHERE state = 'judged'")
        judged = ask("SELECT count(*) FROM retrycontract_event WHERE name = 'attempt.judged'")
        valid = ask("SELECT count(*) FROM retrycontract_call WHERE state = 'valid' AND attempts_made = 3")
        assert ask("SELECT count(*) FROM retrycontract_call") == self.calls
        expected = {f"c{number}-{turn}": status for number in range(self.calls)
                    for turn, status in enumerate(("retry", "retry", "valid"))}  # fmt: skip
        assert self.verdicts == expected
        lost = (attempts - min(stored, judged)) + (self.calls - valid)
        doubled = max(stored, judged) - attempts
        return lost, doubled

    def figures(self) -> str:
        """Write the load down as the report wants it."""
        ordered = sorted(self.seconds)
        p50, p95 = ordered[len(ordered) // 2], ordered[len(ordered) * 95 // 100]
        return (
            f"calls={self.calls} attempts={len(self.verdicts)} "
            f"seconds_p50={p50:.2f} seconds_p95={p95:.1f} seconds_max={ordered[-1]:.1f}"
        )


def rows(service: Service, question: str) -> list[Any]:
    """Ask the service's database."""
    if not isinstance(service, ScaledService):
        return list(ask_sqlite(service.data_dir, question, whole=True))
    with psycopg.connect(service.environment["RETRYCONTRACT_DATABASE_URL"]) as connection:
        return connection.execute(question.encode()).fetchall()


def ask(service: Service, question: str) -> Any:
    """Ask the service's database for one value."""
    return rows(service, question)[0][0]


def ask_sqlite(data_dir: Path, question: str, *, whole: bool = False) -> Any:
    """Ask the database of one process for one value, or for all rows."""
    with closing(sqlite3.connect(data_dir / "retrycontract.sqlite3")) as database:
        rows = database.execute(question).fetchall()
        return rows if whole else rows[0][0]
