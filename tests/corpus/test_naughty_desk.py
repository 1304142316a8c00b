"""The big list of naughty strings through every form and every address of desk and admin, and the rest of the API."""

from __future__ import annotations

import dataclasses
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.audit import EventChoices
from dashboard.calls import CallChoices
from dashboard.navigation import Role
from retrycontract.store.models import SavedReply, Snooze, StandingHint, Tool, WebhookEndpoint
from tests.api.conftest import open_door
from tests.conftest import Corpus
from tests.corpus import naughty
from tests.corpus.naughty import is_escaped, shares
from tests.factories import PASSWORD, make_agent, make_blocked, make_tool, make_user

pytestmark = [pytest.mark.corpus, pytest.mark.django_db]
SCHEMA = {"type": "object", "properties": {"must": {"type": "integer"}}, "required": ["must"]}
HOOK = "https://hooks.example/"
ANSWERED = (200, 204, 302, 400, 404, 409, 422)  # and never 500
LOOKED_AT: dict[str, tuple[str, ...]] = {
    "/": ("tool", "agent", "kind", "code", "age", "like"),
    "/tools/": ("q", "range"),
    "/insights/": ("tool", "range"),
    "/insights/failures.csv": ("tool", "range"),
    "/agent-responses/": ("status", "task", "period", "after"),
    "/hints/": ("show", "after"),
    "/login/": ("next",),
    "/agents/": ("q",),
    "/playground/": ("tool", "example"),
    **{path: (*(field.name for field in dataclasses.fields(choices)), "zone", "after")
       for path, choices in (("/calls/", CallChoices), ("/calls.csv", CallChoices), ("/audit/", EventChoices))},
}  # fmt: skip
SEARCHED = ("auth/user", *(
    f"retrycontract/{model}" for model in (
        "agent", "apikey", "tool", "toolversion", "call", "attempt", "event", "guidance", "outboxmessage",
        "webhookendpoint", "savedreply", "standinghint",
    )
))  # fmt: skip
LISTED = {
    "/calls": ("state", "tool", "session_id", "task_id", "correlation_id", "cursor", "limit"),
    "/agent-responses": ("call_id", "tool", "task_id", "turn", "status", "since", "until", "cursor"),
    "/tools": ("kind", "cursor"),
    "/events": ("types", "call_id"),
}


@pytest.fixture(params=[32, pytest.param(1, marks=pytest.mark.soak)], ids=["one in thirty-two", "all"])
def texts(request: pytest.FixtureRequest, corpus: Corpus) -> list[str]:
    return naughty.strings(corpus)[:: request.param]


@pytest.fixture
def desk(db: None) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_user("ada", Role.ADMIN))
    return client


def check(response: Any, text: str, place: object) -> str:
    page = b"".join(response).decode()
    assert response.status_code in ANSWERED, (place, repr(text), page[:500])
    assert is_escaped(page, text), (place, repr(text))
    return page


def test_every_text_may_be_looked_for(desk: Client, texts: list[str]) -> None:
    make_blocked()
    places = [(path, name) for path, names in LOOKED_AT.items() for name in names]
    for text, (path, name) in shares(texts, places, 4):
        check(desk.get(path, {name: text}), text, (path, name))


def test_every_text_may_be_looked_for_in_the_admin(desk: Client, texts: list[str]) -> None:
    make_blocked()
    for text, model in shares(texts, SEARCHED, 3):
        check(desk.get(f"/admin/{model}/", {"q": text}), text, model)


