"""What HTTP itself promises: HEAD, the encoding of bodies, and values of exactly the type that the document names."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract.store.models import Guidance
from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, answer, make_blocked, make_tool, make_user

TOOL = {"input_schema": DEPLOY}
CALL = {"tool": "deploy", "tool_call_id": "id", "arguments": RIGHT}
CHECK = {"input_schema": DEPLOY, "arguments": RIGHT}


@pytest.mark.parametrize("path", ["/calls", "/tools", "/tools/deploy", "/agent-responses", "/nothing", "/events"])
def test_head_is_answered_as_get_without_the_body(door: Door, path: str) -> None:
    make_tool(door.agent)
    got, head = (door.client.generic(method, f"/api/v1{path}", headers={"Authorization": f"Bearer {door.key}"})
                 for method in ("GET", "HEAD"))  # fmt: skip
    assert head.status_code == got.status_code
    assert head.content == b""
    kept = {"Content-Type", "ETag", "Content-Length"}
    assert {name: head.headers.get(name) for name in kept} == {name: got.headers.get(name) for name in kept}
    assert "Retrycontract-Pending" not in head.headers


@pytest.mark.parametrize("path", ["guidance", "wait?for=guidance"])
def test_head_delivers_nothing(door: Door, path: str) -> None:
    call = make_blocked(door.agent)
    answer(call, make_user())
    assert door.send("HEAD", f"/calls/{call.public_id}/{path}").status == 200
    assert Guidance.objects.get().delivered_at is None
    door.get(f"/calls/{call.public_id}/{path}")
    assert Guidance.objects.get().delivered_at is not None


def test_head_says_of_nobody_that_they_wait(door: Door) -> None:
    call = make_blocked(door.agent)
    assert door.send("HEAD", f"/calls/{call.public_id}/wait").status == 202
    door.send("HEAD", "/events")
    call.refresh_from_db()
    door.agent.refresh_from_db()
    assert (call.waited_at, door.agent.streamed_at) == (None, None)


def test_head_needs_a_key(door: Door) -> None:
    assert door.client.head("/api/v1/calls").status_code == 401


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "anything"])
def test_a_body_that_is_encoded_is_refused(door: Door, encoding: str) -> None:
    reply = door.post("/calls", CALL, **{"Content-Encoding": encoding})
    assert (reply.status, reply.code) == (415, "encoded-body")


def test_a_body_as_it_is_is_taken(door: Door) -> None:
    make_tool(door.agent)
    assert door.post("/calls", CALL, **{"Content-Encoding": "Identity"}).status == 200


WRONG_TYPES: list[tuple[str, str, dict[str, Any], str, Any]] = [
    (method, path, body, field, value)
    for method, path, body, field in (
        ("PUT", "/tools/deploy", TOOL, "strict"), ("PUT", "/tools/deploy", TOOL, "hold"),
        ("POST", "/check", CHECK, "strict"),
    )
    for value in (0, 1, "true", "yes", 1.0)
] + [
    (method, path, body, field, value)
    for method, path, body, field in (
        ("PUT", "/tools/deploy", TOOL, "max_attempts"), ("POST", "/calls", CALL, "turn"),
        ("POST", "/calls", CALL, "max_attempts"), ("POST", "/check", CHECK, "attempt"),
    )
    for value in ("3", True, 1.5, [3])
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "field", "value"), WRONG_TYPES, ids=str)
def test_a_value_of_another_type_is_refused_at_its_pointer(
    door: Door, method: str, path: str, body: dict[str, Any], field: str, value: Any
) -> None:
    reply = door.send(method, path, body | {field: value})
    assert (reply.status, reply.code) == (422, "invalid-request")
    assert [fault["pointer"] for fault in reply.body["errors"]] == [f"/{field}"]


@pytest.mark.parametrize("attempts", [3, 3.0])
def test_a_whole_number_is_one_however_json_writes_it(door: Door, attempts: float) -> None:
    assert door.put("/tools/deploy", TOOL | {"max_attempts": attempts}).status == 201


def test_no_page_shows_the_document_with_the_scripts_of_others(door: Door) -> None:
    assert door.get("/docs").status == 404
