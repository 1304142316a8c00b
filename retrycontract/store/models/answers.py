"""Answers: on their way, at hand, what they were good for, and those that stand for the next calls alike."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from retrycontract.contract.decisions import Decision
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.fields import JSONText
from retrycontract.store.models.calls import Call, CallQuerySet
from retrycontract.store.models.escalations import Guidance, unanswered_calls
from retrycontract.store.statements import Statement

# What an agent goes on from; the other decisions end the call.
TRIED = tuple(decision for decision in Decision if decision.leads_to is CallState.GUIDED)


@dataclass(frozen=True, slots=True)
class Mistake:
    """Name what calls have in common that one answer may fit: a tool of a namespace, and what is wrong."""

    namespace: str
    tool_name: str
    fingerprint: str

    @property
    def calls(self) -> CallQuerySet:
        """Give the Blocked calls that made it and that nobody has answered, the longest waiting first."""
        return unanswered_calls().filter(
            agent__namespace=self.namespace, tool_name=self.tool_name, fingerprint=self.fingerprint
        )

    @classmethod
    def of(cls, call: Call, fingerprint: str | None = None) -> Mistake:
        """Name the mistake of a call, its newest unless another one is named."""
        return cls(call.agent.namespace, call.tool_name, call.fingerprint if fingerprint is None else fingerprint)


class AnswerRecordQuerySet(models.QuerySet["AnswerRecord"]):
    """Keep and find records."""

    def about(self, mistake: Mistake) -> AnswerRecordQuerySet:
        return self.filter(**asdict(mistake))

    def count_given(self, mistake: Mistake, decision: Decision, text: str, patch: Any, now: datetime) -> AnswerRecord:
        """Count an answer that is given, right however many give the same at once."""
        digest = hashlib.sha256(json.dumps([decision, text, patch], sort_keys=True).encode()).hexdigest()
        key = asdict(mistake) | {"digest": digest}
        new = AnswerRecord(**key, decision=decision, text=text, patch=patch, last_given_at=now)
        # The row first, where it is missing, then one UPDATE that adds to it: of two at once both are counted.
        self.bulk_create([new], ignore_conflicts=True)
        self.filter(**key).update(given=F("given") + 1, last_given_at=now)
        return self.get(**key)

    def count_tried(self, record_id: int, *, is_valid: bool) -> None:
        """Count what became of the next attempt."""
        self.filter(pk=record_id).update(tried=F("tried") + 1, worked=F("worked") + int(is_valid))


class AnswerRecord(models.Model):
    """How often an answer was given to a mistake, and how often the next attempt was valid."""

    namespace = models.CharField(max_length=200)
    tool_name = models.CharField(max_length=300)
    fingerprint = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    decision = models.CharField(max_length=10, choices=[(d.value, d.value.capitalize()) for d in TRIED])
    given = models.PositiveIntegerField(default=0)
    tried = models.PositiveIntegerField(default=0)
    worked = models.PositiveIntegerField(default=0)
    last_given_at = models.DateTimeField()
    text = models.TextField(blank=True, default="")
    patch = JSONText(null=True)

    objects = AnswerRecordQuerySet.as_manager()

    class Meta:
        ordering = ("-last_given_at", "-pk")
        constraints = (
            # Found by what was answered; its beginning finds all answers to a mistake.
            models.UniqueConstraint(
                fields=("namespace", "tool_name", "fingerprint", "digest"), name="answerrecord_unique"
            ),
            models.CheckConstraint(condition=Q(decision__in=[d.value for d in TRIED]), name="answerrecord_is_tried"),
            models.CheckConstraint(
                condition=Q(worked__lte=F("tried"), tried__lte=F("given")), name="answerrecord_counts_fit"
            ),
        )
        # What nobody gave for long, for retention.
        indexes = (models.Index(fields=("last_given_at",), name="answerrecord_last_given"),)

    def __str__(self) -> str:
        return f"{self.decision} for {self.tool_name}: {self.given} times"

    @property
    def fits_other_calls(self) -> bool:
        """Tell whether the answer can be given again: a correction without a patch was made of one call alone."""
        return self.patch is not None or not Decision(self.decision).entry.takes_arguments


class StandingHintQuerySet(models.QuerySet["StandingHint"]):
    """Find hints and count what they are good for."""

    def about(self, mistake: Mistake) -> StandingHintQuerySet:
        return self.filter(**asdict(mistake))

    def on(self) -> StandingHintQuerySet:
        """Keep those that nobody switched off; they may have expired."""
        return self.filter(off_at=None)

    def active(self, now: datetime) -> StandingHintQuerySet:
        """Keep those that are told to agents now."""
        return self.on().filter(expires_at__gt=now)


HINT_FOR = Statement(
    lambda now, **mistake: StandingHint.objects.active(now).filter(**mistake)[:1],
    "now", "namespace", "tool_name", "fingerprint",
)  # fmt: skip


class StandingHint(models.Model):
    """An operator's words for all calls that make a mistake: they join the first feedback and spare the escalation."""

    namespace = models.CharField(max_length=200)
    tool_name = models.CharField(max_length=300)
    fingerprint = models.CharField(max_length=64)
    text = models.TextField()
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    source = models.ForeignKey("Guidance", null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    off_at = models.DateTimeField(null=True)
    shown = models.PositiveIntegerField(default=0)
    tried = models.PositiveIntegerField(default=0)
    worked = models.PositiveIntegerField(default=0)

    objects = StandingHintQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            # Found with every failed attempt.
            models.UniqueConstraint(
                fields=("namespace", "tool_name", "fingerprint"), condition=Q(off_at__isnull=True),
                name="standinghint_one_on",
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="standinghint_ends_later"),
            models.CheckConstraint(
                condition=Q(worked__lte=F("tried"), tried__lte=F("shown")), name="standinghint_counts_fit"
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"for {self.tool_name}: shown {self.shown} times, next attempt valid {self.worked} times"

    def is_active(self, now: datetime) -> bool:
        """Tell whether agents are told it now."""
        return self.off_at is None and self.expires_at > now


class GuidanceStage(models.TextChoices):
    """Name the stages of an answer, in their order."""

    PROPOSED = "proposed"  # by the service, from the near misses of what the agent sent
    EDITED = "edited"  # as the operator sent it off, without secrets
    DELIVERED = "delivered"  # as the agent was first handed it


class GuidanceVersion(models.Model):
    """An answer as it was at one stage; never changed."""

    guidance = models.ForeignKey(Guidance, on_delete=models.CASCADE, related_name="versions")
    stage = models.CharField(max_length=10, choices=GuidanceStage.choices)
    at = models.DateTimeField()
    text = models.TextField(blank=True, default="")
    arguments = JSONText(null=True)
    patch = JSONText(null=True)

    class Meta:
        ordering = ("guidance", "pk")
        constraints = (
            models.UniqueConstraint(fields=("guidance", "stage"), name="guidanceversion_one_each"),
            models.CheckConstraint(condition=Q(stage__in=GuidanceStage.values), name="guidanceversion_stage_known"),
        )

    def __str__(self) -> str:
        return f"{self.stage}: {self.guidance}"


FIRST, LAST = 1, 9  # the keys of a keyboard


class SavedReply(models.Model):
    """A text for answers, of one operator or shared by all; at most one for each of the keys 1 to 9 on each shelf."""

    operator = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    title = models.CharField(max_length=80)
    text = models.TextField()
    position = models.PositiveSmallIntegerField(null=True)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("operator", "position", "title", "pk")
        verbose_name_plural = "saved replies"
        constraints = (
            models.CheckConstraint(
                condition=Q(position__isnull=True) | Q(position__range=(FIRST, LAST)), name="savedreply_position_range"
            ),
            models.UniqueConstraint(fields=("operator", "position"), name="savedreply_unique_own_position"),
            # NULLs are never equal in a unique constraint: shared replies, which have no
            # operator, need one of their own.
            models.UniqueConstraint(
                fields=("position",), condition=Q(operator__isnull=True), name="savedreply_unique_shared_position"
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_shared(self) -> bool:
        """Tell whether it belongs to all operators."""
        return self.operator_id is None
