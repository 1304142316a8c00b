"""One search over ids, values, goals, pages and tools, bounded by its indexes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from dashboard.navigation import Role
from retrycontract.store import call_texts
from retrycontract.store.models import Call
from retrycontract.usecases.calls.sweep import forget_calls, index_calls
from tests.canaries.places import canary
from tests.dashboard.conftest import ids, logged_in
from tests.dashboard.test_calls import NOW
from tests.factories import RIGHT, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.usecases.conftest import configure

pytestmark = pytest.mark.django_db


@pytest.fixture
def indexed(desk: Client) -> dict[str, str]:
    """Three calls whose words the sweep has taken, by what one would look for."""
    agent = make_agent()
    make_tool(agent)
    told = {
        "goal": make_call(agent, [RIGHT], context={"goal": "Plan the board meeting in Zürich"}),
        "value": make_blocked(agent, {"service": "checkout", "region": "Frankfurt am Main", "replicas": 4711}),
        "letters": make_call(agent, [RIGHT], context={"goal": "Łódź Tromsø Straße Đakovo Diyarbakır Ærø, 5 × 東京都"}),
        "ids": make_call(agent, [RIGHT], session_id="shift-48a", correlation_id="corr-77", tool_call_id="toolu_x9y8"),
    }
    index_calls()
    return {name: call.public_id for name, call in told.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("board meeting", "goal"), ("meet boar", "goal"), ("zurich", "goal"), ("ZÜRICH", "goal"),
        ("lodz", "letters"), ("ŁÓDŹ", "letters"), ("łodz", "letters"), ("tromso strasse", "letters"),
        ("STRASSE", "letters"), ("dakovo", "letters"), ("diyarbakir", "letters"), ("DİYARBAKIR", "letters"),
        ("aero", "letters"), ("5", "letters"), ("東", "letters"), ("b meeting", "goal"), ("Żurıch", "goal"),
        ("5 tromso", "letters"), ("tromso 5", "letters"), ("plan board x", "goal"),
        ("frankfurt", "value"), ("4711", "value"), ("main frankf", "value"),
        ("shift-48", "ids"), ("corr-7", "ids"), ("toolu_x9", "ids"),
    ],
)  # fmt: skip
def test_one_search_finds_words_of_goals_and_values_and_the_beginning_of_any_id(
    desk: Client, indexed: dict[str, str], text: str, found: str
) -> None:
    for page in ("/calls/?", "/?show=all&"):
        assert ids(desk.get(f"{page}q={text}")) == [indexed[found]]
    assert f"/calls/{indexed[found]}/" in desk.get(f"/find/?q={text}").content.decode()


def test_a_word_of_one_character_tells_calls_apart(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    goals = ("Book trip 7", "Book trip 17", "Book trip 70", "Try plan b", "Try plan c")
    told = {goal: make_call(agent, [RIGHT], context={"goal": goal}).public_id for goal in goals}
    index_calls()
    for text, goal in (("trip 7", 0), ("7 trip", 0), ("7 book tri", 0), ("plan b", 3), ("c plan", 4)):
        for page in ("/calls/?", "/?show=all&"):
            assert ids(desk.get(f"{page}q={text}")) == [told[goals[goal]]], text


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize(
    "text",
    ["lin", "oard", "board lunch", "board 7", "frankfurt 4", '"', "* OR a", "a", "'; DROP", "x" * 300],
)
def test_a_search_that_fits_nothing_finds_nothing_whatever_it_is_written_with(desk: Client, text: str) -> None:
    page = desk.get("/calls/", {"q": text})
    assert (page.status_code, ids(page)) == (200, [])
    assert desk.get("/find/", {"q": text}).status_code == 200


def test_a_call_that_failed_again_is_found_by_its_new_values_and_a_forgotten_one_not_at_all(
    desk: Client, indexed: dict[str, str], settings: Settings
) -> None:
    call = Call.objects.get(public_id=indexed["value"])
    submit(call.agent, {"service": "checkout", "region": "Oslo"}, call=call)
    assert ids(desk.get("/calls/?q=oslo")) == []
    assert index_calls() == 1
    assert ids(desk.get("/calls/?q=oslo")) == [indexed["value"]]
    assert index_calls() == 0, "nothing is new"
    configure(settings, retention_days=1)
    forget_calls(now=NOW + timedelta(days=5))
    assert call_texts.find("zurich", most=9) == []


def test_no_secret_is_found_by_its_value(desk: Client) -> None:
    make_tool(make_agent(), "store", {"type": "object"})
    secret = canary("the search")
    goal = {"goal": f"Keep {secret}"}
    call = make_call(make_agent(), [{"note": "harmless", "token": secret}], tool="store", context=goal)
    index_calls()
    assert ids(desk.get("/calls/?q=harmless")) == [call.public_id]
    assert ids(desk.get(f"/calls/?q={secret}")) == []


def test_pages_and_tools_are_found_by_a_part_of_their_names(desk: Client) -> None:
    tool = make_tool(make_agent(), "book_flight")

    def found(text: str) -> str:
        return desk.get(f"/find/?q={text}", headers={"HX-Target": "found"}).content.decode()

    assert f"/tools/{tool.pk}/" in found("flight")
    assert 'href="/insights/"' in found("sight")
    assert 'href="/audit/"' not in found("audit"), "an operator may not enter it"


def test_what_a_search_finds_is_put_into_order_by_its_keys(desk: Client) -> None:
    blocked = make_blocked()
    with CaptureQueriesContext(connection) as queries:
        assert ids(desk.get("/calls/?q=deploy")) == [blocked.public_id]
    sorted_by = [query["sql"] for query in queries if '_call"."tool_name" = ' in query["sql"]]
    assert sorted_by
    assert not any('"context"' in statement for statement in sorted_by), "whole rows are read to be sorted"


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="a plan in SQLite's words")
@pytest.mark.parametrize(
    ("chosen", "statement", "index"),
    [("tool=deploy", "IN ('guided'", "call_by_state"),
     ("show=answered", "was_answered", "call_answered"),
     ("show=answered&agent=planner", "was_answered", "call_answered"),
     ("show=answered&tool=deploy&agent=planner", "was_answered", "call_answered_by_tool")],
)  # fmt: skip
def test_the_few_calls_of_a_tab_are_counted_in_an_index_of_theirs(
    desk: Client, chosen: str, statement: str, index: str
) -> None:
    with CaptureQueriesContext(connection) as queries:
        desk.get(f"/?{chosen}")
    (counting,) = [query["sql"] for query in queries if "COUNT" in query["sql"] and statement in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {counting}")
        plan = [row[3] for row in cursor.fetchall()]
    assert any(index in step.split() for step in plan), plan


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite plans each statement for its values")
def test_a_search_is_planned_for_its_words_however_often_one_searches(desk: Client) -> None:
    """A plan for any text or keys knows neither where an id begins nor how few are meant: it reads every call."""
    for page in ("/find/?", "/calls/?", "/?show=answered&", "/?show=all&"):
        for number in range(12):
            desk.get(f"{page}q=call_{number:02}")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement FROM pg_prepared_statements WHERE generic_plans > 0 AND statement ~ ' LIKE |@@|tool_name'"
        )
        assert cursor.fetchall() == []


def test_pages_that_stand_in_no_menu_are_found_by_who_may_open_them(desk: Client) -> None:
    assert 'href="/settings/replies/"' in desk.get("/find/?q=saved").content.decode()
    assert "/settings/webhooks/" not in desk.get("/find/?q=webh").content.decode()
    staff = logged_in(make_user("ada", Role.ADMIN))
    assert 'href="/settings/webhooks/"' in staff.get("/find/?q=webh").content.decode()
