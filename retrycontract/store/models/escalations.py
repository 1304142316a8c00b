"""Escalations: requests for a person, who has taken one on or put it off, and the guidance that answers them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber

from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.fields import JSONText, new_escalation_id
from retrycontract.store.models.attempts import Attempt
from retrycontract.store.models.calls import Call, CallQuerySet


class EscalationState(models.TextChoices):
    """Name how an escalation stands or ended."""

    OPEN = "open"
    ANSWERED = "answered"
    RESOLVED = "resolved"  # the agent's own next attempt was valid
    CANCELLED = "cancelled"
    EXPIRED = "expired"


Lasting = TypeVar("Lasting", bound=models.Model)
# Excluded of what was claimed or put off: asked for what is open, SQLite goes through all open escalations.
CLOSED: Final = sorted({*EscalationState} - {EscalationState.OPEN})
ANSWERABLE: Final = (EscalationState.OPEN, EscalationState.EXPIRED)


class EscalationQuerySet(models.QuerySet["Escalation"]):
    """Find escalations."""

    def open(self) -> EscalationQuerySet:
        """Keep those that wait for a person."""
        return self.filter(state=EscalationState.OPEN)

    def answerable(self) -> EscalationQuerySet:
        """Keep those that a person may answer, late answers among them; a call that a policy rejected is over."""
        return self.filter(state__in=ANSWERABLE).exclude(call__state=CallState.REJECTED)

    def close(self, call: Call, state: EscalationState, now: datetime) -> int:
        """Close the open escalation of a call; returns how many were open, 0 or 1."""
        return self.open().filter(call=call).update(state=state, closed_at=now)


class Escalation(models.Model):
    """A Blocked call's request for a person; a call is escalated again when guidance failed."""

    public_id = models.CharField(max_length=40, unique=True, default=new_escalation_id)
    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="escalations")
    round = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=EscalationState.choices, default=EscalationState.OPEN)
    text = models.TextField()
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    objects = EscalationQuerySet.as_manager()

    class Meta:
        ordering = ("call", "round")
        constraints = (
            models.UniqueConstraint(fields=("call", "round"), name="escalation_unique_round"),
            models.UniqueConstraint(fields=("call",), condition=Q(state="open"), name="escalation_one_open"),
            models.CheckConstraint(condition=Q(state__in=EscalationState.values), name="escalation_state_known"),
            models.CheckConstraint(
                condition=Q(state="open", closed_at__isnull=True) | (~Q(state="open") & Q(closed_at__isnull=False)),
                name="escalation_closed_has_time",
            ),
        )

    def __str__(self) -> str:
        return self.public_id

    @property
    def has_expired(self) -> bool:
        """Tell whether nobody answered it in time."""
        return self.state == EscalationState.EXPIRED


