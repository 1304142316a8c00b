"""Answers that were sent and still wait at the desk for a few seconds, so that their operator may take them back."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from retrycontract.contract.decisions import Decision
from retrycontract.store.fields import JSONText
from retrycontract.store.models.calls import Call
from retrycontract.store.models.escalations import Escalation


class HeldAnswerQuerySet(models.QuerySet["HeldAnswer"]):
    """Find held answers."""

    def due(self, now: datetime) -> HeldAnswerQuerySet:
        """Keep those whose time to be taken back is over, the oldest first."""
        return self.filter(send_at__lte=now).order_by("send_at", "pk")


class HeldAnswer(models.Model):
    """An answer that no agent sees before `send_at`; its call stays Blocked, and nobody else can answer it."""

    # One each: the first answer wins from the moment it is sent, not from the moment it is delivered.
    escalation = models.OneToOneField(Escalation, on_delete=models.CASCADE, related_name="held_answer")
    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="+")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    batch = models.CharField(max_length=40, db_index=True)  # what was sent by one press, and is taken back by one
    decision = models.CharField(max_length=10, choices=[(d.value, d.value.capitalize()) for d in Decision])
    text = models.TextField(blank=True, default="")
    arguments = JSONText(null=True)
    grant = models.PositiveSmallIntegerField()
    base_number = models.PositiveIntegerField(null=True)
    mistake = models.CharField(max_length=64, null=True)  # of a group: another one is not answered unseen
    stands_days = models.PositiveSmallIntegerField(null=True)  # how long it is told to the next agents, too
    rendered = models.TextField()
    held_at = models.DateTimeField()
    send_at = models.DateTimeField()

    objects = HeldAnswerQuerySet.as_manager()

    class Meta:
        ordering = ("send_at", "pk")
        constraints = (
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
        """Tell when the operator sent it."""
        return self.held_at
