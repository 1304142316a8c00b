"""A machine whose clock is wrong by days: nothing of the others' is forgotten, and nobody is told dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import require
from tests.services.test_storm import FAKETIME
from tests.serving.scaled import ScaledService
from tests.serving.servers import (
    NO_POSTGRESQL,
    NO_REDIS,
    postgresql_programs,
    redis_server,
    running_postgresql,
    running_redis,
)
from tests.serving.service import AgentClient

pytestmark = [pytest.mark.services, pytest.mark.soak]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
SWEEP = "import django; django.setup(); from worker import sweep; sweep()"


@pytest.mark.skipif(FAKETIME is None, reason="no libfaketime here: apt-get install libfaketime")
@pytest.mark.parametrize("wrong", ["+400d", "-3h"])
def test_a_worker_whose_clock_is_wrong_ends_nothing_before_its_time(tmp_path: Path, wrong: str) -> None:
    require(redis_server(), NO_REDIS)
    require(postgresql_programs(), NO_POSTGRESQL)
    with running_redis() as redis, running_postgresql() as postgresql:
        environment = {"RETRYCONTRACT_DATABASE_URL": postgresql.new_database(), "RETRYCONTRACT_REDIS_URL": redis.url}
        service = ScaledService(tmp_path / "data", environment, webs=1, workers=1, anew=True)
        try:
            service.start()
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
        finally:
            service.stop()
