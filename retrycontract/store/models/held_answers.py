"""Answers that were sent and still wait at the desk for a few seconds, so that their operator may take them back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.fields import JSONText
from retrycontract.store.models.calls import Call
from retrycontract.store.models.escalations import Escalation, EscalationState

ANSWERABLE: Final = (EscalationState.OPEN, EscalationState.EXPIRED)
LONGEST_HOLD: Final = timedelta(minutes=1)  # the bound of the setting


class HeldAnswerQuerySet(models.QuerySet["HeldAnswer"]):
    """Find held answers."""

    def due(self, now: datetime) -> HeldAnswerQuerySet:
        """Keep those whose time to be taken back is over, the oldest first."""
        return self.waiting().filter(send_at__lte=now).order_by("send_at", "pk")

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
    escalation = models.OneToOneField(Escalation, on_delete=models.CASCADE, related_name="held_answer")
    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="+")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    batch = models.CharField(max_length=40, db_index=True)  # what was sent by one press, and is taken back by one
    decision = models.CharField(max_length=10, choices=[(d.value, d.value.capitalize()) for d in Decision])
    text = models.TextField(blank=True, default="")
    arguments = JSONText(null=True)
    grant = models.PositiveSmallIntegerField()
    base_number = models.PositiveIntegerField(null=True)  # it is about this attempt, whatever came since
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
        type(self).objects.filter(pk=self.pk).update(send_at=now + 2 * LONGEST_HOLD)
