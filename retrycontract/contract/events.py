"""The structured log events of the contract: who failed where and how often, never with values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.previews import elide_middle

MAX_LOGGED = 50  # errors listed in one event; error_count has them all
LONGEST_NAME = 300  # characters of a name or pointer: a model may make up one of megabytes

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
    told = [
        {"path": elide_middle(error.field_path, LONGEST_NAME), "code": error.error_code.value}
        for error in errors[:MAX_LOGGED]
    ]
    return {
        "tool_name": elide_middle(tool_name, LONGEST_NAME),
        "error_count": len(errors),
        "retry_attempt": attempt,
        "max_retries": max_attempts,
        "errors": told,
        "correlation_id": correlation_id,
        "duration_us": duration_us,
    }


TRACEPARENT_LENGTH: Final = 55  # of version 00; a later version may be longer, and begins with these

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED: Final = 0x01  # the only flag that every version knows


def read_traceparent(header: str | None) -> str | None:
    """Give a traceparent in the form of version 00, or None when there is none, or none that can be read.

    Tabs and spaces around it do not count. What is malformed is left out and never an error, as the standard says.
    """
    found = _TRACEPARENT.fullmatch((header or "").strip(" \t"))
    if found is None:
        return None
    version, trace, parent, flags, rest = found.groups()
    # By the standard `ff` is no version, nothing follows the flags of 00, and an id of nothing but zeros is none.
    if version == "ff" or (version == "00" and rest is not None) or not (int(trace, 16) and int(parent, 16)):
        return None
    known = flags if version == "00" else f"{int(flags, 16) & _SAMPLED:02x}"
    return f"00-{trace}-{parent}-{known}"
