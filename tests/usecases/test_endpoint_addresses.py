"""Addresses of webhooks are as good as passwords: sealed at rest, shown shortened, repeated by nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Door, Event, WebhookDelivery, WebhookEndpoint
from retrycontract.store.models.endpoints import shortened
from retrycontract.usecases.notify.drain_outbox import drain_endpoints
from retrycontract.usecases.notify.tend_endpoint import (
    UnusableAddressError,
    add_endpoint,
    change_endpoint,
    check_address,
)
from tests.factories import make_blocked
from tests.file_database import bytes_at_rest
from tests.serving.receivers import Receiver, receiving
from tests.usecases.conftest import NOON, configure

BY: dict[str, Any] = {"now": NOON, "actor": "ada", "door": Door.ADMIN}
SLACK = "https://hooks.slack.com/services/T00000000/B00000000/canaryPathSecretAbCd"
QUERY = "https://hooks.example/in?token=canaryQuerySecret0123"
EVENTS = list(WebhookEvent)


def wanted(address: str) -> dict[str, Any]:
    return {"address": address, "events": [event.value for event in EVENTS], "is_active": True}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (SLACK, "https://hooks.slack.com/…AbCd"),
        (QUERY, "https://hooks.example/…0123"),
        ("http://10.0.0.1:8080/hook", "http://10.0.0.1:8080/…"),
        ("https://hooks.example/0123456789abcdefghi", "https://hooks.example/…"),
        ("https://hooks.example/0123456789abcdefghij", "https://hooks.example/…ghij"),
        ("https://hooks.example/?k=short", "https://hooks.example/…"),
        ("https://hooks.example/", "https://hooks.example/"),
        ("https://hooks.example", "https://hooks.example/"),
    ],
)
def test_of_an_address_the_host_is_shown_and_the_end_of_a_long_path(address: str, shown: str) -> None:
    assert shortened(address) == shown


@pytest.mark.parametrize("address", [SLACK, QUERY])
def test_an_address_is_sealed_at_rest_and_opened_for_sending(file_database: Path, address: str) -> None:
    endpoint, _ = add_endpoint("https://hooks.example/canaryFirst", EVENTS, **BY)
    change_endpoint(endpoint, wanted(address), **BY)
    at_rest = bytes_at_rest(file_database)
    assert b"canary" not in at_rest
    assert b"hooks." in at_rest, "the trail says where messages go"
    assert WebhookEndpoint.objects.get().address == address


@pytest.mark.django_db
def test_the_trail_and_the_name_show_it_shortened() -> None:
    endpoint, _ = add_endpoint(QUERY, EVENTS, **BY)
    change_endpoint(endpoint, wanted(SLACK), **BY)
    held = WebhookEndpoint.objects.get()
    assert str(held) == f"{held.public_id} (https://hooks.slack.com/…AbCd)"
    added, changed = (event.data for event in Event.objects.order_by("pk"))
    assert added["address"] == "https://hooks.example/…0123"
    assert changed["changes"] == {"address": "https://hooks.slack.com/…AbCd"}


@pytest.mark.django_db
def test_an_empty_address_keeps_the_one_that_is_there() -> None:
    endpoint, _ = add_endpoint(SLACK, EVENTS, **BY)
    change_endpoint(endpoint, wanted(""), **BY)
    assert WebhookEndpoint.objects.get().address == SLACK
    assert not Event.objects.filter(name="endpoint.changed").exists()


@pytest.mark.django_db
def test_an_address_whose_key_was_lost_is_typed_again(settings: Settings) -> None:
    endpoint, _ = add_endpoint(SLACK, EVENTS, **BY)
    configure(settings, encryption_keys=[Fernet.generate_key().decode()])
    assert str(WebhookEndpoint.objects.get()).endswith(" (unreadable address)")
    change_endpoint(endpoint, wanted(SLACK), **BY)
    assert WebhookEndpoint.objects.get().address == SLACK


@pytest.fixture
def receiver(db: None, settings: Settings) -> Any:
    """A receiver on loopback, which the settings allow."""
    configure(settings, allow_private_webhooks=True, webhook_timeout_seconds=5.0)
    with receiving() as found:
        yield found


@pytest.mark.parametrize("said", [b"Cannot POST %b", b"no service at %b", b'{"path": "%b"}'])
def test_what_a_receiver_repeats_of_its_address_is_kept_out_of_the_log(
    receiver: Receiver, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status, receiver.answer = 404, said % b"/services/T000/B000/canaryPathSecret"
    endpoint, _ = add_endpoint(receiver.url, [WebhookEvent.CALL_BLOCKED], **BY)
    make_blocked(at=NOON)
    assert drain_endpoints(now=NOON, clock=lambda: NOON, chance=lambda: 0.0)
    reason = WebhookDelivery.objects.get(message__endpoint=endpoint).reason
    assert reason.startswith("the webhook answered 404: ")
    for text in (reason, endpoint.messages.get().last_error, caplog.text, str(caplog.records[-1].__dict__)):
        assert "canaryPathSecret" not in text


@pytest.mark.parametrize(
    "address",
    ["https://127.0.0.1%00.example.com/", "https://127.0.0.1%2eexample.com/", "https://%31%32%37.0.0.1/",
     "https://[fe80::1%25eth0]/", "https://ip6-localhost/", "https://loopback/", "https://internal/",
     "https://4294967297/", "https://0x100000000/", "https://1.2.3.4.5/", "https://300.1.1.1/",
     "https://127.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://127.1/", "https://[::1]/x",
     "https://169.254.169.254/latest", "https://10.0.0.8/", "https://localhost/", "https://x.localhost./",
     "https://metadata.google.internal/", "https://printer.local/x", "https://[::ffff:127.0.0.1]/"],
)  # fmt: skip
def test_an_address_of_the_house_is_refused_at_the_form(address: str) -> None:
    with pytest.raises(UnusableAddressError, match="not of the public internet"):
        check_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://8.8.8.8/x", "https://hooks.example.org/x", "https://[2606:4700::1]/", "HTTPS://HOOKS.EXAMPLE.ORG/x",
        f"https://{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 60}.example/",
    ],
)  # fmt: skip
def test_a_public_address_is_taken(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize("address", [f"https://{'a.' * 125}example/", "HTTP://hooks.example/x", "https:///x"])
def test_an_address_that_leads_nowhere_safe_is_refused_with_how_to_write_it(address: str) -> None:
    with pytest.raises(UnusableAddressError, match="Write it as https://host/path"):
        check_address(address)
