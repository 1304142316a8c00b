"""The log of agents' responses: what it tells, its order, pages and filters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.conftest import PREFIX, Door
from tests.factories import RIGHT, WRONG, make_call, make_tool, submit

MALFORMED = '{"service": "web'
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PLACE: dict[str, Any] = {"kind": "agent_response", "task_id": "task-1", "turn": 4}


@pytest.fixture(autouse=True)
def _tool(door: Door) -> None:
    make_tool(door.agent, kind="agent_response")


def log(door: Door, query: str = "") -> list[Any]:
    reply = door.get(f"/agent-responses{query}")
    assert reply.status == 200, reply.text
    found: list[Any] = reply.body["responses"]
    return found


def statuses(door: Door, query: str = "") -> list[str]:
    return [line["status"] for line in log(door, query)]


def test_without_responses_the_log_is_empty(door: Door) -> None:
    assert door.get("/agent-responses").body == {"responses": [], "next": None}


def test_invalid_invalid_valid_reads_malformed_malformed_success(door: Door) -> None:
    call = make_call(door.agent, [MALFORMED, "Sure!", RIGHT], at=NOON, **PLACE)
    first, second, third = log(door)
    assert [line["status"] for line in (first, second, third)] == ["MALFORMED", "MALFORMED", "SUCCESS"]
    assert {(line["call_id"], line["task_id"], line["turn"]) for line in (first, second, third)} == {
        (call.public_id, "task-1", 4)
    }
    assert [line["correction_attempt"] for line in (first, second, third)] == [0, 1, 2]
    assert (first["raw"], third["raw"], third["violations"]) == (MALFORMED, RIGHT, [])
    assert first["violations"][0]["error_code"] == "VAL-004"
    assert third["at"] == "2026-05-04T12:00:00Z"


def test_what_breaks_the_schema_is_a_violation_and_the_newest_call_comes_first(door: Door) -> None:
    make_call(door.agent, [WRONG, RIGHT], **PLACE)
    make_call(door.agent, [MALFORMED, "null", RIGHT], **PLACE)
    assert statuses(door) == ["MALFORMED", "SCHEMA_VIOLATION", "SUCCESS", "SCHEMA_VIOLATION", "SUCCESS"]


def test_an_attempt_without_a_response_leaves_no_line(door: Door) -> None:
    call = submit(door.agent, None, callback_error="the model could not be asked", **PLACE).call
    submit(door.agent, RIGHT, call=call, **PLACE)
    assert [(line["status"], line["correction_attempt"]) for line in log(door)] == [("SUCCESS", 1)]


def test_what_is_no_response_and_what_has_no_verdict_are_not_in_the_log(door: Door, by_a_worker: None) -> None:
    make_tool(door.agent, "ship")
    submit(door.agent, RIGHT, tool="ship")
    submit(door.agent, RIGHT, **PLACE)
    assert log(door) == []


def test_secrets_are_redacted(door: Door) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    make_call(door.agent, [f'{{"token": "{secret}', {"service": secret}], **PLACE)
    reply = door.get("/agent-responses")
    assert secret not in reply.text
    assert reply.text.count("[REDACTED") >= 2


def test_pages_follow_each_other_through_the_midst_of_calls(door: Door) -> None:
    for _ in range(3):
        make_call(door.agent, [MALFORMED, WRONG, RIGHT], **PLACE)
    whole = log(door)
    seen: list[Any] = []
    path: str | None = "/agent-responses?limit=2&task_id=task-1"
    while path:
        page = door.get(path).body
        seen += page["responses"]
        path = page["next"] and page["next"].removeprefix(PREFIX)
        make_call(door.agent, [MALFORMED], **PLACE)
    assert seen == whole
    assert len(whole) == 9


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=SUCCESS", ["old", "new"]),
        ("task_id=task-2", ["new"]),
        ("turn=4", ["old"]),
        ("tool=answer", ["new"]),
        (f"since={quote(NOON.isoformat())}", ["new"]),
        (f"until={quote(NOON.isoformat())}", ["old"]),
        ("status=MALFORMED", []),
        ("task_id=task-1&turn=9", []),
    ],
)
def test_filters_narrow_the_log(door: Door, query: str, found: list[str]) -> None:
    make_tool(door.agent, "answer", kind="agent_response")
    other = PLACE | {"task_id": "task-2", "turn": 9}
    calls = {
        submit(door.agent, RIGHT, at=NOON - timedelta(hours=1), **PLACE).call.public_id: "old",
        submit(door.agent, RIGHT, at=NOON, tool="answer", **other).call.public_id: "new",
    }
    assert sorted(calls[line["call_id"]] for line in log(door, f"?{query}")) == sorted(found)


def test_the_replies_of_one_call_can_be_asked_for(door: Door) -> None:
    call = make_call(door.agent, [MALFORMED, RIGHT], **PLACE)
    make_call(door.agent, [WRONG], **PLACE)
    assert statuses(door, f"?call_id={call.public_id}") == ["MALFORMED", "SUCCESS"]


def test_an_agent_never_sees_responses_of_another(door: Door, stranger: Door) -> None:
    call = make_call(door.agent, [MALFORMED, RIGHT], **PLACE)
    assert log(stranger) == []
    reply = stranger.get(f"/agent-responses?cursor={call.public_id}.1")
    assert (reply.status, reply.code) == (422, "unknown-cursor")


@pytest.mark.parametrize("cursor", ["x", "call_x.1", "{id}", "{id}.", "{id}.x", "{id}.99999999999", "{id}.%C2%B2"])
def test_a_cursor_that_nobody_gave_out_is_refused(door: Door, cursor: str) -> None:
    call = make_call(door.agent, [RIGHT], **PLACE)
    reply = door.get(f"/agent-responses?cursor={cursor.format(id=call.public_id)}")
    assert (reply.status, reply.code) == (422, "unknown-cursor")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "status=FINE",
        "turn=x",
        "since=2026-05-04T12:00:00",
        "until=0.5",
        "until=1777896000",
        "since=2026-05-04",
        "since=0001-01-01T00:00:00%2B23:59",
        "until=9999-12-31T23:59:59-23:59",
        "colour=red",
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(door: Door, query: str) -> None:
    reply = door.get(f"/agent-responses?{query}")
    assert (reply.status, reply.code) == (422, "invalid-request")


def test_a_page_costs_the_same_however_much_it_shows(door: Door) -> None:
    make_call(door.agent, [MALFORMED], **PLACE)
    door.get("/agent-responses")
    counts = []
    for more in (0, 9):
        for _ in range(more):
            make_call(door.agent, [MALFORMED, RIGHT], **PLACE)
        with CaptureQueriesContext(connection) as queries:
            door.get("/agent-responses")
        counts.append(sum(query["sql"].startswith("SELECT") for query in queries))  # reading that took long is charged
    assert counts == [3, 3]  # the key, what the page holds, the page


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="a plan in SQLite's words")
def test_an_index_gives_the_calls_of_a_page_in_their_order(door: Door) -> None:
    make_call(door.agent, [MALFORMED], **PLACE)
    with CaptureQueriesContext(connection) as queries:
        log(door)
    (calls,) = (query["sql"] for query in queries if ' AS "held" ' in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {calls}")
        plan = [row[3] for row in cursor.fetchall()]
    assert any("call_responses" in step for step in plan)
    assert not any(step.startswith("SCAN") for step in plan)
