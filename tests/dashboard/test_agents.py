"""The agents at the desk: who they are, and keys that are made, shown once and revoked."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from retrycontract.store.models import Agent, ApiKey, Event, Scope
from retrycontract.usecases.counts.keep_count import charge
from tests.dashboard.conftest import csrf_token, text_of
from tests.factories import make_agent, make_tool

pytestmark = pytest.mark.django_db


def make_key(agent: Agent, **fields: Any) -> ApiKey:
    key, _ = ApiKey.create_for(agent, timezone.now())
    ApiKey.objects.filter(pk=key.pk).update(**fields)
    key.refresh_from_db()
    return key


def trail() -> list[tuple[str, str, str, dict[str, Any]]]:
    return [(event.name, event.actor, event.door, event.data) for event in Event.objects.order_by("pk")]


def test_the_list_says_who_was_seen_when_and_how_many_keys_open_the_door(viewer: Client) -> None:
    agent, now = make_agent(), timezone.now()
    make_key(agent, last_used_at=now - timedelta(hours=2))
    make_key(agent, expires_at=now + timedelta(days=1))
    make_key(agent, expires_at=now - timedelta(days=1), last_used_at=now - timedelta(days=9))
    make_key(agent, revoked_at=now)
    make_agent("silent")
    text = text_of(viewer.get("/agents/"))
    assert re.search(r"deployer ?deployer ?2 h ago ?2", text)
    assert re.search(r"silent ?silent ?never ?none", text)
    assert "Add an agent" not in text


def test_the_list_is_searched_by_name_and_namespace(desk: Client) -> None:
    make_agent("shop-1")
    make_agent("other")
    Agent.objects.filter(name="other").update(namespace="the-shop")
    make_agent("third")
    text = text_of(desk.get("/agents/?q=SHOP"))
    assert [name in text for name in ("shop-1", "other", "third")] == [True, True, False]
    assert "No agent is called" in text_of(desk.get("/agents/?q=%00x"))


def test_no_agent_yet_is_said_with_what_to_do(desk: Client, admin: Client) -> None:
    assert "an administrator makes one" in text_of(desk.get("/agents/"))
    assert "Add an agent" in text_of(admin.get("/agents/"))


def test_an_agent_is_let_in_and_its_page_asks_for_a_key(admin: Client) -> None:
    page = admin.post("/agents/new/", {"name": "shipper", "namespace": "shop"}, follow=True)
    assert "Make a key for it now" in text_of(page)
    told = {"agent": "shipper", "namespace": "shop"}
    assert trail() == [("agent.admitted", "ada", "dashboard", told)]


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "required"), ("a\nb", "has 1 to 200 letters"), ("<b>", "has 1 to 200 letters"), ("taken", "is called taken"),
     ("a" * 201, "at most 200")],
)  # fmt: skip
@pytest.mark.parametrize("address", ["new", "rename"])
def test_a_name_that_cannot_be_had_is_refused_and_stays_in_the_form(
    admin: Client, address: str, name: str, said: str
) -> None:
    make_agent("taken")
    path = "/agents/new/" if address == "new" else f"/agents/{make_agent('mine').pk}/"
    page = admin.post(path, {"name": name})
    assert (page.status_code, said in text_of(page)) == (422, True)
    assert Agent.objects.filter(name="taken").count() == 1
    assert trail() == []


def test_a_renamed_agent_keeps_its_namespace_and_its_keys(admin: Client) -> None:
    agent = make_agent()
    make_key(agent)
    page = text_of(admin.post(f"/agents/{agent.pk}/", {"name": "shipper"}, follow=True))
    assert "shipper" in page
    agent.refresh_from_db()
    assert (agent.namespace, agent.keys.count()) == ("deployer", 1)
    assert trail() == [("agent.renamed", "ada", "dashboard", {"agent": "deployer", "to": "shipper"})]


def test_the_page_shows_keys_by_their_beginning_with_what_they_may(viewer: Client) -> None:
    agent, now = make_agent(), timezone.now()
    make_tool(agent)
    good = make_key(agent, scopes="read submit", expires_at=now + timedelta(days=3, minutes=1))
    make_key(agent, revoked_at=now)
    make_key(agent, expires_at=now, last_used_at=now)
    text = text_of(viewer.get(f"/agents/{agent.pk}/"))
    for words in (f"{good.prefix}…", "Active", "Scopes submit, read", "Expires in 3 d", "Revoked", "Expired",
                  "never used", "Scopes all",
                  "Tools of the namespace 1", "export RETRYCONTRACT_API_KEY=rc_…"):  # fmt: skip
        assert words in text
    assert "Make a key" not in text
    assert "/revoke/" not in text


def test_a_key_is_shown_once_with_how_to_connect_and_opens_the_door(admin: Client) -> None:
    agent = make_agent()
    page = admin.post(f"/agents/{agent.pk}/keys/", {"scopes": ["submit", "tools"], "lasts": "30"})
    found = re.search(r'id="shown-once">([^<]+)<', page.content.decode())
    assert found is not None
    text, now = found.group(1), timezone.now()
    key = ApiKey.objects.authenticate(text, now)
    assert key is not None
    assert key.granted == {Scope.SUBMIT, Scope.TOOLS}
    assert key.expires_at is not None
    assert timedelta(days=29) < key.expires_at - now <= timedelta(days=30)
    for words in (f"export RETRYCONTRACT_API_KEY={text}", "http://testserver/api/v1", "with Client()", "mcp-gateway"):
        assert words in text_of(page).replace("$RETRYCONTRACT_URL", "http://testserver")
    assert "no-store" in page["Cache-Control"]
    assert set(page.cookies) <= {"csrftoken"}  # neither a message nor a session carries it
    assert text not in admin.get(f"/agents/{agent.pk}/").content.decode()
    told = {"agent": "deployer", "key": key.prefix, "scopes": ["submit", "tools"]}
    assert trail() == [("key.issued", "ada", "dashboard", told)]


def test_a_form_that_is_sent_again_makes_no_other_key(admin: Client) -> None:
    agent = make_agent()
    at = f"/agents/{agent.pk}/"
    form = {"scopes": ["submit"], "lasts": "90", "csrfmiddlewaretoken": csrf_token(admin.get(at))}
    assert "csrfmiddlewaretoken" in admin.get(at).content.decode()
    refused = admin.post(f"{at}keys/", form | {"scopes": []})
    assert refused.status_code == 422, "and may be corrected"
    assert admin.post(f"{at}keys/", form).status_code == 200
    again = admin.post(f"{at}keys/", form, follow=True)
    assert again.redirect_chain == [(at, 302)]
    assert "No other key was made" in text_of(again)
    assert ApiKey.objects.count() == 1
    assert admin.post(f"{at}keys/", form | {"csrfmiddlewaretoken": csrf_token(admin.get(at))}).status_code == 200
    assert ApiKey.objects.count() == 2


def test_a_key_may_hold_until_it_is_revoked(admin: Client) -> None:
    admin.post(f"/agents/{make_agent().pk}/keys/", {"scopes": ["read"], "lasts": ""})
    assert ApiKey.objects.get().expires_at is None


@pytest.mark.parametrize(
    ("given", "said"),
    [({"lasts": "30"}, "Choose at least one"), ({"scopes": ["everything"]}, "everything is not one of"),
     ({"scopes": ["read"], "lasts": "3650"}, "3650 is not one of")],
    ids=["no scope", "no such scope", "no such time"],
)  # fmt: skip
def test_a_key_for_nothing_or_of_no_known_kind_is_refused(admin: Client, given: dict[str, Any], said: str) -> None:
    page = admin.post(f"/agents/{make_agent().pk}/keys/", given)
    assert (page.status_code, said in text_of(page)) == (422, True)
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked_once_and_only_at_its_agent(admin: Client) -> None:
    agent, other = make_agent(), make_agent("other")
    key = make_key(agent)
    assert admin.post(f"/agents/{other.pk}/keys/{key.pk}/revoke/").status_code == 404
    path = f"/agents/{agent.pk}/keys/{key.pk}/revoke/"
    assert "opens nothing any more" in text_of(admin.post(path, follow=True))
    assert "was revoked before" in text_of(admin.post(path, follow=True))
    assert trail() == [("key.revoked", "ada", "dashboard", {"agent": "deployer", "key": key.prefix})]


@pytest.mark.parametrize("path", ["/agents/999/", "/agents/999/keys/", "/agents/999/keys/1/revoke/"])
def test_an_agent_that_is_not_there_is_not_found(admin: Client, path: str) -> None:
    assert admin.post(path, {"name": "x"}).status_code == 404


def test_the_number_of_queries_does_not_grow_with_agents_and_keys(admin: Client) -> None:
    agent = make_agent()
    paths = ("/agents/", f"/agents/{agent.pk}/")

    def queries() -> list[int]:
        counts = []
        for path in paths:
            with CaptureQueriesContext(connection) as captured:
                admin.get(path)
            counts.append(len(captured))
        return counts

    make_key(agent)
    queries()
    few = queries()
    for number in range(5):
        make_key(make_agent(f"agent {number}"))
        make_key(agent)
    assert queries() == few


def test_its_page_says_what_checking_it_caused_and_that_it_is_refused_for_that(viewer: Client) -> None:
    agent = make_agent()
    address = f"/agents/{agent.pk}/"
    assert "0.0 s of processor time" in text_of(viewer.get(address))
    assert "is refused for" not in text_of(viewer.get(address))
    charge(agent.pk, 40, now=timezone.now())
    page = text_of(viewer.get(address))
    assert "40.0 s of processor time" in page
    assert re.search(r"It caused more checking than it may, and is refused for \d+ more seconds", page)
