"""The courier of the settings' default: webhooks and e-mail."""

from __future__ import annotations

import json
from datetime import datetime
from typing import assert_never

from django.conf import settings

from retrycontract.contract.webhooks import sign
from retrycontract.delivery.email import send_email
from retrycontract.delivery.webhook import post
from retrycontract.store.models import Channel, OutboxMessage, WebhookEndpoint
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.notify.courier import UndeliveredError


class Courier:
    """Carry a message out by its channel."""

    def deliver(self, message: OutboxMessage) -> int | None:
        """Hand a message to its receiver, within seconds; raises UndeliveredError."""
        channel = Channel(message.channel)
        match channel:
            case Channel.WEBHOOK:
                return _post_to_people(message)
            case Channel.EMAIL:
                send_email(
                    settings.RETRYCONTRACT.notify_email,
                    subject=message.subject,
                    text=message.text,
                    message_id=message.public_id,
                )
                return None
            case Channel.ENDPOINT:
                return _post_signed(message)
            case _:
                assert_never(channel)


def _post_to_people(message: OutboxMessage) -> int:
    service = settings.RETRYCONTRACT
    return post(
        service.notify_webhook_url,
        json.dumps({"text": message.text}).encode(),
        # The header of the Standard Webhooks scheme: the same over all tries, to drop repetitions by.
        headers={"Webhook-Id": message.public_id},
        allow_private=service.allow_private_webhooks,
    )


def _post_signed(message: OutboxMessage) -> int:
    """Post by the whole scheme of Standard Webhooks; the time of the try is signed, too."""
    endpoint, tried_at = message.endpoint, message.last_tried_at
    if endpoint is None or tried_at is None:
        raise ValueError(f"{message} has no endpoint, or is not being tried")
    address, secrets = _opened(endpoint, tried_at)
    service, body, moment = settings.RETRYCONTRACT, message.text.encode(), int(tried_at.timestamp())
    return post(
        address,
        body,
        headers={
            "Webhook-Id": message.public_id,
            "Webhook-Timestamp": str(moment),
            "Webhook-Signature": sign(secrets, message.public_id, moment, body),
        },
        allow_private=service.allow_private_webhooks,
        seconds=service.webhook_timeout_seconds,
    )


def _opened(endpoint: WebhookEndpoint, now: datetime) -> tuple[str, list[str]]:
    try:
        secrets = endpoint.secrets_at(now)
    except UnreadableError:
        raise UndeliveredError(
            "no encryption key of the settings opens the endpoint's secrets: add the old key, or make a new secret"
        ) from None
    try:
        return endpoint.address, secrets
    except UnreadableError:
        raise UndeliveredError(
            "no encryption key of the settings opens the endpoint's address: add the old key, or type it again"
        ) from None
