"""Every address of the service, and who may come to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from dashboard.navigation import Role
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import ApiKey, Door
from retrycontract.usecases.answers.reuse_answers import save_reply, set_hint_from
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from tests.factories import answer, make_agent, make_blocked, make_user

pytestmark = pytest.mark.django_db

ROLES = ("anonymous", "an agent's key", "viewer", "operator", "admin")
LOGIN, IN, NO = 302, 200, 403
# Address -> who is answered how; in the order of ROLES. Addresses with a call are read and answered.
DESK: dict[str, tuple[int, ...]] = {
    "GET /": (LOGIN, LOGIN, IN, IN, IN),
    "GET /audit/": (LOGIN, LOGIN, NO, NO, IN),
    "GET /audit.<slug:kind>": (LOGIN, LOGIN, NO, NO, IN),
    "GET /calls/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /find/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /calls.<slug:kind>": (LOGIN, LOGIN, IN, IN, IN),
    "GET /calls/<slug:public_id>/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /calls/<slug:public_id>/": (401, 401, NO, 422, 422),
    "GET /calls/<slug:public_id>/preview/": (LOGIN, LOGIN, LOGIN, LOGIN, LOGIN),
    "POST /calls/<slug:public_id>/preview/": (401, 401, NO, IN, IN),
    "GET /calls/<slug:public_id>/claim/": (LOGIN, LOGIN, LOGIN, LOGIN, LOGIN),
    "POST /calls/<slug:public_id>/claim/": (401, 401, NO, LOGIN, LOGIN),
    "GET /calls/<slug:public_id>/snooze/": (LOGIN, LOGIN, NO, IN, IN),
    "POST /calls/<slug:public_id>/snooze/": (401, 401, NO, 422, 422),
    "GET /calls/<slug:public_id>/group/": (LOGIN, LOGIN, NO, IN, IN),
    "POST /calls/<slug:public_id>/group/": (401, 401, NO, 422, 422),
    "POST /undo/<slug:batch>/": (401, 401, NO, LOGIN, LOGIN),
    "POST /next/": (401, 401, NO, LOGIN, LOGIN),
    "GET /calls/<slug:public_id>/keep-reply/": (LOGIN, LOGIN, LOGIN, LOGIN, LOGIN),
    "POST /calls/<slug:public_id>/keep-reply/": (401, 401, NO, IN, IN),
    "GET /hints/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /hints/<int:hint_id>/off/": (401, 401, NO, 302, 302),
    "GET /settings/replies/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /settings/replies/": (401, 401, NO, 422, 422),
    "GET /settings/replies/<int:reply_id>/": (LOGIN, LOGIN, NO, NO, IN),
    "POST /settings/replies/<int:reply_id>/": (401, 401, NO, NO, 422),
    "POST /settings/replies/<int:reply_id>/delete/": (401, 401, NO, NO, 302),
    "GET /live/": (204, 204, IN, IN, IN),
    "GET /settings/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /settings/": (401, 401, 302, 302, 302),
    "GET /settings/password/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /settings/password/": (401, 401, 422, 422, 422),
    "GET /settings/second-factor/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /settings/second-factor/": (401, 401, 302, 302, 302),
    "GET /settings/webhooks/": (LOGIN, LOGIN, NO, NO, IN),
    "GET /settings/webhooks/new/": (LOGIN, LOGIN, NO, NO, IN),
    "POST /settings/webhooks/new/": (401, 401, NO, NO, 422),
    "GET /settings/webhooks/<slug:endpoint_id>/": (LOGIN, LOGIN, NO, NO, IN),
    "POST /settings/webhooks/<slug:endpoint_id>/": (401, 401, NO, NO, 422),
    "POST /settings/webhooks/<slug:endpoint_id>/switch/": (401, 401, NO, NO, 302),
    "POST /settings/webhooks/<slug:endpoint_id>/secret/": (401, 401, NO, NO, IN),
    "POST /settings/webhooks/<slug:endpoint_id>/messages/<slug:message_id>/": (401, 401, NO, NO, 302),
    "GET /components/": (LOGIN, LOGIN, NO, NO, IN),
    "GET /agent-responses/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /insights/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /insights/<slug:table>.<slug:kind>": (LOGIN, LOGIN, IN, IN, IN),
    "GET /agents/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /agents/new/": (LOGIN, LOGIN, NO, NO, IN),
    "POST /agents/new/": (401, 401, NO, NO, 422),
    "GET /agents/<int:agent_id>/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /agents/<int:agent_id>/": (401, 401, NO, NO, 422),
    "POST /agents/<int:agent_id>/keys/": (401, 401, NO, NO, 422),
    "POST /agents/<int:agent_id>/keys/<int:key_id>/revoke/": (401, 401, NO, NO, 302),
    "GET /playground/": (LOGIN, LOGIN, IN, IN, IN),
    "POST /playground/": (401, 401, 422, 422, 422),
    "GET /tools/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /tools/new/": (LOGIN, LOGIN, NO, NO, IN),
    "POST /tools/new/": (401, 401, NO, NO, 422),
    "GET /tools/<int:pk>/": (LOGIN, LOGIN, IN, IN, IN),
    "GET /tools/<int:pk>/schema/": (LOGIN, LOGIN, NO, NO, IN),
    "POST /tools/<int:pk>/schema/": (401, 401, NO, NO, 422),
    "POST /tools/<int:pk>/versions/<int:number>/release/": (401, 401, NO, NO, 302),
    "GET /login/": (IN, IN, LOGIN, LOGIN, LOGIN),
    "POST /login/": (IN, IN, LOGIN, LOGIN, LOGIN),
    "GET /login/provider/": (404, 404, 404, 404, 404),  # nothing of it is there without a provider
    "GET /login/provider/answer/": (404, 404, 404, 404, 404),
    "GET /login/provider/leave/": (404, 404, 404, 404, 404),
    "POST /logout/": (LOGIN, LOGIN, LOGIN, LOGIN, LOGIN),
    "GET /favicon.svg": (LOGIN, LOGIN, LOGIN, LOGIN, LOGIN),
}


@dataclass(frozen=True)
class Visitor:
    """Somebody who comes."""

    client: Client
    headers: dict[str, str]

    def status(self, method: str, path: str) -> int:
        """Tell how a request is answered."""
        return self.client.generic(method, path, headers=self.headers).status_code


@pytest.fixture
def visitors() -> dict[str, Visitor]:
    """One of each role, and a call that was answered."""
    agent = make_agent()
    _, key = ApiKey.create_for(agent, timezone.now())
    bo, now = make_user("bo"), timezone.now()
    blocked = make_blocked(agent)
    add_endpoint("https://hooks.example/", [WebhookEvent.GUIDANCE_GIVEN], now=now, actor="setup", door=Door.COMMAND)
    set_hint_from(answer(blocked, bo), bo, now=now)
    save_reply(make_user("ada", Role.ADMIN), "Shared", "By all.", now=now, shared=True)
    found = {
        "anonymous": Visitor(Client(), {}),
        "an agent's key": Visitor(Client(), {"Authorization": f"Bearer {key}"}),
    }
    for role in Role:
        client = Client()
        client.force_login(make_user(role.value, role))
        found[role.value] = Visitor(client, {})
    return found


def addresses(resolver: URLResolver | None = None, before: str = "/") -> Iterator[str]:
    """List every address that the service knows."""
    for pattern in (resolver or get_resolver()).url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, path)
        elif isinstance(pattern, URLPattern):
            yield path


def test_every_address_is_in_a_table() -> None:
    """Those of the API have theirs in tests/api/test_refusals.py, held to the document that lists them."""
    desk = {path for path in addresses() if not path.startswith(("/api/", "/admin/"))}
    assert desk == {address.split()[1] for address in DESK}
    assert len([path for path in addresses() if path.startswith("/admin/")]) > 80


OF_ROWS = {
    "<slug:public_id>": ("Call", "public_id"),
    "<int:hint_id>": ("StandingHint", "pk"),
    "<int:reply_id>": ("SavedReply", "pk"),
    "<int:pk>": ("Tool", "pk"),
    "<int:agent_id>": ("Agent", "pk"),
    "<slug:endpoint_id>": ("WebhookEndpoint", "public_id"),
    "<slug:message_id>": ("OutboxMessage", "public_id"),
    "<int:key_id>": ("ApiKey", "pk"),
}
OF_WORDS = {"<slug:table>": "failures", "<slug:kind>": "csv", "<int:number>": "1", "<slug:batch>": "gone"}


def of_desk(path: str) -> str:
    """Give an address of the desk with the key of the row that is there."""
    for name, word in OF_WORDS.items():
        path = path.replace(name, word)
    for name, (model, key) in OF_ROWS.items():
        if name in path:
            path = path.replace(name, str(getattr(apps.get_model("retrycontract", model).objects.get(), key)))
    return path


@pytest.mark.parametrize(("address", "expected"), DESK.items(), ids=list(DESK))
def test_the_desk_lets_in_by_role(visitors: dict[str, Visitor], address: str, expected: tuple[int, ...]) -> None:
    method, path = address.split()
    path = of_desk(path)
    assert {name: visitors[name].status(method, path) for name in ROLES} == dict(zip(ROLES, expected, strict=True))


OTHERS = [
    f"{method} {path}"
    for path in dict.fromkeys(address.split()[1] for address in DESK)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    if f"{method} {path}" not in DESK
]


def test_what_is_in_no_table_is_refused_to_everybody(visitors: dict[str, Visitor]) -> None:
    let_in = {}
    for address in OTHERS:
        method, path = address.split()
        answers = [visitors[name].status(method, of_desk(path)) for name in ROLES]
        if not {*answers} <= {LOGIN, 401, 405} or answers[ROLES.index("admin")] != 405:
            let_in[address] = answers
    assert let_in == {}


def filled(path: str) -> str:
    """Give an address of the admin with the key of a row that is there."""
    parts = path.split("/")
    model: Any = apps.get_model(parts[2], parts[3]) if len(parts) > 5 and parts[2] in apps.app_configs else User
    row = model._default_manager.order_by("-pk").first()
    for name in ("<path:object_id>", "<id>", "<int:content_type_id>", "<path:url>"):
        path = path.replace(name, str(row.pk if row else 1))
    return path


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_admin_lets_nobody_in_but_administrators(visitors: dict[str, Visitor], method: str) -> None:
    paths = [filled(path) for path in addresses() if path.startswith("/admin/") and "(?P<" not in path]
    open_to_all = {"/admin/login/", "/admin/logout/"}
    for path in (path for path in paths if path not in open_to_all):
        answers = {name: visitors[name].status(method, path) for name in ROLES[:4]}
        assert set(answers.values()) <= {LOGIN, NO, 404}, (path, answers)
    assert visitors["admin"].status("GET", "/admin/") == IN


# What administrators may add by a form; everything else is written by the desk, agents and the service.
ADDED = {"user"}


def test_administrators_open_every_page_and_add_what_is_theirs_to_add(visitors: dict[str, Visitor]) -> None:
    paths = [filled(path) for path in addresses() if path.startswith("/admin/") and "(?P<" not in path]
    answers = {path: visitors["admin"].status("GET", path) for path in paths}
    assert {path.split("/")[3] for path, status in answers.items() if path.endswith("/add/") and status == IN} == ADDED
    assert {status for path, status in answers.items() if path.endswith("/delete/")} == {NO}
    others = {path: status for path, status in answers.items() if not path.endswith(("/add/", "/delete/"))}
    refused = {path for path, status in others.items() if status not in (IN, LOGIN, 404, 405)}
    assert refused == {"/admin/autocomplete/"}  # it wants to know for which field


def test_an_agents_key_opens_no_page_and_a_session_opens_no_route_of_the_api(visitors: dict[str, Visitor]) -> None:
    assert visitors["an agent's key"].status("GET", "/api/v1/calls") == IN
    assert {visitors[name].status("GET", "/api/v1/calls") for name in ("anonymous", "viewer", "operator", "admin")} == {
        401
    }
