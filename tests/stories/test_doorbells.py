"""Rings that come too often, or never: neither changes what happens, and nobody waits for ever."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.bombs import known
from tests.serving import running, scaled
from tests.serving.service import AgentClient, Service

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}


def submit_some(service: Service, calls: int) -> list[str]:
    """Make calls with one failure each, and wait for every verdict."""
    agent = AgentClient(service, service.new_key("ringer"))
    agent.register("count", SCHEMA)
    return [agent.submit("count", f"c{number}", {"n": "x"})["status"] for number in range(calls)]


@pytest.mark.soak
def test_rings_that_come_five_times_are_one_verdict_each(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    import psycopg

    stuttering = {"RETRYCONTRACT_DOORBELL": "tests.stories.stuttering_doorbell.StutteringDoorbell"}
    with running(scaled(request, tmp_path / "data", environment=stuttering, webs=1, workers=2)) as service:
        assert submit_some(service, 8) == ["retry"] * 8
        time.sleep(1)  # until the last of the rings was heard
        with psycopg.connect(service.environment["RETRYCONTRACT_DATABASE_URL"]) as database:
            events = database.execute("SELECT name, count(*) FROM retrycontract_event WHERE call_id > 0 GROUP BY name")
            assert dict(events.fetchall()) == {"attempt.queued": 8, "attempt.judged": 8}


@pytest.mark.parametrize("way", ["in one process", pytest.param("scaled out", marks=pytest.mark.soak)])
def test_what_no_ring_was_heard_for_is_judged_by_the_sweep_and_its_agent_hears_of_it(
    request: pytest.FixtureRequest, tmp_path: Path, way: str
) -> None:
    silent = {"RETRYCONTRACT_DOORBELL": "retrycontract.usecases.notify.doorbell.SilentDoorbell"}
    quick = {"RETRYCONTRACT_JUDGE": "worker", "RETRYCONTRACT_SWEEP_SECONDS": "0.2"}
    if way == "scaled out":
        service: Service = scaled(request, tmp_path / "data", environment=silent | quick, webs=1)
    else:
        service = Service(tmp_path / "data", silent | quick)
    with running(service):
        assert submit_some(service, 1) == ["retry"]


def test_a_worker_judges_what_is_quick_while_its_children_check_what_takes_seconds(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    bomb = known()[0]
    # Rings alone bring work, so that none may be missing.
    slow = {"RETRYCONTRACT_CHECK_SECONDS": "3", "RETRYCONTRACT_SWEEP_SECONDS": "3600"}
    with running(scaled(request, tmp_path / "data", environment=slow, webs=1)) as service:
        dear = [AgentClient(service, service.new_key(name)) for name in ("first", "second")]
        for agent in dear:
            agent.register("read", bomb.schema)
        body = {"tool": "read", "tool_call_id": "c", "arguments": bomb.value}
        calls = [agent.send("POST", "/calls", body, headers={"Prefer": "wait=0"}).body["call_id"] for agent in dear]
        assert submit_some(service, 3) == ["retry"] * 3
        states = [agent.send("GET", f"/calls/{call}").body["state"] for agent, call in zip(dear, calls, strict=True)]
        assert states == ["pending"] * 2
        for agent, call in zip(dear, calls, strict=True):
            answer = agent.send("GET", f"/calls/{call}/wait?for=verdict", headers={"Prefer": "wait=60"}, timeout=90)
            assert answer.body["status"] == "retry"
