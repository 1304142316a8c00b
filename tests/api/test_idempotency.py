"""Requests that are sent again: the same key and body do nothing twice, another body is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from retrycontract.store.models import Attempt, Call, IdempotencyKey
from retrycontract.usecases.calls.repeat_request import forget_requests
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.api.conftest import Door, Reply
from tests.factories import DEPLOY, RIGHT, WRONG, answer, make_blocked, make_tool, make_user

KEY = {"Idempotency-Key": "3f1c-once"}


@pytest.fixture(autouse=True)
def _tool(door: Door) -> None:
    make_tool(door.agent)


def submit(door: Door, arguments: Any, *, headers: dict[str, str] = KEY, **fields: Any) -> Reply:
    body = {"tool": "deploy", "tool_call_id": "id_1", "session_id": "s", "arguments": arguments} | fields
    return door.post("/calls", body, **headers)


def test_a_submission_that_is_sent_again_is_answered_as_before_and_counted_once(door: Door) -> None:
    first, second = submit(door, WRONG), submit(door, WRONG)
    assert (first.status, first.body) == (second.status, second.body)
    assert (first.body["attempt"], Attempt.objects.count()) == (1, 1)


def test_a_repeat_is_answered_as_before_whatever_has_happened_to_the_call_since(door: Door) -> None:
    first = submit(door, WRONG)
    for number in range(2):
        submit(door, WRONG, headers={"Idempotency-Key": f"later-{number}"})
    assert submit(door, WRONG).text == first.text
    assert door.get(f"/calls/{first.body['call_id']}").body["state"] == "blocked"
    answer(Call.objects.get(), make_user())
    door.post(f"/calls/{first.body['call_id']}/cancel")
    assert submit(door, WRONG).text == first.text


@pytest.mark.usefixtures("by_a_worker")
def test_a_repeat_of_what_was_discarded_says_so(door: Door) -> None:
    call_id = submit(door, WRONG).body["call_id"]
    door.post(f"/calls/{call_id}/cancel")
    reply = submit(door, WRONG)
    assert (reply.status, reply.body["state"], reply.body["status"]) == (200, "cancelled", None)


@pytest.mark.parametrize("name", ["X-Idempotency-Key", "IdempotencyKey", "Idempotency-Token", "Idempotnecy-Key"])
@pytest.mark.parametrize(
    "path", ["/calls", "/calls/none/cancel", "/calls/none/guidance/ack", "/check", "/tools/import"]
)
def test_a_header_that_is_meant_as_the_key_is_refused(door: Door, name: str, path: str) -> None:
    bodies: dict[str, Any] = {
        "/calls": {"tool": "deploy", "tool_call_id": "id_1", "arguments": RIGHT},
        "/check": {"input_schema": DEPLOY, "arguments": RIGHT},
        "/tools/import": [],
    }
    reply = door.post(path, bodies.get(path), **{name: "once"})
    assert (reply.status, reply.code) == (422, "invalid-request")
    [fault] = reply.body["errors"]
    assert fault["pointer"].lower() == f"/{name.lower()}"
    assert "did you mean Idempotency-Key?" in fault["detail"]
    assert Attempt.objects.count() == 0


def test_beside_the_key_another_of_its_kind_is_passed_over(door: Door) -> None:
    assert submit(door, WRONG, headers=KEY | {"X-Idempotency-Key": "a proxy's"}).status == 200


def test_a_key_that_comes_to_another_address_is_refused(door: Door) -> None:
    body = {"input_schema": DEPLOY, "arguments": RIGHT}
    assert door.post("/check", body, **KEY).status == 200
    for path in ("/calls", "/tools/import"):
        sent = {"/calls": {"tool": "a", "tool_call_id": "b", "raw": ""}, "/tools/import": []}.get(path, body)
        reply = door.post(path, sent, **KEY)
        assert (reply.status, reply.code) == (422, "idempotency-key-reused")


def test_a_request_that_was_wrong_may_be_mended_under_its_key(door: Door) -> None:
    assert submit(door, WRONG, turn="first").code == "invalid-request"
    assert door.post("/calls", b"{", **KEY).code == "bad-json"
    assert submit(door, WRONG).body["attempt"] == 1


@pytest.mark.parametrize("name", ["a\x00", "z"], ids=["NUL", "a letter"])
def test_an_answer_is_kept_to_the_letter_on_every_database(door: Door, name: str) -> None:
    wrong = {"properties": {name: {"type": "objekt"}}}
    tools = [{"name": "zebra", "parameters": wrong}, {"name": "ape", "parameters": DEPLOY}]
    replies = [door.post("/tools/import", tools, **KEY) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[0].text == replies[1].text


def test_without_a_key_each_submission_counts(door: Door) -> None:
    assert [submit(door, WRONG, headers={}).body["attempt"] for _ in range(2)] == [1, 2]


def test_another_key_makes_another_attempt(door: Door) -> None:
    submit(door, WRONG)
    assert submit(door, WRONG, headers={"Idempotency-Key": "other"}).body["attempt"] == 2


def test_a_valid_attempt_that_is_sent_again_does_not_begin_a_new_call(door: Door) -> None:
    assert submit(door, RIGHT).body == submit(door, RIGHT).body
    assert Attempt.objects.count() == 1


@pytest.mark.parametrize(
    "change", [{"arguments": RIGHT}, {"render": "openai"}, {"turn": 7}], ids=["arguments", "rendering", "turn"]
)
def test_a_key_that_comes_with_another_body_is_refused(door: Door, change: dict[str, Any]) -> None:
    submit(door, WRONG)
    reply = submit(door, **({"arguments": WRONG} | change))
    assert (reply.status, reply.code) == (422, "idempotency-key-reused")
    assert Attempt.objects.count() == 1


def test_a_key_of_one_agent_means_nothing_to_another(door: Door, stranger: Door) -> None:
    first = submit(door, WRONG)
    assert submit(stranger, RIGHT).body["call_id"] != first.body["call_id"]


@pytest.mark.usefixtures("by_a_worker")
def test_a_repeat_of_a_waiting_attempt_joins_it_and_then_has_its_verdict(door: Door) -> None:
    assert [submit(door, WRONG).status for _ in range(2)] == [202, 202]
    judge_waiting(clock=timezone.now)
    reply = submit(door, WRONG)
    assert (reply.status, reply.body["status"], Attempt.objects.count()) == (200, "retry", 1)


def test_a_request_that_was_refused_may_be_sent_again_with_its_key(door: Door) -> None:
    assert submit(door, WRONG, version="0" * 64).status == 404
    assert not IdempotencyKey.objects.exists()


def test_an_imported_list_is_told_to_be_new_both_times(door: Door) -> None:
    body = [{"name": "ship", "input_schema": DEPLOY}]
    replies = [door.post("/tools/import", body, **KEY) for _ in range(2)]
    assert replies[0].body == replies[1].body
    assert replies[1].body["registered"][0]["created"] is True
    refused = door.post("/tools/import", [], **KEY)
    assert (refused.status, refused.code) == (422, "idempotency-key-reused")


def test_every_other_post_takes_a_key_too(door: Door) -> None:
    call = make_blocked(door.agent)
    answer(call, make_user())
    for path, body in (
        (f"/calls/{call.public_id}/guidance/ack", None),
        (f"/calls/{call.public_id}/cancel", None),
        ("/check", {"input_schema": DEPLOY, "arguments": WRONG}),
    ):
        headers = {"Idempotency-Key": path}
        first = door.post(path, body, **headers)
        assert first.status == 200, first.text
        assert door.post(path, body, **headers).body == first.body


@pytest.mark.parametrize("key", ["", "k" * 256], ids=["empty", "too long"])
def test_a_key_that_cannot_be_one_is_refused(door: Door, key: str) -> None:
    reply = submit(door, WRONG, headers={"Idempotency-Key": key})
    assert (reply.status, reply.code) == (422, "invalid-request")


def test_neither_the_key_nor_the_body_is_stored(door: Door) -> None:
    submit(door, WRONG)
    stored = IdempotencyKey.objects.get()
    assert len({stored.key_hash, stored.request_hash, KEY["Idempotency-Key"]}) == 3
    assert (len(stored.key_hash), len(stored.request_hash), stored.answer) == (64, 64, None)


def test_keys_are_forgotten_after_a_day(door: Door) -> None:
    submit(door, WRONG)
    now = timezone.now()
    assert forget_requests(now=now + timedelta(hours=23)) == 0
    assert forget_requests(now=now + timedelta(hours=25)) == 1
    assert submit(door, WRONG).body["attempt"] == 2


def test_a_list_is_checked_and_stored_outside_the_transactions_of_its_key(door: Door) -> None:
    """They would keep other writers waiting for as long as a list of thousands takes."""
    body = [{"name": f"tool {number}", "input_schema": DEPLOY | {"title": f"checked {number}"}} for number in range(3)]
    with CaptureQueriesContext(connection) as captured:
        assert door.post("/tools/import", body, **KEY).status == 200
    written = [query["sql"] for query in captured.captured_queries]

    def places(*words: str) -> list[int]:
        return [place for place, sql in enumerate(written) if all(word in sql for word in words)]

    begun, answered = places("INSERT", "idempotencykey"), places("UPDATE", "idempotencykey")
    charged, stored = places("UPDATE", "work_until"), places("INSERT", "toolversion")
    assert (len(begun), len(answered), len(stored)) == (1, 1, 3)  # charged is in sums
    ended = next(place for place in places("RELEASE SAVEPOINT") if place > begun[0])
    assert ended < min(charged + stored)
    assert max(stored) < answered[0]


def test_a_schema_that_was_admitted_is_not_admitted_and_charged_again(door: Door) -> None:
    body = [{"name": "tool", "input_schema": DEPLOY | {"title": "once"}}]
    assert door.post("/tools/import", body).status == 200
    with CaptureQueriesContext(connection) as captured:
        for strict in [True, False] * 10:
            done = door.put("/tools/tool", {"input_schema": body[0]["input_schema"], "strict": strict})
            assert done.status == 200
    # What storing takes is charged in sums.
    assert sum("work_until" in query["sql"] and query["sql"].startswith("UPDATE") for query in captured) <= 3


def test_a_repeated_check_is_neither_done_nor_charged_again(door: Door) -> None:
    body = {"input_schema": DEPLOY, "arguments": WRONG}
    first = door.post("/check", body, **KEY)
    door.agent.refresh_from_db()
    charged = door.agent.work_until
    assert door.post("/check", body, **KEY).text == first.text
    door.agent.refresh_from_db()
    assert door.agent.work_until == charged > 0
