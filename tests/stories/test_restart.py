"""Stop and start: nothing that was answered is lost, and what waited is judged."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.bombs import known
from tests.conftest import StartService
from tests.serving.service import AgentClient
from tests.serving.threads import eventually

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.soak),
        pytest.param(signal.SIGKILL, marks=pytest.mark.soak),
    ],
)
def test_a_blocked_call_survives_a_restart(start_service: StartService, tmp_path: Path, how: signal.Signals) -> None:
    service = start_service(tmp_path / "data")
    agent = AgentClient(service, service.new_key("restart"))
    agent.register("count", SCHEMA)
    call_id = None
    for number in range(3):
        verdict = agent.submit("count", f"c{number}", {"n": "x"}, **({"call_id": call_id} if call_id else {}))
        call_id = verdict["call_id"]
    assert verdict["status"] == "blocked"
    status = service.stop(how)
    assert how is signal.SIGKILL or status == 0
    service.start()
    call = agent.send("GET", f"/calls/{call_id}").body
    assert call["state"] == "blocked"
    assert len(call["attempts"]) == 3
    assert agent.submit("count", "again", {"n": 1}, call_id=call_id)["state"] == "valid"
    service.stop()
    assert service.log.count(service.operator_password) == 1, "the password is printed once"


def test_what_was_queued_when_the_service_died_is_judged_after_the_restart(
    start_service: StartService, tmp_path: Path
) -> None:
    # Nothing is judged while the sweep sleeps and no bell rings: the attempts stay queued.
    asleep = {"RETRYCONTRACT_JUDGE": "worker", "RETRYCONTRACT_SWEEP_SECONDS": "3600"}
    silent = {"RETRYCONTRACT_DOORBELL": "retrycontract.usecases.notify.doorbell.SilentDoorbell"}
    service = start_service(tmp_path / "data", asleep | silent)
    agent = AgentClient(service, service.new_key("queued"))
    agent.register("count", SCHEMA)
    calls = []
    for number in range(10):
        body = {"tool": "count", "tool_call_id": f"q{number}", "arguments": {"n": number}}
        answer = agent.send("POST", "/calls", body, headers={"Prefer": "wait=0"})
        assert answer.status == 202
        assert answer.headers["location"].endswith("for=verdict&attempt=1")
        assert "retrycontract-pending" not in answer.headers
        calls.append(answer.body["call_id"])
    service.stop(signal.SIGKILL)
    service.environment = {"RETRYCONTRACT_JUDGE": "worker"}
    service.start()
    for call_id in calls:
        answer = agent.send("GET", f"/calls/{call_id}/wait?for=verdict", headers={"Prefer": "wait=30"})
        assert (answer.status, answer.body["status"]) == (200, "valid")


def test_an_agent_that_waits_is_answered_when_the_service_stops(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(tmp_path / "data")
    agent = AgentClient(service, service.new_key("waits"))
    agent.register("count", SCHEMA, max_attempts=1)
    call_id = agent.submit("count", "w", {})["call_id"]
    answers: list[int] = []
    path = f"/calls/{call_id}/wait?for=guidance"
    waiter = threading.Thread(
        target=lambda: answers.append(agent.send("GET", path, headers={"Prefer": "wait=60"}).status)
    )
    waiter.start()
    time.sleep(0.5)
    service.stop()
    waiter.join(15)
    assert answers == [202]


def test_a_service_that_dies_while_a_child_judges_has_not_tried_that_output(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service(tmp_path / "data", {"RETRYCONTRACT_CHECK_SECONDS": "10"})
    agent, bomb = AgentClient(service, service.new_key("dear")), known()[0]
    agent.register("dear", bomb.schema)
    body = {"tool": "dear", "tool_call_id": "dear", "arguments": bomb.value}
    assert agent.send("POST", "/calls", body, headers={"Prefer": "wait=0"}).status == 202

    def deliveries() -> list[tuple[int]]:
        with closing(sqlite3.connect(service.data_dir / "retrycontract.sqlite3")) as database:
            found = database.execute("SELECT deliveries FROM retrycontract_attempt WHERE state = 'leased'")
            return found.fetchall()

    eventually(deliveries)
    time.sleep(0.5)  # to begin a delivery and to call it off are two statements
    service.stop(signal.SIGKILL)
    assert deliveries() == [(0,)]
