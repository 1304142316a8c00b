"""Kinds of output at the API's door: a tool is judged by the kind that it was registered for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.store.models import Attempt, Call, Tool
from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, WRONG

FENCED = f"```json\n{json.dumps(RIGHT)}\n```"
RESPONSE = {"kind": "agent_response", "task_id": "task-1", "turn": 3}


def test_a_response_is_unwrapped_and_kept_with_its_task_and_turn(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": "agent_response"})
    body = {"tool": "deploy", "tool_call_id": "1", "raw": FENCED, **RESPONSE}
    reply = door.post("/calls", body)
    assert (reply.body["status"], reply.body["warnings"][0]["severity"]) == ("valid", "info")
    call = Call.objects.get()
    assert (call.kind, call.task_id, call.last_turn) == ("agent_response", "task-1", 3)


@pytest.mark.parametrize(("kind", "subject"), [("agent_response", "response"), ("extraction", "extraction")])
def test_the_feedback_says_what_was_checked(door: Door, kind: str, subject: str) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": kind})
    content = door.submit(WRONG, **RESPONSE | {"kind": kind}).body["tool_result"]["content"]
    assert content.startswith(f"Validation failed for {subject} 'deploy' (attempt 1/3):")


@pytest.mark.usefixtures("by_a_worker")
def test_the_worker_judges_by_kind_too(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": "extraction"})
    assert door.submit(RIGHT, kind="extraction").status == 202


@pytest.mark.parametrize("missing", ["task_id", "turn"])
def test_a_response_without_task_or_turn_is_refused(door: Door, missing: str) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": "agent_response"})
    reply = door.submit(RIGHT, **{name: value for name, value in RESPONSE.items() if name != missing})
    assert (reply.status, reply.code) == (422, "invalid-request")
    assert "an agent_response needs 'task_id' and 'turn'" in reply.text


def test_another_kind_than_the_tools_is_refused(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": "extraction"})
    reply = door.submit(RIGHT)
    assert (reply.status, reply.code) == (409, "other-kind")
    assert reply.body["detail"].endswith("send kind: extraction.")
    assert not Call.objects.exists()


def test_a_tools_kind_stays_until_another_is_named(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": "extraction"})
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    assert Tool.objects.get().kind == "extraction"
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": "tool_call"})
    assert door.submit(RIGHT).body["status"] == "valid"


def test_the_same_schema_is_judged_by_the_kind_of_today(door: Door) -> None:
    codes = []
    for kind in ("agent_response", "extraction"):
        door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": kind})
        body = {"tool": "deploy", "tool_call_id": kind, "raw": FENCED, **RESPONSE, "kind": kind}
        codes.append([error["error_code"] for error in door.post("/calls", body).body["errors"]])
    assert codes == [[], ["VAL-004"]]


@pytest.mark.parametrize("kind", ["essay", 1])
def test_an_unknown_kind_is_refused(door: Door, kind: Any) -> None:
    assert door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": kind}).status == 422
    assert door.submit(RIGHT, kind=kind).status == 422


def test_an_attempt_without_output_says_why_and_counts(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    body = door.submit(None, callback_error="the model could not be asked, HTTP 429").body
    assert (body["status"], body["attempt"]) == ("retry", 1)
    assert [(error["field_path"], error["keyword"]) for error in body["errors"]] == [("", "no-output")]
    assert "There is no output: the model could not be asked, HTTP 429" in body["tool_result"]["content"]
    assert Attempt.objects.get().output is None
    call_id = body["call_id"]
    for _ in range(2):
        body = door.submit(None, callback_error="again", call_id=call_id).body
    assert (body["status"], body["state"]) == ("blocked", "blocked")


def test_a_call_may_bring_its_own_budget(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "max_attempts": 5})
    body = door.submit(WRONG, max_attempts=2).body
    assert (body["max_attempts"], body["status"]) == (2, "retry")
    body = door.submit(WRONG, max_attempts=9, call_id=body["call_id"]).body
    assert (body["max_attempts"], body["status"]) == (2, "blocked"), "a call that is under way keeps its budget"
    assert door.submit(WRONG, max_attempts=11).status == 422
