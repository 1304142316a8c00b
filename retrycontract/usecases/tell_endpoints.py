"""Put what happened to a call into the outbox for every endpoint that wants to know, in the caller's transaction."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from retrycontract.contract.webhook_events import WebhookEvent
from retrycontract.store.models import Call, Channel, OutboxMessage, WebhookEndpoint
from retrycontract.usecases.contracts import sanitizer


def tell_endpoints(event: WebhookEvent, call: Call, *, now: datetime, **details: Any) -> None:
    """Note for every endpoint that listens what is to be sent; nothing is sent here.

    `details` are names and numbers, never values of the agent's.
    """
    listening = WebhookEndpoint.objects.listening(call.agent, event)
    if not listening:
        return
    body = _body(event, call, now, details)
    OutboxMessage.objects.bulk_create(
        OutboxMessage(
            channel=Channel.ENDPOINT, endpoint=endpoint, subject=event.value, text=body, created_at=now, due_at=now
        )
        for endpoint in listening
    )


def _body(event: WebhookEvent, call: Call, now: datetime, details: dict[str, Any]) -> str:
    """Write the body: short, as what there is to read is read by its links, with a key."""
    data = {
        "call_id": call.public_id,
        "agent": sanitizer().redact_name(call.agent.name),
        "tool": call.tool_name,
        "tool_call_id": call.last_tool_call_id,
        "session_id": call.session_id,
        "task_id": call.task_id,
        "correlation_id": call.correlation_id,
        "state": call.state,
        "attempts": call.attempts_made,
        **details,
        "links": _links(call),
    }
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # ASCII: whatever a receiver decodes it by, the bytes are those that were signed.
    return json.dumps({"type": event.value, "timestamp": moment, "data": data}, separators=(",", ":"))


def _links(call: Call) -> dict[str, str]:
    base: str = settings.RETRYCONTRACT.public_url
    pages = {"self": "api:get_call", "guidance": "api:get_guidance", "desk": "dashboard:call"}
    return {name: base + reverse(page, args=[call.public_id]) for name, page in pages.items()}
