"""Rings that come too often, or never: neither changes what happens, and nobody waits for ever."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

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
