"""Who and what is turned away, on every route; no refusal repeats what was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.history import forgetting
from retrycontract.store.models import ApiKey, Attempt, Call, Tool
from tests.api.conftest import PREFIX, Door, Reply, document
from tests.contract.test_matching import FILLED, UNFILLED
from tests.factories import DEPLOY, RIGHT, WRONG, answer, make_tool, make_user

ROUTES: dict[str, tuple[str, str, Any]] = {
    "register": ("PUT", "/tools/deploy", {"input_schema": DEPLOY}),
    "import": ("POST", "/tools/import", []),
    "submit": ("POST", "/calls", {"tool": "deploy", "tool_call_id": "id", "arguments": RIGHT}),
    "list": ("GET", "/calls", None),
    "read": ("GET", "/calls/{id}", None),
    "wait": ("GET", "/calls/{id}/wait", None),
    "wait for a verdict": ("GET", "/calls/{id}/wait?for=verdict", None),
    "guidance": ("GET", "/calls/{id}/guidance", None),
    "acknowledge": ("POST", "/calls/{id}/guidance/ack", None),
    "give up": ("POST", "/calls/{id}/cancel", None),
    "events": ("GET", "/events", None),
    "tools": ("GET", "/tools", None),
    "a tool": ("GET", "/tools/deploy", None),
    "a tool named import": ("GET", "/tools/import", None),
    "register a tool named import": ("PUT", "/tools/import", {"input_schema": DEPLOY}),
    "log of responses": ("GET", "/agent-responses", None),
    "try": ("POST", "/check", {"input_schema": DEPLOY, "arguments": RIGHT}),
    "nowhere": ("GET", "/nothing", None),
}
OF_A_CALL = {name: route for name, route in ROUTES.items() if "{id}" in route[1]}
WITH_A_BODY = {name: route for name, route in ROUTES.items() if route[2] is not None}
MARKER = "marker-that-nobody-else-writes"


@pytest.fixture
def answered(door: Door) -> Call:
    """A call of the agent's own that was Blocked and answered."""
    make_tool(door.agent)
    for _ in range(3):
        body = door.submit(WRONG, session_id="s").body
    call = Call.objects.get(public_id=body["call_id"])
    answer(call, make_user(), Decision.HINT)
    return call


def test_every_route_is_in_these_tables() -> None:
    known = {(method, (PREFIX + path).partition("?")[0]) for method, path, _ in ROUTES.values()}
    documented = {
        (method.upper(), path.replace("{call_id}", "{id}").replace("{name}", "deploy"))
        for path, operations in document()["paths"].items()
        for method in operations
    }
    assert documented == known - {("GET", f"{PREFIX}/nothing")}


def no_key(door: Door) -> None:
    door.key = ""


def wrong_key(door: Door) -> None:
    door.key = door.key[:-1] + ("a" if door.key[-1] != "a" else "b")


def revoked_key(door: Door) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())


def expired_key(door: Door) -> None:
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("spoil", [no_key, wrong_key, revoked_key, expired_key])
def test_without_a_good_key_nothing_is_told(door: Door, answered: Call, spoil: Callable[[Door], None]) -> None:
    spoil(door)
    for name, (method, path, body) in ROUTES.items():
        reply = door.send(method, path.format(id=answered.public_id), body)
        assert (reply.status, reply.code) == (401, "no-key" if spoil is no_key else "unknown-key"), name
        assert reply.headers["WWW-Authenticate"].startswith("Bearer"), name
        assert not door.key or door.key not in reply.text, name


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Bearer   ", "Token abc", "rc_abc", "Bearer\u00e9 x"])
def test_only_bearer_keys_are_read(door: Door, header: str) -> None:
    door.key = ""
    assert door.send("GET", "/nothing", Authorization=header).status == 401


def test_the_scheme_is_read_in_any_case(door: Door) -> None:
    key, door.key = door.key, ""
    assert door.send("GET", "/nothing", Authorization=f"bEARER  {key} ").status == 404


@pytest.mark.parametrize(("method", "path", "body"), OF_A_CALL.values(), ids=list(OF_A_CALL))
def test_another_agents_call_does_not_exist(stranger: Door, answered: Call, method: str, path: str, body: Any) -> None:
    before = Call.objects.values().get()
    reply = stranger.send(method, path.format(id=answered.public_id), body)
    assert (reply.status, reply.code) == (404, "not-found")
    unknown = stranger.send(method, path.format(id="call_00000000000000000000000000"), body)
    assert unknown.text == reply.text
    assert Call.objects.values().get() == before


