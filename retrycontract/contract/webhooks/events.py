"""Name what systems are told of by webhook."""

from __future__ import annotations

from enum import StrEnum


class WebhookEvent(StrEnum):
    """The types of webhook messages: what happens to a call while nobody looks at an answer of ours."""

    CALL_BLOCKED = "call.blocked"  # its attempts ran out: a person is asked
    CALL_RESOLVED = "call.resolved"  # its agent got it right while it was Blocked
    CALL_EXPIRED = "call.expired"  # nobody answered in time
    CALL_CANCELLED = "call.cancelled"
    GUIDANCE_GIVEN = "guidance.given"  # a person answered
