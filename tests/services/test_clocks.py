"""A machine whose clock is wrong by days: nothing of the others' is forgotten, and nobody is told dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.faults import scaled_out
from tests.services.test_storm import FAKETIME
from tests.serving.service import AgentClient

pytestmark = [pytest.mark.services, pytest.mark.soak]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
SWEEP = "import django; django.setup(); from worker import sweep; sweep()"


@pytest.mark.skipif(FAKETIME is None, reason="no libfaketime here: apt-get install libfaketime")
@pytest.mark.parametrize("wrong", ["+400d", "-3h"])
def test_a_worker_whose_clock_is_wrong_ends_nothing_before_its_time(tmp_path: Path, wrong: str) -> None:
    with scaled_out(tmp_path, webs=1, workers=1, RETRYCONTRACT_JUDGE="auto") as faults:
        service = faults.service
        agent = AgentClient(service, service.new_key("agent"))
        agent.register("count", SCHEMA)
        for name, value in (("right", 1), *(("wrong", "x") for _ in range(3))):
            agent.send(
                "POST",
                "/calls",
                {"tool": "count", "tool_call_id": name, "session_id": "s", "arguments": {"a": value}},
            )
        before = agent.send("GET", "/calls").body["calls"]
        assert sorted(call["state"] for call in before) == ["blocked", "valid"]
        service.environment |= {"LD_PRELOAD": str(FAKETIME), "FAKETIME": wrong, "DONT_FAKE_MONOTONIC": "1"}
        service.run_code(SWEEP)
        assert agent.send("GET", "/calls").body["calls"] == before
        assert service.send("GET", "/readyz").body["workers"] == 2  # the one that swept gave a sign of life
        service.web_processes[0].terminate()
        service.web_processes[0].wait()
        service.restart_web(0)  # whose clock is wrong as well
        assert service.send("GET", "/readyz").body["workers"] == 2