@pytest.mark.parametrize(("method", "path", "body"), OF_A_CALL.values(), ids=list(OF_A_CALL))
def test_to_its_own_agent_the_same_call_exists(door: Door, answered: Call, method: str, path: str, body: Any) -> None:
    """The negative control of the test above."""
    assert door.send(method, path.format(id=answered.public_id), body).status == 200


def test_another_agents_call_takes_no_attempt(stranger: Door, answered: Call) -> None:
    reply = stranger.submit(RIGHT, call_id=answered.public_id)
    assert (reply.status, reply.code) == (404, "call-not-found")
    assert answered.attempts.count() == 3
    new = stranger.submit(WRONG, session_id="s")
    assert new.body["call_id"] != answered.public_id


@pytest.mark.parametrize(("method", "path", "body"), WITH_A_BODY.values(), ids=list(WITH_A_BODY))
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_read(door: Door, method: str, path: str, body: Any, content_type: str) -> None:
    reply = door.send(method, path, body, content_type=content_type)
    assert (reply.status, reply.code) == (415, "not-json")


def test_json_may_name_its_encoding(door: Door) -> None:
    assert door.post("/tools/import", [], content_type="application/json; charset=utf-8").status == 200


def call_with(**fields: Any) -> dict[str, Any]:
    return {"tool": "deploy", "tool_call_id": "id", "arguments": {}} | fields


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in call_with().items() if key != name}


WRONG_FIELDS: dict[str, tuple[str, str, Any, str]] = {
    "an unknown field": ("POST", "/calls", call_with(argments={}), "/argments"),
    "no tool": ("POST", "/calls", without("tool"), "/tool"),
    "no id": ("POST", "/calls", without("tool_call_id"), "/tool_call_id"),
    "a tool without a name": ("POST", "/calls", call_with(tool=None), "/tool"),
    "a control character in a name": ("POST", "/calls", call_with(model="a\nb"), "/model"),
    "an empty id": ("POST", "/calls", call_with(tool_call_id=""), "/tool_call_id"),
    "an id of ours over 200 characters": ("POST", "/calls", call_with(call_id="x" * 201), "/call_id"),
    "NUL in an id": ("POST", "/calls", call_with(session_id="a\x00"), "/session_id"),
    "a line break at an id's end": ("POST", "/calls", call_with(session_id="a\n"), "/session_id"),
    "a turn that is text": ("POST", "/calls", call_with(turn="first"), "/turn"),
    "a turn out of range": ("POST", "/calls", call_with(turn=2**53), "/turn"),
    "a turn far out of range": ("POST", "/calls", call_with(turn=-(10**30)), "/turn"),
    "a turn and a half": ("POST", "/calls", call_with(turn=1.5), "/turn"),
    "both outputs": ("POST", "/calls", call_with(raw="{}"), ""),
    "no output": ("POST", "/calls", without("arguments"), ""),
    "raw without a text": ("POST", "/calls", without("arguments") | {"raw": None}, ""),
    "raw that is no text": ("POST", "/calls", without("arguments") | {"raw": {}}, "/raw"),
    "an unknown kind": ("POST", "/calls", call_with(kind="poem"), "/kind"),
    "an unknown provider": ("POST", "/calls", call_with(render="carrier pigeon"), "/render"),
    "a version that is no hash": ("POST", "/calls", call_with(version="1"), "/version"),
    "a context that is no object": ("POST", "/calls", call_with(context="goal"), "/context"),
    "an empty rejection": ("POST", "/calls", call_with(callback_error=""), "/callback_error"),
    "no object": ("POST", "/calls", [], ""),
    "null": ("POST", "/calls", None, ""),
    "no schema": ("PUT", "/tools/deploy", {}, "/input_schema"),
    "an unknown setting": ("PUT", "/tools/deploy", {"input_schema": {}, "strikt": True}, "/strikt"),
    "eleven attempts": ("PUT", "/tools/deploy", {"input_schema": {}, "max_attempts": 11}, "/max_attempts"),
    "an unknown mode": ("PUT", "/tools/deploy", {"input_schema": {}, "mode": "watch"}, "/mode"),
    "a dry run of both": ("POST", "/check", {"input_schema": {}, "arguments": {}, "raw": "{}"}, ""),
    "a dry run of nothing": ("POST", "/check", {"input_schema": {}}, ""),
    "a dry run without a schema": ("POST", "/check", {"arguments": {}}, "/input_schema"),
    "an unknown wait": ("GET", "/calls/{id}/wait?for=godot", None, "/for"),
    "an attempt that is no number": ("GET", "/calls/{id}/wait?for=verdict&attempt=x", None, "/attempt"),
    "attempt zero": ("GET", "/calls/{id}/wait?for=verdict&attempt=0", None, "/attempt"),
    "an attempt past all numbers": ("GET", f"/calls/{{id}}/wait?for=verdict&attempt={10**30}", None, "/attempt"),
}


