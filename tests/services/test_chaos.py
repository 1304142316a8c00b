"""Kill workers and Redis under load: every attempt is judged once in effect, and without the sweep some are lost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import require
from tests.serving import scaled
from tests.serving.scaled import ScaledService
from tests.serving.servers import NO_REDIS, Redis, redis_server, running_redis
from tests.serving.service import AgentClient

pytestmark = [pytest.mark.services, pytest.mark.soak]

LEASE_SECONDS = 6
RECOVERED_WITHIN = 180.0  # seconds after the last fault; a quiet machine needs a tenth
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@dataclass
class Chaos:
    """A load on a service, and the faults that hit it meanwhile."""

    service: ScaledService
    redis: Redis
    kills: int = 0
    answers: list[tuple[int, str]] = field(default_factory=list)
    last_fault: float = 0.0

    @contextmanager
    def load(self, calls: int, *, each_second: float) -> Iterator[None]:
        """Submit calls at an even pace while the block runs, and until the last one is answered."""
        agent = AgentClient(self.service, self.service.new_key("chaos"))
        assert agent.register("count", SCHEMA, max_attempts=1).status == 201
        submitting = threading.Thread(target=self._submit, args=(agent, calls, each_second))
        submitting.start()
        yield
        submitting.join(180)
        assert [status for status, _ in self.answers] == [202] * calls, "what is accepted is answered, Redis or not"

    def _submit(self, agent: AgentClient, calls: int, each_second: float) -> None:
        """Submit calls, every other one wrong, so that it is Blocked and escalated at once."""
        start = time.monotonic()

        def send(number: int) -> None:
            time.sleep(max(0.0, start + number / each_second - time.monotonic()))
            arguments = {"n": "x" if number % 2 else number}
            body = {"tool": "count", "tool_call_id": f"c{number}", "session_id": f"s{number}", "arguments": arguments}
            answer = agent.send("POST", "/calls", body, headers={"Prefer": "wait=0"})
            self.answers.append((answer.status, answer.body["call_id"]))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(calls)))

    def after(self, answers: int) -> None:
        """Wait until so many calls were taken in."""
        while len(self.answers) < answers:
            time.sleep(0.02)

    def kill_workers(self, *numbers: int) -> None:
        """Kill workers with everything that they do."""
        for number in numbers:
            self.service.kill_worker(number)
            self.kills += 1
        self.last_fault = time.monotonic()

    def start_workers(self, *numbers: int) -> None:
        """Start workers that were killed."""
        for number in numbers:
            self.service.restart_worker(number)

    def forget_the_queue(self, *, after: int | None = None) -> None:
        """Kill Redis while the queue holds work, when so many calls were taken in, and start it again with nothing."""
        self.kill_workers(0, 1)
        self.after(after or len(self.answers) + 40)
        self.redis.stop(signal.SIGKILL)
        time.sleep(0.5)
        self.redis.start()
        self.start_workers(0, 1)
        self.last_fault = time.monotonic()

    def ask(self, question: str) -> Any:
        """Ask the database for one value."""
        with psycopg.connect(self.service.environment["RETRYCONTRACT_DATABASE_URL"]) as connection:
            row = connection.execute(question).fetchone()  # type: ignore[call-overload]
        return row[0]

    def waiting(self) -> int:
        """Count the attempts without a verdict."""
        found: int = self.ask("SELECT count(*) FROM retrycontract_attempt WHERE state IN ('queued', 'leased')")
        return found

    def wait_for_verdicts(self, within: float) -> float:
        """Wait until nothing waits; gives the seconds since the last fault."""
        while self.waiting() and time.monotonic() - self.last_fault < within:
            time.sleep(0.2)
        return time.monotonic() - self.last_fault


@pytest.fixture
def make_chaos(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Chaos]]:
    """Start a service with a Redis of its own and two workers."""
    require(redis_server(), NO_REDIS)
    with running_redis() as redis:
        started: list[ScaledService] = []

        def make(**environment: str) -> Chaos:
            own = {"RETRYCONTRACT_REDIS_URL": redis.url, "RETRYCONTRACT_LEASE_SECONDS": str(LEASE_SECONDS)}
            service = scaled(request, tmp_path / "data", environment=own | environment, webs=1, workers=2, anew=True)
            started.append(service)
            service.start()
            return Chaos(service, redis)

        yield make
        for service in started:
            service.stop(signal.SIGKILL)


def test_nothing_is_lost_or_done_twice_when_workers_and_redis_are_killed(make_chaos: Callable[..., Chaos]) -> None:
    calls = 500
    chaos = make_chaos()
    with chaos.load(calls, each_second=40):
        for answers, number in ((80, 0), (160, 1), (240, 0)):
            chaos.after(answers)
            chaos.kill_workers(number)
            chaos.start_workers(number)
        chaos.after(300)
        chaos.forget_the_queue()
        chaos.after(450)
        chaos.kill_workers(1)
        chaos.start_workers(1)
    recovered = chaos.wait_for_verdicts(RECOVERED_WITHIN)
    lost = chaos.waiting()
    print(f"kills={chaos.kills} redis_restarts=1 submitted={calls} lost={lost} last_verdict_after={recovered:.1f}s")
    assert lost == 0
    assert chaos.ask("SELECT count(*) FROM retrycontract_attempt WHERE state = 'judged'") == calls
    assert chaos.ask("SELECT count(*) FROM retrycontract_event WHERE name = 'attempt.judged'") == calls
    assert chaos.ask("SELECT count(*) FROM retrycontract_call WHERE state = 'valid'") == calls / 2
    assert chaos.ask("SELECT count(*) FROM retrycontract_call WHERE state = 'blocked'") == calls / 2
    assert chaos.ask("SELECT count(*) FROM retrycontract_escalation") == calls / 2
    assert chaos.ask("SELECT count(*) FROM retrycontract_event WHERE name = 'escalation.opened'") == calls / 2
    assert chaos.ask("SELECT count(*) FROM retrycontract_attempt WHERE sealed IS NOT NULL") == 0


def test_without_the_sweep_the_same_faults_lose_work(make_chaos: Callable[..., Chaos]) -> None:
    chaos = make_chaos(RETRYCONTRACT_SWEEP_SECONDS="0")
    with chaos.load(120, each_second=40):
        chaos.after(20)
        chaos.forget_the_queue(after=120)  # a ring that came later would have all judged that waits
    chaos.wait_for_verdicts(LEASE_SECONDS + 4)
    print(f"kills={chaos.kills} redis_restarts=1 submitted=120 lost={chaos.waiting()}")
    assert chaos.waiting() > 0
