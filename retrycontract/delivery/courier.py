"""The courier of the settings' default: webhook and e-mail."""

from __future__ import annotations

from typing import assert_never

from django.conf import settings

from retrycontract.delivery.email import send_email
from retrycontract.delivery.webhook import post_json
from retrycontract.store.models import Channel, OutboxMessage


class Courier:
    """Carry a message out by its channel."""

    def deliver(self, message: OutboxMessage) -> None:
        """Hand a message to its receiver, within seconds; raises UndeliveredError."""
        service = settings.RETRYCONTRACT
        channel = Channel(message.channel)
        match channel:
            case Channel.WEBHOOK:
                post_json(
                    service.notify_webhook_url,
                    {"text": message.text},
                    # The header of the Standard Webhooks scheme: the same over all tries, to drop repetitions by.
                    headers={"Webhook-Id": message.public_id},
                    allow_private=service.allow_private_webhooks,
                )
            case Channel.EMAIL:
                send_email(
                    service.notify_email, subject=message.subject, text=message.text, message_id=message.public_id
                )
            case _:
                assert_never(channel)