def test_every_text_may_be_typed_into_the_forms_of_the_desk(desk: Client, texts: list[str]) -> None:
    call = make_blocked()
    tool = Tool.objects.get()
    forms: dict[str, tuple[dict[str, Any], ...]] = {
        "/settings/": ({"time_zone": "@@"},),
        "/settings/password/": ({"old_password": PASSWORD, "new_password1": "@@", "new_password2": "@@."},),
        "/settings/second-factor/": ({"code": "@@"},),
        f"/calls/{call.public_id}/keep-reply/": ({"text": "@@"},),
        f"/calls/{call.public_id}/snooze/": ({"until": "@@", "at": "@@"}, {"until": "tomorrow", "reason": "@@"}),
        f"/calls/{call.public_id}/claim/": ({"action": "@@"},),
        f"/calls/{call.public_id}/group/": ({"decision": "hint", "text": "@@", "call": "@@", "grant": "@@"},),
        f"/tools/{tool.pk}/schema/": ({"schema": "@@", "base": "@@"}, {"schema": "@@", "step": "save"}),
        "/next/": ({"beside": "@@"},),
    }
    desk.post("/settings/second-factor/", {})
    places = [(path, fields) for path, several in forms.items() for fields in several]
    for text, (path, fields) in shares(texts, places, 4):
        typed = {name: text if value == "@@" else value for name, value in fields.items()}
        check(desk.post(path, typed), text, (path, tuple(fields)))
        SavedReply.objects.all().delete()  # there is room for a hundred
    assert Snooze.objects.exists()


def test_every_text_may_be_kept_as_a_reply(desk: Client, texts: list[str]) -> None:
    typed = ({"title": "@@", "text": "t"}, {"title": "t", "text": "@@"}, {"title": "t", "text": "t", "position": "@@"})
    for text, fields in shares(texts, typed, 1):
        given = {name: value.replace("@@", text) for name, value in fields.items()}
        check(desk.post("/settings/replies/", given), text, tuple(fields))
        check(desk.get("/settings/replies/"), text, "replies")
        for reply in SavedReply.objects.all():
            check(desk.get(f"/settings/replies/{reply.pk}/"), text, "reply")
            check(desk.post(f"/settings/replies/{reply.pk}/delete/", follow=True), text, "what was deleted")


def test_every_text_may_describe_a_tool_at_the_desk(desk: Client, texts: list[str]) -> None:
    agent = make_agent()
    made = {"agent": agent.pk, "kind": "tool_call", "schema": "{}"}
    for number, (text, name) in enumerate(shares(texts, ("name", "description", "schema"), 2)):
        check(desk.post("/tools/new/", made | {"name": f"n {number}"} | {name: text}), text, name)
        tool = Tool.objects.latest("pk")
        check(desk.get(f"/tools/{tool.pk}/"), text, "tool")
        check(desk.get(f"/admin/retrycontract/tool/{tool.pk}/change/"), text, "tool of the admin")
    check(desk.get("/tools/"), "<script>", "tools")
    assert Tool.objects.count() > len(texts) / 2


def test_every_text_may_stand_for_the_next_agent(desk: Client, texts: list[str]) -> None:
    for text in texts[::4]:
        call = make_blocked(task_id=None)
        given = {"decision": "hint", "text": text, "grant": "1", "standing": "on", "lasts": "30"}
        asked = {"escalation": call.escalations.get().public_id, "base": str(call.attempts_made)}
        check(desk.post(f"/calls/{call.public_id}/", given | asked), text, "answer")
        check(desk.get("/hints/"), text, "hints")
        StandingHint.objects.update(off_at=call.created_at)  # the next is Blocked again
    assert StandingHint.objects.count() > len(texts) / 8


def test_every_text_may_be_tried_in_the_playground(desk: Client, texts: list[str]) -> None:
    trial = {"name": "deploy", "kind": "tool_call", "schema": "{}", "output": "{}", "attempt": "1", "max_attempts": "3"}
    for text, name in shares(texts, ("name", "schema", "output", "kind"), 2):
        check(desk.post("/playground/", trial | {name: text}), text, name)


