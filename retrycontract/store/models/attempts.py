"""The attempts of calls, what a repeated one is recognised by, and the log of responses, which is a view of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, ClassVar, Final

from django.db import models
from django.db.models import F, Q

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.events import TRACEPARENT_LENGTH
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs import MAX_MODEL, Kind
from retrycontract.contract.tracker import AttemptRecord
from retrycontract.contract.webhooks import ResponseStatus, response_status
from retrycontract.store.fields import JSONText, literals
from retrycontract.store.models.agents import Agent
from retrycontract.store.models.calls import Call, CallQuerySet
from retrycontract.store.sizes import first_within
from retrycontract.store.statements import Statement
from retrycontract.store.transactions import write_turn

LOOKED_AT = 200  # waiting attempts that are looked at together
# As long as a worker's lease: SQLite changes the row in place, where it would write all of it, two megabytes, anew.
# Whoever reads a lease asks for the state first.
NO_LEASE: Final = "0" * 32
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

    def waiting_in_call(self) -> AttemptQuerySet:
        """Keep the same of one call, past the index of all that waits, which PostgreSQL believes to be short."""
        return self.exclude(state__in=[state for state in AttemptState if state not in AttemptState.waiting()])

    def discard(self) -> int:
        """Drop what waits in a call that has ended, and purge its text; returns how many waited."""
        return self.waiting_in_call().update(state=AttemptState.DISCARDED, sealed=None, lease_until=None)

    def newest_judged(self, calls: Collection[Call]) -> AttemptQuerySet:
        """Keep the newest attempt with a verdict of each call."""
        judged = Attempt.objects.filter(call=models.OuterRef("call"), is_valid__isnull=False)
        return self.filter(call__in=calls, pk=models.Subquery(judged.order_by("-number").values("pk")[:1]))

    def claimable(self, now: datetime, dear: bool | None = None) -> AttemptQuerySet:
        """Keep what a worker may take: queued or left behind by a dead one, first of its call, and dear or not.

        Of an agent's dear ones only one is judged at a time: many at once must not hold all workers.
        """
        before = Attempt.objects.filter(call=models.OuterRef("call"), number__lt=models.OuterRef("number"))
        free = Q(state=AttemptState.QUEUED) | Q(state=AttemptState.LEASED, lease_until__lte=now)
        # The agent is looked up inside. A join of this query would move an update's conditions into a subquery, which
        # PostgreSQL does not ask again after it waited for a row: two workers would both hold the attempt.
        agent = Call.objects.filter(pk=models.OuterRef(models.OuterRef("call"))).values("agent")
        in_hand = Attempt.objects.waiting().filter(
            state=AttemptState.LEASED, is_dear=True, lease_until__gt=now, call__agent=models.Subquery(agent)
        )
        is_first, may_begin = ~models.Exists(before.waiting_in_call()), Q(is_dear=False) | ~models.Exists(in_hand)
        asked = Q() if dear is None else Q(is_dear=dear)
        return self.waiting().filter(free, asked, is_first, may_begin).order_by("pk")

    def left_behind(self, now: datetime, before: datetime) -> AttemptQuerySet:
        """Keep what a worker may take and nobody took: queued before a moment, or its lease ran out."""
        return self.claimable(now).filter(Q(state=AttemptState.LEASED) | Q(submitted_at__lt=before))


# While a child judges, whatever ends this process is not the output, so a dear one counts only once it is judged.
COUNTED: Final = F("deliveries") + models.Case(models.When(is_dear=True, then=0), default=1)


def _by_dearness(of: Callable[..., Any], *names: str) -> dict[bool | None, Statement[Any]]:
    """Write a statement for attempts that are dear, for the others, and for both."""
    return {dear: Statement(partial(of, dear=dear), *names) for dear in (None, False, True)}


CLAIMABLE = _by_dearness(lambda pk, **kind: Attempt.objects.claimable(**kind).filter(pk=pk).order_by(), "pk", "now")
OF_WAITING: Final = ("call__agent__work_until", "pk", "is_dear", "state", "call__agent_id", "submitted_at")
# Whose account owes least comes first, then who came first: rows are sorted as they are read.
WAITING = _by_dearness(lambda **kind: Attempt.objects.claimable(**kind).values_list(*OF_WAITING)[:LOOKED_AT], "now")


def _among(ids: Mapping[str, Any]) -> Q:
    return Q(pk__in=list(ids.values()))


@cache
def _leasing(count: int) -> tuple[Statement[Attempt], Statement[Attempt]]:
    """Write how up to `count` attempts are leased at once, and how those are read that it got."""
    names = _places([0] * count)
    fresh = Q(state=AttemptState.QUEUED, is_dear=False)
    return (
        Statement(lambda now, **ids: Attempt.objects.claimable(now).filter(fresh, _among(ids)).order_by(),
                  "now", *names),
        Statement(
            lambda token, **ids: (
                Attempt.objects.filter(_among(ids), lease_token=token, state=AttemptState.LEASED)
                .select_related("call__agent", "call__tool", "call__version").order_by()
            ),
            "token", *names,
        ),
    )  # fmt: skip


def _places(ids: Sequence[int]) -> dict[str, int]:
    return {f"id{number}": each for number, each in enumerate(ids)}


TO_JUDGE = Statement(
    lambda pk: Attempt.objects.filter(pk=pk).select_related("call__agent", "call__tool", "call__version").order_by(),
    "pk",
)
LEASED_BY = Statement(
    lambda pk, token: Attempt.objects.filter(pk=pk, lease_token=token, state=AttemptState.LEASED), "pk", "token"
)
# For whoever waits for a verdict, and asks again and again: that needs no output, which may have megabytes.
NEWEST = Statement(
    lambda call_id: Attempt.objects.defer("output", "sealed").filter(call_id=call_id).order_by("-number")[:1], "call_id"
)
NUMBERED = Statement(
    lambda **one: Attempt.objects.defer("output", "sealed").filter(**one).order_by(), "call_id", "number"
)
NEXT_WAITING = Statement(
    lambda call_id, but: Attempt.objects.waiting_in_call().filter(~Q(pk=but), call_id=call_id).order_by("number")[:1],
    "call_id", "but",
)  # fmt: skip
NEXT_DEAR: Statement[Any] = Statement(
    lambda now, agent: Attempt.objects.claimable(now, dear=True).filter(call__agent=agent).values_list("pk")[:1],
    "now", "agent",
)  # fmt: skip
CALL_TO_DECIDE = Statement(
    lambda pk: (
        Call.objects.select_for_update(of=("self",)).select_related("agent", "tool", "version").filter(pk=pk).order_by()
    ),
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
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(null=True)
    finish_reason = models.CharField(max_length=200, null=True)

    # Judged in a child process: by estimate more than the door's few milliseconds, or its version crashed before.
    is_dear = models.BooleanField(default=False)
    lease_token = models.CharField(max_length=40, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    deliveries = models.PositiveSmallIntegerField(default=0)
    judged_at = models.DateTimeField(null=True)
    is_valid = models.BooleanField(null=True)
    status = models.CharField(max_length=12, blank=True, default="", choices=[(s.value, s.value) for s in Status])
    is_parsed = models.BooleanField(default=False)
    is_redacted = models.BooleanField(default=False)
    output_hash = models.CharField(max_length=64, blank=True, default="")
    api_error = models.CharField(max_length=MAX_API_ERROR, null=True)  # why the model could not be asked
    shown_attempt = models.PositiveIntegerField(default=0)
    shown_max = models.PositiveIntegerField(default=0)
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    duration_us = models.PositiveBigIntegerField(null=True)
    standing_hint = models.ForeignKey(  # what joined the feedback; stored with the verdict
        "StandingHint", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    # What may be long comes last: to reach what stands behind it SQLite reads all of it, page after page.
    prompt = JSONText(null=True)  # one text; as JSON it may hold what PostgreSQL refuses
    said = JSONText(null=True)
    errors_json = JSONText(default=list)
    feedback = models.TextField(blank=True, default="")
    output = JSONText(null=True)
    sealed = models.BinaryField(null=True)

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
            models.Index(fields=("standing_hint", "id"), name="attempt_told", condition=Q(standing_hint__isnull=False)),
            # The search among all calls.
            models.Index(
                fields=("tool_call_id", "call"),
                name="attempt_by_tool_call",
                opclasses=("varchar_pattern_ops", "int8_ops"),  # by letters, so that a beginning is a range
            ),
        )

    def __str__(self) -> str:
        return f"{self.call} #{self.number}"

    @classmethod
    def claim(
        cls, attempt_id: int, *, token: str, now: datetime, until: datetime, dear: bool | None = None
    ) -> Attempt | None:
        """Lease one attempt, or None when somebody else has it or it is not its turn; with `dear` only one that is."""
        leased = {"state": AttemptState.LEASED, "lease_token": token, "lease_until": until}
        with write_turn():
            if not CLAIMABLE[dear].update(leased | {"deliveries": COUNTED}, pk=attempt_id, now=now):
                return None
        return TO_JUDGE.first(pk=attempt_id)

    @classmethod
    def lease(cls, ids: Sequence[int], *, most: int, token: str, now: datetime, until: datetime) -> list[Attempt]:
        """Lease those of at most `most` attempts that are still free, in their order; only ones that nobody had before.

        A delivery is counted with the verdict only: who dies in the middle of a lease has begun one of them, and nobody
        can tell which. Each is claimed alone then.
        """
        places = _places([*ids, *[0] * (most - len(ids))])  # the statement is the same for fewer
        lease, read = _leasing(most)
        with write_turn():
            if not lease.update(
                {"state": AttemptState.LEASED, "lease_token": token, "lease_until": until}, now=now, **places
            ):
                return []
        leased = sorted(read.rows(token=token, **places), key=lambda attempt: ids.index(attempt.pk))
        for attempt in leased:
            attempt.deliveries += 1
        return leased

    def count_delivery(self, token: str) -> bool:
        """Count a delivery; False when the lease is lost."""
        mine = Attempt.objects.filter(pk=self.pk, lease_token=token, state=AttemptState.LEASED)
        self.deliveries += 1
        with write_turn():
            return bool(mine.update(deliveries=F("deliveries") + 1))

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
        return self.state in AttemptState.waiting()

    @property
    def has_output(self) -> bool:
        """Tell whether the model gave anything; one that could not be asked did not. A parsed `null` is an output."""
        return self.is_parsed or self.output is not None


OF_STATUS = {
    ResponseStatus.SUCCESS: Q(is_valid=True),
    ResponseStatus.MALFORMED: Q(is_valid=False, is_parsed=False),
    ResponseStatus.SCHEMA_VIOLATION: Q(is_valid=False, is_parsed=True),
}
# Without an output there was no response: the model could not be asked.
HAS_OUTPUT = Q(is_parsed=True) | Q(output__isnull=False)


class ResponseQuerySet(models.QuerySet["LoggedResponse"]):
    """Find responses; they stand in the order of the log: the newest call first, its replies one after the other."""

    def with_status(self, status: ResponseStatus) -> ResponseQuerySet:
        """Keep the replies that are logged so."""
        return self.filter(OF_STATUS[status])

    def page(self, calls: CallQuerySet, *, after: tuple[Call, int] | None, size: int) -> tuple[list[Any], bool]:
        """List the first replies of some calls, or those that follow the reply of that number; say if there are more.

        The calls are found first, by an index of their own, so that no history is sorted: each brings a reply at least.
        """
        rest = self
        if after is not None:  # the call itself stays in: more replies of it may follow
            call, number = after
            calls = calls.filter(pk__lte=call.pk)
            rest = self.filter(Q(call__lt=call.pk) | Q(number__gt=number))
        replied = calls.filter(
            models.Exists(rest.filter(call=models.OuterRef("pk")).order_by()), kind=Kind.AGENT_RESPONSE
        )
        keys, more = first_within(rest.filter(call__in=replied.order_by("-pk").values("pk")[: size + 1]), size)
        return list(self.filter(pk__in=keys).select_related("call__agent").defer("sealed", "feedback")), more


class ResponseManager(models.Manager["LoggedResponse"]):
    """Keep the judged attempts of calls of this kind."""

    def get_queryset(self) -> ResponseQuerySet:
        """Give the whole log."""
        every = ResponseQuerySet(self.model, using=self._db)
        return every.filter(HAS_OUTPUT, call__kind=Kind.AGENT_RESPONSE, is_valid__isnull=False)


class LoggedResponse(Attempt):
    """One line of the log: an attempt of a call of agent responses, after its verdict."""

    objects: ClassVar[ResponseManager] = ResponseManager()  # type: ignore[assignment]  # narrower than that of all attempts

    class Meta:
        proxy = True
        ordering = ("-call_id", "number")
        verbose_name = "agent response"

    @property
    def response_status(self) -> ResponseStatus:
        """Tell how the reply went."""
        return response_status(is_valid=bool(self.is_valid), is_parsed=self.is_parsed)

    @property
    def correction_attempt(self) -> int:
        """Count the corrections up to this reply: 0 for the reply itself."""
        return self.number - 1


REMEMBERED_FOR: Final = timedelta(days=1)  # a client that is still trying after a day has other troubles


class IdempotencyKeyQuerySet(models.QuerySet["IdempotencyKey"]):
    """Find keys."""

    def outdated(self, now: datetime) -> IdempotencyKeyQuerySet:
        """Keep those that are remembered no longer, the oldest first."""
        return self.filter(created_at__lt=now - REMEMBERED_FOR).order_by("created_at", "pk")


class IdempotencyKey(models.Model):
    """One key of one agent, with the attempt that it made, or the answer that it was given.

    Keys and bodies are kept as hashes: either may hold what must not be stored.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="idempotency_keys")
    key_hash = models.CharField(max_length=64)
    request_hash = models.CharField(max_length=64)
    attempt = models.ForeignKey(Attempt, null=True, on_delete=models.CASCADE, related_name="idempotency_keys")
    created_at = models.DateTimeField()
    answer = JSONText(null=True)

    objects = IdempotencyKeyQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = (
            # Of two requests with one key that come in at once, the second finds the first's.
            models.UniqueConstraint(fields=("agent", "key_hash"), name="idempotency_key_unique"),
            models.CheckConstraint(
                condition=Q(attempt__isnull=False) | Q(answer__isnull=False), name="idempotency_key_has_answer"
            ),
        )
        indexes = (models.Index(fields=("created_at",), name="idempotency_key_age"),)  # for forgetting them

    def __str__(self) -> str:
        return self.key_hash[:12]
