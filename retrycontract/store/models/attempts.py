"""The attempts of calls."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import models
from django.db.models import F, Q

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.events import TRACEPARENT_LENGTH
from retrycontract.contract.generation import MAX_MODEL
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.tracker import AttemptRecord
from retrycontract.store.fields import JSONText, literals
from retrycontract.store.models.calls import Call
from retrycontract.store.statements import Statement

MAX_API_ERROR = 300  # characters of why a model could not be asked


class AttemptState(models.TextChoices):
    """Name where an attempt stands between the door and its verdict."""

    QUEUED = "queued"
    LEASED = "leased"
    JUDGED = "judged"
    DEAD = "dead"  # the checker could not finish, again and again
    DISCARDED = "discarded"  # its call was cancelled first
    UNASKED = "unasked"  # the model could not be asked, so there was nothing to judge

    @classmethod
    def waiting(cls) -> list[str]:
        """List the states without a verdict."""
        return [cls.QUEUED.value, cls.LEASED.value]


class AttemptQuerySet(models.QuerySet["Attempt"]):
    """Find attempts."""

    def waiting(self) -> AttemptQuerySet:
        """Keep the attempts that have no verdict yet."""
        return self.filter(state__in=literals(AttemptState.waiting()))

    def discard(self) -> int:
        """Drop what waits, since its call has ended, and purge its text; returns how many waited."""
        return self.waiting().update(state=AttemptState.DISCARDED, sealed=None, lease_until=None)

    def newest_judged(self, calls: Collection[Call]) -> AttemptQuerySet:
        """Keep the newest attempt with a verdict of each call."""
        judged = Attempt.objects.filter(call=models.OuterRef("call"), is_valid__isnull=False)
        return self.filter(call__in=calls, pk=models.Subquery(judged.order_by("-number").values("pk")[:1]))

    def claimable(self, now: datetime) -> AttemptQuerySet:
        """Keep what a worker may take: queued or left behind by a dead one, and first of its call.

        Of an agent's dear ones only one is judged at a time: many at once must not hold all workers.
        """
        earlier = Attempt.objects.waiting().filter(call=models.OuterRef("call"), number__lt=models.OuterRef("number"))
        free = Q(state=AttemptState.QUEUED) | Q(state=AttemptState.LEASED, lease_until__lte=now)
        # The agent is looked up inside. A join of this query would move an update's conditions into a subquery, which
        # PostgreSQL does not ask again after it waited for a row: two workers would both hold the attempt.
        agent = Call.objects.filter(pk=models.OuterRef(models.OuterRef("call"))).values("agent")
        in_hand = Attempt.objects.waiting().filter(
            state=AttemptState.LEASED, is_dear=True, lease_until__gt=now, call__agent=models.Subquery(agent)
        )
        is_first, may_begin = ~models.Exists(earlier), Q(is_dear=False) | ~models.Exists(in_hand)
        return self.waiting().filter(free, is_first, may_begin).order_by("pk")

    def left_behind(self, now: datetime, before: datetime) -> AttemptQuerySet:
        """Keep what a worker may take and nobody took: queued before a moment, or its lease ran out."""
        return self.claimable(now).filter(Q(state=AttemptState.LEASED) | Q(submitted_at__lt=before))


CLAIMABLE = Statement(lambda pk, now: Attempt.objects.claimable(now).filter(pk=pk).order_by(), "pk", "now")
TO_JUDGE = Statement(
    lambda pk: Attempt.objects.filter(pk=pk).select_related("call__agent", "call__tool", "call__version").order_by(),
    "pk",
)


class Attempt(models.Model):
    """One submission for a call. Only redacted output stays; the raw one is sealed until it is judged."""

    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=AttemptState.choices)
    tool_call_id = models.CharField(max_length=200)
    turn = models.BigIntegerField(null=True)
    traceparent = models.CharField(max_length=TRACEPARENT_LENGTH, null=True)
    submitted_at = models.DateTimeField()

    # How the output came about, as the agent tells it; texts are redacted and shortened.
    model = models.CharField(max_length=MAX_MODEL, null=True)
    prompt = JSONText(null=True)  # one text; as JSON it may hold what PostgreSQL refuses
    said = JSONText(null=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(null=True)
    finish_reason = models.CharField(max_length=200, null=True)

    sealed = models.BinaryField(null=True)
    # Judged in a child process: by estimate more than the door's few milliseconds, or its version crashed before.
    is_dear = models.BooleanField(default=False)
    lease_token = models.CharField(max_length=40, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    deliveries = models.PositiveSmallIntegerField(default=0)

    judged_at = models.DateTimeField(null=True)
    is_valid = models.BooleanField(null=True)
    status = models.CharField(max_length=12, blank=True, default="", choices=[(s.value, s.value) for s in Status])
    errors_json = JSONText(default=list)
    output = JSONText(null=True)
    is_parsed = models.BooleanField(default=False)
    is_redacted = models.BooleanField(default=False)
    output_hash = models.CharField(max_length=64, blank=True, default="")
    feedback = models.TextField(blank=True, default="")
    api_error = models.CharField(max_length=MAX_API_ERROR, null=True)  # why the model could not be asked
    shown_attempt = models.PositiveIntegerField(default=0)
    shown_max = models.PositiveIntegerField(default=0)
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    duration_us = models.PositiveBigIntegerField(null=True)
    # What joined the feedback; stored with the verdict, and looked up by call.
    standing_hint = models.ForeignKey(
        "StandingHint", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ("call", "number")
        constraints = (
            models.UniqueConstraint(fields=("call", "number"), name="attempt_unique_number"),
            models.CheckConstraint(condition=Q(state__in=AttemptState.values), name="attempt_state_known"),
            models.CheckConstraint(
                condition=Q(state__in=AttemptState.waiting(), sealed__isnull=False)
                | (~Q(state__in=AttemptState.waiting()) & Q(sealed__isnull=True)),
                name="attempt_sealed_until_judged",
            ),
            models.CheckConstraint(
                condition=~Q(state=AttemptState.JUDGED) | Q(is_valid__isnull=False, judged_at__isnull=False),
                name="attempt_judged_has_verdict",
            ),
        )
        indexes = (
            # What workers claim and the sweep looks for.
            models.Index(fields=("id",), name="attempt_waiting", condition=Q(state__in=("queued", "leased"))),
            # The search among all calls.
            models.Index(
                fields=("tool_call_id", "-id"),
                name="attempt_by_tool_call",
                opclasses=("varchar_pattern_ops", "int8_ops"),  # by letters, so that a beginning is a range
            ),
        )

    def __str__(self) -> str:
        return f"{self.call} #{self.number}"

    @classmethod
    def claim(cls, attempt_id: int, *, token: str, now: datetime, until: datetime) -> Attempt | None:
        """Lease one attempt, or None when somebody else has it or it is not its turn."""
        leased = {"state": AttemptState.LEASED, "lease_token": token, "lease_until": until}
        if not CLAIMABLE.update(leased | {"deliveries": F("deliveries") + 1}, pk=attempt_id, now=now):
            return None
        return TO_JUDGE.first(pk=attempt_id)

    def count_delivery(self, token: str, change: int) -> bool:
        """Count a delivery, or count it no longer; False when the lease is lost."""
        mine = Attempt.objects.filter(pk=self.pk, lease_token=token, state=AttemptState.LEASED)
        return bool(mine.update(deliveries=F("deliveries") + change))

    @property
    def errors(self) -> tuple[ValidationError, ...]:
        """Give the attempt's errors, sorted as they were told."""
        return tuple(ValidationError.from_json(data) for data in self.errors_json)

    def earlier_failures(self) -> list[AttemptRecord]:
        """Read the errors of the call's failed attempts before this one, oldest first; the first asks nothing."""
        if self.number == 1:
            return []
        before = Attempt.objects.filter(call_id=self.call_id, is_valid=False, number__lt=self.number)
        rows = before.order_by("number").values_list("number", "errors_json", "judged_at")
        return [AttemptRecord(number, tuple(map(ValidationError.from_json, data)), at) for number, data, at in rows]

    @property
    def is_waiting(self) -> bool:
        """Tell whether the attempt has no verdict yet."""
        return self.state in AttemptState.waiting()
