"""Tell the collector of a step of a call, and name calls and attempts for it."""

from __future__ import annotations

from datetime import datetime

from retrycontract.config.telemetry import Attributes, add_span, is_on
from retrycontract.store.models import Attempt, Call


def tell_step(
    step: str,
    call: Call,
    attempt: Attempt | None,
    *,
    start: datetime,
    end: datetime,
    error: str | None = None,
    decision: str | None = None,
) -> None:
    """Tell the collector, where there is one, of a step of a call that is over, in the trace of the attempt."""
    if not is_on():
        return
    named = call_attributes(call, attempt) | {"retrycontract.decision": decision}
    parent = attempt.traceparent if attempt else None
    add_span(f"{step} {call.tool_name}", named, start=start, end=end, parent=parent, error=error)


def call_attributes(call: Call, attempt: Attempt | None) -> Attributes:
    """Name a call, and one of its attempts, as the GenAI conventions do where they have a word."""
    found: Attributes = {
        "gen_ai.tool.name": call.tool_name,
        "gen_ai.agent.name": call.agent.name,
        "gen_ai.conversation.id": call.session_id,
        "retrycontract.call.id": call.public_id,
        "retrycontract.call.state": str(call.state),
    }
    if attempt is not None:
        found |= {
            "gen_ai.tool.call.id": attempt.tool_call_id,
            "gen_ai.request.model": attempt.model,
            "gen_ai.usage.input_tokens": attempt.tokens_in,
            "gen_ai.usage.output_tokens": attempt.tokens_out,
            "retrycontract.attempt.number": attempt.number,
        }
        if attempt.judged_at is not None:
            found |= {
                "gen_ai.evaluation.name": "retrycontract",
                "gen_ai.evaluation.score.label": str(attempt.status),
                "retrycontract.error_codes": ",".join(sorted({error.error_code for error in attempt.errors})),
            }
    return found
