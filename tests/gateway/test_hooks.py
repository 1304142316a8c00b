"""Coding agents' hooks, over HTTP and as a command: payloads as Claude Code sends them, decisions as it reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.conftest import StartService
from tests.gateway.connections import ROOT
from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Answer, Service
from tests.serving.threads import eventually

SCHEMA = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "pattern": "^/"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
    },
    "required": ["file_path", "old_string", "new_string"],
}
RIGHT = {"file_path": "/srv/app.py", "old_string": "a", "new_string": "b"}
WRONG = {"file_path": "app.py", "old_string": "a", "new_string": "b"}
Send = Callable[..., Any]


def payload(session: str, tool_input: Any, event: str = "PreToolUse", use_id: str = "", **more: Any) -> dict[str, Any]:
    """Give what Claude Code sends, with all its fields."""
    return {
        "session_id": session,
        "transcript_path": f"/home/ana/.claude/projects/-srv/{session}.jsonl",
        "cwd": "/srv",
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": "Edit",
        "tool_input": tool_input,
        "tool_use_id": use_id or f"toolu_01{uuid.uuid4().hex[:22]}",
        **more,
    }


@pytest.fixture
def agent(service: Service, keys: Iterator[str]) -> AgentClient:
    found = AgentClient(service, next(keys))
    found.register("Edit", SCHEMA)
    return found


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def send(agent: AgentClient, body: Any, query: str = "?wait=0", **options: Any) -> Answer:
    return agent.service.send("POST", f"/hooks{query}", body, key=agent.key, **options)


def decision(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200, answer.text
    said: dict[str, Any] = answer.body["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse"
    return said


def blocked(agent: AgentClient, session: str) -> str:
    """Be denied three times and give the call's id."""
    for number in (1, 2, 3):
        said = decision(send(agent, payload(session, WRONG)))
        assert said["permissionDecision"] == "deny"
        assert f"(attempt {number}/3)" in said["permissionDecisionReason"]
        assert "/file_path (VAL-007)" in said["permissionDecisionReason"]
    assert "This call is now Blocked" in said["permissionDecisionReason"]
    (call,) = agent.send("GET", "/calls?state=blocked").body["calls"]
    return str(call["call_id"])


def test_three_denials_with_feedback_then_a_person_corrects_and_the_edit_is_run(
    agent: AgentClient, desk: Desk, session: str
) -> None:
    call_id = blocked(agent, session)
    desk.answer(call_id, decision="corrected", arguments=json.dumps(RIGHT), text="As agreed.")
    said = decision(send(agent, payload(session, WRONG)))
    assert said["permissionDecision"] == "allow"
    assert said["updatedInput"] == RIGHT
    assert "> As agreed." in said["permissionDecisionReason"]
    assert agent.send("GET", f"/calls/{call_id}").body["state"] == "valid"


def test_an_agent_that_waits_gets_the_answer_at_once(agent: AgentClient, desk: Desk, session: str) -> None:
    for _ in range(2):
        send(agent, payload(session, WRONG))

    def correct() -> None:
        eventually(lambda: agent.send("GET", "/calls?state=blocked").body["calls"])
        (call,) = agent.send("GET", "/calls?state=blocked").body["calls"]
        desk.answer(call["call_id"], decision="corrected", arguments=json.dumps(RIGHT))

    person = threading.Thread(target=correct)
    person.start()
    said = decision(send(agent, payload(session, WRONG), "?wait=60"))
    person.join()
    assert (said["permissionDecision"], said["updatedInput"]) == ("allow", RIGHT)


@pytest.mark.parametrize(
    ("fields", "expected", "words"),
    [
        pytest.param({"decision": "hint", "text": "Absolute."}, "deny", "> Absolute.", id="hint"),
        pytest.param({"decision": "reject", "text": "Too risky."}, "deny", "> Too risky.", id="reject"),
        pytest.param({"decision": "accept", "text": "Fine."}, "allow", "> Fine.", id="accept"),
    ],
)
def test_every_answer_reaches_the_agent(
    agent: AgentClient, desk: Desk, session: str, fields: dict[str, str], expected: str, words: str
) -> None:
    desk.answer(blocked(agent, session), **fields)
    said = decision(send(agent, payload(session, WRONG)))
    assert said["permissionDecision"] == expected
    assert words in said["permissionDecisionReason"]
    assert said.get("updatedInput") == (WRONG if expected == "allow" else None)


def test_what_fits_and_what_has_no_contract_is_left_to_the_agents_own_rules(agent: AgentClient, session: str) -> None:
    assert send(agent, payload(session, RIGHT)).body == {}
    assert send(agent, payload(session, {"command": "ls"}, tool_name="Bash")).body == {}
    assert send(agent, payload(session, WRONG, "Stop")).body == {}
    assert send(agent, {"hook_event_name": "SessionStart"}).body == {}


def test_a_user_is_asked_where_nobody_at_the_desk_answers_and_what_they_allow_is_not_waited_for(
    agent: AgentClient, session: str
) -> None:
    call_id = blocked(agent, session)
    used = payload(session, WRONG)
    said = decision(send(agent, used, "?wait=0.5&unanswered=ask"))
    assert said["permissionDecision"] == "ask"
    done = {**used, "hook_event_name": "PostToolUse", "tool_response": {"filePath": "app.py", "success": True}}
    other = {**done, "tool_use_id": "toolu_other"}
    assert send(agent, other).body == {}
    assert agent.send("GET", f"/calls/{call_id}").body["state"] == "blocked"
    assert send(agent, done).body == {}
    assert agent.send("GET", f"/calls/{call_id}").body["state"] == "cancelled"


