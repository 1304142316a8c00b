"""What is an agent's own: no route, filter or cursor tells another agent of it, and no login of a person does."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.contract.decisions import Decision
from retrycontract.contract.outputs import Kind
from retrycontract.store.models import ApiKey, Attempt, Call, Guidance
from tests.api.conftest import PREFIX, Door
from tests.api.test_refusals import ROUTES
from tests.factories import WRONG, answer, make_agent, make_tool, make_user

IDENTIFIERS = {"session_id": "owned-s", "task_id": "owned-t", "correlation_id": "owned-c"}
# Where a call may be asked for in another way than by its address; `{id}` is its id.
ASKED: dict[str, tuple[str, str, dict[str, str]]] = {
    "by its session": ("GET", "/calls?session_id=owned-s", {}),
    "by its task": ("GET", "/calls?task_id=owned-t", {}),
    "by its correlation id": ("GET", "/calls?correlation_id=owned-c", {}),
    "by its state": ("GET", "/calls?state=guided", {}),
    "by its tool": ("GET", "/calls?tool=say", {}),
    "by all events": ("GET", "/events", {"Last-Event-ID": "0"}),
    "by the log": ("GET", "/agent-responses", {}),
    "by its id in the log": ("GET", "/agent-responses?call_id={id}", {}),
    "by its task in the log": ("GET", "/agent-responses?task_id=owned-t", {}),
}
AS_A_PLACE: dict[str, tuple[str, int, str]] = {
    "events of the call": ("/events?call_id={id}", 404, "not-found"),
    "the page after it": ("/calls?cursor={id}", 422, "unknown-cursor"),
    "the replies after it": ("/agent-responses?cursor={id}.1", 422, "unknown-cursor"),
}


@pytest.fixture
def owned(door: Door) -> Call:
    """A response of the agent's own that was Blocked and answered."""
    make_tool(door.agent, "say", kind=Kind.AGENT_RESPONSE)
    body: Any = {"tool": "say", "tool_call_id": "id_1", "kind": "agent_response", "arguments": WRONG, **IDENTIFIERS}
    for turn in range(3):
        call_id = door.post("/calls", body | {"turn": turn}).body["call_id"]
    call = Call.objects.get(public_id=call_id)
    answer(call, make_user(), Decision.HINT)
    return call


@pytest.mark.parametrize(("method", "path", "headers"), ASKED.values(), ids=list(ASKED))
def test_no_filter_tells_another_agent_of_a_call(
    door: Door, stranger: Door, owned: Call, method: str, path: str, headers: dict[str, str]
) -> None:
    told = [who.send(method, path.format(id=owned.public_id), **headers) for who in (door, stranger)]
    assert [reply.status for reply in told] == [200, 200]
    assert [owned.public_id in reply.text for reply in told] == [True, False]
    assert "owned-" not in told[1].text


@pytest.mark.parametrize(("path", "status", "code"), AS_A_PLACE.values(), ids=list(AS_A_PLACE))
def test_a_call_of_another_agent_is_no_place_to_begin_at(
    door: Door, stranger: Door, owned: Call, path: str, status: int, code: str
) -> None:
    asked = path.format(id=owned.public_id)
    assert door.get(asked).status == 200
    refused = stranger.get(asked)
    assert (refused.status, refused.code) == (status, code)


def test_whatever_another_agent_asks_for_the_call_stays_as_it_is(stranger: Door, owned: Call) -> None:
    before = rows(owned)
    for name, (method, path, body) in ROUTES.items():
        reply = stranger.send(method, path.format(id=owned.public_id), body, **{"Idempotency-Key": name})
        assert "owned-" not in reply.text, name
        assert rows(owned) == before, name


def test_the_same_names_in_another_agents_hands_are_another_call(stranger: Door, owned: Call) -> None:
    """Attempts find their call by session and turn: never one of somebody else, though they share the tools."""
    body: Any = {"tool": "say", "tool_call_id": "id_1", "kind": "agent_response", "arguments": WRONG, **IDENTIFIERS}
    reply = stranger.post("/calls", body | {"turn": 9})
    assert (reply.body["attempt"], reply.body["call_id"] == owned.public_id) == (1, False)


@pytest.mark.parametrize("role", Role)
def test_the_login_of_a_person_opens_no_route(owned: Call, role: Role) -> None:
    browser = Client()
    browser.force_login(make_user("visitor", role))
    for name, (method, path, _) in ROUTES.items():
        response = browser.generic(method, PREFIX + path.format(id=owned.public_id))
        assert (response.status_code, response.json()["code"]) == (401, "no-key"), name


def test_a_second_key_of_the_agent_is_its_own_too(door: Door, owned: Call) -> None:
    """The negative control: it is the agent that counts, not the key."""
    door.key = ApiKey.create_for(make_agent(), timezone.now())[1]
    assert door.get(f"/calls/{owned.public_id}").status == 200


def rows(call: Call) -> list[Any]:
    """Give all that is stored of a call."""
    return [
        list(Call.objects.filter(pk=call.pk).values()),
        list(Attempt.objects.filter(call=call).order_by("pk").values()),
        list(Guidance.objects.filter(call=call).order_by("pk").values()),
    ]