@pytest.mark.parametrize("body", ["", "null", "[]", "5", json.dumps(call_with(tool_call_id=""))])
def test_what_is_said_of_a_wrong_body_names_nothing_of_python(door: Door, body: str) -> None:
    (error,) = door.send("POST", "/calls", body).body["errors"]
    assert error["detail"] in (
        "A JSON object is expected here.", "The body is missing: it is a JSON object.", "This must not be empty."
    )  # fmt: skip


def test_a_wrong_field_is_named(door: Door, answered: Call) -> None:
    for name, (method, path, body, pointer) in WRONG_FIELDS.items():
        sent = json.dumps(body) if method != "GET" else None
        reply = door.send(method, path.format(id=answered.public_id), sent)
        assert (reply.status, reply.code) == (422, "invalid-request"), name
        assert [error["pointer"] for error in reply.body["errors"]] == [pointer], name
    assert Attempt.objects.count() == 3


MARKED: dict[str, tuple[str, str, Any]] = {
    **{
        f"{name} of another type": ("POST", "/calls", call_with(**{name: {MARKER: [MARKER]}}))
        for name in ("tool", "tool_call_id", "call_id", "session_id", "turn", "task_id", "correlation_id",
                     "finish_reason", "callback_error", "version", "render", "kind")
    },
    **{
        f"{name} as text": ("POST", "/calls", call_with(**{name: MARKER}))
        for name in ("turn", "version", "render", "kind", "context")
    },
    "an id too long": ("POST", "/calls", call_with(call_id=MARKER * 10)),
    "a name too long": ("POST", "/calls", call_with(model=MARKER * 20)),
    "a text for an unknown field": ("POST", "/calls", call_with(other=MARKER)),
    "a body that is a text": ("POST", "/calls", MARKER),
    "a body that is no JSON": ("POST", "/calls", f"{{{MARKER}".encode()),
    "a call that is not there": ("POST", "/calls", call_with(call_id=MARKER)),
    "an address that is not there": ("GET", f"/{MARKER}", None),
    "an address of a call that is not there": ("GET", f"/calls/{MARKER}", None),
    "a query": ("GET", f"/calls/x/wait?for={MARKER}&render={MARKER}&attempt={MARKER}", None),
    "a schema's type": ("PUT", "/tools/deploy", {"input_schema": MARKER}),
    "a setting": ("PUT", "/tools/deploy", {"input_schema": {}, "mode": MARKER, "max_attempts": MARKER}),
    "a list that is none": ("POST", "/tools/import", MARKER),
    "a tool that is none": ("POST", "/tools/import", [MARKER]),
    "a tool without a name": ("POST", "/tools/import", [{"description": MARKER, "parameters": {MARKER: MARKER}}]),
    "a dry run's schema": ("POST", "/check", {"input_schema": MARKER, "arguments": MARKER}),
    "a dry run's settings": ("POST", "/check", {"input_schema": {}, "arguments": 1, "attempt": MARKER}),
}  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body"), MARKED.values(), ids=list(MARKED))
def test_a_refusal_repeats_nothing_that_was_sent(door: Door, method: str, path: str, body: Any) -> None:
    sent = body if isinstance(body, bytes) else None if method == "GET" else json.dumps(body)
    reply = door.send(method, path, sent)
    assert 400 <= reply.status < 500
    assert MARKER not in reply.text


SECRET = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(call_with(**{SECRET: 1})).encode(),
        f'{{"{SECRET}": 1, "{SECRET}": 2}}'.encode(),
        f'{{"tool": "x", "context": {{"{SECRET}": 1, "{SECRET}": 2}}}}'.encode(),
    ],
    ids=["an unknown field", "a key twice", "a key twice below"],
)
def test_a_secret_in_a_key_is_not_repeated_either(door: Door, body: bytes) -> None:
    reply = door.post("/calls", body)
    assert reply.status in (400, 422)
    assert SECRET not in reply.text


