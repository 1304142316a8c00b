"""Put a new escalation into the outbox, in the transaction that opens it."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from retrycontract.store.models import Channel, Escalation, Notice


def channels() -> list[Channel]:
    """List the channels by which people want to be told."""
    service = settings.RETRYCONTRACT
    wanted = {Channel.WEBHOOK: service.notify_webhook_url, Channel.EMAIL: service.notify_email}
    return [channel for channel, target in wanted.items() if target]


def announce_escalation(escalation: Escalation, *, now: datetime) -> None:
    """Note for every channel that people are to be told; nothing is sent here."""
    Notice.objects.bulk_create(
        [Notice(escalation=escalation, channel=channel, created_at=now) for channel in channels()]
    )
