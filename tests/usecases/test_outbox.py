"""Being told: escalations go into the outbox with the transaction that opens them, and messages tell of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from pytest_django import Settings

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Notice, OutboxMessage
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.sweep import expire_overdue
from retrycontract.usecases.notify.write_message import announce_escalation
from tests.factories import RIGHT, WRONG, answer, make_agent, make_blocked, make_call, make_tool, make_user, submit
from tests.serving.receivers import Receiver, taking_mail
from tests.usecases.conftest import NOON, Send, configure, fail
from tests.usecases.outbox_desk import CANARY, MINUTE, blocked, drain, mail_to
from tests.usecases.outbox_desk import receiver as receiver

pytestmark = pytest.mark.django_db


# In: with the transaction that opens the escalation


def test_nothing_is_kept_when_nobody_wants_to_be_told() -> None:
    blocked()
    assert not Notice.objects.exists()
    assert drain() == 0
    assert not OutboxMessage.objects.exists()


def test_every_channel_gets_a_notice_of_its_own(settings: Settings) -> None:
    configure(settings, notify_webhook_url="https://hooks.example/x", notify_email=["ana@example.com"])
    blocked()
    assert sorted(Notice.objects.values_list("channel", flat=True)) == ["email", "webhook"]


def test_an_escalation_opened_in_either_way_is_announced_once(send: Send, receiver: Receiver) -> None:
    call = fail(send, 3)
    assert Notice.objects.get().escalation == call.escalations.get()
    send(call.agent, WRONG, call=call)
    assert Notice.objects.count() == 1


def test_a_second_round_is_announced_again(receiver: Receiver) -> None:
    (call,) = blocked()
    answer(call, make_user(), at=NOON, grant=1, is_read=True)
    submit(call.agent, WRONG, call=call, at=NOON)
    assert Notice.objects.count() == 2


def test_what_is_rolled_back_is_not_announced(receiver: Receiver) -> None:
    call = make_blocked(at=NOON)
    Notice.objects.all().delete()
    escalation = call.escalations.get()
    with transaction.atomic():
        announce_escalation(escalation, now=NOON)
        transaction.set_rollback(True)
    assert not Notice.objects.exists()


def test_the_same_escalation_cannot_be_announced_twice(receiver: Receiver) -> None:
    (call,) = blocked()
    with pytest.raises(IntegrityError):
        announce_escalation(call.escalations.get(), now=NOON)


# What a message tells


def test_the_first_message_goes_out_at_once(receiver: Receiver) -> None:
    (call,) = blocked()
    assert drain() == 1
    (post,) = receiver.posts
    assert post.text.startswith("*Blocked:* `deploy` of agent `deployer` waits for an answer after 3 attempts.\n")
    assert "Worst error: `/region` (VAL-" in post.text
    assert "\nSince 2030-01-01 12:00 UTC, until 2030-01-08 12:00 UTC\n" in post.text
    assert f"\nhttps://desk.example/calls/{call.public_id}/\n" in post.text
    message = OutboxMessage.objects.get()
    assert post.id == message.public_id
    assert post.text == message.text
    assert (message.tries, message.delivered_at, message.last_error) == (1, NOON, "")


def test_without_a_public_address_the_call_is_named(receiver: Receiver, settings: Settings) -> None:
    configure(settings, public_url="")
    (call,) = blocked()
    drain()
    assert f"\nCall {call.public_id}\n" in receiver.posts[0].text


def test_a_message_names_ten_kinds_of_mistakes_and_counts_the_rest(receiver: Receiver) -> None:
    agent = make_agent()
    for number in range(13):
        blocked(agent=agent, tool=f"tool{number}")
    drain()
    (post,) = receiver.posts
    assert post.text.count(" of agent ") == 10
    assert "• and 3 more" in post.text
    assert post.text.endswith("\nhttps://desk.example/")


ENDS: dict[str, Callable[[Call], object]] = {
    "answered": lambda call: answer(call, make_user(), Decision.HINT, at=NOON),
    "solved": lambda call: submit(call.agent, RIGHT, call=call, at=NOON),
    "cancelled": lambda call: cancel_call(call, now=NOON),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_what_nobody_needs_to_answer_any_more_is_left_out(receiver: Receiver, end: Callable[[Call], object]) -> None:
    (call,) = blocked()
    end(call)
    assert drain() == 0
    assert receiver.posts == []
    assert not Notice.objects.exists()
    blocked()
    assert drain() == 1  # it has cost no pause


def test_what_expired_meanwhile_is_told_since_a_late_answer_counts(receiver: Receiver) -> None:
    blocked()
    expire_overdue(now=NOON + timedelta(days=8))
    assert drain() == 1


def test_a_call_of_an_unknown_tool_is_told_too(receiver: Receiver) -> None:
    agent = make_agent()
    make_tool(agent)
    make_call(agent, [WRONG] * 3, tool="deploi", at=NOON)
    drain()
    assert "`deploi`" in receiver.posts[0].text


# Secrets


def leak(agent_name: str = "deployer") -> Call:
    """Make a Blocked call with a secret in every place that a message could show."""
    agent = make_agent(agent_name)
    schema = {"type": "object", "properties": {"region": {"enum": ["a", "b"]}}, "additionalProperties": False}
    make_tool(agent, "deploy", schema)
    outputs = [{"region": CANARY}, {CANARY: 1, "password": "canaryPassword"}, '{"token": "' + CANARY]
    return make_call(agent, outputs, at=NOON, context={"goal": CANARY}, tool_call_id=CANARY)


def test_no_secret_gets_into_a_message(receiver: Receiver, settings: Settings, file_database: Path) -> None:
    with taking_mail() as mailbox:
        mail_to(settings, mailbox)
        leak()
        make_call(make_agent(), [WRONG] * 3, tool=f"tool-{CANARY}", at=NOON)
        drain()
        leak("another")
        drain(NOON + MINUTE)
    assert len(receiver.posts) == len(mailbox.raw) == 2
    sent = "".join(post.text for post in receiver.posts) + "".join(str(mail) for mail in mailbox.mails)
    for secret in (CANARY, CANARY[8:40], "canaryPassword"):
        assert secret not in sent
    assert "[REDACTED: " in sent


def test_without_the_sanitiser_the_secret_would_be_found(receiver: Receiver, settings: Settings) -> None:
    settings.CONTRACT = RetryConfiguration(redact_secrets=False)
    leak()
    drain()
    assert CANARY in receiver.posts[0].text


def test_a_message_shows_only_previews_of_arguments(receiver: Receiver) -> None:
    agent = make_agent()
    make_tool(agent)
    make_call(agent, [{"service": "web", "region": "long-" * 500}] * 3, at=NOON)
    drain()
    assert "long-long-" in receiver.posts[0].text
    assert "long-" * 30 not in receiver.posts[0].text
    assert len(receiver.posts[0].text) < 1_500
