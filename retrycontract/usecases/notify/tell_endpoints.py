"""Put what happened to a call into the outbox for every endpoint that wants to know, in the caller's transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from retrycontract.contract.webhooks.events import WebhookEvent
from retrycontract.store.models import Call, Channel, OutboxMessage, WebhookEndpoint
from retrycontract.usecases.notify.write_event import write_event


def tell_endpoints(event: WebhookEvent, call: Call, /, *, now: datetime, **details: Any) -> None:
    """Note for every endpoint that listens what is to be sent; nothing is sent here.

    `details` are names and numbers, never values of the agent's.
    """
    listening = WebhookEndpoint.objects.listening(call.agent, event)
    if not listening:
        return
    body = write_event(
        event.value, call, at=now, state=call.state, attempts=call.attempts_made,
        tool_call_id=call.last_tool_call_id, **details,
    )  # fmt: skip
    OutboxMessage.objects.bulk_create(
        OutboxMessage(
            channel=Channel.ENDPOINT, endpoint=endpoint, subject=event.value, text=body, created_at=now, due_at=now
        )
        for endpoint in listening
    )
