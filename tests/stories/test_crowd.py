"""Many clients at once: of one call exactly its budget is consumed, and more may wait than a shell's files allow."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.serving import running
from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Answer, Service
from tests.serving.threads import eventually

CLIENTS = 32
TOKEN = "read the metrics, 32 characters long"
OPEN_FILES = 128  # that a process may have at first; a shell's are 1,024 mostly
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.soak
def test_thirty_two_clients_consume_exactly_the_budget(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("crowd"))
    agent.register("count", SCHEMA, max_attempts=10)
    call_id = agent.submit("count", "first", {"n": "x"})["call_id"]
    start = Barrier(CLIENTS)

    def send(number: int) -> Any:
        start.wait(30)
        return agent.submit("count", f"c{number}", {"n": "x"}, call_id=call_id)

    with ThreadPoolExecutor(CLIENTS) as pool:
        verdicts = list(pool.map(send, range(CLIENTS)))
    assert sorted(verdict["status"] for verdict in verdicts) == ["blocked"] * (CLIENTS - 8) + ["retry"] * 8
    call = agent.send("GET", f"/calls/{call_id}").body
    assert [attempt["number"] for attempt in call["attempts"]] == list(range(1, CLIENTS + 2))
    assert [escalation["state"] for escalation in call["escalations"]] == ["open"]
    assert (call["state"], call["attempts_made"], call["attempts_allowed"]) == ("blocked", CLIENTS + 1, 10)


class SmallShell(Service):
    """Start the service from a shell that lets a process have few open files, and more if it asks."""

    def _manage(self, command: str) -> list[str]:
        return ["sh", "-c", f'ulimit -S -n {OPEN_FILES}; exec "$@"', "sh", *super()._manage(command)]


@pytest.fixture
def small_service(tmp_path: Path) -> Iterator[Service]:
    with running(SmallShell(tmp_path / "data", {"RETRYCONTRACT_METRICS_TOKEN": TOKEN}, anew=True)) as service:
        yield service


@pytest.mark.soak
def test_more_agents_wait_than_the_shell_of_the_service_lets_it_open_files(small_service: Service) -> None:
    crowd = 2 * OPEN_FILES
    agent = AgentClient(small_service, small_service.new_key("crowd"))
    agent.register("count", SCHEMA, max_attempts=1)
    call_id = agent.submit("count", "first", {"n": "x"})["call_id"]
    desk = Desk(small_service)
    desk.log_in()

    def wait(_: int) -> Answer:
        return agent.send("GET", f"/calls/{call_id}/wait?for=guidance", headers={"Prefer": "wait=60"})

    def is_crowded() -> bool:
        return f"retrycontract_waiting_requests {crowd}" in small_service.send("GET", "/metrics", key=TOKEN).text

    with ThreadPoolExecutor(crowd) as pool:
        answers = pool.map(wait, range(crowd))
        eventually(is_crowded)
        desk.answer(call_id, text="Count with digits.")
        assert {answer.body["state"] for answer in answers} == {"guided"}
