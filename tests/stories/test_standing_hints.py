"""An answer that stands: given once at the desk, it spares the next agent's escalation, and its record says so."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"mode": {"enum": ["read", "write"]}}, "required": ["mode"]}


@pytest.fixture
def agent(judged_service: Service, request: pytest.FixtureRequest) -> AgentClient:
    client = AgentClient(judged_service, judged_service.new_key(request.node.name.split("[")[0]))
    assert client.register("open_file", SCHEMA, max_attempts=2).status in (200, 201)
    return client


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def test_a_hint_that_stands_spares_the_next_escalation_and_its_record_says_so(agent: AgentClient) -> None:
    desk = Desk(agent.service)
    desk.log_in()
    first: dict[str, Any] = agent.submit("open_file", "call_1", {"mode": "raed"})
    assert "Write 'read'." not in first["tool_result"]["content"]
    stuck = agent.submit("open_file", "call_2", {"mode": "raed"}, call_id=first["call_id"])
    assert stuck["state"] == "blocked"
    desk.answer(stuck["call_id"], text="Write 'read'.", standing="on", lasts="7")

    told = agent.submit("open_file", "call_3", {"mode": "raed"})
    assert "> Write 'read'." in told["tool_result"]["content"]
    done = agent.submit("open_file", "call_4", {"mode": "read"}, call_id=told["call_id"])
    assert done["state"] == "valid"
    assert agent.send("GET", f"/calls/{told['call_id']}").body["escalations"] == []
    page = desk.get("/hints/")
    assert "shown once, next attempt valid once" in words(page)

    address = re.search(r'action="(/hints/\d+/off/)"', page)
    assert address is not None
    desk.press("/hints/", address[1])
    untold = agent.submit("open_file", "call_5", {"mode": "raed"})
    assert "Write 'read'." not in untold["tool_result"]["content"]
    assert "shown once, next attempt valid once" in words(desk.get("/hints/?show=ended"))
