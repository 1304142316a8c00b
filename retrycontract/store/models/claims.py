"""Who has taken on an escalation, and what was put off until later."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from retrycontract.store.models.calls import Call, CallQuerySet
from retrycontract.store.models.escalations import Escalation, EscalationState
from retrycontract.store.models.held_answers import HeldAnswer


class ClaimQuerySet(models.QuerySet["Claim"]):
    """Find claims."""

    def active(self, now: datetime) -> ClaimQuerySet:
        """Keep the claims that hold: not run out, and of escalations that are still open."""
        return self.filter(until__gt=now, escalation__state=EscalationState.OPEN)

    def of_others(self, operator_id: int, now: datetime) -> ClaimQuerySet:
        """Keep what other operators hold."""
        return self.active(now).exclude(operator=operator_id)

    def run_out(self, now: datetime) -> ClaimQuerySet:
        """Keep what is to be cleared away: run out, or of an escalation that was closed."""
        return self.filter(Q(until__lte=now) | ~Q(escalation__state=EscalationState.OPEN)).order_by("until", "pk")


class Claim(models.Model):
    """An operator who looks after an escalation, until some time passed without activity."""

    escalation = models.OneToOneField(Escalation, on_delete=models.CASCADE, related_name="claim")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    claimed_at = models.DateTimeField()
    until = models.DateTimeField()

    objects = ClaimQuerySet.as_manager()

    class Meta:
        ordering = ("claimed_at", "pk")
        constraints = (models.CheckConstraint(condition=Q(until__gte=F("claimed_at")), name="claim_ends_later"),)
        # What the sweep clears away.
        indexes = (models.Index(fields=("until",), name="claim_until"),)

    def __str__(self) -> str:
        return f"{self.escalation} by {self.operator}"


class SnoozeQuerySet(models.QuerySet["Snooze"]):
    """Find what was put off."""

    def active(self, now: datetime) -> SnoozeQuerySet:
        """Keep what is still put off."""
        return self.filter(until__gt=now, escalation__state=EscalationState.OPEN)

    def run_out(self, now: datetime) -> SnoozeQuerySet:
        """Keep what comes back, or need not any more."""
        return self.filter(Q(until__lte=now) | ~Q(escalation__state=EscalationState.OPEN)).order_by("until", "pk")


class Snooze(models.Model):
    """An escalation that was put off until a time; then it stands in the queue again, where it stood before."""

    escalation = models.OneToOneField(Escalation, on_delete=models.CASCADE, related_name="snooze")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=200, blank=True, default="")
    snoozed_at = models.DateTimeField()
    until = models.DateTimeField()

    objects = SnoozeQuerySet.as_manager()

    class Meta:
        ordering = ("until", "pk")
        constraints = (models.CheckConstraint(condition=Q(until__gt=F("snoozed_at")), name="snooze_ends_later"),)
        # What comes back.
        indexes = (models.Index(fields=("until",), name="snooze_until"),)

    def __str__(self) -> str:
        return f"{self.escalation} until {self.until:%Y-%m-%d %H:%M}"


# Few calls are put off, taken on or just answered: they are read once, not looked for with each call of the queue.


def unanswered_calls() -> CallQuerySet:
    """Give the Blocked calls without those whose answer is held at the desk, the longest waiting first."""
    return Call.objects.blocked().exclude(pk__in=HeldAnswer.objects.waiting().order_by().values("call"))


def snoozed_calls(now: datetime) -> CallQuerySet:
    """Give the Blocked calls that are put off, the longest waiting first."""
    return unanswered_calls().filter(pk__in=_calls_of(Snooze.objects.active(now)))


def awake_calls(now: datetime) -> CallQuerySet:
    """Give the operators' queue without what is put off, the longest waiting first."""
    return unanswered_calls().exclude(pk__in=_calls_of(Snooze.objects.active(now)))


def free_calls(now: datetime) -> CallQuerySet:
    """Give what nobody looks after and nobody has put off, the longest waiting first."""
    return awake_calls(now).exclude(pk__in=_calls_of(Claim.objects.active(now)))


def claimed_calls(operator_id: int, now: datetime) -> CallQuerySet:
    """Give what an operator has taken on."""
    return unanswered_calls().filter(pk__in=_calls_of(Claim.objects.active(now).filter(operator=operator_id)))


def _calls_of(rows: models.QuerySet[Any]) -> models.QuerySet[Any, Any]:
    return rows.order_by().values("escalation__call")
