"""Calls that made the same mistake, gathered over the whole queue: one page of groups, each with its first calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, CharField, Count, F, Min, Q, Value, When, Window
from django.db.models.functions import Cast, Concat, RowNumber

from retrycontract.contract import pointers
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.store.models import Attempt, Call, Claim, Snooze
from retrycontract.store.models.calls import CallQuerySet

SHOWN_CALLS = 3  # of a group; the rest is one click away
MOST_GROUPED = 10_000  # Blocked calls that are looked at, the longest waiting: 40 ms even then
# A call without a fingerprint has a mistake of its own.
MISTAKE = Case(
    When(fingerprint="", then=Concat(Value("call "), Cast("pk", CharField()))),
    default=F("fingerprint"),
    output_field=CharField(),
)
SHARED = ("agent__namespace", "tool_name", "mistake")


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one call with what is wrong with its newest judged attempt, the worst error first."""

    call: Call
    errors: tuple[ValidationError, ...]
    claim: Claim | None = None  # who has it
    snooze: Snooze | None = None  # until when it is put off

    @property
    def worst(self) -> ValidationError | None:
        """Give the worst error, if there is any."""
        return max(self.errors, key=lambda error: error.severity, default=None)

    @property
    def others(self) -> int:
        """Count the errors beside the worst one that block execution."""
        return max(sum(error.severity is ErrorSeverity.ERROR for error in self.errors) - 1, 0)

    @property
    def goal(self) -> str:
        """Say what the agent was trying to do, when it told."""
        context = self.call.context
        goal = context.get("goal") or context.get("last_user_message") if isinstance(context, dict) else None
        return goal if isinstance(goal, str) else ""

    @property
    def attempts_beyond(self) -> int:
        """Count the attempts that the agent made while it was Blocked."""
        return max(self.call.attempts_made - self.call.attempts_allowed, 0)

    @property
    def attempts_counted(self) -> int:
        """Count the attempts that were its own to make."""
        return min(self.call.attempts_made, self.call.attempts_allowed)


@dataclass(frozen=True, slots=True)
class Group:
    """Hold calls that made the same mistake, oldest first; often only one. `size` counts also those not shown."""

    rows: tuple[Row, ...]
    size: int

    @property
    def is_shared(self) -> bool:
        """Tell whether several calls share the mistake."""
        return self.size > 1

    @property
    def hidden(self) -> int:
        """Count the calls that are not shown."""
        return self.size - len(self.rows)

    @property
    def first(self) -> Row:
        """Give the first row."""
        return self.rows[0]

    @property
    def places(self) -> str:
        """Name where the shared mistake is, items of arrays as `*`."""
        return pointers.pattern(self.first.worst.field_path) if self.first.worst else ""


@dataclass(frozen=True, slots=True)
class Found:
    """Hold one group as the database counted it: where it stands, and how many calls it has."""

    first_at: datetime
    first_pk: int
    size: int
    key: tuple[str, ...]


def find_groups(calls: CallQuerySet, *, beyond: tuple[datetime, int] | None, number: int) -> list[Found]:
    """Find the groups of Blocked calls that follow a place, by how long their first call waits."""
    looked_at = Call.objects.filter(pk__in=calls.order_by("blocked_at", "pk").values("pk")[:MOST_GROUPED])
    counted = looked_at.annotate(mistake=MISTAKE).order_by().values(*SHARED)
    groups = counted.annotate(first_at=Min("blocked_at"), first_pk=Min("pk"), size=Count("pk"))
    if beyond is not None:
        at, pk = beyond
        groups = groups.filter(Q(first_at__gt=at) | Q(first_at=at, first_pk__gt=pk))
    rows: Any = groups.order_by("first_at", "first_pk")[:number]
    return [Found(row["first_at"], row["first_pk"], row["size"], tuple(row[name] for name in SHARED)) for row in rows]


def first_calls(calls: CallQuerySet, groups: Sequence[Found]) -> list[Call]:
    """Read the calls of some groups that are shown, group by group, the longest waiting first."""
    if not groups:
        return []
    # A mistake of one call needs no look for others.
    alone = Q(pk__in=[group.first_pk for group in groups if group.size == 1])
    wanted = reduce(or_, (Q(**dict(zip(SHARED, group.key, strict=True))) for group in groups if group.size > 1), alone)
    place = Window(RowNumber(), partition_by=[F(name) for name in SHARED], order_by=["blocked_at", "pk"])
    found = calls.annotate(mistake=MISTAKE).filter(wanted).annotate(place=place).filter(place__lte=SHOWN_CALLS)
    order = {group.key: number for number, group in enumerate(groups)}
    return sorted(found, key=lambda call: (order[key_of(call)], call.blocked_at, call.pk))


def key_of(call: Call) -> tuple[str, ...]:
    """Give what calls of a group share."""
    return (call.agent.namespace, call.tool_name, call.fingerprint or f"call {call.pk}")


def rows_of(calls: Sequence[Call], claims: Mapping[int, Claim], snoozes: Mapping[int, Snooze]) -> list[Row]:
    """Read what is wrong with each call, and put beside it who has it and until when it is put off."""
    newest = Attempt.objects.newest_judged(calls).defer("output", "feedback", "sealed")
    errors = {attempt.call_id: attempt.errors for attempt in newest}
    return [Row(call, errors.get(call.pk, ()), claims.get(call.pk), snoozes.get(call.pk)) for call in calls]


def grouped(rows: Sequence[Row], found: Sequence[Found]) -> tuple[Group, ...]:
    """Put the rows into their groups."""
    members: dict[tuple[str, ...], list[Row]] = {group.key: [] for group in found}
    for row in rows:
        members[key_of(row.call)].append(row)
    return tuple(Group(tuple(members[group.key]), group.size) for group in found if members[group.key])
