"""Kinds of output at the API's door: a tool is judged by the kind that it was registered for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call, Tool
from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, WRONG, answer, make_user
from tests.usecases.conftest import judge_all

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


def test_giving_up_without_a_reason_is_refused(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    for asked in ({}, {"api_error": None}):
        reply = door.submit(WRONG, gives_up=True, **asked)
        assert (reply.status, reply.code) == (422, "invalid-request")
        assert "'gives_up' goes with 'api_error'" in reply.text
    unasked = door.post("/calls", {"tool": "deploy", "tool_call_id": "1", "arguments": None, "api_error": "HTTP 429",
                                   "gives_up": True})  # fmt: skip
    assert unasked.body["state"] == "unavailable"
    assert door.submit(WRONG, gives_up=False).status == 200


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


def to_extraction(door: Door, kind: str = "extraction") -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY, "kind": kind})


@pytest.mark.parametrize("then", ["extraction", "agent_response"])
def test_a_call_keeps_the_kind_that_it_began_with(door: Door, then: str) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    call_id = [door.submit(WRONG, session_id="s", turn=turn).body["call_id"] for turn in (1, 2, 3)][-1]
    to_extraction(door, then)
    reply = door.submit(WRONG, call_id=call_id)
    assert reply.body["tool_result"]["content"].startswith("Validation failed for tool 'deploy'")
    answer(Call.objects.get(), make_user(), Decision.CORRECTED, arguments=RIGHT)
    reply = door.submit(RIGHT, call_id=call_id)
    assert (reply.status, reply.body.get("status"), reply.body.get("call_id")) == (200, "valid", call_id)
    assert Call.objects.get().kind == "tool_call"


def test_a_session_goes_on_by_the_kind_that_its_call_began_with(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    began = door.submit(WRONG, session_id="s", turn=1).body["call_id"]
    to_extraction(door)
    other = door.submit(WRONG, session_id="s", turn=2, kind="extraction").body["call_id"]
    assert other != began, "what is another contract is another call"
    assert door.submit(RIGHT, session_id="s", turn=3).body["call_id"] == began
    reply = door.submit(RIGHT, session_id="s", turn=4)
    assert (reply.status, reply.code) == (409, "other-kind")
    assert door.submit(RIGHT, session_id="s", turn=5, kind="extraction").body["call_id"] == other


def test_a_call_that_is_named_is_not_judged_as_another_kind(door: Door) -> None:
    door.put("/tools/deploy", {"input_schema": DEPLOY})
    call_id = door.submit(WRONG).body["call_id"]
    to_extraction(door)
    reply = door.submit(RIGHT, call_id=call_id, kind="extraction")
    assert (reply.status, reply.code) == (409, "other-kind")
    assert reply.body["detail"] == "The call began as another kind of output; send kind: tool_call."
    assert Attempt.objects.count() == 1


@pytest.mark.usefixtures("by_a_worker")
def test_what_is_queued_is_judged_by_the_kind_of_its_call(door: Door) -> None:
    fenced = {"tool": "deploy", "tool_call_id": "1", "raw": FENCED, **RESPONSE}
    to_extraction(door, "agent_response")
    door.post("/calls", fenced)
    to_extraction(door, "tool_call")
    judge_all()
    assert Attempt.objects.get().is_valid


def test_a_call_of_an_unknown_tool_takes_its_kind_over_with_the_tool(door: Door) -> None:
    call_id = door.submit(WRONG).body["call_id"]
    to_extraction(door)
    assert door.submit(RIGHT, call_id=call_id, kind="extraction").body["status"] == "valid"
    assert Call.objects.get().kind == "extraction"


def test_a_call_of_an_unknown_tool_does_not_keep_its_kind_before_one_that_is_registered(door: Door) -> None:
    call_id = door.submit(WRONG).body["call_id"]
    to_extraction(door)
    assert door.submit(RIGHT, call_id=call_id).code == "other-kind"