class Guidance(models.Model):
    """An operator's answer: at most one for each escalation, the first one wins."""

    # No OneToOneField, though there is one at most: both would hold each other, and a correction of megabytes would
    # stay until the collector of garbage comes.
    escalation = models.ForeignKey(Escalation, on_delete=models.PROTECT, related_name="guidance", db_index=False)
    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="guidance")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    decision = models.CharField(max_length=10, choices=[(d.value, d.value.capitalize()) for d in Decision])
    base = models.ForeignKey(Attempt, null=True, on_delete=models.PROTECT, related_name="+")
    granted = models.PositiveSmallIntegerField()
    given_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    record = models.ForeignKey("AnswerRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    # What became of the first attempt after it was read; None while there is none.
    next_valid = models.BooleanField(null=True)
    text = models.TextField(blank=True, default="")
    rendered = models.TextField()
    arguments = JSONText(null=True)
    patch = JSONText(null=True)

    class Meta:
        ordering = ("call", "pk")
        verbose_name_plural = "guidance"
        constraints = (
            models.UniqueConstraint(fields=("escalation",), name="guidance_one_each"),
            models.CheckConstraint(
                condition=Q(decision__in=[decision.value for decision in Decision]), name="guidance_decision_known"
            ),
            models.CheckConstraint(condition=Q(granted__range=(0, 5)), name="guidance_grant_range"),
        )

    def __str__(self) -> str:
        return f"{self.decision} for {self.escalation}"


LONGEST_HOLD: Final = timedelta(minutes=1)  # the bound of the setting


class HeldAnswerQuerySet(models.QuerySet["HeldAnswer"]):
    """Find held answers."""

    def due(self, now: datetime) -> HeldAnswerQuerySet:
        """Keep those whose time to be taken back is over, the oldest first."""
        # What was sent beyond any hold from now was sent before the clock went back: nobody waits until it is there.
        is_over = Q(send_at__lte=now) | Q(held_at__gt=now + LONGEST_HOLD)
        return self.waiting().filter(is_over).order_by("send_at", "pk")

    def first_of_each_press(self) -> HeldAnswerQuerySet:
        """Put the first answer of each press before any second: thousands that were given at once hold up no other."""
        turn = Window(RowNumber(), partition_by="batch", order_by=("send_at", "pk"))
        return self.annotate(turn=turn).order_by("turn", "send_at", "pk")

    def waiting(self) -> HeldAnswerQuerySet:
        """Keep those that may still be given; the request of the others has ended under them."""
        return self.filter(escalation__state__in=ANSWERABLE).exclude(call__state=CallState.REJECTED)

    def unsent(self) -> HeldAnswerQuerySet:
        """Keep those that were not given when their hold was over, and whose words would be lost; the newest first."""
        # What is refused is put off beyond any hold, see `put_off`.
        is_late = Q(send_at__gt=F("held_at") + LONGEST_HOLD)
        return self.filter(~Q(pk__in=self.model.objects.waiting().values("pk")) | is_late).order_by("-held_at", "-pk")


class HeldAnswer(models.Model):
    """An answer that no agent sees before `send_at`; its call stays Blocked, and nobody else can answer it."""

    # One each: the first answer wins from the moment it is sent, not from the moment it is delivered.
    escalation = models.ForeignKey(Escalation, on_delete=models.CASCADE, related_name="held_answer", db_index=False)
    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="+")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    batch = models.CharField(max_length=40, db_index=True)  # what was sent by one press, and is taken back by one
    decision = models.CharField(max_length=10, choices=[(d.value, d.value.capitalize()) for d in Decision])
    grant = models.PositiveSmallIntegerField()
    base_number = models.PositiveIntegerField(null=True)  # it is about this attempt, whatever came since
    stands_days = models.PositiveSmallIntegerField(null=True)  # how long it is told to the next agents, too
    held_at = models.DateTimeField()
    send_at = models.DateTimeField()
    text = models.TextField(blank=True, default="")
    rendered = models.TextField()
    arguments = JSONText(null=True)

    objects = HeldAnswerQuerySet.as_manager()

    class Meta:
        ordering = ("send_at", "pk")
        constraints = (
            models.UniqueConstraint(fields=("escalation",), name="heldanswer_one_each"),
            models.CheckConstraint(condition=Q(send_at__gt=F("held_at")), name="heldanswer_sent_later"),
            models.CheckConstraint(
                condition=Q(decision__in=[decision.value for decision in Decision]), name="heldanswer_decision_known"
            ),
        )
        # What the sweep sends.
        indexes = (models.Index(fields=("send_at",), name="heldanswer_send_at"),)

    def __str__(self) -> str:
        return f"{self.decision} for {self.escalation}, held"

    @property
    def given_at(self) -> datetime:
        return self.held_at

    @property
    def has_missed(self) -> bool:
        """Tell whether nobody needs it any more: it stays for its operator to see, and to put away."""
        return self.escalation.state not in ANSWERABLE or self.call.state == CallState.REJECTED

    @property
    def is_unsent(self) -> bool:
        """Tell whether it was not given when its hold was over."""
        return self.has_missed or self.send_at > self.held_at + LONGEST_HOLD

    def put_off(self, now: datetime) -> None:
        """Try again later what was refused: its operator is told meanwhile, and others due are not kept from going."""
        # Later than any hold can end, by which `unsent` tells it from an answer that still waits.
        type(self).objects.filter(pk=self.pk).update(send_at=now + 2 * LONGEST_HOLD)


class LastingQuerySet(models.QuerySet[Lasting]):
    """Find what lasts until a time, as long as its escalation is open: claims, and what was put off."""

    def active(self, now: datetime) -> Self:
        """Keep those that hold: not run out, and of escalations that are still open."""
        return self.filter(until__gt=now).exclude(escalation__state__in=CLOSED)

    def run_out(self, now: datetime) -> Self:
        """Keep what is to be cleared away: run out, or of an escalation that was closed."""
        return self.filter(Q(until__lte=now) | ~Q(escalation__state=EscalationState.OPEN)).order_by("until", "pk")


class ClaimQuerySet(LastingQuerySet["Claim"]):
    """Find claims."""

    def of_others(self, operator_id: int, now: datetime) -> ClaimQuerySet:
        """Keep what other operators hold."""
        return self.active(now).exclude(operator=operator_id)


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


class SnoozeQuerySet(LastingQuerySet["Snooze"]):
    """Find what was put off."""


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
    return unanswered_calls().filter(pk__in=_calls_of(Claim.objects.active(now).filter(operator=operator_id)))


def _calls_of(rows: models.QuerySet[Any]) -> models.QuerySet[Any, Any]:
    return rows.order_by().values("escalation__call")
