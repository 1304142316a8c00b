"""Name what an agent hears of its calls, and the words that the audit trail has for it."""

from __future__ import annotations

from enum import StrEnum

from retrycontract.contract.webhooks import WebhookEvent


class AgentEvent(StrEnum):
    """The types of streamed events: what systems are told by webhook, and every verdict."""

    ATTEMPT_JUDGED = "attempt.judged"  # or given up, or to be sent again: its status says which
    CALL_BLOCKED = WebhookEvent.CALL_BLOCKED.value
    CALL_RESOLVED = WebhookEvent.CALL_RESOLVED.value
    CALL_EXPIRED = WebhookEvent.CALL_EXPIRED.value
    CALL_CANCELLED = WebhookEvent.CALL_CANCELLED.value
    GUIDANCE_GIVEN = WebhookEvent.GUIDANCE_GIVEN.value


RECORDED_AS: dict[str, AgentEvent] = {
    "attempt.judged": AgentEvent.ATTEMPT_JUDGED,
    "attempt.dead": AgentEvent.ATTEMPT_JUDGED,
    "attempt.discarded": AgentEvent.ATTEMPT_JUDGED,
    "escalation.opened": AgentEvent.CALL_BLOCKED,
    "escalation.resolved": AgentEvent.CALL_RESOLVED,
    "call.expired": AgentEvent.CALL_EXPIRED,
    "call.cancelled": AgentEvent.CALL_CANCELLED,
    "guidance.given": AgentEvent.GUIDANCE_GIVEN,
}
# What is told beyond where the call stands; the audit trail knows more.
DETAILS: dict[AgentEvent, tuple[str, ...]] = {
    AgentEvent.ATTEMPT_JUDGED: ("attempt", "valid", "codes"),
    AgentEvent.CALL_BLOCKED: ("round", "event", "reason"),
    AgentEvent.CALL_EXPIRED: ("on_expiry",),
    AgentEvent.GUIDANCE_GIVEN: ("decision", "granted"),
}


class ResponseStatus(StrEnum):
    """Name how a reply is logged."""

    SUCCESS = "SUCCESS"
    MALFORMED = "MALFORMED"
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"


def response_status(*, is_valid: bool, is_parsed: bool) -> ResponseStatus:
    """Tell how a reply is logged: what is no JSON is malformed, whatever else is wrong with it."""
    if is_valid:
        return ResponseStatus.SUCCESS
    return ResponseStatus.SCHEMA_VIOLATION if is_parsed else ResponseStatus.MALFORMED
