"""The pages of the event stream: what an agent is told of its calls, where a page begins, and who sees it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.contract.decisions import Decision
from retrycontract.contract.webhooks import DETAILS, RECORDED_AS, AgentEvent, WebhookEvent
from retrycontract.store.models import Agent, Call, OutboxMessage, WebhookEndpoint
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue, judge_waiting
from retrycontract.usecases.notify.follow_events import PAGE
from tests.api.conftest import Door, Reply, frames_in
from tests.factories import RIGHT, WRONG, answer, make_tool, make_user

SECRET = "sk_live_" + "51HqLyjWDarjtT1zdp7dcXYZ"
FROM_THE_BEGINNING = {"Last-Event-ID": "0"}


@pytest.fixture(autouse=True)
def _tools(door: Door) -> None:
    make_tool(door.agent)
    make_tool(door.agent, "held", hold=True)


def events(door: Door, query: str = "", **headers: str) -> list[dict[str, Any]]:
    """Read everything that there is, page by page."""
    reply = door.send("GET", f"/events{query}", **(headers or FROM_THE_BEGINNING))
    found: list[dict[str, Any]] = []
    while reply.status == 200:
        found += reply.body
        bell, path = note(reply)
        if bell:
            return found
        reply = door.get(path)
    raise AssertionError(reply.text)


def note(reply: Reply) -> tuple[str, str]:
    bell, _, path = reply.headers["Retrycontract-Pending"].partition("; ")
    return bell, path.removeprefix("/api/v1")


def types(found: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in found]


def ids(reply: Reply) -> list[int]:
    return [int(number) for number in re.findall(r"^id: (\d+)$", reply.text, re.MULTILINE)]


def block(door: Door, **fields: Any) -> Call:
    body = door.submit(WRONG, tool_call_id="t0", session_id=f"session {Call.objects.count()}", **fields).body
    for number in (1, 2):
        body = door.submit(WRONG, tool_call_id=f"t{number}", call_id=body["call_id"]).body
    return Call.objects.select_related("agent", "tool").get(public_id=body["call_id"])


def test_the_story_of_a_call_is_told_in_order(door: Door) -> None:
    call = block(door)
    answer(call, make_user(), Decision.HINT, grant=2)
    door.submit(RIGHT, call_id=call.public_id, tool_call_id="t3")
    found = events(door)
    assert types(found) == [
        "attempt.judged", "attempt.judged", "attempt.judged", "call.blocked", "guidance.given", "attempt.judged",
    ]  # fmt: skip
    stood = [(each["data"]["state"], each["data"]["attempts"], each["data"]["tool_call_id"]) for each in found]
    assert stood == [
        ("retrying", 1, "t0"), ("retrying", 2, "t1"), ("blocked", 3, "t2"), ("blocked", 3, "t2"), ("guided", 3, "t2"),
        ("valid", 4, "t3"),
    ]  # fmt: skip
    told = [{name: each["data"][name] for name in ("attempt", "status", "valid", "codes")} for each in found[2:6:3]]
    assert told == [
        {"attempt": 3, "status": "blocked", "valid": False, "codes": ["VAL-008"]},
        {"attempt": 4, "status": "valid", "valid": True, "codes": []},
    ]
    assert (found[3]["data"]["round"], found[4]["data"]["decision"], found[4]["data"]["granted"]) == (1, "hint", 2)
    assert found[3]["data"]["links"]["guidance"] == f"/api/v1/calls/{call.public_id}/guidance"


def test_systems_are_told_the_same_by_webhook(door: Door) -> None:
    for event in WebhookEvent:
        WebhookEndpoint.objects.create(
            address=f"https://{event.value}.example/", events=[event.value], created_at=timezone.now(), sealed=b""
        )
    answered, cancelled, resolved, expired = (block(door, task_id=str(number)) for number in range(4))
    answer(answered, make_user(), Decision.HINT)
    cancel_call(cancelled, now=timezone.now())
    door.submit(RIGHT, call_id=resolved.public_id)
    Call.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    expire_overdue(now=timezone.now())
    sent = [json.loads(message.text) for message in OutboxMessage.objects.order_by("pk")]
    streamed = events(door, "?types=" + ",".join(event.value for event in WebhookEvent))
    assert set(types(streamed)) == {event.value for event in WebhookEvent}
    assert sorted(streamed, key=str) == sorted(sent, key=str)


def test_a_verdict_that_came_later_is_told(door: Door, by_a_worker: None) -> None:
    door.submit(WRONG, session_id="s")
    assert events(door) == []
    judge_waiting(clock=timezone.now)
    (told,) = events(door)
    assert (told["type"], told["data"]["status"], told["data"]["attempt"]) == ("attempt.judged", "retry", 1)


def test_no_value_and_no_secret_is_told(door: Door) -> None:
    door.submit({"service": SECRET, "region": "marker"}, task_id=SECRET, session_id=f"s {SECRET}", tool_call_id=SECRET)
    text = door.send("GET", "/events", **FROM_THE_BEGINNING).text
    assert "attempt.judged" in text
    assert SECRET not in text
    assert "marker" not in text


def test_nobody_hears_of_the_calls_of_others(door: Door, stranger: Door) -> None:
    call = block(door)
    assert events(stranger) == []
    reply = stranger.get(f"/events?call_id={call.public_id}")
    assert (reply.status, reply.code) == (404, "not-found")


def test_events_are_narrowed_by_type_and_call(door: Door) -> None:
    call = block(door)
    door.submit(RIGHT, session_id="other")
    assert types(events(door, "?types=call.blocked")) == ["call.blocked"]
    assert types(events(door, "?types=call.blocked&types=call.expired")) == ["call.blocked"]
    assert len(events(door, f"?call_id={call.public_id}")) == 4
    assert types(events(door, f"?call_id={call.public_id}&types=call.blocked,guidance.given")) == ["call.blocked"]


@pytest.mark.parametrize("query", ["types=call.blockd", "types=", "cursor=x", "after=1", "cursor=1.%201"])
def test_what_cannot_be_asked_for_is_refused(door: Door, query: str) -> None:
    assert door.get(f"/events?{query}").status == 422


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 19, ""])
def test_an_id_that_is_none_is_refused(door: Door, last: str) -> None:
    assert door.send("GET", "/events", **{"Last-Event-ID": last}).status == 422


def test_who_names_no_id_hears_of_what_happens_from_now_on_and_gets_an_id_at_once(door: Door) -> None:
    block(door)
    newest = ids(door.send("GET", "/events", **FROM_THE_BEGINNING))[-1]
    begin = door.get("/events")
    assert begin.text == f"id: {newest}\n\n"
    door.submit(RIGHT, session_id="new")
    assert types(door.get(note(begin)[1]).body) == ["attempt.judged"]
    assert types(events(door, **{"Last-Event-ID": str(newest)}))[-1:] == ["attempt.judged"]


def test_an_agent_without_events_is_told_where_to_begin(door: Door) -> None:
    assert door.get("/events").text == "id: 0\n\n"


def test_a_stream_goes_on_where_its_page_ended_and_repeats_nothing(door: Door) -> None:
    first = door.send("GET", "/events?types=attempt.judged", **FROM_THE_BEGINNING)
    seen: list[int] = []
    for number in range(3):
        door.submit(RIGHT, session_id=str(number))
        bell, path = note(first)
        assert bell == f"agent:{door.agent.pk}"
        assert "types=attempt.judged" in path
        first = door.get(path)
        seen += ids(first)
        assert len(first.body) == 1
    assert sorted(set(seen)) == seen


def test_a_full_page_asks_for_the_next_one_at_once_even_when_nothing_of_it_was_wanted(door: Door) -> None:
    for number in range(PAGE + 1):
        door.submit(RIGHT, session_id=str(number))
    page = door.send("GET", "/events", **FROM_THE_BEGINNING)
    assert (note(page)[0], len(page.body)) == ("", PAGE)
    assert len(events(door)) == PAGE + 1
    narrow = door.send("GET", "/events?types=call.blocked", **FROM_THE_BEGINNING)
    assert (note(narrow)[0], narrow.body) == ("", [])


def test_ids_of_the_frames_grow_and_the_type_stands_beside_the_data(door: Door) -> None:
    block(door)
    reply = door.send("GET", "/events", **FROM_THE_BEGINNING)
    frames = frames_in(reply.text)
    assert [frame["event"] for frame in frames] == types(reply.body)
    assert ids(reply) == sorted(ids(reply))
    assert reply.headers["Content-Type"] == "text/event-stream"


def test_every_type_has_its_word_in_the_audit_trail_and_no_detail_of_another() -> None:
    assert set(RECORDED_AS.values()) == set(AgentEvent)
    assert set(DETAILS) <= set(AgentEvent)
    assert {event.value for event in WebhookEvent} == {event.value for event in AgentEvent} - {"attempt.judged"}


@pytest.mark.parametrize(
    ("query", "waits"),
    [
        ("", {"own", "other"}),
        ("?types=call.blocked,guidance.given", {"own", "other"}),
        ("?types=attempt.judged", set()),
        ("?call_id={own}", {"own"}),
        ("?call_id={own}&types=call.blocked", set()),
    ],
)
def test_an_open_stream_counts_as_waiting_for_what_it_tells_of(door: Door, query: str, waits: set[str]) -> None:
    calls = {"own": block(door), "other": block(door)}
    assert door.get("/events" + query.format(own=calls["own"].public_id)).status == 200
    now, found = timezone.now(), {name: Call.objects.get(pk=call.pk) for name, call in calls.items()}
    assert {name for name, call in found.items() if call.is_waited_for(now)} == waits
    assert not any(call.is_waited_for(now + timedelta(minutes=2)) for call in found.values())


def test_a_stream_serves_the_calls_that_are_blocked_later_and_no_other_agents(door: Door, stranger: Door) -> None:
    door.get("/events")
    assert block(door).is_waited_for(timezone.now())
    assert not block(stranger).is_waited_for(timezone.now())


def test_a_stream_notes_that_it_is_open_at_most_once_in_a_while(door: Door) -> None:
    _, again = note(door.get("/events"))
    now = timezone.now()
    for age, is_noted in ((30, False), (60, True)):
        Agent.objects.update(streamed_at=now - timedelta(seconds=age))
        door.get(again)
        assert Agent.objects.filter(streamed_at__gte=now).exists() is is_noted
