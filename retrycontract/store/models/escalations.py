"""Escalations: requests for a person, and the guidance that answers them."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.fields import JSONText
from retrycontract.store.identifiers import new_escalation_id
from retrycontract.store.models.calls import Attempt, Call


class EscalationState(models.TextChoices):
    """Name how an escalation stands or ended."""

    OPEN = "open"
    ANSWERED = "answered"
    RESOLVED = "resolved"  # the agent's own next attempt was valid
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class EscalationQuerySet(models.QuerySet["Escalation"]):
    """Find escalations."""

    def open(self) -> EscalationQuerySet:
        """Keep those that wait for a person."""
        return self.filter(state=EscalationState.OPEN)

    def answerable(self) -> EscalationQuerySet:
        """Keep those that a person may answer, late answers among them; a call that a policy rejected is over."""
        unanswered = (EscalationState.OPEN, EscalationState.EXPIRED)
        return self.filter(state__in=unanswered).exclude(call__state=CallState.REJECTED)

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

    escalation = models.OneToOneField(Escalation, on_delete=models.PROTECT, related_name="guidance")
    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="guidance")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    decision = models.CharField(max_length=10, choices=[(d.value, d.value.capitalize()) for d in Decision])
    text = models.TextField(blank=True, default="")
    arguments = JSONText(null=True)
    patch = JSONText(null=True)
    base = models.ForeignKey(Attempt, null=True, on_delete=models.PROTECT, related_name="+")
    granted = models.PositiveSmallIntegerField()
    rendered = models.TextField()
    given_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    record = models.ForeignKey("AnswerRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    # What became of the first attempt after it; None while there is none.
    next_valid = models.BooleanField(null=True)

    class Meta:
        ordering = ("call", "pk")
        verbose_name_plural = "guidance"
        constraints = (
            models.CheckConstraint(
                condition=Q(decision__in=[decision.value for decision in Decision]), name="guidance_decision_known"
            ),
            models.CheckConstraint(condition=Q(granted__range=(0, 5)), name="guidance_grant_range"),
        )

    def __str__(self) -> str:
        return f"{self.decision} for {self.escalation}"
