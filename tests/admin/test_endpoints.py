"""Webhook endpoints in the admin: added with a secret that is shown once, changed, given new secrets, looked into."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from retrycontract.store.models import Channel, Door, Event, OutboxMessage, WebhookEndpoint
from tests.admin.conftest import make_delivery, post
from tests.factories import make_agent

pytestmark = pytest.mark.django_db

FORM: dict[str, Any] = {"agent": "", "address": "https://hooks.example/x", "events": ["call.blocked", "call.expired"]}
LIST = "retrycontract/webhookendpoint/"


def trail() -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, event.data) for event in Event.objects.filter(door=Door.ADMIN, actor="ada")]


def shown_secret(response: Any) -> str:
    found = re.search(r'id="secret">(whsec_[^<]+)<', response.content.decode())
    assert found is not None
    assert "no-store" in response["Cache-Control"]
    assert set(response.cookies) <= {"csrftoken"}  # neither a message nor a session carries it
    return found.group(1)


def test_an_endpoint_is_added_and_its_secret_shown_once(admin: Client) -> None:
    agent = make_agent()
    secret = shown_secret(post(admin, f"{LIST}add/", FORM | {"agent": agent.pk}))
    endpoint = WebhookEndpoint.objects.get()
    assert (endpoint.agent, endpoint.address, endpoint.events) == (agent, FORM["address"], FORM["events"])
    assert endpoint.secrets_at(timezone.now()) == [secret]
    for path in (LIST, f"{LIST}{endpoint.pk}/change/"):
        page = admin.get(f"/admin/{path}").content.decode()
        assert "hooks.example" in page
        assert secret not in page
    told = {
        "endpoint": endpoint.public_id,
        "address": "https://hooks.example/…",
        "agent": "deployer",
        "events": FORM["events"],
    }
    assert trail() == [("endpoint.added", told)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": ""},
        {"address": "http://hooks.example/"},
        {"address": "hooks"},
        {"events": []},
        {"events": ["call.made"]},
    ],
    ids=lambda wrong: str(wrong),
)
def test_what_cannot_be_used_is_refused_with_the_reason(admin: Client, wrong: dict[str, Any]) -> None:
    assert "errorlist" in post(admin, f"{LIST}add/", FORM | wrong).content.decode()
    assert not WebhookEndpoint.objects.exists()
    assert trail() == []


def test_inside_the_house_plain_http_will_do(admin: Client, settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"allow_private_webhooks": True})
    shown_secret(post(admin, f"{LIST}add/", FORM | {"address": "http://10.0.0.1/x"}))


def test_address_events_and_whether_it_is_on_can_be_changed_and_nothing_else(admin: Client) -> None:
    post(admin, f"{LIST}add/", FORM)
    endpoint = WebhookEndpoint.objects.get()
    changed = {"agent": make_agent().pk, "address": "https://hooks.example/y", "events": ["call.blocked"]}
    assert post(admin, f"{LIST}{endpoint.pk}/change/", changed | {"public_id": "ep_x"}).status_code == 302
    after = WebhookEndpoint.objects.get()
    assert (after.address, after.events, after.is_active) == (changed["address"], changed["events"], False)
    assert (after.agent, after.public_id, bytes(after.sealed)) == (None, endpoint.public_id, bytes(endpoint.sealed))
    changes = {"address": "https://hooks.example/…", "events": ["call.blocked"], "is_active": False}
    assert trail()[1:] == [("endpoint.changed", {"endpoint": endpoint.public_id, "changes": changes})]


def test_an_address_is_shown_shortened_and_kept_when_none_is_typed(admin: Client) -> None:
    long = "https://hooks.example/services/T000/B000/canaryPathSecretAbCd"
    post(admin, f"{LIST}add/", FORM | {"address": long})
    endpoint = WebhookEndpoint.objects.get()
    for path in (LIST, f"{LIST}{endpoint.pk}/change/"):
        page = admin.get(f"/admin/{path}").content.decode()
        assert "https://hooks.example/…AbCd" in page
        assert "canaryPathSecret" not in page
    post(admin, f"{LIST}{endpoint.pk}/change/", FORM | {"address": "", "events": ["call.blocked"], "is_active": "on"})
    endpoint.refresh_from_db()
    assert (endpoint.address, endpoint.events) == (long, ["call.blocked"])


def test_one_that_was_gone_is_switched_on_again(admin: Client) -> None:
    post(admin, f"{LIST}add/", FORM)
    endpoint = WebhookEndpoint.objects.get()
    endpoint.give_up(timezone.now())
    post(admin, f"{LIST}{endpoint.pk}/change/", FORM | {"is_active": "on"})
    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.gone_at) == (True, None)


def test_a_new_secret_is_shown_once_and_the_old_one_still_holds(admin: Client) -> None:
    old = shown_secret(post(admin, f"{LIST}add/", FORM))
    endpoint = WebhookEndpoint.objects.get()
    new = shown_secret(post(admin, LIST, {"action": "rotate", "_selected_action": [endpoint.pk]}))
    endpoint.refresh_from_db()
    assert endpoint.secrets_at(timezone.now()) == [new, old]
    assert trail()[1:] == [("endpoint.secret_rotated", {"endpoint": endpoint.public_id})]


def test_secrets_are_made_one_at_a_time(admin: Client) -> None:
    for _ in range(2):
        post(admin, f"{LIST}add/", FORM)
    both = list(WebhookEndpoint.objects.values_list("pk", flat=True))
    page = admin.post(f"/admin/{LIST}", {"action": "rotate", "_selected_action": both}, follow=True).content.decode()
    assert "Choose one endpoint" in page
    assert "whsec_" not in page


def test_a_message_shows_its_tries_and_can_be_sent_again(admin: Client) -> None:
    message = make_delivery(timezone.now()).message
    message.fail("no", given_up_at=timezone.now(), due_at=timezone.now())
    page = admin.get(f"/admin/retrycontract/outboxmessage/{message.pk}/change/").content.decode()
    assert "500" in page
    chosen = {"action": "send_again", "_selected_action": [message.pk]}
    texts = [admin.post("/admin/retrycontract/outboxmessage/", chosen, follow=True).content.decode() for _ in range(2)]
    assert "1 messages are sent again." in texts[0]
    assert "0 messages are sent again. 1 are to be tried anyway." in texts[1]
    again = OutboxMessage.objects.get()
    assert (again.public_id, again.given_up_at, again.delivered_at) == (message.public_id, None, None)
    assert trail() == [("message.sent_again", {"message": message.public_id, "channel": "endpoint"})]


def test_a_message_to_people_can_be_sent_again_too(admin: Client) -> None:
    now = timezone.now()
    given_up = {"channel": "email", "subject": "s", "text": "t", "created_at": now, "given_up_at": now}
    message = OutboxMessage.objects.create(**given_up)
    admin.post("/admin/retrycontract/outboxmessage/", {"action": "send_again", "_selected_action": [message.pk]})
    assert OutboxMessage.objects.unfinished(Channel.EMAIL).get() == message


def test_the_log_is_searched_by_endpoint_and_message(admin: Client) -> None:
    deliveries = [make_delivery(timezone.now()) for _ in range(2)]
    for wanted in (deliveries[0].message.public_id, deliveries[0].message.endpoint.public_id):  # type: ignore[union-attr]
        page = admin.get("/admin/retrycontract/webhookdelivery/", {"q": wanted}).content.decode()
        assert deliveries[0].message.public_id in page
        assert deliveries[1].message.public_id not in page
