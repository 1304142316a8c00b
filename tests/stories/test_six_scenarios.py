"""The six scenarios that everybody should see with their own eyes, over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "maxLength": 40},
        "encoding": {"enum": ["utf-8", "ascii", "utf-16"]},
        "content": {"type": "string", "maxLength": 100},
    },
    "required": ["path"],
}
ONE_ERROR = """\
Validation failed for tool 'write_file' (attempt 1/3):

• /encoding (VAL-008): Invalid enum value 'uft8'
  Expected: one of: utf-8, ascii, utf-16
  Actual: "uft8"

Please change 'encoding' to one of the allowed values (did you mean 'utf-8'?)."""


@pytest.fixture
def agent(judged_service: Service, request: pytest.FixtureRequest) -> AgentClient:
    client = AgentClient(judged_service, judged_service.new_key(f"scenario {request.node.name.split('[')[0]}"))
    assert client.register("write_file", SCHEMA).status in (200, 201)
    return client


def told(verdict: Any) -> str:
    content: str = verdict["tool_result"]["content"]
    return content


def test_one_error_is_told_with_the_attempt(agent: AgentClient) -> None:
    verdict = agent.submit("write_file", "one", {"path": "a", "encoding": "uft8"})
    assert told(verdict) == ONE_ERROR
    assert verdict["tool_result"]["tool_call_id"] == "one"
    assert verdict["tool_result"]["is_error"] is True


def test_several_errors_are_one_message_in_bullets_sorted_by_pointer(agent: AgentClient) -> None:
    verdict = agent.submit("write_file", "several", {"encoding": 8, "content": "x" * 101})
    bullets = [line.split(":")[0] for line in told(verdict).splitlines() if line.startswith("• ")]
    assert bullets == ["• /content (VAL-009)", "• /encoding (VAL-008)", "• /path (VAL-001)"]
    assert told(verdict).count("Errors:") == 1


def test_the_second_attempt_succeeds(agent: AgentClient) -> None:
    first = agent.submit("write_file", "again 1", {"path": "a", "encoding": "uft8"})
    second = agent.submit("write_file", "again 2", {"path": "a", "encoding": "utf-8"}, call_id=first["call_id"])
    assert (first["status"], second["status"]) == ("retry", "valid")
    assert second["call_id"] == first["call_id"]
    assert second["attempt"] == 2
    assert second.get("tool_result") is None


def test_three_failures_block_the_call_and_the_history_is_told(agent: AgentClient) -> None:
    call_id: dict[str, str] = {}
    for number, arguments in enumerate([{}, {"path": 1}, {"path": "a" * 41}], start=1):
        verdict = agent.submit("write_file", f"three {number}", arguments, **call_id)
        call_id = {"call_id": verdict["call_id"]}
    assert (verdict["status"], verdict["state"]) == ("blocked", "blocked")
    assert "(attempt 3/3)" in told(verdict)
    assert "This call is now Blocked" in told(verdict)
    call = agent.send("GET", f"/calls/{call_id['call_id']}").body
    assert [[error["error_code"] for error in attempt["errors"]] for attempt in call["attempts"]] == [
        ["VAL-001"],
        ["VAL-002"],
        ["VAL-009"],
    ]


def test_a_very_long_value_is_shortened_under_the_limit(agent: AgentClient) -> None:
    verdict = agent.submit("write_file", "long", {"path": "a", "content": "lorem ipsum " * 20_000})
    assert len(told(verdict)) < 2000
    assert "lorem ipsum" in told(verdict)
    assert "..." in told(verdict)
    assert "(truncated)" in told(verdict)


def test_the_log_of_a_failure_has_its_fields_and_no_value(agent: AgentClient, judged_service: Service) -> None:
    seen = len(judged_service.log)
    value = "a-value-that-nobody-may-log"
    agent.submit("write_file", "logged", {"path": "a", "encoding": value}, correlation_id="scenario-6")
    found: list[Any] = []

    def is_logged() -> bool:  # a worker answers first and writes then
        lines = [json.loads(line) for line in judged_service.log[seen:].splitlines() if line.startswith("{")]
        found[:] = [line for line in lines if line.get("correlation_id") == "scenario-6" and "tool_name" in line]
        return bool(found)

    eventually(is_logged)
    said, failure = judged_service.log[seen:], found[0]
    assert (failure["message"], failure["level"]) == ("Tool validation failed", "warn")
    assert (failure["tool_name"], failure["error_count"], failure["retry_attempt"]) == ("write_file", 1, 1)
    assert failure["errors"] == [{"path": "/encoding", "code": "VAL-008"}]
    assert value not in said
