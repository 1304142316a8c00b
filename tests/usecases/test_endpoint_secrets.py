"""No secret leaves by a webhook, and none of an endpoint's own lies readable anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.decisions import Decision
from retrycontract.contract.webhooks import WebhookEvent, verify
from retrycontract.store.models import Call, Door, Event, WebhookDelivery, WebhookEndpoint
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue
from retrycontract.usecases.notify.drain_outbox import drain_endpoints
from retrycontract.usecases.notify.tend_endpoint import (
    UnusableAddressError,
    add_endpoint,
    change_endpoint,
    rotate_secret,
)
from tests.factories import answer, make_agent, make_tool, make_user, submit
from tests.file_database import all_at_once, bytes_at_rest
from tests.serving.receivers import Receiver, receiving
from tests.usecases.conftest import NOON, configure, judge_all

CANARY = "sk-proj-canaryT3BlbkFJabcdefghijklmnopqrstuv1234567890"
BY: dict[str, Any] = {"now": NOON, "actor": "ada", "door": Door.ADMIN}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "integer"}}, "required": ["text"]}

# Where an agent can put one, and whether a message shows that place at all.
PLACES: dict[str, tuple[dict[str, Any], bool]] = {
    "a value": ({"output": {"text": CANARY}}, False),
    "a key": ({"output": {CANARY: 1}}, False),
    "broken text": ({"output": '{"text": "' + CANARY}, False),
    "the agent's rejection": ({"output": {"text": 1}, "callback_error": CANARY}, False),
    "the context": ({"output": {}, "context": {"goal": CANARY}}, False),
    "the name of an unknown tool": ({"output": {}, "tool": f"note-{CANARY}"}, True),
    "the session": ({"output": {}, "session_id": CANARY}, True),
    "the task": ({"output": {}, "task_id": CANARY}, True),
    "the correlation": ({"output": {}, "correlation_id": CANARY}, True),
    "the provider's id": ({"output": {}, "tool_call_id": CANARY}, True),
}
_numbers = count(1)
SHOWN = {name: fields for name, (fields, is_shown) in PLACES.items() if is_shown}


@pytest.fixture
def receiver(db: None, settings: Settings) -> Iterator[Receiver]:
    """A receiver on loopback that is told everything."""
    configure(settings, allow_private_webhooks=True, webhook_timeout_seconds=5.0)
    with receiving() as found:
        add_endpoint(found.url, list(WebhookEvent), **BY)
        yield found


def drain(at: datetime = NOON) -> None:
    while drain_endpoints(now=at, clock=lambda: at, chance=lambda: 0.0):
        pass


def blocked(fields: dict[str, Any]) -> Call:
    """Make a call Blocked that carries something in some place."""
    agent = make_agent()
    make_tool(agent, "note", SCHEMA)
    sent = {"tool": "note"} | {name: value for name, value in fields.items() if name != "output"}
    # Of the same session or id they would be one call.
    sent |= {name: f"{next(_numbers)} {sent[name]}" for name in ("session_id", "tool_call_id") if name in sent}
    call = None
    for _ in range(3):
        call = submit(agent, fields["output"], call=call, at=NOON, **sent).call
        judge_all(now=NOON)
    assert call is not None
    return Call.objects.select_related("agent").get(pk=call.pk)


def live_through(fields: dict[str, Any]) -> None:
    """Have everything happen that systems are told of."""
    answered, expired, cancelled = blocked(fields), blocked(fields), blocked(fields)
    answer(answered, make_user(), Decision.HINT, text=f"Use {CANARY}.", at=NOON)
    cancel_call(cancelled, now=NOON)
    Call.objects.filter(pk=expired.pk).update(expires_at=NOON)
    expire_overdue(now=NOON)
    drain()


@pytest.mark.parametrize("judge", ["auto", "worker"], ids=["at the door", "by the worker"])
@pytest.mark.parametrize("fields", [fields for fields, _ in PLACES.values()], ids=list(PLACES))
def test_no_secret_of_an_agent_reaches_a_receiver(
    receiver: Receiver, settings: Settings, judge: str, fields: dict[str, Any]
) -> None:
    configure(settings, judge=judge)
    live_through(fields)
    told = {post.body["type"] for post in receiver.posts}
    assert told == {"call.blocked", "guidance.given", "call.expired", "call.cancelled"}
    sent = (
        b"".join(post.raw for post in receiver.posts) + "".join(str(post.headers) for post in receiver.posts).encode()
    )
    assert CANARY.encode() not in sent
    assert CANARY[8:40].encode() not in sent


@pytest.mark.parametrize("fields", SHOWN.values(), ids=list(SHOWN))
def test_without_the_sanitiser_the_secret_would_be_found(
    receiver: Receiver, settings: Settings, fields: dict[str, Any]
) -> None:
    """The negative control: messages show text of the agents, and what the test above looks for is found there."""
    settings.CONTRACT = RetryConfiguration(redact_secrets=False)
    live_through(fields)
    assert all(CANARY.encode() in post.raw for post in receiver.posts)


def test_a_message_stays_small_whatever_an_agent_sends(receiver: Receiver) -> None:
    longest = {"tool_call_id": "\u202e" * 190, "session_id": "\x01" * 190, "task_id": "ü" * 200}
    blocked({"output": {}, "tool": "n" * 300, "correlation_id": "\U0001f680" * 200} | longest)
    drain()
    (post,) = receiver.posts
    assert len(post.raw) < 20_000
    assert post.raw.isascii()


def test_the_secrets_of_an_endpoint_are_sealed_at_rest(file_database: Path, settings: Settings) -> None:
    endpoint, first = add_endpoint("https://hooks.example/pathSecret", list(WebhookEvent), **BY)
    second = rotate_secret(endpoint, **BY)
    at_rest = bytes_at_rest(file_database)
    for secret in (first, second):
        assert secret.removeprefix("whsec_").encode() not in at_rest
    events = str(list(Event.objects.values_list("data", flat=True)))
    assert "hooks.example" in events
    assert "pathSecret" not in events


def test_an_endpoint_whose_key_was_lost_says_so_and_a_new_secret_and_its_address_mend_it(
    receiver: Receiver, settings: Settings
) -> None:
    configure(settings, encryption_keys=[Fernet.generate_key().decode()])
    blocked({"output": {}})
    drain()
    assert receiver.posts == []
    reason = WebhookDelivery.objects.get().reason
    assert reason.startswith("no encryption key of the settings opens the endpoint's secrets: add the old key")
    endpoint = WebhookEndpoint.objects.get()
    text = rotate_secret(endpoint, **BY)
    change_endpoint(endpoint, {"address": receiver.url, "events": endpoint.events, "is_active": True}, **BY)
    drain(NOON + timedelta(minutes=1))
    (post,) = receiver.posts
    assert verify([text], post.headers, post.raw, now=NOON.timestamp())


@pytest.mark.parametrize(
    ("address", "may_be_private", "is_taken"),
    [
        ("https://hooks.example/x?y=z", False, True),
        ("http://hooks.example/x", False, False),
        ("http://hooks.example/x", True, True),
        ("ftp://hooks.example/x", True, False),
        ("https://user:password@hooks.example/x", False, False),
        ("https://hooks.example/x y", False, False),
        ("https://hooks.example/#x", False, False),
        ("https://hooks..example/x", False, False),
        (f"https://{'a' * 64}.example/x", True, False),
        ("https://", False, False),
        ("", False, False),
        ("https://hooks.example/" + "x" * 500, False, False),
    ],
)
@pytest.mark.django_db
def test_an_address_is_plain_and_of_the_allowed_kind(
    settings: Settings, address: str, may_be_private: bool, is_taken: bool
) -> None:
    configure(settings, allow_private_webhooks=may_be_private)
    with nullcontext() if is_taken else pytest.raises(UnusableAddressError, match="https://host/path"):
        add_endpoint(address, list(WebhookEvent), **BY)
    assert WebhookEndpoint.objects.exists() is is_taken


@pytest.mark.django_db
def test_a_change_leaves_one_event_without_the_path() -> None:
    endpoint, _ = add_endpoint("https://hooks.example/x", [WebhookEvent.CALL_BLOCKED], **BY)
    wanted = {"address": "https://other.example/pathSecret", "events": ["call.expired"], "is_active": True}
    for _ in range(2):
        change_endpoint(endpoint, wanted, **BY)
    endpoint.refresh_from_db()
    assert (endpoint.address, endpoint.events) == (wanted["address"], wanted["events"])
    changes = {"address": "https://other.example/…", "events": ["call.expired"]}
    event = Event.objects.get(name="endpoint.changed")
    assert event.data == {"endpoint": endpoint.public_id, "changes": changes}


def test_couriers_that_come_at_once_send_each_message_once(
    shared_database: None, settings: Settings, receiver: Receiver
) -> None:
    receiver.seconds = 0.05
    for _ in range(3):
        blocked({"output": {}})
    all_at_once(lambda _: drain(), list(range(4)))
    drain()
    assert len(receiver.posts) == 3
    assert len({post.id for post in receiver.posts}) == 3
