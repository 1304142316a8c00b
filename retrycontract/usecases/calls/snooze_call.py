"""Put a Blocked call off until a time: it leaves the queue, and comes back by itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User

from retrycontract.store.models import Call, Claim, Door, Event, Snooze
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.calls.claim_call import ClaimedError, open_escalation_of
from retrycontract.usecases.tools.contracts import sanitizer

LONGEST: Final = timedelta(days=7)  # an agent waits all the while
MAX_REASON: Final = 200


class UnusableTimeError(ValueError):
    """Raised for a time that a call cannot be put off until."""

    def __init__(self) -> None:
        super().__init__(f"Put it off until a time to come, at most {LONGEST.days} days from now.")


def snooze_call(
    call: Call, operator: User, *, until: datetime, now: datetime, reason: str = "", door: Door = Door.DASHBOARD
) -> Snooze:
    """Put a call off, or change until when; raises UnusableTimeError, NotBlockedError and ClaimedError.

    The operator's own claim ends by it. A call that expires before comes back never: it expires.
    """
    if not now < until <= now + LONGEST:
        raise UnusableTimeError
    reason = sanitizer().preview_text(reason.strip(), MAX_REASON) if reason.strip() else ""
    with write_transaction():
        call.hold()
        escalation = open_escalation_of(call)
        held = Claim.objects.select_related("operator").filter(escalation=escalation).first()
        if held is not None and held.until > now and held.operator_id != operator.pk:
            raise ClaimedError(held)
        Claim.objects.filter(escalation=escalation).delete()
        values = {"operator": operator, "reason": reason, "snoozed_at": now, "until": until}
        snooze, _ = Snooze.objects.update_or_create(escalation=escalation, defaults=values)
        Event.record(
            "call.snoozed", call=call, actor=operator.get_username(), door=door, at=now, until=until.isoformat(),
            reason=reason,
        )  # fmt: skip
    return snooze


def wake_call(call: Call, operator: User, *, now: datetime, door: Door = Door.DASHBOARD) -> bool:
    """Put a call back into the queue before its time; False when it was there."""
    with write_transaction():
        call.hold()
        mine = Snooze.objects.filter(escalation__call=call)
        was_asleep = mine.active(now).exists()
        mine.delete()
        if was_asleep:
            Event.record("call.woken", call=call, actor=operator.get_username(), door=door, at=now)
    return was_asleep


def snooze_of(call: Call, *, now: datetime) -> Snooze | None:
    """Tell until when a call is put off, by whom and why."""
    return Snooze.objects.active(now).select_related("operator").filter(escalation__call=call).first()
