"""Attempts that arrive at an even pace, whatever became of those before, and the count of what became of each."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count, cycle
from typing import Any

from tests.conftest import corpus_rows
from tests.services.bombing import at
from tests.services.storm import SCHEMA as SMALL
from tests.services.storm import rows
from tests.serving.service import AgentClient, Answer, Service

HANG = 300.0  # seconds; a hang guard
AGENTS = 4  # one key alone may not make as many requests a minute
MOST_AT_ONCE = 4_000  # requests in hand, so that none waits here for another one
PUBLISHED = 24  # tools of published data, where that is at hand
SENT_TWICE = 10  # each so many attempts one is, as by a client whose answer was lost on its way
LINE = {"type": "object", "required": ["sku", "quantity"], "additionalProperties": False,
        "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
                       "quantity": {"type": "integer", "minimum": 1, "maximum": 999},
                       "price": {"type": "number", "exclusiveMinimum": 0}}}  # fmt: skip
MIDDLE: dict[str, Any] = {
    "type": "object",
    "required": ["lines", "currency"],
    "properties": {"lines": {"type": "array", "items": LINE, "minItems": 1, "maxItems": 100},
                   "currency": {"enum": ["EUR", "USD", "CHF", "JPY"]}}
    | {f"note_{number}": {"type": "string", "maxLength": 400} for number in range(30)},
}  # fmt: skip
ORDER = {"lines": [{"sku": "ABC-1234", "quantity": 2, "price": 9.5}] * 30, "currency": "EUR"} | {
    f"note_{number}": "to be left at the door, between nine and ten " * 4 for number in range(20)
}
STORED = """SELECT a.tool_call_id, a.state, a.status, (SELECT count(*) FROM retrycontract_event e
    WHERE e.call_id = a.call_id AND e.name = 'attempt.judged') FROM retrycontract_attempt a"""


@dataclass(frozen=True, slots=True)
class Output:
    """What a model wrote for a tool, what goes along with it, and what is to be said of it."""

    tool: str
    arguments: Any
    status: str
    more: dict[str, Any] = field(default_factory=dict)


def known_tools() -> dict[str, tuple[Any, Any]]:
    """Give schema and right arguments of a small and a middle-sized tool, and of published ones where they are."""
    tools = {"count": (SMALL, {"n": 1}), "order": (MIDDLE, ORDER)}
    if os.environ.get("RETRYCONTRACT_CORPUS"):
        for row in corpus_rows("real_valid_calls"):
            if row["schema"].get("required") and len(tools) < 2 + PUBLISHED:
                tools[row["tool"].replace("/", ".")] = row["schema"], json.loads(row["arguments_raw"])
    return tools


def outputs_for(tools: dict[str, tuple[Any, Any]]) -> list[Output]:
    """Write two right outputs and a wrong one for each tool, and one that blocks its call."""
    outputs = [Output("count", {"n": "x"}, "blocked", {"max_attempts": 1})]
    for tool, (schema, right) in tools.items():
        wrong = {name: value for name, value in right.items() if name != schema["required"][0]}
        outputs += [*[Output(tool, right, "valid")] * 2, Output(tool, wrong, "retry")]
    return outputs


@dataclass
class Load:
    """Agents whose attempts each make a call; what was answered is remembered, and so is what was refused."""

    service: Service
    rate: float  # attempts a second
    waits: bool = True  # for each verdict
    is_keyed: bool = True
    is_calm: bool = True  # nothing may be refused
    expected: dict[str, str] = field(default_factory=dict)  # by attempt, as what was told
    told: dict[str, str] = field(default_factory=dict)
    accepted: list[float] = field(default_factory=list)  # seconds, as those below
    judged: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)  # that an attempt was sent after its time
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send while the block runs; what was sent is answered behind it."""
        tools = known_tools()
        keys = self.service.new_keys(*(f"agent {number}" for number in range(AGENTS)))
        agents = [AgentClient(self.service, key) for key in keys]
        for name, (schema, _) in list(tools.items()):
            statuses = {agent.register(name, schema).status for agent in agents}
            if statuses - {200, 201}:
                assert name not in ("count", "order"), statuses
                del tools[name]  # a published one that is no valid schema
        stopping, working = threading.Event(), list[Future[None]]()
        with ThreadPoolExecutor(MOST_AT_ONCE) as pool:

            def arrive() -> None:
                outputs, began = outputs_for(tools), time.monotonic()
                for number, output in zip(count(), cycle(outputs), strict=False):
                    due = began + number / self.rate
                    if stopping.wait(max(due - time.monotonic(), 0)):
                        self.seconds = time.monotonic() - began
                        return
                    agent = agents[number // len(outputs) % AGENTS]
                    working.append(pool.submit(self._attempt, agent, number, output, due))

            arriving = threading.Thread(target=arrive)
            arriving.start()
            try:
                yield
            finally:
                stopping.set()
                arriving.join()
        for done in working:
            done.result()

    def _attempt(self, agent: AgentClient, number: int, output: Output, due: float) -> None:
        name, started = f"a{number}", time.monotonic()
        self.expected[name] = output.status
        self.late.append(started - due)
        body = {"tool": output.tool, "tool_call_id": name, "session_id": name, "arguments": output.arguments}
        headers = {"Prefer": "wait=0"} | ({"Idempotency-Key": name} if self.is_keyed else {})
        answer = self._answer(agent, "POST", "/calls", body | output.more, headers=headers)
        self.accepted.append(time.monotonic() - started)
        if number % SENT_TWICE == 0:
            again = self._answer(agent, "POST", "/calls", body | output.more, headers=headers)
            assert not self.is_keyed or again.body["call_id"] == answer.body["call_id"]
        # Of this attempt: one that was sent beside it may be the newest, and is not judged where this one was right.
        path = f"/calls/{answer.body['call_id']}/wait?for=verdict&attempt={answer.body['attempt_number']}"
        while self.waits and answer.status == 202 and time.monotonic() - started < HANG:
            answer = self._answer(agent, "GET", path, headers={"Prefer": "wait=30"})
        if answer.status == 200:
            self.judged.append(time.monotonic() - started)
            self.told[name] = answer.body["status"]

    def _answer(self, agent: AgentClient, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Ask until it is answered, as agents do through an outage."""
        started = time.monotonic()
        while time.monotonic() - started < HANG:
            try:
                answer = agent.send(method, path, body, timeout=60, **options)
            except (OSError, HTTPException) as error:
                self.refused[type(error).__name__] += 1
            else:
                if answer.status in (200, 202):
                    return answer
                self.refused[str(answer.status)] += 1
                assert answer.status == 503, answer.text  # nothing else is an answer to an outage
            assert not self.is_calm, self.refused
            time.sleep(0.1)
        raise AssertionError(f"{path} was never answered: {self.refused}")

    def check(self) -> tuple[int, int]:
        """Count what was lost and what was done twice, as the database has it."""
        stored = rows(self.service, STORED)
        verdicts = {name: status for name, state, status, _ in stored if state == "judged"}
        assert verdicts.items() <= self.expected.items()
        assert self.told.items() <= self.expected.items()
        assert not self.waits or len(self.told) == len(self.expected), "whoever waits is answered"
        lost = self.expected.keys() - verdicts.keys()
        return len(lost), len(stored) - len({row[0] for row in stored}) + sum(events > 1 for *_, events in stored)

    def figures(self) -> str:
        """Write one line, times in milliseconds."""
        refused = "".join(f" refused_{name}={times}" for name, times in sorted(self.refused.items()))
        times = " ".join(
            f"{name}_p{percent}={at(seconds, percent):.0f}"
            for name, seconds in (("late", self.late), ("accepted", self.accepted), ("verdict", self.judged))
            for percent in (50, 99)
            if seconds
        )
        return (
            f"sent={len(self.expected)} answered={len(self.told)} refused={self.refused.total()}{refused} "
            f"rate={len(self.expected) / self.seconds:.1f} {times}"
        )
