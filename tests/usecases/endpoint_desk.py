"""Endpoints that systems are told at, whose courier the tests drive by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from retrycontract.contract.webhooks import WebhookEvent, verify
from retrycontract.store.models import Agent, Door, WebhookEndpoint
from retrycontract.usecases.notify.drain_outbox import drain_endpoints
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from tests.serving.receivers import Post, Receiver, receiving
from tests.usecases.conftest import NOON, configure
from tests.usecases.outbox_desk import MINUTE

SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
BY: dict[str, Any] = {"actor": "ada", "door": Door.ADMIN}
BLOCKED = [WebhookEvent.CALL_BLOCKED]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A receiver on loopback, which the settings allow."""
    configure(settings, allow_private_webhooks=True, public_url="https://desk.example", webhook_timeout_seconds=5.0)
    with receiving() as found:
        yield found


def listen(
    receiver: Receiver, *, agent: Agent | None = None, events: list[WebhookEvent] | None = None
) -> tuple[WebhookEndpoint, str]:
    """Add an endpoint for a receiver, of all agents and events or of some; gives its secret too."""
    chosen = list(WebhookEvent) if events is None else events
    return add_endpoint(receiver.url, chosen, agent, now=NOON, **BY)


def drain(at: datetime = NOON) -> int:
    """Do what the courier does at one moment; gives how many tries it made."""
    tries = 0
    while drain_endpoints(now=at, clock=lambda: at, chance=lambda: 0.0):
        tries += 1
    return tries


def drain_over(start: datetime, length: timedelta, step: timedelta = MINUTE) -> None:
    """Do what the courier does over a stretch of time."""
    moment = start
    while moment < start + length:
        drain(moment)
        moment += step


def is_verified(post: Post, secret: str, at: datetime) -> bool:
    """Tell whether a receiver with this secret takes a post for ours."""
    return verify([secret], post.headers, post.raw, now=at.timestamp())
