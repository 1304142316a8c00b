"""Who looks after a call, and until when it was put off, as one operator sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone

from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Call, Claim, Snooze
from retrycontract.usecases.calls.claim_call import claim_of, snooze_of

AFTERNOON: Final = 14  # hours of the clock
MORNING: Final = 9


@dataclass(frozen=True, slots=True)
class Work:
    """Hold what the page of a Blocked call says about the work on it."""

    call: Call
    operator: int
    claim: Claim | None
    snooze: Snooze | None

    @property
    def is_wanted(self) -> bool:
        """Tell whether there is work: the call waits for a person."""
        return self.call.state == CallState.BLOCKED

    @property
    def is_mine(self) -> bool:
        """Tell whether the operator who looks has it."""
        return self.claim is not None and self.claim.operator_id == self.operator

    @property
    def is_taken(self) -> bool:
        """Tell whether somebody else has it."""
        return self.claim is not None and not self.is_mine

    @property
    def version(self) -> str:
        """Name what is shown: equal names need no new part of the page."""
        claim = f"{self.claim.operator_id}-{self.claim.until:%H%M}" if self.claim else ""
        snooze = f"{self.snooze.until.timestamp():.0f}" if self.snooze else ""
        return f"{self.call.state}.{claim}.{snooze}"


@dataclass(frozen=True, slots=True)
class SnoozeChoice:
    """Offer a time to put a call off until."""

    name: str
    label: str
    until: datetime


def read_work(call: Call, operator: int, *, now: datetime) -> Work:
    """Read who has a call and until when it was put off; what does not wait for a person costs no query."""
    if call.state != CallState.BLOCKED:
        return Work(call, operator, None, None)
    return Work(call, operator, claim_of(call, now=now), snooze_of(call, now=now))


def snooze_choices(now: datetime) -> tuple[SnoozeChoice, ...]:
    """Offer times by the operator's clock; the afternoon only while it is to come."""
    local = timezone.localtime(now)
    # `fold` is of the hour that is now: where clocks change it would stand for another moment tomorrow.
    at = local.replace(minute=0, second=0, microsecond=0, fold=0)
    choices = [SnoozeChoice("hour", "In an hour", now + timedelta(hours=1))]
    if local.hour < AFTERNOON - 1:
        choices.append(SnoozeChoice("afternoon", "This afternoon", at.replace(hour=AFTERNOON)))
    # Times of one zone are added by the wall clock, so that nine stays nine when the clocks change.
    tomorrow = at.replace(hour=MORNING) + timedelta(days=1)
    return (*choices, SnoozeChoice("tomorrow", "Tomorrow morning", tomorrow))
