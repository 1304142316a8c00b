"""A desk that tells people of escalations, whose sender the tests drive by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from pytest_django import Settings

from retrycontract.store.models import Call
from retrycontract.usecases.notify.drain_outbox import drain_outbox
from tests.factories import make_blocked
from tests.serving.receivers import Mailbox, Receiver, lead_mail_to, receiving
from tests.usecases.conftest import NOON, configure

MINUTE = timedelta(minutes=1)
CANARY = "sk-proj-canaryT3BlbkFJabcdefghijklmnopqrstuv1234567890"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A webhook's receiver, and settings that lead to it."""
    with receiving() as found:
        tell_by(settings, found)
        yield found


def tell_by(settings: Settings, receiver: Receiver) -> None:
    """Have a webhook told, at most once a minute and for three days."""
    configure(
        settings,
        notify_webhook_url=receiver.url,
        allow_private_webhooks=True,
        public_url="https://desk.example",
        notify_pause_seconds=60.0,
        notify_gives_up_after_days=3.0,
    )


def mail_to(settings: Settings, mailbox: Mailbox, *others: str) -> None:
    """Have a person, and others, told by email as well."""
    lead_mail_to(settings, mailbox)
    configure(settings, notify_email=["ana@example.com", *others])


def drain(at: datetime = NOON) -> int:
    """Do what a sweep does, in no time and without chance."""
    return drain_outbox(now=at, clock=lambda: at, chance=lambda: 1.0)


def blocked(count: int = 1, **more: object) -> list[Call]:
    """Make Blocked calls, all at noon."""
    return [make_blocked(at=NOON, **more) for _ in range(count)]
