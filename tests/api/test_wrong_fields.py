"""What is wrong with a field is told in words: the nearest field, those that there are, and no pattern."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, make_tool

CALL = {"tool": "deploy", "tool_call_id": "id_1", "arguments": RIGHT}
TOOL = {"input_schema": DEPLOY}


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer", "told"),
    [
        ("POST", "/calls", CALL | {"contxt": {}}, "/contxt", '"contxt" is no field; did you mean "context"? Known'),
        ("POST", "/calls", CALL | {"zzz": 1}, "/zzz", '"zzz" is no field; Known are '),
        ("POST", "/calls", CALL | {"feedback": {"max_lenght": 900}}, "/feedback/max_lenght",
         '"max_lenght" is no field; did you mean "max_length"? Known are form, max_length.'),
        ("PUT", "/tools/t", TOOL | {"max_attempt": 2}, "/max_attempt", 'did you mean "max_attempts"? Known are '),
        ("POST", "/check", TOOL | {"argument": {}, "arguments": {}}, "/argument", 'did you mean "arguments"?'),
        ("POST", "/calls", CALL | {"session_id": "a\nb"}, "/session_id", "Write it in one line"),
        ("POST", "/calls", CALL | {"call_id": "a\nb"}, "/call_id", "Write it in one line"),
        ("POST", "/calls", CALL | {"version": "abc"}, "/version", "64 digits"),
        ("POST", "/calls", CALL | {"turn": "first", "contxt": {}}, "/turn", "whole number"),
        ("GET", "/events?types=call.blokced", None, "/types", "call.blocked"),
        ("GET", "/calls?limit=0", None, "/limit", "greater than or equal to 1"),
        ("GET", "/calls?state=blokced", None, "/state", "blocked"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_told_in_words(door: Door, method: str, path: str, body: Any, pointer: str, told: str) -> None:
    make_tool(door.agent)
    reply = door.send(method, path, body)
    assert (reply.status, reply.code) == (422, "invalid-request")
    fault = {error["pointer"]: error["detail"] for error in reply.body["errors"]}[pointer]
    assert told in fault
    assert "\\x" not in fault
    assert "[0-9" not in fault


@pytest.mark.parametrize("path", ["/calls", "/tools", "/tools/deploy", "/events", "/agent-responses", "/calls/c/wait"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_more_query_parameters_than_are_read_are_no_failure_of_the_service(door: Door, method: str, path: str) -> None:
    query = "&".join(f"a{number}=b" for number in range(1_001))
    reply = door.send(method, f"{path}?{query}", None if method == "GET" else {})
    assert reply.status in (404, 405, 422)
    if (method, path) == ("GET", "/calls"):
        assert "over 1000 query parameters" in reply.body["detail"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_an_address_that_there_is_not_is_none_for_any_method(door: Door, method: str) -> None:
    reply = door.send(method, "/cals", CALL)
    assert (reply.status, reply.code) == (404, "not-found")


def test_an_address_that_there_is_says_which_methods_it_takes(door: Door) -> None:
    reply = door.send("DELETE", "/calls")
    assert (reply.status, set(reply.headers["Allow"].split(", "))) == (405, {"GET", "POST"})
