"""The list of all calls: search, filters, pages and files."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.calls import CallChoices
from dashboard.navigation import Role
from dashboard.shared.choices import MOST_LOOKED_AT, read_all
from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import Generation
from retrycontract.store.fields import new_call_id
from retrycontract.store.models import Call
from tests.dashboard.conftest import Page, file_of, ids, logged_in, text_of
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def following(response: Page) -> str:
    """Give the address that the page leads on to."""
    found = re.search(r'class="pages-next"\s+href="([^"]+)"', response.content.decode())
    return found.group(1).replace("&amp;", "&") if found else ""


def test_every_state_is_listed_the_newest_first(desk: Client) -> None:
    agent = make_agent()
    blocked, rejected = make_blocked(agent), make_blocked(agent)
    answer(rejected, make_user("ann"), Decision.REJECT, text="Not today.")
    retrying, valid = make_call(agent, [WRONG]), make_call(agent, [WRONG, RIGHT])
    page = desk.get("/calls/")
    assert ids(page) == [call.public_id for call in (valid, retrying, rejected, blocked)]
    assert all(word in text_of(page) for word in ("Valid", "Agent retries", "Rejected", "Blocked"))


def test_a_row_says_state_attempts_tool_agent_mistake_session_and_when(desk: Client) -> None:
    make_blocked(session_id="session-a", correlation_id="corr-a", at=NOW - timedelta(days=20, hours=1))
    text = text_of(desk.get("/calls/"))
    said = ("Blocked", "3 attempts of 3", "deploy", "deployer", "/region", "VAL-008", "session-a", "corr-a", "20 d ago")
    assert [part for part in said if part not in text] == []


def test_the_search_finds_by_any_id(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    call = submit(agent, WRONG, tool_call_id="first", session_id="trip-7", correlation_id="order-7").call
    submit(agent, WRONG, call=call, tool_call_id="second", session_id="trip-7")
    make_call(agent, [RIGHT])
    for text in (
        call.public_id,
        call.public_id[:-1],
        "trip-7",
        "order-7",
        "first",
        "second",
        " first ",
        "trip",
        "order-",
        "fir",
    ):
        assert ids(desk.get("/calls/", {"q": text})) == [call.public_id], text
    assert len(ids(desk.get("/calls/", {"q": "PLOY"}))) == 2
    for text in (call.public_id[1:], "rip-7", "t%", "irst", "\x00"):
        assert ids(desk.get("/calls/", {"q": text})) == [], text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tool=deploy", "ab"), ("tool=scale", "c"), ("agent=other", "c"), ("agent=nobody", ""), ("state=blocked", "b"),
        ("state=valid", "ac"), ("kind=agent_response", "c"), ("kind=tool_call", "ab"), ("code=VAL-008", "b"),
        ("code=VAL-001", "a"), ("tool=deploy&state=valid", "a"), ("tool=deploy&agent=other", ""), ("state=odd", "abc"),
        ("course=first", "c"), ("course=failed", "ab"), ("course=recovered", "a"), ("course=retried", "ab"),
        ("course=escalated", "b"), ("course=answered", ""), ("course=odd", "abc"), ("course=failed&state=valid", "a"),
        ("course=first&code=VAL-008", ""), ("course=recovered&q=deploy", "a"), ("course=escalated&q=scale", ""),
        ("kind=odd&code=odd", "abc"), ("tool=deploy&code=VAL-008&state=blocked&kind=tool_call&agent=deployer", "b"),
    ],
)  # fmt: skip
def test_filters_narrow_each_other(desk: Client, query: str, found: str) -> None:
    agent, other = make_agent(), make_agent("other")
    make_tool(other, "scale", kind="agent_response")
    calls = {
        "b": make_blocked(agent),
        "a": make_call(agent, [{"region": "eu-west-1"}, RIGHT]),
        "c": make_call(other, [RIGHT], tool="scale", kind="agent_response"),
    }
    assert set(ids(desk.get(f"/calls/?{query}"))) == {calls[name].public_id for name in found}


def test_calls_are_found_by_their_model_and_the_models_are_offered(desk: Client) -> None:
    make_tool(make_agent())
    by_opus, _ = (make_call(make_agent(), [RIGHT], generation=Generation(model=name)) for name in ("opus", "haiku"))
    make_call(make_agent(), [RIGHT])
    page = desk.get("/calls/?model=opus")
    assert ids(page) == [by_opus.public_id]
    assert ['value="haiku"' in page.content.decode(), "Model opus" in text_of(page)] == [True, True]


def begun(hours: float) -> str:
    return make_call(make_agent(), [RIGHT], at=NOW - timedelta(hours=hours)).public_id


def test_a_time_is_that_of_the_zone_in_which_it_was_chosen(desk: Client) -> None:
    make_tool(make_agent())
    old, between, young = begun(30), begun(5), begun(1)
    for zone, offset in (("UTC", 0), ("Asia/Kolkata", 5.5)):
        since, until = ((NOW + timedelta(hours=offset - hours)).strftime("%Y-%m-%dT%H:%M") for hours in (6, 2))
        page = desk.get("/calls/", {"since": since, "until": until, "zone": zone})
        assert ids(page) == [between]
    assert ids(desk.get("/calls/", {"since": (NOW - timedelta(hours=6)).isoformat()})) == [young, between]
    assert ids(desk.get("/calls/", {"until": (NOW - timedelta(hours=2)).isoformat()})) == [between, old]
    assert ids(desk.get("/calls/?since=2999-01-01T00:00")) == []
    assert ids(desk.get("/calls/?since=1969-01-01&until=9998-12-31T23:59:59")) == [young, between, old]
    for odd in ("yesterday", "0001-01-01", "9999-12-31T23:59:59", "0001-01-01T00:00+23:00", "\x00", "2026-13-01"):
        assert len(ids(desk.get("/calls/", {"since": odd, "until": odd, "zone": "Nowhere"}))) == 3, odd


def test_each_choice_is_said_and_can_be_taken_back(desk: Client) -> None:
    make_blocked()
    page = desk.get("/calls/?state=blocked&tool=deploy&since=2020-01-02T03:04&zone=UTC")
    text = text_of(page)
    for words in ("Blocked: take it back", "Tool deploy: take it back", "Since 2020-01-02 03:04 UTC: take it back"):
        assert words in text.replace(" :", ":"), words
    assert 'href="/calls/?since=2020-01-02T03%3A04%3A00Z&amp;tool=deploy"' in page.content.decode()


def test_pages_follow_each_other_and_keep_the_choice(desk: Client) -> None:
    make_tool(make_agent())
    calls = [make_call(make_agent(), [RIGHT]).public_id for _ in range(52)]
    first = desk.get("/calls/?state=valid")
    rest = desk.get(following(first))
    assert (ids(first) + ids(rest), following(rest)) == (calls[::-1], "")
    assert "state=valid" in following(first)
    assert len(ids(desk.get("/calls/?after=nonsense"))) == 50


def test_what_is_rare_is_looked_for_a_bounded_way_at_a_time(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    wanted = make_call(agent, [{}]).public_id
    other = Call.objects.filter(pk=make_call(agent, [WRONG]).pk).values().get() | {"id": None}
    Call.objects.bulk_create(Call(**other | {"public_id": new_call_id()}) for _ in range(MOST_LOOKED_AT - 1))
    first = desk.get("/calls/?code=VAL-001")
    assert (ids(first), "None among the newest" in text_of(first)) == ([], True)
    rest = desk.get(following(first))
    assert (ids(rest), following(rest)) == ([wanted], "")


def test_an_empty_list_says_why(desk: Client) -> None:
    assert "No agent has called yet" in text_of(desk.get("/calls/"))
    assert "retrycontract agent create" in text_of(desk.get("/calls/"))
    assert "No call matches “x”" in text_of(desk.get("/calls/?q=x"))
    assert "No call fits these filters" in text_of(desk.get("/calls/?state=blocked"))


def test_a_file_holds_what_was_chosen(desk: Client) -> None:
    call = make_blocked(session_id="s", correlation_id="=1+1")
    make_call(make_agent(), [RIGHT])
    (row,) = csv.DictReader(io.StringIO(file_of(desk, "/calls.csv?state=blocked")))
    assert (row["call_id"], row["correlation_id"], row["attempts_made"]) == (call.public_id, "'=1+1", "3")
    (line,) = file_of(desk, "/calls.jsonl?state=blocked").splitlines()
    told: dict[str, Any] = json.loads(line)
    assert (told["call_id"], told["correlation_id"], told["tool"]) == (call.public_id, "=1+1", "deploy")
    assert desk.get("/calls.pdf").status_code == 404


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("state=nonsense", "state"), ("since=nonsense", "since"), ("until=2030-13-01", "until"), ("after=abc", "after"),
        ("after=-1", "after"), ("kind=x", "kind"), ("code=VAL-999", "code"), ("version=x", "version"),
        ("stat=blocked", "stat"), ("zone=Mars", "zone"), ("state=blocked&words=x", "words"),
        ("%3Cb%3E=1", "a name that is not known"),
    ],
)  # fmt: skip
def test_a_file_is_refused_when_what_was_chosen_cannot_be_read(desk: Client, query: str, name: str) -> None:
    make_blocked()
    for kind in ("csv", "jsonl"):
        refused = desk.get(f"/calls.{kind}?{query}")
        assert refused.status_code == 400
        assert refused.content.decode().startswith(f"No file was made: {name} in the address cannot be read.")
    assert desk.get(f"/calls/?{query}").status_code == 200


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/?show=nowhere&age=1y&tool=deploy", "age, show"),
        ("/calls/?state=bloked&zone=Mars&q=x", "state, zone"),
        ("/audit/?since=yesterday", "since"),
        ("/tools/?range=century&q=x", "range"),
        ("/hints/?show=all", "show"),
        ("/agent-responses/?status=fine&period=1y", "period, status"),
        ("/?<b>=1", "a name that is not known"),
    ],
)
def test_a_page_says_what_of_its_address_it_left_out(path: str, names: str) -> None:
    admin = logged_in(make_user("ada", Role.ADMIN))
    page, left_out = admin.get(path), "Not understood in the address, and left out: "
    assert f"{left_out}{names}." in text_of(page)
    assert left_out not in text_of(admin.get(path.partition("?")[0]))


def test_a_file_takes_what_the_page_offers(desk: Client) -> None:
    make_blocked()
    chosen = "state=blocked&q=&after=&since=2020-01-01T10:00&zone=Europe/Rome&kind=tool_call&code=%20"
    assert len(file_of(desk, f"/calls.jsonl?{chosen}").splitlines()) == 1


@pytest.mark.parametrize(
    "chosen", ["tool=deploy", "state=blocked", "agent=planner", "model=m", "since=2020-01-01T10:00"]
)
def test_what_one_index_knows_is_not_counted_first(desk: Client, chosen: str) -> None:
    make_blocked()
    with CaptureQueriesContext(connection) as queries:
        desk.get(f"/calls/?{chosen}")
    assert not [query["sql"] for query in queries if "COUNT(" in query["sql"]]


def test_a_page_behind_a_number_that_no_call_has_yet_is_the_first_one(desk: Client) -> None:
    blocked = make_blocked()
    for chosen in ("", "tool=deploy&", "q=deploy&", "tool=deploy&kind=tool_call&", "state=blocked&"):
        for number in (2**31, 2**33 + 7, 10**17 - 1):
            assert ids(desk.get(f"/calls/?{chosen}after={number}")) == [blocked.public_id]


def test_files_follow_each_other_by_the_number_of_the_last_line(desk: Client) -> None:
    make_tool(make_agent())
    calls = [make_call(make_agent(), [RIGHT]) for _ in range(4)]
    search = CallChoices(state="valid").search
    assert list(read_all(search, "", most=3, chunk=2)) == calls[:0:-1]
    assert list(read_all(search, str(calls[1].pk), most=3, chunk=2)) == calls[:1]
    assert [json.loads(line)["number"] for line in file_of(desk, f"/calls.jsonl?after={calls[1].pk}").splitlines()] == [
        calls[0].pk
    ]


def test_what_agents_and_models_wrote_is_text(desk: Client) -> None:
    make_blocked(output={"service": "<b>x", "region": "<script>"}, session_id="<i>s\u202e")
    page = desk.get("/calls/").content.decode() + desk.get("/calls/?q=%3Cb%3E%E2%80%AE&tool=%3Cb%3E").content.decode()
    assert not any(text in page for text in ("<b>", "<i>s", 'region": "<script', "\u202e"))


def test_a_page_costs_the_same_however_much_it_shows(desk: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    address = "/calls/?tool=deploy&code=VAL-008&since=2020-01-01T00:00"
    counts = []
    for more in (1, 60):
        for _ in range(more):
            make_call(agent, [WRONG])
        with CaptureQueriesContext(connection) as queries:
            assert ids(desk.get(address))
        counts.append(len(queries))
    assert counts[0] == counts[1]
