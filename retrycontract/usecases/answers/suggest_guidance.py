"""Suggest what worked before, and follow what answers and standing hints are good for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import F

from retrycontract.contract.advice import combined_patch
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.guidance import Answer, standing_words
from retrycontract.contract.generation import MAX_WORDS
from retrycontract.contract.lifecycle import CallState, Move, Status
from retrycontract.contract.patches import PatchError, apply_patch, make_patch
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.store.models import AnswerRecord, Attempt, Call, Guidance, Mistake, StandingHint
from retrycontract.store.models.answers import TRIED
from retrycontract.usecases.tools.contracts import sanitizer

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
        # Laplace's rule of succession.
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


MOST_COMPARED: Final = 200  # characters of a hint; a long one is shortened in the middle where there is little room
MAX_PATCH: Final = 4_000  # characters; a longer one fits no other call


def remember_answer(call: Call, base: Attempt, answer: Answer, *, now: datetime) -> AnswerRecord | None:
    """Count an answer that is given; None for one that no next attempt follows, or that fits no other call."""
    if answer.decision not in TRIED or call.tool_id is None or not base.fingerprint:
        return None
    patch = _patch(base, answer) if answer.decision.entry.takes_arguments else None
    if patch is None and not answer.text:
        return None
    mistake = Mistake.of(call, base.fingerprint)
    return AnswerRecord.objects.count_given(mistake, answer.decision, answer.text, patch, now)


def follow_guidance(attempt: Attempt, *, source: str) -> Decision | None:
    """Note what the first attempt after an answer became; gives the decision that was tried, if one was."""
    if attempt.is_valid is None or source != CallState.GUIDED:
        return None
    given = Guidance.objects.filter(call=attempt.call).order_by("-pk").first()
    if given is None or not is_first_try(given, attempt) or given.next_valid is not None:
        return None
    Guidance.objects.filter(pk=given.pk).update(next_valid=attempt.is_valid)
    if given.record_id is not None:
        AnswerRecord.objects.count_tried(given.record_id, is_valid=attempt.is_valid)
    return Decision(given.decision)


def is_first_try(given: Guidance, attempt: Attempt) -> bool:
    """Tell whether an attempt can have been made with an answer: what waited to be judged before it was not."""
    return given.decision in TRIED and attempt.submitted_at >= given.given_at


def hint_for(attempt: Attempt, verdict: Move, fingerprint: str, *, now: datetime) -> StandingHint | None:
    """Find the standing hint that an agent is to be told: once a call, and before a person looked at it."""
    call = attempt.call
    if verdict.status is not Status.RETRY or verdict.state is not CallState.RETRYING or call.tool_id is None:
        return None
    hint = StandingHint.objects.active(now).about(Mistake.of(call, fingerprint)).first()
    was_told = hint is not None and attempt.number > 1 and call.attempts.filter(standing_hint=hint).exists()
    return None if was_told else hint


def follow_hints(attempt: Attempt) -> None:
    """Count the hint that an attempt is told, and what became of the one that the attempt before was told.

    An agent that says what its model read is believed: a hint that was not in it was not shown after all. The attempt
    before keeps what it was told: its row is history, and history is not changed.
    """
    changes: dict[int, Counter[str]] = {}
    if attempt.standing_hint_id is not None:
        changes.setdefault(attempt.standing_hint_id, Counter())["shown"] += 1
    if attempt.number > 1 and attempt.is_valid is not None:
        # Tries for which the model could not be asked lie between a feedback and who reads it.
        judged = attempt.call.attempts.filter(number__lt=attempt.number, is_valid__isnull=False)
        before = judged.select_related("standing_hint").order_by("-number").first()
        if before is not None and before.standing_hint is not None:
            counted = changes.setdefault(before.standing_hint.pk, Counter())
            if _was_read(before.standing_hint, attempt):
                counted.update(tried=1, worked=int(attempt.is_valid))
            else:
                counted["shown"] -= 1
    for hint_id in sorted(changes):  # who locks rows in one order never waits in a circle
        added = {name: F(name) + amount for name, amount in changes[hint_id].items()}
        StandingHint.objects.filter(pk=hint_id).update(**added)


def _was_read(hint: StandingHint, attempt: Attempt) -> bool:
    """Tell whether a hint was in what the model read, as far as the agent says what that was."""
    prompt: str | None = attempt.prompt
    if prompt is None or len(prompt) >= MAX_WORDS:  # what was cut out of the middle may have had it
        return True
    beginning = standing_words(hint.text)[:MOST_COMPARED]
    return beginning in prompt or str(sanitizer().redact(beginning)) in prompt


def _patch(base: Attempt, answer: Answer) -> Any:
    """Write corrected arguments as what was changed, which may fit other calls, too."""
    patch = answer.patch
    if patch is None and base.is_parsed:
        patch = make_patch(base.output, answer.arguments)
    return patch if patch and len(json.dumps(patch)) <= MAX_PATCH else None
