"""A text as `arguments` is a value like any other, wherever it is judged; only `raw` is JSON text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.usecases.calls.sweep import judge_waiting
from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, make_tool

TEXT = {"type": "string", "minLength": 1}
AS_TEXT = json.dumps(RIGHT)  # arguments that were encoded twice


@pytest.fixture(params=["at the door", "by a worker"])
def judged(request: pytest.FixtureRequest, door: Door) -> Any:
    """`judged("deploy", arguments)` gives the verdict, wherever it is made."""
    if request.param == "by a worker":
        request.getfixturevalue("by_a_worker")

    def submit(tool: str, arguments: Any) -> Any:
        body = door.post("/calls", {"tool": tool, "tool_call_id": "id_1", "arguments": arguments}).body
        assert (body["status"] is None) is (request.param == "by a worker")
        judge_waiting(clock=timezone.now)
        return door.get(f"/calls/{body['call_id']}/wait?for=verdict").body

    return submit


def test_arguments_that_were_encoded_twice_are_a_near_miss(door: Door, judged: Any) -> None:
    make_tool(door.agent)
    verdict = judged("deploy", AS_TEXT)
    assert verdict["status"] == "retry"
    [error] = verdict["errors"]
    assert (error["error_code"], error["field_path"]) == ("VAL-002", "")
    assert error["patch"] == [{"op": "replace", "path": "", "value": RIGHT}]


@pytest.mark.parametrize("text", ["hello", "5", "null", "{", '"quoted"', AS_TEXT])
def test_a_tool_that_wants_a_text_gets_any(door: Door, judged: Any, text: str) -> None:
    make_tool(door.agent, "say", TEXT)
    assert judged("say", text)["status"] == "valid"


def test_a_secret_in_a_text_is_redacted_like_any_other(door: Door, judged: Any) -> None:
    make_tool(door.agent)
    verdict = judged("deploy", json.dumps({"service": "web", "password": "hunter2-horse"}))
    history = door.get(f"/calls/{verdict['call_id']}").text
    assert "hunter2" not in history + json.dumps(verdict)


def test_a_dry_run_takes_a_text_for_a_value_too(door: Door) -> None:
    assert door.post("/check", {"input_schema": TEXT, "arguments": "hello"}).body["valid"]
    reply = door.post("/check", {"input_schema": DEPLOY, "arguments": AS_TEXT})
    assert [error["error_code"] for error in reply.body["errors"]] == ["VAL-002"]
    assert door.post("/check", {"input_schema": DEPLOY, "raw": AS_TEXT}).body["valid"]