def test_sessions_do_not_share_calls(agent: AgentClient, session: str) -> None:
    first = decision(send(agent, payload(session, WRONG)))
    other = decision(send(agent, payload(str(uuid.uuid4()), WRONG)))
    again = decision(send(agent, payload(session, WRONG)))
    reasons = [said["permissionDecisionReason"] for said in (first, other, again)]
    assert ["(attempt 1/3)" in text for text in reasons] == [True, True, False]


def test_a_service_that_was_started_again_goes_on_with_the_call(start_service: StartService, tmp_path: Any) -> None:
    service = start_service(tmp_path / "data")
    agent = AgentClient(service, service.new_key("hooks"))
    agent.register("Edit", SCHEMA)
    send(agent, payload("restarted", WRONG))
    service.stop()
    service.start()
    assert "(attempt 2/3)" in decision(send(agent, payload("restarted", WRONG)))["permissionDecisionReason"]


def test_what_json_forbids_in_the_input_is_a_mistake_like_any_other(agent: AgentClient, session: str) -> None:
    text = json.dumps(payload(session, RIGHT)).replace('"b"', '"cut \\ud83d"')
    said = decision(send(agent, text.encode()))
    assert said["permissionDecision"] == "deny"
    assert "a lone surrogate" in said["permissionDecisionReason"]


@pytest.mark.parametrize("fields", [{"tool_name": "\ud83d"}, {"session_id": "\ud83d"}, {"session_id": "s" * 5_000}])
def test_what_cannot_be_checked_is_not_run(agent: AgentClient, session: str, fields: dict[str, str]) -> None:
    said = decision(send(agent, payload(session, RIGHT) | fields))
    assert said["permissionDecision"] == "deny"
    assert "could not be checked" in said["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("body", "query", "headers", "status"),
    [
        pytest.param(b'{"hook_event', "", {}, 400, id="torn"),
        pytest.param(b"[]", "", {}, 422, id="list"),
        pytest.param({}, "?wait=long", {}, 422, id="wait"),
        pytest.param({}, "?wait=nan", {}, 422, id="nan"),
        pytest.param({}, "?unanswered=allow", {}, 422, id="unanswered"),
        pytest.param(b"x" * 5_000_000, "", {}, 413, id="5 MB"),
        pytest.param({}, "", {"Origin": "https://elsewhere.example"}, 403, id="foreign page"),
        pytest.param({}, "", {"Authorization": "Bearer rc_00000000_unknown"}, 401, id="wrong key"),
    ],
)
def test_bad_input_is_answered_clearly(
    agent: AgentClient, body: Any, query: str, headers: dict[str, str], status: int
) -> None:
    answer = send(agent, body, query, headers=headers)
    assert answer.status == status
    assert answer.body["title"]
    assert "Traceback" not in agent.service.log


def test_an_agent_that_leaves_while_a_person_is_waited_for_leaves_the_call_open(
    agent: AgentClient, session: str
) -> None:
    call_id = blocked(agent, session)
    connection = HTTPConnection("127.0.0.1", agent.service.port)
    headers = {"Authorization": f"Bearer {agent.key}"}
    connection.request("POST", "/hooks?wait=60", json.dumps(payload(session, WRONG)), headers)
    eventually(lambda: len(agent.send("GET", f"/calls/{call_id}").body["attempts"]) == 4)
    connection.close()
    time.sleep(0.2)  # for the service to notice
    send(agent, payload(session, WRONG))
    assert len(agent.send("GET", f"/calls/{call_id}").body["attempts"]) == 5


def test_the_settings_of_the_documentation_are_five_lines_that_work(agent: AgentClient, session: str) -> None:
    section = (ROOT / "docs/agents.md").read_text().partition("## In front of a coding agent")[2]
    lines = section.partition("```json\n")[2].partition("\n```")[0]
    assert len(lines.splitlines()) == 5
    (settings,) = json.loads(lines)["hooks"]["PreToolUse"][0]["hooks"]
    assert settings["allowedEnvVars"] == ["RETRYCONTRACT_API_KEY"]
    headers = {name: value.replace("$RETRYCONTRACT_API_KEY", agent.key) for name, value in settings["headers"].items()}
    path = settings["url"].removeprefix("https://desk.example")
    answer = agent.service.send("POST", path, payload(session, WRONG), headers=headers)
    assert decision(answer)["permissionDecision"] == "deny"
    assert settings["timeout"] > 45


def hook(agent: AgentClient, text: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "retrycontract", "hook", "--url", agent.service.url, *options]
    env = os.environ | {"RETRYCONTRACT_API_KEY": agent.key} | environment
    return subprocess.run(command, cwd=ROOT, env=env, input=text, capture_output=True, text=True, check=False)


def test_the_command_says_the_same_and_blocks_what_it_cannot_have_checked(agent: AgentClient, session: str) -> None:
    done = hook(agent, json.dumps(payload(session, WRONG)), "--wait", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert hook(agent, json.dumps(payload(session, RIGHT))).stdout == "{}\n"
    refused = hook(agent, json.dumps(payload(session, RIGHT)), RETRYCONTRACT_API_KEY="rc_00000000_unknown")
    assert refused.returncode == 2
    assert refused.stderr.startswith("retrycontract: the service answers 401")
    torn = hook(agent, "{")
    assert (torn.returncode, torn.stdout) == (2, "")
    away = hook(agent, "{}", "--url", "http://127.0.0.1:9")
    assert away.returncode == 2
    assert "cannot be reached" in away.stderr
