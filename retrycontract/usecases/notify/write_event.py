"""Write what systems and agents are told of a call: short, as the rest is read by its links, with a key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.urls import reverse

from retrycontract.store.models import Call
from retrycontract.usecases.tools.contracts import sanitizer

SOME_ID: Final = "call_of_this_id"


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
    return {name: f"{base}{before}{call.public_id}{after}" for name, (before, after) in _addresses().items()}


@cache
def _addresses() -> dict[str, tuple[str, str]]:
    """Give the pages of a call, each as what stands before its id and behind it: found once, not for every event."""
    pages = {"self": "api:get_call", "guidance": "api:get_guidance", "desk": "dashboard:call"}
    parts = {name: reverse(page, args=[SOME_ID]).partition(SOME_ID) for name, page in pages.items()}
    return {name: (before, after) for name, (before, _, after) in parts.items()}
