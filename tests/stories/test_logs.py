"""The log of a whole story: one JSON object a line, its correlation id, and no value of the arguments."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service

SCHEMA = {"type": "object", "properties": {"place": {"enum": ["here"]}}, "required": ["place"]}
CORRELATION = "trace-of-the-story"
FAILURE_FIELDS = {
    "tool_name", "error_count", "retry_attempt", "max_retries", "errors", "correlation_id", "duration_us",
}  # fmt: skip
# What nobody can log as JSON: what `up` says to a person, and Celery's banner.
FOR_PEOPLE = re.compile(r"|  .*|Stopped; nothing is lost\.| -+ .*| ?-.*|\[.*\]|\*+.*|Creating.*")

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def lines(judged_service: Service) -> list[dict[str, Any]]:
    """Let a story happen, and give the lines that it left."""
    seen = len(judged_service.log)
    agent = AgentClient(judged_service, judged_service.new_key("log-keeper", another=True))
    agent.register("move", SCHEMA)
    verdict: dict[str, Any] = {"call_id": None}
    for number in range(3):
        names = {"call_id": verdict["call_id"], "correlation_id": CORRELATION}
        verdict = agent.submit("move", f"toolu_{number}", {"place": f"canary-{number}"}, **names)
    desk = Desk(judged_service)
    desk.log_in()
    desk.answer(verdict["call_id"], text="Say here, not canary-text.")
    agent.send("GET", f"/calls/{verdict['call_id']}/wait?for=guidance")
    assert agent.submit("move", "toolu_4", {"place": "here"}, call_id=verdict["call_id"])["status"] == "valid"
    agent.send("GET", "/calls/canary-path")
    text = judged_service.log[seen:]
    assert "canary" not in text
    return [json.loads(line) for line in text.splitlines() if not FOR_PEOPLE.fullmatch(line)]


def of(lines: list[dict[str, Any]], message: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["message"] == message]


def test_each_failure_is_one_event_with_its_fields(lines: list[dict[str, Any]]) -> None:
    failures = of(lines, "Tool validation failed")
    assert [line["retry_attempt"] for line in failures] == [1, 2, 3]
    for line in failures:
        assert set(line) >= FAILURE_FIELDS
        assert (line["level"], line["tool_name"], line["error_count"], line["max_retries"]) == ("warn", "move", 1, 3)
        assert line["errors"] == [{"path": "/place", "code": "VAL-008"}]
    assert [line["level"] for line in of(lines, "Tool call is retried")] == ["info"] * 2
    assert [line["level"] for line in of(lines, "Tool call escalated to a person")] == ["warn"]


def test_every_line_of_the_call_has_its_correlation_id(lines: list[dict[str, Any]]) -> None:
    about = [line for line in lines if "call_id" in line or "tool_name" in line]
    assert len(about) >= 3 + 2 + 1 + 5
    assert {line["correlation_id"] for line in about} == {CORRELATION}
    assert len({line["call_id"] for line in about}) == 1


def test_each_request_is_one_line(lines: list[dict[str, Any]]) -> None:
    requests = of(lines, "Request answered")
    submits = [line for line in requests if (line["method"], line["route"]) == ("POST", "/api/v1/calls")]
    assert [(line["agent"], line["correlation_id"]) for line in submits] == [("log-keeper", CORRELATION)] * 4
    assert {line["status"] for line in submits} <= {200, 202}
    assert all(line["duration_ms"] >= 0 for line in requests)
    wrong = [line for line in requests if line["status"] == 404]
    assert [line["route"] for line in wrong] == ["/api/v1/calls/<call_id>"]
    assert "call_id" not in wrong[0], "nothing is left of the request before"
    pages = [line for line in requests if not line["route"].startswith("/api/")]
    assert pages
    assert not [line for line in pages if "agent" in line or "correlation_id" in line]
