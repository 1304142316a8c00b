"""Write what systems and agents are told of a call: short, as the rest is read by its links, with a key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from retrycontract.store.models import Call
from retrycontract.usecases.contracts import sanitizer


def write_event(
    name: str, call: Call, *, at: datetime, state: str, attempts: int, tool_call_id: str, **details: Any
) -> str:
    """Write the body of one event; `details` are names and numbers, never values of the agent's."""
    data = {
        "call_id": call.public_id,
        "agent": sanitizer().redact_name(call.agent.name),
        "tool": call.tool_name,
        "tool_call_id": tool_call_id,
        "session_id": call.session_id,
        "task_id": call.task_id,
        "correlation_id": call.correlation_id,
        "state": state,
        "attempts": attempts,
        **details,
        "links": _links(call),
    }
    moment = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # ASCII: whatever a receiver decodes it by, the bytes are those that were signed, and no line ends in it.
    return json.dumps({"type": name, "timestamp": moment, "data": data}, separators=(",", ":"))


def _links(call: Call) -> dict[str, str]:
    base: str = settings.RETRYCONTRACT.public_url
    pages = {"self": "api:get_call", "guidance": "api:get_guidance", "desk": "dashboard:call"}
    return {name: base + reverse(page, args=[call.public_id]) for name, page in pages.items()}
