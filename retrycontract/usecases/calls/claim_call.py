"""Take a Blocked call on, so that two operators don't write the same answer, or put it off until a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User

from retrycontract.store.models import Call, Claim, Door, Escalation, Event, LostRaceError, Snooze
from retrycontract.store.models.escalations import LastingQuerySet, free_calls
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

MAX_RACES: Final = 50  # tries before "next" gives up: as many others took what it had found
RENEWED_EVERY: Final = timedelta(seconds=30)  # a page tells of activity every few seconds


class NotBlockedError(RuntimeError):
    """Raised for a call that no longer waits for a person."""

    def __init__(self, call: Call) -> None:
        self.call = call
        super().__init__(f"{call} does not wait for a person: it is {call.state}")


class ClaimedError(RuntimeError):
    """Raised for a call that somebody else has; `claim` says who, and until when."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        super().__init__(f"{claim.operator} has it until {claim.until:%H:%M} UTC, or longer if they go on")


def claim_call(call: Call, operator: User, *, now: datetime) -> Claim:
    """Take a call on, or keep it for longer; raises NotBlockedError and ClaimedError.

    What somebody else let run out is taken over.
    """
    with write_transaction():
        escalation, held = _lock_for(operator, call, now)
        if held is None or held.until <= now:
            taken_over = {"from_operator": held.operator.get_username()} if held else {}
            _record("call.claimed", call, operator, now, **taken_over)
            # An escalation has one row for its claim, so one that ran out is overwritten.
            held = Claim(pk=held.pk if held else None, escalation=escalation, operator=operator, claimed_at=now)
        held.until = now + patience()
        held.save()
    return held


def claim_next(operator: User, *, now: datetime, beside: Call | None = None) -> Call | None:
    """Take on the call that waits longest, that nobody has and nobody put off; None when there is none.

    Of operators who ask at once each gets another one. `beside` is the call at hand, which is not meant.
    """
    for _ in range(MAX_RACES):
        free = free_calls(now).select_related("agent", "tool", "version")
        call = (free.exclude(pk=beside.pk) if beside else free).first()
        if call is None:
            return None
        try:
            claim_call(call, operator, now=now)
        except (ClaimedError, NotBlockedError):
            continue  # somebody was faster: the next look no longer finds it
        return call
    raise LostRaceError("others were faster each time; ask again")


def renew_claim(call: Call, operator: User, *, now: datetime) -> bool:
    """Keep a call for longer, since its operator is active; False when they don't have it."""
    mine = Claim.objects.active(now).filter(escalation__call=call, operator=operator)
    claim = mine.first()
    if claim is None:
        return False
    until = now + patience()
    if until - claim.until >= RENEWED_EVERY:
        with write_transaction():
            # With the operator once more: the row may have run out and been taken over since it was read.
            return bool(Claim.objects.filter(pk=claim.pk, operator=operator).update(until=until))
    return True


def release_claim(call: Call, operator: User, *, now: datetime) -> bool:
    """Give a call back; False when the operator didn't have it."""
    return _end(Claim.objects.filter(escalation__call=call, operator=operator), "call.released", call, operator, now)


def claim_of(call: Call, *, now: datetime) -> Claim | None:
    """Tell who has a call, if anybody has."""
    return Claim.objects.active(now).select_related("operator").filter(escalation__call=call).first()


def _end(rows: LastingQuerySet[Any], event: str, call: Call, operator: User, now: datetime) -> bool:
    """Delete a claim, or what put a call off; False when it held no longer."""
    with write_transaction():
        call.hold()
        is_active = rows.active(now).exists()
        rows.delete()
        if is_active:
            _record(event, call, operator, now)
    return is_active


def _record(name: str, call: Call, operator: User, now: datetime, **data: str) -> None:
    Event.record(name, call=call, actor=operator.get_username(), door=Door.DASHBOARD, at=now, **data)


def patience() -> timedelta:
    """Give how long a claim lasts without activity."""
    return timedelta(minutes=settings.RETRYCONTRACT.claim_minutes)


def _lock_for(operator: User, call: Call, now: datetime) -> tuple[Escalation, Claim | None]:
    """Lock a call and its open escalation, which has this claim; raises NotBlockedError, and ClaimedError by others."""
    # Locks are taken in one order everywhere, the call before the escalation: nobody waits in a circle.
    call.hold()
    escalation = open_escalation_of(call)
    held = Claim.objects.select_related("operator").filter(escalation=escalation).first()
    if held is not None and held.until > now and held.operator_id != operator.pk:
        raise ClaimedError(held)
    return escalation, held


def open_escalation_of(call: Call) -> Escalation:
    """Lock the open escalation of a call, so that one after the other decides on it; raises NotBlockedError."""
    escalation = Escalation.objects.open().select_for_update().filter(call=call).first()
    if escalation is None:
        call.refresh_from_db(fields=["state"])
        raise NotBlockedError(call)
    return escalation


LONGEST: Final = timedelta(days=7)  # an agent waits all the while
MAX_REASON: Final = 200


class UnusableTimeError(ValueError):
    """Raised for a time that a call cannot be put off until."""

    def __init__(self) -> None:
        super().__init__(f"Put it off until a time to come, at most {LONGEST.days} days from now.")


def snooze_call(call: Call, operator: User, *, until: datetime, now: datetime, reason: str = "") -> Snooze:
    """Put a call off, or change until when; raises UnusableTimeError, NotBlockedError and ClaimedError.

    The operator's own claim ends by it. A call that expires before comes back never: it expires.
    """
    if not now < until <= now + LONGEST:
        raise UnusableTimeError
    reason = sanitizer().preview_text(reason.strip(), MAX_REASON) if reason.strip() else ""
    with write_transaction():
        escalation, _ = _lock_for(operator, call, now)
        Claim.objects.filter(escalation=escalation).delete()
        values = {"operator": operator, "reason": reason, "snoozed_at": now, "until": until}
        snooze, _ = Snooze.objects.update_or_create(escalation=escalation, defaults=values)
        _record("call.snoozed", call, operator, now, until=until.isoformat(), reason=reason)
    return snooze


def wake_call(call: Call, operator: User, *, now: datetime) -> bool:
    """Put a call back into the queue before its time; False when it was there."""
    return _end(Snooze.objects.filter(escalation__call=call), "call.woken", call, operator, now)


def snooze_of(call: Call, *, now: datetime) -> Snooze | None:
    """Tell until when a call is put off, by whom and why."""
    return Snooze.objects.active(now).select_related("operator").filter(escalation__call=call).first()