def test_every_text_may_be_typed_where_agents_and_webhooks_are_tended(desk: Client, texts: list[str]) -> None:
    agent = make_agent()
    hook = {"agent": "", "address": HOOK, "events": ["call.blocked"]}
    desk.post("/settings/webhooks/new/", hook)
    endpoint = WebhookEndpoint.objects.get().public_id
    places: list[tuple[str, dict[str, Any]]] = [
        ("/agents/new/", {"name": "@@"}),
        ("/agents/new/", {"name": "named", "namespace": "@@"}),
        (f"/agents/{agent.pk}/", {"name": "@@"}),
        (f"/agents/{agent.pk}/keys/", {"scopes": ["@@"], "lasts": "@@"}),
        ("/settings/webhooks/new/", hook | {"address": f"{HOOK}@@"}),
        (f"/settings/webhooks/{endpoint}/", {"address": "@@", "events": ["@@"]}),
    ]
    for text, (path, typed) in shares(texts, places, 3):
        given = {name: value.replace("@@", text) if isinstance(value, str) else value for name, value in typed.items()}
        check(desk.post(path, given), text, path)
    for path in ("/agents/", f"/agents/{agent.pk}/", "/settings/webhooks/", "/audit/"):
        check(desk.get(path), "<script>", path)


def test_every_text_may_be_the_answer_to_a_group(desk: Client, texts: list[str]) -> None:
    for text in texts[::4]:
        calls = [make_blocked() for _ in range(2)]
        chosen = [call.public_id for call in calls]
        path = f"/calls/{chosen[0]}/group/"
        check(desk.post(path, {"decision": "hint", "text": text, "grant": "1", "call": chosen}), text, "group")
        check(desk.get(f"/calls/{chosen[1]}/"), text, "call")
        if text.strip():
            assert {call.state for call in calls if call.refresh_from_db() is None} <= {"guided", "blocked"}


def test_every_text_may_be_typed_into_the_forms_of_the_admin(desk: Client, texts: list[str]) -> None:
    eve = make_user("eve")
    make_tool(make_agent())
    person = {"username": "eve", "role": "operator", "is_active": "on"}
    password = {"usable_password": "true", "password1": "h4rd-to-guess", "password2": "h4rd-to-guess"}
    tool = f"/admin/retrycontract/tool/{Tool.objects.get().pk}/change/"
    user = f"/admin/auth/user/{eve.pk}/change/"
    none = {f"versions-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    places: list[tuple[str, dict[str, str]]] = [
        *((user, person | {name: "@@"}) for name in ("first_name", "last_name", "email")),
        ("/admin/auth/user/add/", {"username": "@@", "role": "viewer"} | password),
        *((tool, none | {name: "@@"}) for name in ("expires_after", "mode", "max_attempts")),
    ]
    for text, (path, fields) in shares(texts, places, 4):
        check(desk.post(path, {name: value.replace("@@", text) for name, value in fields.items()}), text, path)
    assert desk.get("/admin/auth/user/").status_code == 200
    assert User.objects.count() > 2


def test_every_text_may_be_asked_of_the_api(texts: list[str]) -> None:
    door = open_door(make_agent())
    call = make_blocked(door.agent)
    places = [f"{path}?{name}=" for path, names in LISTED.items() for name in names]
    for text, place in shares(texts, places, 4):
        assert door.get(f"{place}{quote(text, safe='')}").status in (200, 404, 422), (place, repr(text))
    for text in texts:
        last = text.encode().decode("latin-1")
        assert door.send("GET", "/events", **{"Last-Event-ID": last}).status in (200, 422), repr(text)
        for action in ("guidance/ack", "cancel"):
            assert door.post(f"/calls/{call.public_id}/{action}", {"reason": text}).status in (200, 404), repr(text)
        lasting = {"input_schema": SCHEMA, "expires_after": text, "on_expiry": text, "mode": text}
        assert door.put("/tools/lasting", lasting).status == 422, repr(text)
        assert door.post("/check", {"input_schema": SCHEMA, "arguments": text, "tool": text}).status in (200, 422)
