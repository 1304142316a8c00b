"""What ails the outbox, for the doctor to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.store.models import Channel, ChannelTurn, Door, OutboxMessage
from retrycontract.usecases.notify.tend_endpoint import add_endpoint

BY: dict[str, Any] = {"actor": "ada", "door": Door.ADMIN}


def message(**values: Any) -> Callable[[object], None]:
    def write(_: object) -> None:
        OutboxMessage.objects.create(channel=Channel.EMAIL, subject="s", text="t", created_at=timezone.now(), **values)

    return write


def gone_endpoint(_: object) -> None:
    endpoint, _secret = add_endpoint("https://x.example/", list(WebhookEvent), now=timezone.now(), **BY)
    endpoint.give_up(timezone.now())


def stubborn_endpoints(*, failures: int, tries: int) -> Callable[[object], None]:
    def write(_: object) -> None:
        now = timezone.now()
        for address in ("https://other.example/", "https://x.example/"):
            endpoint, _secret = add_endpoint(address, list(WebhookEvent), now=now, **BY)
            ChannelTurn.objects.create(channel=Channel.ENDPOINT, endpoint=endpoint, free_at=now, failures=failures)
            for tried in (0, tries):
                endpoint.messages.create(
                    channel=Channel.ENDPOINT, text="{}", created_at=now, due_at=now, tries=tried, last_error="no"
                )

    return write
