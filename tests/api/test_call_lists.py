"""The list of an agent's own calls: pages and filters."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.conftest import PREFIX, Door
from tests.factories import RIGHT, WRONG, make_blocked, make_tool, submit


@pytest.fixture(autouse=True)
def _tool(door: Door) -> None:
    make_tool(door.agent)


def ids(page: dict[str, Any]) -> list[str]:
    return [call["call_id"] for call in page["calls"]]


def made(door: Door, number: int, **more: Any) -> list[str]:
    return [submit(door.agent, WRONG, **more).call.public_id for _ in range(number)]


def test_an_agent_without_calls_gets_an_empty_page(door: Door) -> None:
    reply = door.get("/calls")
    assert (reply.status, reply.body) == (200, {"calls": [], "next": None})


def test_calls_are_listed_newest_first_without_their_history(door: Door) -> None:
    first, second = made(door, 2)
    page = door.get("/calls").body
    assert (ids(page), page["next"]) == ([second, first], None)
    assert page["calls"][0]["state"] == "retrying"
    assert "attempts" not in page["calls"][0]


def test_pages_follow_each_other_without_gaps_while_new_calls_come_in(door: Door) -> None:
    calls = made(door, 5)
    seen: list[str] = []
    path: str | None = "/calls?limit=2"
    while path:
        page = door.get(path).body
        seen += ids(page)
        path = page["next"] and page["next"].removeprefix(PREFIX)
        made(door, 1)
    assert seen == calls[::-1]


def test_a_full_last_page_says_that_nothing_follows(door: Door) -> None:
    made(door, 2)
    assert door.get("/calls?limit=2").body["next"] is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=blocked", {"blocked"}),
        ("state=valid", {"valid"}),
        ("tool=deploy", {"blocked", "valid"}),
        ("tool=ship", {"other tool"}),
        ("session_id=s1", {"valid"}),
        ("task_id=t1", {"valid"}),
        ("correlation_id=c1", {"valid"}),
        ("state=blocked&session_id=s1", set()),
    ],
)
def test_filters_narrow_the_list(door: Door, query: str, found: set[str]) -> None:
    make_tool(door.agent, "ship")
    calls = {
        make_blocked(door.agent).public_id: "blocked",
        submit(door.agent, RIGHT, session_id="s1", task_id="t1", correlation_id="c1").call.public_id: "valid",
        submit(door.agent, WRONG, tool="ship").call.public_id: "other tool",
    }
    assert {calls[call_id] for call_id in ids(door.get(f"/calls?{query}").body)} == found


def test_the_next_page_keeps_the_filters(door: Door) -> None:
    make_tool(door.agent, "ship")
    made(door, 3)
    made(door, 2, tool="ship")
    page = door.get("/calls?tool=deploy&limit=2").body
    rest = door.get(page["next"].removeprefix(PREFIX)).body
    assert len(page["calls"]) + len(rest["calls"]) == 3
    assert {call["tool"] for call in page["calls"] + rest["calls"]} == {"deploy"}


def test_an_agent_never_sees_calls_of_another(door: Door, stranger: Door) -> None:
    call_id = made(door, 1)[0]
    assert ids(stranger.get("/calls").body) == []
    reply = stranger.get(f"/calls?cursor={call_id}")
    assert (reply.status, reply.code) == (422, "unknown-cursor")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "state=lost", "limit=x", "colour=red"])
def test_a_question_that_cannot_be_answered_is_refused(door: Door, query: str) -> None:
    reply = door.get(f"/calls?{query}")
    assert (reply.status, reply.code) == (422, "invalid-request")


def test_a_page_costs_the_same_however_many_calls_it_shows(door: Door) -> None:
    made(door, 1)
    door.get("/calls")
    counts = []
    for more in (0, 9):
        made(door, more)
        with CaptureQueriesContext(connection) as queries:
            door.get("/calls")
        counts.append(sum(query["sql"].startswith("SELECT") for query in queries))  # reading that took long is charged
    assert counts == [2, 2]  # the key, the page
