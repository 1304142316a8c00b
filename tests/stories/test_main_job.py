"""The main job over HTTP: an agent gets stuck, a person answers without JavaScript, the agent finishes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from html import unescape
from typing import Any

import pytest

from retrycontract.management.demo import BOOK_FLIGHT
from tests.serving.desk import Desk
from tests.serving.service import ROOT, AgentClient, Service

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^/"},
        "mode": {"enum": ["read", "write"]},
        "api_key": {"type": "string"},
    },
    "required": ["path", "mode"],
}
WRONG = {"path": "report.txt", "mode": "raed"}
RIGHT = {"path": "/srv/report.txt", "mode": "read"}


@pytest.fixture
def agent(judged_service: Service, request: pytest.FixtureRequest) -> AgentClient:
    client = AgentClient(judged_service, judged_service.new_key(request.node.name.split("[")[0]))
    assert client.register("open_file", SCHEMA).status in (200, 201)
    return client


@pytest.fixture
def desk(judged_service: Service) -> Desk:
    found = Desk(judged_service)
    found.log_in()
    return found


def blocked(agent: AgentClient, arguments: Any = WRONG) -> str:
    call_id: str | None = None
    for number in range(1, 4):
        known = {"call_id": call_id} if call_id else {}
        verdict = agent.submit("open_file", f"call_{number}", arguments, context={"goal": "Read the report"}, **known)
        call_id = verdict["call_id"]
        assert f"(attempt {number}/3)" in verdict["tool_result"]["content"]
        assert verdict["tool_result"]["tool_call_id"] == f"call_{number}"
    assert (verdict["status"], verdict["state"]) == ("blocked", "blocked")
    assert call_id is not None
    return call_id


def waiting(agent: AgentClient, call_id: str) -> tuple[threading.Thread, dict[str, Any]]:
    found: dict[str, Any] = {}

    def wait() -> None:
        path = f"/calls/{call_id}/wait?for=guidance"
        found.update(agent.send("GET", path, headers={"Prefer": "wait=60"}).body)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive(), "the agent waits while nobody has answered"
    return thread, found


def test_a_hint_reaches_the_waiting_agent_and_its_next_attempt_is_valid(agent: AgentClient, desk: Desk) -> None:
    call_id = blocked(agent)
    assert call_id in desk.get("/")
    page = desk.get(f"/calls/{call_id}/")
    assert "Read the report" in page
    thread, found = waiting(agent, call_id)
    desk.answer(call_id, text="Absolute paths only, and mode is 'read'.", grant="2")
    thread.join(20)
    guidance = found["guidance"]
    assert found["state"] == "guided"
    assert (guidance["decision"], guidance["granted"], guidance["max_attempts"]) == ("hint", 2, 5)
    assert "> Absolute paths only, and mode is 'read'." in guidance["text"]
    assert "attempt 4/5" in guidance["text"]
    assert guidance["text"] in unescape(desk.get(f"/calls/{call_id}/")), "the desk shows what the agent read"
    failed = agent.submit("open_file", "call_4", {**RIGHT, "mode": "reed"}, call_id=call_id)
    assert (failed["status"], failed["state"]) == ("retry", "guided")
    assert "(attempt 4/5)" in failed["tool_result"]["content"]
    done = agent.submit("open_file", "call_5", RIGHT, call_id=call_id)
    assert (done["status"], done["state"], done["tool_result"]) == ("valid", "valid", None)


def test_corrected_arguments_are_checked_before_they_are_sent(agent: AgentClient, desk: Desk) -> None:
    call_id = blocked(agent)
    refused = desk.answer(call_id, decision="corrected", arguments=json.dumps({"path": "/x", "mode": "raed"}))
    assert "VAL-008" in refused
    assert agent.send("GET", f"/calls/{call_id}").body["state"] == "blocked"
    desk.answer(call_id, decision="corrected", arguments=json.dumps(RIGHT))
    guidance = agent.send("GET", f"/calls/{call_id}/guidance").body
    assert guidance["arguments"] == RIGHT
    assert guidance["patch"] is None
    assert agent.send("POST", f"/calls/{call_id}/guidance/ack").body["acknowledged"] is True
    assert agent.submit("open_file", "after", guidance["arguments"], call_id=call_id)["state"] == "valid"


def test_a_secret_keeps_its_place_in_corrected_arguments_and_never_travels(agent: AgentClient, desk: Desk) -> None:
    secret = "hunter2-" + "correct-horse"
    call_id = blocked(agent, {**WRONG, "api_key": secret})
    page = desk.get(f"/calls/{call_id}/")
    assert secret not in page
    shown = agent.send("GET", f"/calls/{call_id}").body["attempts"][-1]["output"]
    assert shown["api_key"].startswith("[REDACTED: ")
    desk.answer(call_id, decision="corrected", arguments=json.dumps({**RIGHT, "api_key": shown["api_key"]}))
    guidance = agent.send("GET", f"/calls/{call_id}/guidance").body
    assert guidance["arguments"] is None
    assert {operation["path"] for operation in guidance["patch"]} == {"/path", "/mode"}
    assert guidance["base"]["attempt"] == 3
    assert secret not in agent.service.log
    for file in agent.service.data_dir.glob("retrycontract.sqlite3*"):
        assert secret.encode() not in file.read_bytes(), file.name


def test_accepting_and_rejecting_end_the_call(agent: AgentClient, desk: Desk) -> None:
    accepted = blocked(agent)
    desk.answer(accepted, decision="accept", text="The schema is too strict here.")
    found = agent.send("GET", f"/calls/{accepted}/wait?for=guidance").body
    assert (found["state"], found["guidance"]["decision"]) == ("accepted", "accept")
    rejected = blocked(agent)
    desk.answer(rejected, decision="reject", text="Do not read that file.")
    found = agent.send("GET", f"/calls/{rejected}/wait?for=guidance").body
    assert (found["state"], found["guidance"]["decision"]) == ("rejected", "reject")
    late = agent.send(
        "POST", "/calls", {"tool": "open_file", "tool_call_id": "x", "call_id": rejected, "arguments": {}}
    )
    assert (late.status, late.body["code"]) == (409, "call-ended")


def test_the_second_answer_is_told_who_was_first(agent: AgentClient, desk: Desk) -> None:
    call_id = blocked(agent)
    first = desk.get(f"/calls/{call_id}/")
    assert "decision" in first
    other = Desk(agent.service)
    other.log_in()
    form_before = other.get(f"/calls/{call_id}/")
    assert "decision" in form_before
    desk.answer(call_id, text="The first answer.")
    page = desk.get(f"/calls/{call_id}/")
    assert "The first answer." in page
    assert agent.send("GET", f"/calls/{call_id}").body["state"] == "guided"


def test_a_blocked_call_that_the_agent_corrects_itself_needs_no_answer(agent: AgentClient, desk: Desk) -> None:
    call_id = blocked(agent)
    failed = agent.submit("open_file", "call_4", WRONG, call_id=call_id)
    assert (failed["status"], failed["state"]) == ("blocked", "blocked")
    done = agent.submit("open_file", "call_5", RIGHT, call_id=call_id)
    assert (done["status"], done["state"]) == ("valid", "valid")
    escalations = agent.send("GET", f"/calls/{call_id}").body["escalations"]
    assert [escalation["state"] for escalation in escalations] == ["resolved"]
    assert call_id not in desk.get("/")


def test_guidance_that_did_not_help_blocks_the_call_again(agent: AgentClient, desk: Desk) -> None:
    call_id = blocked(agent)
    desk.answer(call_id, text="Try again.", grant="1")
    assert agent.send("GET", f"/calls/{call_id}/guidance").body["operator_text"] == "Try again."
    again = agent.submit("open_file", "call_4", WRONG, call_id=call_id)
    assert (again["status"], again["state"]) == ("blocked", "blocked")
    assert "(attempt 4/4)" in again["tool_result"]["content"]
    escalations = agent.send("GET", f"/calls/{call_id}").body["escalations"]
    assert [escalation["state"] for escalation in escalations] == ["answered", "open"]


def test_cancelling_ends_the_wait_and_clears_the_desk(agent: AgentClient, desk: Desk) -> None:
    call_id = blocked(agent)
    thread, found = waiting(agent, call_id)
    assert agent.send("POST", f"/calls/{call_id}/cancel").body["state"] == "cancelled"
    thread.join(20)
    assert (found["state"], found["guidance"]) == ("cancelled", None)
    assert call_id not in desk.get("/")


def test_the_example_agent_gets_stuck_waits_and_finishes(agent: AgentClient, desk: Desk) -> None:
    agent.register("book_flight", BOOK_FLIGHT)
    environment = os.environ | {
        "RETRYCONTRACT_URL": agent.service.url,
        "RETRYCONTRACT_API_KEY": agent.key,
        "RETRYCONTRACT_SESSION": "example-session",
        "PYTHONUNBUFFERED": "1",
    }
    script = [sys.executable, str(ROOT / "examples" / "agent.py")]
    with subprocess.Popen(script, env=environment, stdout=subprocess.PIPE, text=True) as example:
        assert example.stdout is not None
        printed = ""
        while "now Blocked" not in printed:
            line = example.stdout.readline()
            assert line, printed
            printed += line
        page = desk.get("/?q=example-session")
        call_id = page.split('id="row-', 1)[1].split('"', 1)[0]
        desk.answer(call_id, text="Use IATA codes, an ISO date and a cabin of the list.")
        rest, _ = example.communicate(timeout=60)
        assert example.returncode == 0
        assert "The flight is booked:" in rest
