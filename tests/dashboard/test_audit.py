"""The audit trail at the desk: who may read it, filters, pages and files."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.audit import DOORS, EVENTS
from dashboard.navigation import Role
from retrycontract.store.models import Call, Door, Event
from retrycontract.usecases.people.admit import issue_key
from retrycontract.usecases.reseal import know_keys
from tests.dashboard.conftest import Page, file_of, logged_in, text_of
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user
from tests.serving.service import ROOT

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def told(response: Page) -> list[str]:
    """Name the events on the page by what is said of them."""
    return re.findall(r'class="trail-what"><strong>([^<]+)', response.content.decode())


def note(name: str = "agent.renamed", *, hours: float = 0, actor: str = "ada", door: Door = Door.ADMIN) -> Event:
    return Event.record(name, actor=actor, door=door, at=NOW - timedelta(hours=hours), agent="deployer")


@pytest.mark.parametrize("path", ["/audit/", "/audit.csv"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_those_who_look_after_the_service_read_it(role: Role, path: str) -> None:
    browser = logged_in(make_user("vera", role))
    assert browser.get(path).status_code == 403
    assert "Audit" not in text_of(browser.get("/"))


def test_it_says_who_did_what_when_to_which_call_and_through_which_door(admin: Client) -> None:
    call = make_blocked(at=NOW - timedelta(days=16))
    answer(call, make_user("mia"), at=NOW - timedelta(days=15, hours=1))
    page = admin.get("/audit/")
    assert told(page)[:3] == ["Guidance given", "Escalation opened", "Attempt judged"]
    text = text_of(page)
    for part in ("mia through the desk", "Blocked then Waiting for agent", "decision: hint", call.public_id, "15 d ago",
                 "deployer through the API", "attempt 3 · not valid · VAL-008"):  # fmt: skip
        assert part in text, part
    assert f"/calls/{call.public_id}/" in page.content.decode()


def test_a_line_repeats_no_name_and_tells_nothing_that_is_nothing(admin: Client) -> None:
    Event.record("operator.logged_in", actor="ada", door=Door.DASHBOARD, at=NOW, operator="ada")
    Event.record(
        "tool.registered", actor="ada", door=Door.API, at=NOW, tool="deploy", version=1, changed=[], late=False
    )
    know_keys(now=NOW, actor="ada", door=Door.COMMAND)
    text = text_of(admin.get("/audit/"))
    assert "tool: deploy · version 1" in text
    for part in ("proof: ", "operator: ada", "operator ada", "changed none", "late no", "not late", "changed:"):
        assert part not in text, part


def test_details_are_shown_as_they_are_stored(admin: Client) -> None:
    Event.record("endpoint.changed", actor="ada", door=Door.ADMIN, at=NOW, changes={"events": ["<b>a", 2]})
    page = admin.get("/audit/")
    assert "Details" in text_of(page)
    assert '"<b>a"' in text_of(page).replace("&lt;", "<")
    assert "<b>a" not in page.content.decode()


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", "abcd"), ("actor=ada", "ad"), ("actor=nobody", ""), ("event=key.revoked", "b"), ("door=worker", "b"),
        ("door=api", "c"), ("door=admin", "ad"), ("door=window", "abcd"), ("actor=ada&event=agent.renamed", "d"),
        ("door=api&event=attempt.judged&actor=deployer", "c"), ("door=api&actor=ada", ""), ("call=CALL", "c"),
        ("call=CALL&door=admin", ""), ("call=call_x", ""), ("actor=ad", ""), ("event=%00", "abcd"),
    ],
)  # fmt: skip
def test_filters_narrow_each_other(admin: Client, query: str, shown: str) -> None:
    events = {
        "a": note("key.issued"),
        "b": note("key.revoked", actor="sweep", door=Door.WORKER),
        "c": Event.objects.get(call=make_call(make_agent(), [RIGHT], tool="other")),
        "d": note(),
    }
    page = admin.get(f"/audit/?{query.replace('CALL', Call.objects.get().public_id)}").content.decode()
    assert {name for name, event in events.items() if f'id="event-{event.pk}"' in page} == set(shown)


def test_a_time_narrows_it(admin: Client) -> None:
    for name, hours in (("key.issued", 30), ("key.revoked", 5), ("agent.renamed", 1)):
        note(name, hours=hours)
    since, until = ((NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M") for hours in (6, 2))
    page = admin.get("/audit/", {"since": since, "until": until, "zone": "UTC"})
    assert told(page) == ["Key revoked"]
    assert f"Since {since.replace('T', ' ')} UTC" in text_of(page)


def test_the_filters_offer_what_the_trail_has(admin: Client) -> None:
    for name, actor in (
        ("key.issued", "mia"),
        ("agent.renamed", "ada"),
        ("key.issued", "zoe"),
        ("key.issued", "\u202ex"),
    ):
        note(name, actor=actor)
    page = admin.get("/audit/").content.decode()
    assert re.findall(r'<option value="([^"]*)"></option>', page) == ["ada", "mia", "zoe"]
    assert re.findall(r'<option value="(\w+\.\w+)">([^<]+)', page) == [
        ("agent.renamed", "Agent renamed"), ("key.issued", "Key issued"),
    ]  # fmt: skip


def test_every_door_has_words() -> None:
    assert DOORS.keys() == set(Door)


def test_pages_follow_each_other_and_keep_the_choice(admin: Client) -> None:
    for _ in range(51):
        note()
    note("key.issued")
    first = admin.get("/audit/?event=agent.renamed")
    (address,) = re.findall(r'class="pages-next"\s+href="([^"]+)"', first.content.decode())
    rest = admin.get(address.replace("&amp;", "&"))
    assert (told(first), told(rest)) == (["Agent renamed"] * 50, ["Agent renamed"])


def test_an_empty_trail_says_why(admin: Client) -> None:
    assert "Nothing has happened yet" in text_of(admin.get("/audit/"))
    assert "Nothing of that kind happened" in text_of(admin.get("/audit/?actor=x"))


@pytest.mark.parametrize(
    "query",
    ["since=nonsense", "after=abc", "evnt=key.issued", "event=operator.loged_in", "event=nope", "door=nope",
     "door=api&door=worker", "event=key.issued&event=key.revoked", "event=key.issued&door=desk"],
)  # fmt: skip
def test_a_file_is_refused_when_what_was_chosen_cannot_be_read(admin: Client, query: str) -> None:
    wrong = query.rpartition("&")[2].partition("=")[0]
    for kind in ("csv", "jsonl"):
        answer = admin.get(f"/audit.{kind}?{query}")
        assert (answer.status_code, wrong in text_of(answer)) == (400, True)
    assert f"left out: {wrong}" in text_of(admin.get(f"/audit/?{query}"))


def test_an_event_that_may_happen_is_known_and_so_is_one_that_happened(admin: Client) -> None:
    note("thing.of_another_version")
    for event in ("thing.of_another_version", "key.revoked"):
        assert admin.get(f"/audit.csv?event={event}").status_code == 200


def test_every_event_that_is_recorded_is_known() -> None:
    source = "".join(path.read_text() for path in (ROOT / "retrycontract").rglob("*.py"))
    recorded = set(re.findall(r'(?:Event\.record|_record|_record_hint|_note)\(\s*"([a-z_]+\.[a-z_]+)"', source))
    assert len(recorded) > 20
    assert recorded <= EVENTS


def test_a_file_holds_what_was_chosen(admin: Client) -> None:
    agent = make_agent()
    issue_key(agent, now=NOW, actor="=cmd", door=Door.COMMAND)
    note("agent.renamed")
    (row,) = csv.DictReader(io.StringIO(file_of(admin, "/audit.csv?event=key.issued")))
    assert (row["actor"], row["door"], json.loads(row["details"])["agent"]) == ("'=cmd", "command", "deployer")
    (line,) = file_of(admin, "/audit.jsonl?event=key.issued").splitlines()
    assert (json.loads(line)["actor"], json.loads(line)["details"]["agent"]) == ("=cmd", "deployer")
    assert admin.get("/audit.pdf").status_code == 404


def test_a_secret_that_an_agent_sent_is_not_in_it(admin: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    make_call(agent, [{"service": secret, "region": secret}], session_id=secret, correlation_id=secret)
    shown = admin.get("/audit/").content.decode() + file_of(admin, "/audit.jsonl") + file_of(admin, "/audit.csv")
    assert "attempt.judged" in shown
    assert secret not in shown


def test_a_page_costs_the_same_however_much_it_shows(admin: Client) -> None:
    agent = make_agent()
    make_tool(agent)
    counts = []
    for more in (1, 30):
        for _ in range(more):
            make_call(agent, [WRONG])
        with CaptureQueriesContext(connection) as queries:
            assert told(admin.get("/audit/?actor=deployer&door=api&since=2020-01-01T00:00"))
        counts.append(len(queries))
    assert counts[0] == counts[1]
