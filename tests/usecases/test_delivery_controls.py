"""Negative controls: without the outbox, the tries or the stored text what systems are promised is broken."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction

from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import OutboxMessage
from retrycontract.usecases.notify.drain_outbox import carry_out
from retrycontract.usecases.notify.tend_endpoint import tell_endpoints
from tests.factories import make_blocked
from tests.serving.receivers import Receiver
from tests.usecases.conftest import NOON
from tests.usecases.endpoint_desk import BLOCKED, HOUR, drain, drain_over, listen
from tests.usecases.endpoint_desk import receiver as receiver
from tests.usecases.outbox_desk import blocked

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("has_outbox", "heard"), [(True, 0), (False, 1)], ids=["an outbox", "without an outbox"])
def test_without_the_outbox_what_is_rolled_back_would_be_told(
    receiver: Receiver,
    has_outbox: bool,
    heard: int,
) -> None:
    listen(receiver)
    call = make_blocked(at=NOON)
    OutboxMessage.objects.all().delete()
    with transaction.atomic():
        tell_endpoints(WebhookEvent.CALL_BLOCKED, call, now=NOON)
        if not has_outbox:
            carry_out(begun(OutboxMessage.objects.get()))
        transaction.set_rollback(True)
    drain()
    assert len(receiver.posts) == heard


def begun(message: OutboxMessage) -> OutboxMessage:
    message.begin_try(NOON)
    return message


@pytest.mark.parametrize(("tries_again", "heard"), [(True, 1), (False, 0)], ids=["tries", "one try only"])
def test_without_further_tries_a_receiver_that_was_down_would_hear_nothing(
    receiver: Receiver,
    tries_again: bool,
    heard: int,
) -> None:
    listen(receiver, events=BLOCKED)
    receiver.status = 503
    blocked()
    drain()
    if not tries_again:
        OutboxMessage.objects.update(given_up_at=NOON)
    receiver.status, down = 200, len(receiver.posts)
    drain_over(NOON, HOUR)
    assert len(receiver.posts) - down == heard


@pytest.mark.parametrize(("is_kept", "ids"), [(True, 1), (False, 2)], ids=["one message", "a new one for each try"])
def test_without_the_stored_message_each_try_would_be_another_event(
    receiver: Receiver,
    is_kept: bool,
    ids: int,
) -> None:
    listen(receiver, events=BLOCKED)
    receiver.status = 503
    blocked()
    drain()
    if not is_kept:
        OutboxMessage.objects.update(public_id=f"msg_{uuid4().hex[:20]}")
    receiver.status = 200
    drain(NOON + timedelta(hours=1))
    assert len(receiver.posts) == 2
    assert len({post.id for post in receiver.posts}) == ids
