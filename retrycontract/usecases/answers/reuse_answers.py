"""Use answers again: suggest what worked, keep replies at hand, let hints stand, and follow what they are good for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q

from retrycontract.contract.advice import combined_patch
from retrycontract.contract.decisions import Decision
from retrycontract.contract.feedback.guidance import MAX_STANDING, MAX_TEXT, Answer, standing_words
from retrycontract.contract.lifecycle import CallState, Move, Status
from retrycontract.contract.outputs import MAX_WORDS
from retrycontract.contract.patches import PatchError, apply_patch
from retrycontract.contract.redaction.changes import make_patch
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.store.models import (
    AnswerRecord,
    Attempt,
    Call,
    Door,
    Event,
    Guidance,
    LostRaceError,
    Mistake,
    SavedReply,
    StandingHint,
)
from retrycontract.store.models.answers import FIRST, HINT_FOR, LAST, TRIED
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.answers.deliver_answer import was_read
from retrycontract.usecases.people.admit import Role, role_of
from retrycontract.usecases.tools.contracts import sanitizer

MOST_SUGGESTED: Final = 3  # a person has ten seconds for all of them
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
        if record.fits_other_calls
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.worth, -one.given))[:MOST_SUGGESTED])


def times(number: int) -> str:
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
    patch = None
    if answer.decision.entry.takes_arguments:  # told as what was changed, which may fit other calls, too
        patch = answer.patch
        if patch is None and base.is_parsed:
            patch = make_patch(base.output, answer.arguments)
        patch = patch if patch and len(json.dumps(patch)) <= MAX_PATCH else None
    if patch is None and not answer.text:
        return None
    mistake = Mistake.of(call, base.fingerprint)
    return AnswerRecord.objects.count_given(mistake, answer.decision, answer.text, patch, now)


def follow_guidance(attempt: Attempt, *, source: str) -> Decision | None:
    """Note what the first attempt became that was made with an answer; gives the decision that was tried, if any."""
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
    """Tell whether an attempt can have been made with an answer: none was that came in before the agent had it."""
    return given.decision in TRIED and was_read(given, attempt.submitted_at)


def hint_for(attempt: Attempt, verdict: Move, fingerprint: str, *, now: datetime) -> StandingHint | None:
    """Find the standing hint that an agent is to be told: once a call, and before a person looked at it."""
    call = attempt.call
    if verdict.status is not Status.RETRY or verdict.state is not CallState.RETRYING or call.tool_id is None:
        return None
    hint = HINT_FOR.first(now=now, **asdict(Mistake.of(call, fingerprint)))
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
        before = judged.select_related("standing_hint").defer("output", "sealed").order_by("-number").first()
        if before is not None and before.standing_hint is not None:
            counted = changes.setdefault(before.standing_hint.pk, Counter())
            # The agent may say what its model read; what was cut out of the middle may have had it.
            prompt, beginning = attempt.prompt, standing_words(before.standing_hint.text)[:MOST_COMPARED]
            is_unknown = prompt is None or len(prompt) >= MAX_WORDS
            if is_unknown or beginning in prompt or str(sanitizer().redact(beginning)) in prompt:
                counted.update(tried=1, worked=int(attempt.is_valid))
            else:
                counted["shown"] -= 1
    for hint_id in sorted(changes):  # who locks rows in one order never waits in a circle
        added = {name: F(name) + amount for name, amount in changes[hint_id].items()}
        StandingHint.objects.filter(pk=hint_id).update(**added)


MAX_TITLE: Final = 80
MOST_REPLIES: Final = 100  # replies of one shelf: more than anybody finds anything in


class NotAllowedError(PermissionError):
    """Raised for somebody whose role doesn't allow it."""


class UnusableReplyError(ValueError):
    """Raised for a reply that cannot be kept; says why."""


def save_reply(
    operator: User,
    title: str,
    text: str,
    *,
    now: datetime,
    shared: bool = False,
    position: int | None = None,
    reply: SavedReply | None = None,
) -> SavedReply:
    """Keep a new reply, or change `reply`; raises NotAllowedError and UnusableReplyError.

    A reply has a shelf for good: one's own, or the one that all share. `position` is a key from 1 to 9.
    """
    reply = reply or SavedReply(operator=None if shared else operator)
    _check_role(operator, reply)
    is_new = reply.pk is None
    if position is not None and not FIRST <= position <= LAST:
        raise UnusableReplyError(f"Keys go from {FIRST} to {LAST}.")
    title = sanitizer().redact_text(" ".join(title.split()))
    if not 0 < len(title) <= MAX_TITLE:
        raise UnusableReplyError(f"Give it a title of at most {MAX_TITLE} characters.")
    # Sanitised as an answer is: it will be one.
    text = sanitizer().redact_text(text.strip())
    if not 0 < len(text) <= MAX_TEXT:
        raise UnusableReplyError(f"Write what the agent should read, in at most {MAX_TEXT} characters.")
    reply.title, reply.text, reply.position, reply.updated_at = title, text, position, now
    shelf = SavedReply.objects.filter(operator=reply.operator)
    with write_transaction():
        if is_new and shelf.count() >= MOST_REPLIES:
            raise UnusableReplyError(f"There are {MOST_REPLIES} replies already: delete one that nobody uses.")
        try:
            # A savepoint: on PostgreSQL an insert that fails would end the whole transaction.
            with transaction.atomic():
                reply.save()
        except IntegrityError:
            raise UnusableReplyError(f"Another reply has the key {position}.") from None
        _record("reply.added" if is_new else "reply.changed", reply, operator, now)
    return reply


