"""Webhook endpoints in the admin: looked into without their secrets, and their messages sent again."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from retrycontract.store.models import Channel, Door, Event, OutboxMessage
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from tests.admin.conftest import make_delivery

pytestmark = pytest.mark.django_db

LIST = "retrycontract/webhookendpoint/"


def trail() -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, event.data) for event in Event.objects.filter(door=Door.ADMIN, actor="ada")]


def test_an_endpoint_shows_its_address_shortened_and_no_secret(admin: Client) -> None:
    long = "https://hooks.example/services/T000/B000/canaryPathSecretAbCd"
    endpoint, secret = add_endpoint(long, ["call.blocked"], now=timezone.now(), actor="ada", door=Door.DASHBOARD)
    for path in (LIST, f"{LIST}{endpoint.pk}/change/"):
        page = admin.get(f"/admin/{path}").content.decode()
        assert "https://hooks.example/…AbCd" in page
        assert "canaryPathSecret" not in page
        assert secret not in page


def test_a_message_shows_its_tries_and_can_be_sent_again(admin: Client) -> None:
    message = make_delivery(timezone.now()).message
    message.fail("no", given_up_at=timezone.now(), due_at=timezone.now())
    page = admin.get(f"/admin/retrycontract/outboxmessage/{message.pk}/change/").content.decode()
    assert "500" in page
    chosen = {"action": "send_again", "_selected_action": [message.pk]}
    texts = [admin.post("/admin/retrycontract/outboxmessage/", chosen, follow=True).content.decode() for _ in range(2)]
    assert "1 message is sent again." in texts[0]
    assert "0 messages are sent again. 1 is to be tried anyway." in texts[1]
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
