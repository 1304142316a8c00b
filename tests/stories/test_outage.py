"""The database is taken away from a running service and put back: all are told so, and two lines of the log."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.conftest import StartService
from tests.serving.service import DATABASE, AgentClient
from tests.serving.threads import eventually

SWEEPS = 3.0  # seconds: more than one sweep


def test_a_file_that_is_gone_is_told_at_every_door_and_twice_in_the_log(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service(tmp_path / "data", {"RETRYCONTRACT_SWEEP_SECONDS": "1"})
    agent = AgentClient(service, service.new_key("away"))
    agent.register("count", {"properties": {"n": {"type": "integer"}}})
    agent.submit("count", "before", {"n": 1})
    service.close_console()
    away = tmp_path / "away"
    away.mkdir()
    for path in service.data_dir.glob(f"{DATABASE}*"):
        path.rename(away / path.name)
    body = {"tool": "count", "tool_call_id": "meanwhile", "arguments": {"n": 1}}
    refused = agent.send("POST", "/calls", body)
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert "its file is gone" in refused.body["detail"]
    assert [service.send("GET", path).status for path in ("/login/", "/readyz", "/livez")] == [503, 503, 200]
    time.sleep(SWEEPS)
    assert list(service.data_dir.glob(f"{DATABASE}*")) == []
    for path in away.iterdir():
        path.rename(service.data_dir / path.name)
    eventually(lambda: service.send("GET", "/readyz").status == 200)
    assert agent.submit("count", "after", {"n": 1})["status"] == "valid"
    eventually(lambda: "takes writes again" in service.log)
    lines = [json.loads(line) for line in service.log.splitlines() if line.startswith("{")]
    told = [line["message"] for line in lines if "The database takes" in line["message"]]
    assert len(told) == 2, told
    assert "put it back" in told[0]  # whoever opens it anew finds none to open
    assert [line["message"] for line in lines if "exception" in line] == []
