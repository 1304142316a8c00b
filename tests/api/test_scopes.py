"""What a key may be used for: every route declares it, and one place looks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from retrycontract.api.problems import STATUS, TITLES
from retrycontract.api.requests import ANY_KEY, EVERY_SCOPE, ApiKeyAuth
from retrycontract.api.routes import api
from retrycontract.store.models import ApiKey, Call, Event, Scope
from tests.api.conftest import Door
from tests.api.test_refusals import ROUTES, answered  # noqa: F401 - a fixture
from tests.factories import DEPLOY, RIGHT, make_agent

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
NEEDED: dict[str, Scope | None] = {
    "register": Scope.TOOLS,
    "import": Scope.TOOLS,
    "submit": Scope.SUBMIT,
    "list": Scope.READ,
    "read": Scope.READ,
    "wait": Scope.SUBMIT,
    "wait for a verdict": Scope.SUBMIT,
    "guidance": Scope.SUBMIT,
    "acknowledge": Scope.SUBMIT,
    "give up": Scope.SUBMIT,
    "events": Scope.READ,
    "tools": Scope.READ,
    "a tool": Scope.READ,
    "a tool named import": Scope.READ,
    "register a tool named import": Scope.TOOLS,
    "log of responses": Scope.READ,
    "try": Scope.SUBMIT,
    "nowhere": None,
}


def declared() -> dict[tuple[str, str], Any]:
    """Tell for each route, hidden ones too, what looks at its keys."""
    return {
        (method, path): operation.auth_callbacks
        for _, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }


def test_every_route_declares_one_scope() -> None:
    found = declared()
    assert len(found) > 12
    for route, callbacks in found.items():
        (auth,) = callbacks
        assert isinstance(auth, ApiKeyAuth), route
        assert len(auth.needed) == (0 if route[1] == "/{path:rest}" else 1), route


def test_a_route_that_forgot_to_declare_its_scope_would_open_to_a_key_without_limits_alone() -> None:
    assert api.auth == [EVERY_SCOPE]
    assert set(EVERY_SCOPE.needed) == set(Scope)
    assert ANY_KEY.needed == ()


def test_every_route_is_in_the_table() -> None:
    assert NEEDED.keys() == ROUTES.keys()


def limited(door: Door, *scopes: Scope) -> Door:
    """Stand at the door with a key that was made for these things only."""
    return Door(door.agent, ApiKey.create_for(door.agent, timezone.now(), scopes=scopes)[1])


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("scope", list(Scope))
def test_a_key_opens_what_it_was_made_for_and_nothing_else(
    door: Door,
    answered: Call,  # noqa: F811
    scope: Scope,
    name: str,
) -> None:
    method, path, body = ROUTES[name]
    before = Call.objects.values().get(), Event.objects.count()
    reply = limited(door, scope).send(method, path.format(id=answered.public_id), body)
    needed = NEEDED[name]
    if needed in (None, scope):
        assert reply.status in ((404,) if needed is None else (200, 201, 404))
        return
    assert (reply.status, reply.code) == (403, "missing-scope")
    assert f"'{needed}'" in reply.body["detail"]
    assert (Call.objects.values().get(), Event.objects.count()) == before


@pytest.mark.parametrize(
    "scopes", [(), tuple(Scope), ("agent",)], ids=["none", "all", "as keys were made before scopes"]
)
def test_a_key_that_was_made_for_nothing_in_particular_opens_everything(
    door: Door,
    answered: Call,  # noqa: F811
    scopes: tuple[Any, ...],
) -> None:
    held = limited(door, *scopes)
    for method, path, body in ROUTES.values():
        assert held.send(method, path.format(id=answered.public_id), body).status in (200, 201, 404)


def test_words_that_are_no_scope_open_nothing(db: None) -> None:
    key, _ = ApiKey.create_for(make_agent(), timezone.now())
    ApiKey.objects.update(scopes="submitter toolset")
    key.refresh_from_db()
    assert key.granted == frozenset()


def test_an_agent_needs_two_scopes_to_register_to_submit_and_to_take_guidance(door: Door) -> None:
    held = limited(door, Scope.SUBMIT, Scope.TOOLS)
    assert held.put("/tools/deploy", {"input_schema": DEPLOY}).status == 201
    assert held.submit(RIGHT).body["status"] == "valid"


def test_the_scopes_and_what_they_open_are_documented() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", DOCUMENT[: DOCUMENT.index("## Register")], re.MULTILINE))
    assert rows.keys() == set(Scope)
    for name, (_, path, _) in ROUTES.items():
        words = {"wait": "waiting", "wait for a verdict": "waiting", "guidance": "guidance", "acknowledge": "acknowl",
                 "give up": "cancel", "read": "/calls/{call_id}", "register": "/tools/{name}",
                 "a tool named import": "/tools/{name}", "register a tool named import": "/tools/{name}"}  # fmt: skip
        needed = NEEDED[name]
        assert needed is None or words.get(name, path.replace("deploy", "{name}")) in rows[needed], name


def test_every_refusal_has_a_title(door: Door) -> None:
    assert {code for code, status in STATUS.items() if status not in TITLES} == set()
    assert limited(door, Scope.READ).post("/check", {}).body["title"] == "Not allowed"
