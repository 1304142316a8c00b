"""Coding agents' hooks, over HTTP and as a command: payloads as Claude Code sends them, decisions as it reads them."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from retrycontract.cli.program import main
from tests.conftest import StartService
from tests.gateway.connections import ROOT
from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.service import AgentClient, Answer, Service
from tests.serving.threads import eventually

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string", "pattern": "^/"}, "old_string": TEXT, "new_string": TEXT},
    "required": ["file_path", "old_string", "new_string"],
}
RIGHT = {"file_path": "/srv/app.py", "old_string": "a", "new_string": "b"}
WRONG = {"file_path": "app.py", "old_string": "a", "new_string": "b"}
Send = Callable[..., Any]


def payload(session: str, tool_input: Any, event: str = "PreToolUse", use_id: str = "", **more: Any) -> dict[str, Any]:
    """Give what Claude Code 2.1.330 sends, with all its fields."""
    return {
        "session_id": session,
        "transcript_path": f"/home/ana/.claude/projects/-srv/{session}.jsonl",
        "cwd": "/srv",
        "prompt_id": "2f1c9d3e-8a4b-4c55-9e0f-1a7b6c5d4e3f",
        "permission_mode": "default",
        "effort": {"level": "medium"},
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
    for event in ("PermissionRequest", "PermissionDenied", "PostToolBatch"):
        assert send(agent, payload(session, WRONG, event, tool_calls=[], permission_suggestions=[])).body == {}
    (call,) = agent.send("GET", "/calls").body["calls"]
    assert call["state"] == "valid", "only what is about to be run is judged"
    helper = {"agent_id": "a4d2", "agent_type": "Explore"}
    assert decision(send(agent, payload(session, WRONG) | helper))["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    "more", ["", "__thought__" + "A" * 5_000, "\n", "\ud83d"], ids=["short", "long", "lines", "half"]
)
def test_a_user_is_asked_where_nobody_at_the_desk_answers_and_what_they_allow_is_not_waited_for(
    agent: AgentClient, session: str, more: str
) -> None:
    call_id = blocked(agent, session)
    used = payload(session, WRONG)
    used["tool_use_id"] += more
    said = decision(send(agent, used, "?wait=0.5&unanswered=ask"))
    assert said["permissionDecision"] == "ask"
    done = {**used, "hook_event_name": "PostToolUse", "tool_response": {"filePath": "app.py", "success": True}}
    for other in ("toolu_other", used["tool_use_id"][:-1]):  # one that merely begins alike is another's, too
        assert send(agent, {**done, "tool_use_id": other}).body == {}
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


@pytest.mark.parametrize("depth", [101, 520, 990, 5_000, 90_000])
def test_an_input_of_any_depth_is_a_mistake_like_any_other(agent: AgentClient, session: str, depth: int) -> None:
    text = json.dumps(payload(session, RIGHT) | {"tool_input": 0}).replace(": 0", f": {'[' * depth}{']' * depth}")
    said = decision(send(agent, text.encode()))
    assert (said["permissionDecision"], "VAL-004" in said["permissionDecisionReason"]) == ("deny", True)


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_name": "\ud83d"}, {"session_id": "\ud83d"}, {"session_id": "s\n"},
        {"tool_name": None}, {"tool_name": 5}, {"tool_name": ""},
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_not_run(agent: AgentClient, session: str, fields: dict[str, str]) -> None:
    said = decision(send(agent, payload(session, RIGHT) | fields))
    assert said["permissionDecision"] == "deny"
    assert "could not be checked" in said["permissionDecisionReason"]


@pytest.mark.parametrize("event", ["preToolUse", "BeforeTool"])
def test_other_agents_are_answered_in_their_words(agent: AgentClient, session: str, event: str) -> None:
    said = send(agent, payload(session, WRONG, event)).body
    assert (said["decision"], said["permission"]) == ("block", "deny")
    assert "/file_path (VAL-007)" in said["reason"]
    assert said["reason"] == said["agent_message"]
    assert send(agent, payload(session, RIGHT, event)).body == {}


@pytest.mark.parametrize(
    "event", ["PreTooluse", "pretooluse", "beforeToolUse", "", "beforeShellExecution", "x" * 5_000]
)
def test_a_call_at_an_event_that_nobody_knows_is_denied(agent: AgentClient, session: str, event: str) -> None:
    other = {"hook_event_name": event, "command": "ls"}
    for body in (payload(session, RIGHT, event), other):
        said = send(agent, body).body
        assert said["decision"] == "block"
        assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert "PreToolUse (Claude Code)" in said["reason"]


@pytest.mark.parametrize("event", ["PostToolUse", "PermissionRequest", "AfterTool", "Stop", "SessionStart"])
def test_other_events_are_left_alone(agent: AgentClient, session: str, event: str) -> None:
    body = payload(session, WRONG, event)
    if event.startswith("S"):
        body = {"hook_event_name": event, "session_id": session}
    assert send(agent, body).body == {}


@pytest.mark.parametrize("name", ["tool_name", "tool_input", "hook_event_name", "session_id"])
def test_a_payload_that_could_be_read_in_two_ways_is_denied(agent: AgentClient, session: str, name: str) -> None:
    body = json.dumps(payload(session, RIGHT))
    said = decision(send(agent, f'{{"{name}": "PreToolUse", {body[1:]}'.encode()))
    assert (said["permissionDecision"], f"'{name}' stands twice" in said["permissionDecisionReason"]) == ("deny", True)


@pytest.mark.parametrize("path", ["/hooks/x", "/guardrails", "/guardrails/", "/guardrails/other", "/hooks?wat=1"])
def test_no_page_answers_a_machine(agent: AgentClient, path: str) -> None:
    answer = agent.service.send("POST", path, {}, key=agent.key)
    assert answer.headers["content-type"].startswith("application/problem+json")
    expected = (422, "invalid-request") if "?" in path else (404, "not-found")
    assert (answer.status, answer.body["code"], bool(answer.body["detail"])) == (*expected, True)


@pytest.mark.parametrize(
    ("body", "query", "headers", "status"),
    [
        pytest.param(b'{"hook_event', "", {}, 400, id="torn"),
        pytest.param({}, "?wiat=3", {}, 422, id="misspelt"),
        pytest.param(b"[]", "", {}, 422, id="list"),
        pytest.param({}, "", {}, 422, id="no event"),
        pytest.param({"hookEventName": "PreToolUse", "toolName": "Edit"}, "", {}, 422, id="another agent's words"),
        pytest.param({}, "?wait=long", {}, 422, id="wait"),
        pytest.param({}, "?wait=nan", {}, 422, id="nan"),
        pytest.param({}, "?unanswered=allow", {}, 422, id="unanswered"),
        pytest.param({}, "?wait=0&wait=5", {}, 422, id="twice"),
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
    assert answer.body["code"]
    assert answer.body["detail"]
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
    section = (ROOT / "docs/gateways.md").read_text().partition("## In front of a coding agent")[2]
    lines = section.partition("```json\n")[2].partition("\n```")[0]
    assert len(lines.splitlines()) == 5
    (settings,) = json.loads(lines)["hooks"]["PreToolUse"][0]["hooks"]
    assert settings["allowedEnvVars"] == ["RETRYCONTRACT_API_KEY"]
    headers = {name: value.replace("$RETRYCONTRACT_API_KEY", agent.key) for name, value in settings["headers"].items()}
    path = settings["url"].removeprefix("https://desk.example")
    answer = agent.service.send("POST", path, payload(session, WRONG), headers=headers)
    assert decision(answer)["permissionDecision"] == "deny"
    assert settings["timeout"] > 45
    assert settings["onFailure"] == "block", "what could not be checked is not run"


def hook(agent: AgentClient, text: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = forked("-m", "retrycontract", "hook", "--url", agent.service.url, *options)
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
    astray = hook(agent, json.dumps(payload(session, RIGHT)), "--url", f"{agent.service.url}/wrong")
    assert (astray.returncode, astray.stdout, "<" in astray.stderr) == (2, "", False)
    assert f"{agent.service.url}/wrong/hooks its address" in astray.stderr
    torn = hook(agent, "{")
    assert (torn.returncode, torn.stdout) == (2, "")
    away = hook(agent, "{}", "--url", "http://127.0.0.1:9")
    assert away.returncode == 2
    assert "cannot be reached" in away.stderr


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param(b"", id="hung up"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", id="torn"),
        pytest.param(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nno", id="torn error"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n<html>Log in", id="page"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", id="empty"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n\xff", id="no text"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n[]", id="list"),
        pytest.param(b'HTTP/1.1 200 OK\r\n\r\n{"status": "ok"}', id="another service"),
    ],
)
def test_the_command_blocks_whatever_the_answer_is_but_a_decision(
    answered: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answered)

        service = threading.Thread(target=serve)
        service.start()
        blocks(f"http://127.0.0.1:{server.getsockname()[1]}", [], monkeypatch, capsys)
        service.join()


@pytest.mark.parametrize(
    ("url", "options"),
    [
        pytest.param("http://127.0.0.1:abc", [], id="port"),
        pytest.param("http://127.0.0.1:9/a b", [], id="space"),
        pytest.param("http://", [], id="no host"),
        pytest.param("http://127.0.0.1:9", ["--wait", "inf"], id="endless wait"),
        pytest.param("http://127.0.0.1:9", ["--wait", "nan"], id="no wait"),
    ],
)
def test_the_command_blocks_where_nothing_can_be_asked(
    url: str, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks(url, options, monkeypatch, capsys)


def blocks(url: str, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RETRYCONTRACT_API_KEY", "rc_00000000_unknown")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert main(["hook", "--url", url, *options]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert said.err.startswith("retrycontract: ")
