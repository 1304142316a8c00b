"""Suggest what worked before, when other calls of the tool made the same mistake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from retrycontract.contract.advice import combined_patch
from retrycontract.contract.decisions import Decision
from retrycontract.contract.patches import PatchError, apply_patch, make_patch
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.store.models import AnswerRecord, Attempt, Call, Mistake

MOST: Final = 3  # a person has ten seconds for all of them
LOOKED_AT: Final = 50  # answers to one mistake that are compared, the newest


@dataclass(frozen=True, slots=True)
class SuggestedGuidance:
    """Hold an answer that was given before; corrections as a patch of what the agent sent."""

    id: int
    decision: Decision
    text: str
    patch: Any
    given: int
    tried: int
    worked: int
    last_given_at: datetime

    @property
    def record(self) -> str:
        """Say how it went."""
        if not self.tried:
            return f"{times(self.given)}, not tried yet"
        return f"{times(self.given)}, next attempt valid {times(self.worked)}"

    @property
    def worth(self) -> float:
        """Give what it is likely worth: one success says less than five of six."""
        return (self.worked + 1) / (self.tried + 2)


def suggest_guidance(call: Call) -> tuple[SuggestedGuidance, ...]:
    """List what was answered before to the call's newest mistake, the most promising first."""
    if not call.fingerprint or call.tool_id is None:
        return ()
    records = AnswerRecord.objects.about(Mistake.of(call)).order_by("-last_given_at", "-pk")[:LOOKED_AT]
    found = [
        SuggestedGuidance(
            record.pk, Decision(record.decision), record.text, record.patch, record.given, record.tried, record.worked,
            record.last_given_at,
        )
        for record in records
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.worth, -one.given))[:MOST])


def times(number: int) -> str:
    """Say how often."""
    return {1: "once"}.get(number, f"{number} times")


def proposed_arguments(attempt: Attempt) -> Any | None:
    """Give the output of a judged attempt as it was meant, as far as that is plain; None when nothing is proposed."""
    patch = combined_patch(attempt.errors) if attempt.is_parsed else ()
    if not patch:
        return None
    try:
        mended = apply_patch(attempt.output, patch)
    except PatchError:  # a key of the output was redacted after the patch was made
        return None
    # Where a secret would have to move, only its mark is here to be sent.
    return None if has_redaction(make_patch(attempt.output, mended)) else mended
