"""The big list of naughty strings through every text field: stored, shown escaped, and no failure anywhere."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from dashboard.navigation import Role
from retrycontract.store.models import Call
from tests.api.conftest import Door, open_door
from tests.conftest import Corpus
from tests.corpus import naughty
from tests.corpus.naughty import is_escaped
from tests.factories import make_agent, make_blocked, make_tool, make_user

pytestmark = [pytest.mark.corpus, pytest.mark.django_db]
SCHEMA = {"type": "object", "properties": {"must": {"type": "integer"}}, "required": ["must"]}


@pytest.fixture(params=[32, pytest.param(1, marks=pytest.mark.soak)], ids=["one in thirty-two", "all"])
def texts(request: pytest.FixtureRequest, corpus: Corpus) -> list[str]:
    return naughty.strings(corpus)[:: request.param]


@pytest.fixture
def door() -> Door:
    door = open_door(make_agent())
    make_tool(door.agent, "naughty", SCHEMA)
    return door


def test_every_text_is_taken_or_refused_by_the_api_and_is_kept(door: Door, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        reply = door.post("/calls", naughty.submission(text, number))
        assert (reply.status, reply.body["status"]) == (200, "retry"), repr(text)
        assert door.get(f"/calls/{reply.body['call_id']}").status == 200
        for body in naughty.fields(text):
            assert door.post("/calls", body).status in (200, 404, 422), (repr(text), body)
    assert Call.objects.count() >= len(texts)


def test_every_text_may_stand_in_addresses_queries_and_headers(door: Door, texts: list[str]) -> None:
    for text in texts:
        for path in (f"/tools/{quote(text, safe='')}", f"/calls/{quote(text, safe='')}"):
            assert door.get(path).status in (200, 404), repr(text)
        for name in ("tool", "session_id", "task_id", "correlation_id", "cursor", "state", text):
            assert door.get(f"/calls?{urlencode({name: text})}").status in (200, 422), repr(text)
        headers = {"Idempotency-Key": text, "traceparent": text, "X-Request-ID": text, "If-None-Match": text}
        latin = {name: value.encode().decode("latin-1") for name, value in headers.items()}
        assert door.send("GET", "/tools", **latin).status == 200
        assert door.post("/check", {"input_schema": {"const": text}, "raw": text}, **latin).status in (200, 422)


def test_every_text_may_name_and_describe_a_tool(door: Door, texts: list[str]) -> None:
    for text in texts:
        body = {"input_schema": SCHEMA, "description": text}
        assert door.put(f"/tools/{quote(text[:300] or 'empty', safe='')}", body).status in (200, 201, 404, 422), repr(
            text
        )
        assert door.post("/tools/import", [{"name": text, "description": text}]).status in (200, 422)
    path = "/tools?limit=100"
    while path:
        page = door.get(path)
        assert page.status == 200
        path = (page.body["next"] or "").removeprefix("/api/v1")


def test_every_text_is_shown_escaped_at_the_desk(door: Door, texts: list[str]) -> None:
    desk = Client(raise_request_exception=False)
    desk.force_login(make_user())
    for text in texts:
        make_blocked(door.agent, {text: text, "must": text}, tool="naughty", context={"goal": text})
        shown = Call.objects.latest("pk")
        for path in (f"/calls/{shown.public_id}/", "/"):
            response = desk.get(path)
            assert response.status_code == 200, repr(text)
            assert is_escaped(response.content.decode(), text), repr(text)
        Call.objects.filter(pk=shown.pk).update(state="expired")


def test_every_text_may_be_typed_at_the_desk(door: Door, texts: list[str]) -> None:
    desk = Client(raise_request_exception=False)
    desk.force_login(make_user())
    call = make_blocked(door.agent, {"must": "x"}, tool="naughty")
    for text in texts:
        for name in ("q", "show", "after", "seen"):
            response = desk.get("/", {name: text})
            assert response.status_code == 200, (name, repr(text))
            assert is_escaped(response.content.decode(), text), (name, repr(text))
        for field in (
            {"decision": "hint", "text": text},
            {"decision": "corrected", "arguments": text},
            {"decision": text},
        ):
            response = desk.post(
                f"/calls/{call.public_id}/preview/", field | {"grant": text, "escalation": text, "base": text}
            )
            assert response.status_code in (200, 422), repr(text)
            assert is_escaped(response.content.decode(), text), repr(text)
        page = desk.get(f"/calls/{quote(text, safe='')}/")
        assert page.status_code in (200, 404), repr(text)


def test_every_text_may_be_given_as_guidance(door: Door, texts: list[str]) -> None:
    desk = Client(raise_request_exception=False)
    desk.force_login(make_user())
    for text in texts[::4]:
        call = make_blocked(door.agent, {"must": "x"}, tool="naughty")
        escalation = call.escalations.get()
        answered = desk.post(
            f"/calls/{call.public_id}/",
            {
                "decision": "hint",
                "text": text,
                "grant": "2",
                "escalation": escalation.public_id,
                "base": call.attempts_made,
            },
        )
        assert answered.status_code in (200, 302, 303, 409, 422), repr(text)
        assert door.get(f"/calls/{call.public_id}/wait?for=guidance").status in (200, 202)
        assert is_escaped(desk.get(f"/calls/{call.public_id}/").content.decode(), text), repr(text)


def test_every_text_may_be_tried_at_the_login(texts: list[str]) -> None:
    make_user("vera", Role.VIEWER)
    visitor = Client(raise_request_exception=False)
    for text in texts[::8]:
        response = visitor.post("/login/", {"username": text, "password": text, "next": text})
        assert response.status_code in (200, 429), repr(text)
        assert is_escaped(response.content.decode(), text), repr(text)