def delete_reply(reply: SavedReply, operator: User, *, now: datetime) -> bool:
    """Delete a reply; False when it was gone already. Raises NotAllowedError."""
    _check_role(operator, reply)
    with write_transaction():
        deleted, _ = SavedReply.objects.filter(pk=reply.pk).delete()
        if deleted:
            _record("reply.deleted", reply, operator, now)
    return bool(deleted)


def replies_of(operator: User) -> list[SavedReply]:
    """List what an operator has at hand: by key, own before shared of the same key, then those without one."""
    found = SavedReply.objects.filter(Q(operator=operator) | Q(operator=None))
    return sorted(found, key=lambda reply: (reply.position or LAST + 1, reply.is_shared, reply.title, reply.pk))


def _check_role(operator: User, reply: SavedReply) -> None:
    role = Role.ADMIN if operator.is_superuser else role_of(operator)
    if role not in (Role.OPERATOR, Role.ADMIN):
        raise NotAllowedError("Only operators and administrators keep replies.")
    if reply.is_shared and role is not Role.ADMIN:
        raise NotAllowedError("Only administrators change what all share.")
    if not reply.is_shared and reply.operator_id != operator.pk:
        raise NotAllowedError("The reply is somebody else's.")


def _record(name: str, reply: SavedReply, operator: User, now: datetime) -> None:
    Event.record(
        name, actor=operator.get_username(), door=Door.DASHBOARD, at=now, title=reply.title, shared=reply.is_shared,
        position=reply.position, reply=reply.pk,
    )  # fmt: skip


LASTS: Final = timedelta(days=30)  # unless somebody says otherwise: what nobody looks at again goes wrong unseen
LONGEST: Final = timedelta(days=365)


class UnusableHintError(ValueError):
    """Raised for a hint that cannot stand; says why."""


def set_hint(
    mistake: Mistake,
    text: str,
    owner: User,
    *,
    now: datetime,
    expires_at: datetime | None = None,
    source: Guidance | None = None,
) -> StandingHint:
    """Tell agents this from now on, in the place of what they were told; raises UnusableHintError, LostRaceError."""
    expires_at = expires_at or now + LASTS
    if not now < expires_at <= now + LONGEST:
        raise UnusableHintError(f"Let it expire at a time to come, at most {LONGEST.days} days from now.")
    if not mistake.fingerprint:
        raise UnusableHintError("There is no mistake that it could be for.")
    text = sanitizer().redact_text(text.strip())
    if not 0 < len(text) <= MAX_STANDING:
        raise UnusableHintError(f"Write what agents should read, in at most {MAX_STANDING} characters.")
    with write_transaction():
        # The one before goes first: a constraint lets one hint of a mistake be on.
        StandingHint.objects.on().about(mistake).update(off_at=now)
        hint = StandingHint(
            namespace=mistake.namespace, tool_name=mistake.tool_name, fingerprint=mistake.fingerprint, text=text,
            owner=owner, source=source, created_at=now, expires_at=expires_at,
        )  # fmt: skip
        try:
            with transaction.atomic():
                hint.save()
        except IntegrityError:
            raise LostRaceError("somebody else has set a hint for the same mistake this moment; look at it") from None
        _record_hint("hint.set", hint, owner, now)
    return hint


def set_hint_from(
    guidance: Guidance, owner: User, *, now: datetime, expires_at: datetime | None = None
) -> StandingHint:
    """Let an answer stand, in its own words; raises UnusableHintError, LostRaceError."""
    fingerprint = guidance.base.fingerprint if guidance.base is not None else ""
    mistake = Mistake.of(guidance.call, fingerprint)
    return set_hint(mistake, guidance.text, owner, now=now, expires_at=expires_at, source=guidance)


def switch_off_hint(hint: StandingHint, operator: User, *, now: datetime) -> bool:
    """Tell agents no longer; False when it was off."""
    with write_transaction():
        if not StandingHint.objects.on().filter(pk=hint.pk).update(off_at=now):
            return False
        _record_hint("hint.switched_off", hint, operator, now)
    return True


def _record_hint(name: str, hint: StandingHint, operator: User, now: datetime) -> None:
    Event.record(
        name, actor=operator.get_username(), door=Door.DASHBOARD, at=now, hint=hint.pk, namespace=hint.namespace,
        tool=hint.tool_name, fingerprint=hint.fingerprint, expires_at=hint.expires_at.isoformat(),
    )  # fmt: skip
