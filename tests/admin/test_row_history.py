"""The history of a row of the admin: its own events, through whichever door they came, and no other's."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from dashboard.audit import EVENTS
from dashboard.navigation import Role
from retrycontract.admin import trail
from retrycontract.contract.outputs import Kind
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import (
    Agent,
    ApiKey,
    Call,
    Door,
    Event,
    OutboxMessage,
    SavedReply,
    StandingHint,
    Tool,
    ToolVersion,
    WebhookEndpoint,
    WorkerBeat,
)
from retrycontract.usecases.answers.reuse_answers import save_reply
from retrycontract.usecases.notify.drain_outbox import send_again
from retrycontract.usecases.notify.tend_endpoint import add_endpoint, rotate_secret
from retrycontract.usecases.people.admit import admit_agent, issue_key, rename_agent, revoke_key
from retrycontract.usecases.people.log_in import begin_factor
from retrycontract.usecases.tools.register_tool import change_tool, register_tool, release_version
from tests.admin.conftest import post
from tests.factories import DEPLOY, PASSWORD, make_agent, make_user

pytestmark = pytest.mark.django_db


def history(admin: Client, row: Model) -> str:
    """Follow `History` on the page of a row."""
    page = f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/"
    assert f'href="{page}history/"' in admin.get(f"{page}change/").content.decode()
    return admin.get(f"{page}history/", follow=True).content.decode()


def told(page: str) -> list[tuple[str, str]]:
    """Give the events that a page lists, oldest first, each with its door."""
    names = re.findall(r'class="field-name">([^<]+)<', page)
    doors = re.findall(r'class="field-door">([^<]+)<', page)
    return [*zip(names, (door.lower() for door in doors), strict=True)][::-1]


def by(door: Door, actor: str = "ada") -> dict[str, Any]:
    return {"now": timezone.now(), "actor": actor, "door": door}


def registered(namespace: str, name: str = "deploy") -> Tool:
    agent = admit_agent(namespace, **by(Door.COMMAND))
    return register_tool(agent, name, DEPLOY, now=timezone.now(), door=Door.API).tool


def test_a_tools_history_is_what_was_done_to_it_through_every_door(admin: Client) -> None:
    tool, other, longer = registered("deployer"), registered("another"), registered("deployer", "deploy-all")
    for each in (tool, other, longer):
        change_tool(each, {"max_attempts": 5}, **by(Door.DASHBOARD))
        change_tool(each, {"max_attempts": 4}, **by(Door.ADMIN))
        assert each.current_version is not None
        each.current_version.quarantine(timezone.now())
        release_version(each.current_version, **by(Door.DASHBOARD))
    page = history(admin, tool)
    assert told(page) == [
        ("tool.registered", "api"), ("tool.changed", "dashboard"), ("tool.changed", "admin"),
        ("version.released", "dashboard"),
    ]  # fmt: skip
    assert "<h1>Events of tool deploy of deployer</h1>" in page
    assert page.count('class="field-about">tool deploy · namespace deployer<') == 2
    version = tool.current_version
    assert version is not None
    assert [name for name, _ in told(history(admin, version))] == ["tool.registered", "version.released"]


def test_an_operators_history_is_what_was_done_to_their_account(admin: Client) -> None:
    call_command("create_operator", "mia")
    mia, capital = User.objects.get(username="mia"), make_user("Mia", Role.ADMIN)
    mia.set_password(PASSWORD)
    mia.save()
    assert Client().post("/login/", {"username": "mia", "password": PASSWORD}).status_code == 302
    for user in (mia, capital):
        form = {"usable_password": "true", "set-password": "", "password1": PASSWORD * 2, "password2": PASSWORD * 2}
        post(admin, f"auth/user/{user.pk}/password/", form)
    page = history(admin, mia)
    expected = [("operator.admitted", "command"), ("operator.logged_in", "dashboard"), ("operator.changed", "admin")]
    assert told(page) == expected
    assert "<h1>Events of operator mia</h1>" in page
    assert told(history(admin, begin_factor(mia, now=timezone.now()))) == expected
    assert told(history(admin, capital)) == [("operator.changed", "admin")]


def test_an_agents_history_is_its_own_and_that_of_its_keys(admin: Client) -> None:
    agent, other = (admit_agent(name, **by(Door.COMMAND)) for name in ("old", "other"))
    keys = [issue_key(each, **by(Door.DASHBOARD))[0] for each in (agent, other)]
    rename_agent(agent, "new", **by(Door.DASHBOARD))
    revoke_key(ApiKey.objects.get(pk=keys[0].pk), **by(Door.DASHBOARD))
    assert told(history(admin, agent)) == [("agent.renamed", "dashboard"), ("key.revoked", "dashboard")]
    assert told(history(admin, keys[0])) == [("key.issued", "dashboard"), ("key.revoked", "dashboard")]
    assert told(history(admin, keys[1])) == [("key.issued", "dashboard")]
    assert told(history(admin, other)) == [("agent.admitted", "command"), ("key.issued", "dashboard")]


def test_an_endpoint_a_message_a_hint_and_a_reply_have_histories_of_their_own(
    admin: Client, ada: User, answered: Call
) -> None:
    endpoint, message, hint, reply = (
        model._default_manager.latest("pk") for model in (WebhookEndpoint, OutboxMessage, StandingHint, SavedReply)
    )
    assert isinstance(endpoint, WebhookEndpoint)
    assert isinstance(message, OutboxMessage)
    add_endpoint("https://hooks.example/y", list(WebhookEvent), **by(Door.COMMAND))
    rotate_secret(endpoint, **by(Door.DASHBOARD))
    OutboxMessage.objects.update(delivered_at=timezone.now())
    assert send_again(message, **by(Door.ADMIN))
    for each in (reply, None):
        save_reply(ada, title="Region", text="Use eu-west-2.", position=None, reply=each, now=timezone.now())
    assert told(history(admin, endpoint)) == [("endpoint.added", "command"), ("endpoint.secret_rotated", "dashboard")]
    assert told(history(admin, message)) == [("message.sent_again", "admin")]
    assert told(history(admin, message.deliveries.get())) == [("message.sent_again", "admin")]
    assert told(history(admin, hint)) == [("hint.set", "dashboard")]
    assert told(history(admin, reply)) == [("reply.changed", "dashboard")]


def test_a_number_is_no_beginning_of_another(admin: Client) -> None:
    tool = registered("deployer")
    version = tool.current_version
    assert version is not None
    for number in (1, 10, 11):
        data = {"tool": "deploy", "namespace": "deployer", "version": number}
        Event.record("version.released", at=timezone.now(), actor="ada", door=Door.DASHBOARD, **data)
    assert [name for name, _ in told(history(admin, version))] == ["tool.registered", "version.released"]


@pytest.mark.parametrize("name", ['a "name"', 'x","namespace":"deployer', "100%", "d_ploy", "日本 ü", "back\\slash"])
def test_a_name_is_matched_as_it_is_whatever_it_holds(admin: Client, name: str) -> None:
    make_agent("deployer")
    tools = [Tool.objects.create(
        namespace="deployer", name=each, kind=Kind.TOOL_CALL, created_at=timezone.now(), updated_at=timezone.now()
    ) for each in (name, "deploy", "x")]  # fmt: skip
    for tool in tools:
        change_tool(tool, {"max_attempts": 5}, **by(Door.ADMIN))
    for tool in tools:
        assert told(history(admin, tool)) == [("tool.changed", "admin")]


def test_what_no_event_names_has_no_history_and_says_so(admin: Client, answered: Call) -> None:
    page = history(admin, WorkerBeat.objects.get())
    assert told(page) == []
    assert "which no event names" in page


@pytest.mark.parametrize("address", ["retrycontract.tool.99999", "retrycontract.tool.x", "no.such.1", "x", "a.b.c.d.1"])
def test_an_address_that_names_no_row_lists_no_event(admin: Client, answered: Call, address: str) -> None:
    page = admin.get("/admin/retrycontract/event/", {"of": address}).content.decode()
    assert told(page) == []
    assert "<h1>Events of what is not there</h1>" in page


def test_a_row_that_is_not_there_has_no_history(admin: Client) -> None:
    page = admin.get("/admin/retrycontract/tool/99999/history/", follow=True)
    assert "doesn’t exist" in page.content.decode()


def test_every_page_leads_to_a_history(admin: Client, answered: Call) -> None:
    for model in django_admin.site._registry:
        assert "<h1>Events of " in history(admin, model._default_manager.latest("pk"))


OF_CALLS = ("attempt", "call", "claim", "escalation", "guidance")
OF_ALL = {
    "data.backed_up", "data.imported", "data.restored", "history.forgotten", "keys.made", "keys.noted", "keys.resealed",
    "keys.retired", "metrics.rebuilt",
}  # fmt: skip


def test_every_event_is_of_a_row_of_a_call_or_of_the_whole_service() -> None:
    rows = [Agent(), ApiKey(), OutboxMessage(), SavedReply(), StandingHint(), Tool(), User(), WebhookEndpoint()]
    of_rows = {kind for row in rows for kind in trail.trail_of(row).kinds}
    of_rows |= set(trail.trail_of(ToolVersion(tool=Tool())).kinds)
    of_calls = {name for name in EVENTS if name.startswith(OF_CALLS)}
    assert of_rows | of_calls | OF_ALL == EVENTS
    assert of_rows & (of_calls | OF_ALL) == set()
