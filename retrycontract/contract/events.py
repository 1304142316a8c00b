"""The structured log events of the contract: who failed where and how often, never with values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.kinds import Kind

MAX_LOGGED = 50  # errors listed in one event; error_count has them all

FAILED = "Tool validation failed"
RETRIED = "Tool call is retried"
ESCALATED = "Tool call escalated to a person"
FORMATTER_FAILED = "Custom formatter passed over"
HUMAN_INTERVENTION = "HUMAN_INTERVENTION_REQUIRED"
CORRECTION_EXHAUSTED = "FORMATTING_CORRECTION_EXHAUSTED"


def intervention_fields(kind: Kind) -> dict[str, str]:
    """Name why a person is needed once the attempts are used up, where that has a name of its own."""
    if kind is not Kind.AGENT_RESPONSE:
        return {}
    return {"event": HUMAN_INTERVENTION, "reason": CORRECTION_EXHAUSTED}


def failure_fields(
    tool_name: str,
    errors: Sequence[ValidationError],
    *,
    attempt: int,
    max_attempts: int,
    correlation_id: str | None = None,
    duration_us: int | None = None,
) -> dict[str, Any]:
    """Give the fields of the event FAILED: names, counts, pointers and codes."""
    return {
        "tool_name": tool_name,
        "error_count": len(errors),
        "retry_attempt": attempt,
        "max_retries": max_attempts,
        "errors": [{"path": error.field_path, "code": error.error_code.value} for error in errors[:MAX_LOGGED]],
        "correlation_id": correlation_id,
        "duration_us": duration_us,
    }