def test_a_body_over_the_limit_is_refused(door: Door, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    reply = door.submit({"service": "x" * 2_000})
    assert (reply.status, reply.code) == (413, "body-too-large")


def test_what_breaks_inside_is_told_as_such_and_names_nothing(door: Door, answered: Call) -> None:
    with transaction.atomic(), forgetting(), connection.cursor() as cursor:  # a row that no longer reads
        cursor.execute("UPDATE retrycontract_attempt SET errors_json = %s", [f"{{{MARKER}"])
    reply = door.get(f"/calls/{answered.public_id}")
    assert (reply.status, reply.code) == (500, "internal")
    assert MARKER not in reply.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/calls/", 404),
        ("PUT", "/tools/line%0Abreak", 404),
        ("GET", "/../v2/calls", 404),
        ("POST", "/nothing", 404),
        ("GET", "/tools/x", 404),
        ("DELETE", "/tools/x", 405),
        ("DELETE", "/calls", 405),
        ("GET", "/check", 405),
        ("PUT", "/openapi.json", 405),
        ("POST", "/openapi.json", 405),
    ],
)
def test_where_nothing_is_a_problem_document_says_so(door: Door, method: str, path: str, status: int) -> None:
    assert door.send(method, path).status == status


def replies(door: Door) -> list[Reply]:
    """Register and submit, so that something could be left behind."""
    return [door.put("/tools/deploy", {"input_schema": DEPLOY}), door.submit(RIGHT)]


def test_no_answer_sets_a_cookie_and_none_is_read(door: Door) -> None:
    for reply in replies(door):
        assert "Set-Cookie" not in reply.headers
        assert "Cookie" not in reply.headers.get("Vary", "")
    assert Tool.objects.count() == 1


@pytest.mark.parametrize(("method", "path", "body"), [ROUTES[name] for name in ROUTES if name != "nowhere"])
def test_a_word_of_the_query_that_has_no_effect_is_refused(
    door: Door, answered: Call, method: str, path: str, body: Any
) -> None:
    """A misspelt one would wait for something else, show another version, or leave a filter out."""
    path = path.format(id=answered.public_id)
    asked = f"{path}{'&' if '?' in path else '?'}wat=1"
    reply = door.send(method, asked, body)
    assert (reply.status, reply.code) == (422, "invalid-request")
    (error,) = reply.body["errors"]
    assert (error["pointer"], error["code"]) == ("/wat", "extra_forbidden")
    assert error["detail"].startswith(("known are ", "this address takes none"))


@pytest.mark.parametrize(
    ("path", "pointers", "detail"),
    [
        ("/calls?state=blocked&state=valid", ["/state"], "give it once"),
        ("/calls?session_id=a&session_id=a", ["/session_id"], "give it once"),
        ("/calls/{id}/wait?fr=verdict", ["/fr"], "known are for, attempt, render"),
        ("/calls/{id}/wait?for=verdict&for=guidance", ["/for"], "give it once"),
        ("/calls/{id}?x=1", ["/x"], "known are after"),
        ("/tools/deploy?version=1", ["/version"], "this address takes none"),
        ("/tools?Kind=tool_call&x=1", ["/Kind", "/x"], "known are kind"),
        ("/events?type=call.blocked", ["/type"], "known are "),
        ("/agent-responses?turn=1&turn=2", ["/turn"], "give it once"),
        ("/calls?STATE=blocked&STATE=valid", ["/STATE", "/STATE"], "known are "),
    ],
)
def test_a_word_of_the_query_is_named_with_those_that_are_known(
    door: Door, answered: Call, path: str, pointers: list[str], detail: str
) -> None:
    reply = door.get(path.format(id=answered.public_id))
    assert (reply.status, reply.code) == (422, "invalid-request")
    assert [error["pointer"] for error in reply.body["errors"]] == pointers
    assert reply.body["errors"][0]["detail"].startswith(detail)
    # Nothing is told without a key, not even what would be known.
    door.key = ""
    assert door.get(path.format(id=answered.public_id)).status == 401


def test_a_session_that_nobody_filled_in_is_refused(door: Door) -> None:
    """It would join everybody's calls."""
    make_tool(door.agent)
    for unfilled in UNFILLED:
        reply = door.submit(WRONG, session_id=unfilled)
        assert (reply.status, reply.body["errors"][0]["pointer"]) == (422, "/session_id"), unfilled
    for filled in FILLED:
        assert door.submit(WRONG, session_id=filled).status == 200, filled


@pytest.mark.parametrize("path", ["/tools", "/calls/x", "/nothing", "/openapi.json"])
def test_a_host_that_is_not_ours_is_told_by_which_setting(door: Door, path: str) -> None:
    reply = door.send("GET", path, Host="evil.example")
    assert (reply.status, reply.code) == (400, "unknown-host")
    assert "RETRYCONTRACT_ALLOWED_HOSTS" in reply.body["detail"]
    assert "evil" not in reply.text
