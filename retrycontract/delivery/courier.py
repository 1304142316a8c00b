"""The courier of the settings' default: webhooks and e-mail."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from smtplib import SMTPException
from typing import Any, assert_never

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from retrycontract.contract.webhooks import sign
from retrycontract.delivery.webhook import post, within
from retrycontract.store.models import Channel, OutboxMessage, WebhookEndpoint
from retrycontract.store.sealing import UnreadableError
from retrycontract.usecases.notify.courier import UndeliveredError

SECONDS = 15.0  # for the whole conversation; each word of it has EMAIL_TIMEOUT


def send_email(
    recipients: Sequence[str], *, subject: str, text: str, message_id: str, seconds: float = SECONDS
) -> None:
    """Send one e-mail to all recipients; raises UndeliveredError. `message_id` stays the same over all tries."""
    sender: str = settings.DEFAULT_FROM_EMAIL
    headers = {
        "Message-ID": f"<{message_id}@{sender.rpartition('@')[2] or 'retrycontract'}>",
        "Auto-Submitted": "auto-generated",  # nobody's absence is to answer it
    }
    connection = get_connection()
    email = EmailMessage(subject, text, sender, list(recipients), headers=headers, connection=connection)
    try:
        within(seconds, email.send, abort=lambda: _hang_up(connection))
    except TimeoutError:
        raise UndeliveredError("the mail server did not answer in time") from None
    except (OSError, SMTPException, ValueError) as error:
        raise UndeliveredError(f"the e-mail was not taken: {type(error).__name__}: {error}") from None


def _hang_up(connection: Any) -> None:
    """Cut the line without a word: a server that hangs would not hear a polite end either."""
    line = getattr(getattr(connection, "connection", None), "sock", None)
    if isinstance(line, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(line, socket.SHUT_RDWR)


class Courier:
    """Carry a message out by its channel."""

    def deliver(self, message: OutboxMessage) -> int | None:
        """Hand a message to its receiver, within seconds; raises UndeliveredError."""
        channel = Channel(message.channel)
        match channel:
            case Channel.WEBHOOK:
                service = settings.RETRYCONTRACT
                return post(
                    service.notify_webhook_url,
                    json.dumps({"text": message.text}).encode(),
                    # The header of the Standard Webhooks scheme: the same over all tries, to drop repetitions by.
                    headers={"Webhook-Id": message.public_id},
                    allow_private=service.allow_private_webhooks,
                )
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
