"""Read the operators' queue as a whole: calls with the same mistake as one group, and how many each tab holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import Count, Min, QuerySet

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt, Call, Claim, Guidance, Mistake
from retrycontract.store.models.claims import awake_calls, claimed_calls, snoozed_calls

MOST_COUNTED: Final = 999  # beyond it a tab says "999+": counting on would scan what nobody reads
MOST_GROUPED: Final = 10_000  # Blocked calls that are looked at, the longest waiting: milliseconds even then
MOST_GROUPS: Final = 50


@dataclass(frozen=True, slots=True)
class BoundedCount:
    """Hold how many there are, counted up to a bound."""

    number: int

    def __str__(self) -> str:
        return f"{MOST_COUNTED}+" if self.number > MOST_COUNTED else str(self.number)

    @classmethod
    def of(cls, rows: QuerySet[Any]) -> BoundedCount:
        """Count rows, as far as the bound."""
        return cls(rows.order_by()[: MOST_COUNTED + 1].count())


@dataclass(frozen=True, slots=True)
class TabCounts:
    """Hold how many calls each tab has."""

    open: BoundedCount
    mine: BoundedCount
    snoozed: BoundedCount
    guided: BoundedCount
    answered: BoundedCount
    all: BoundedCount


@dataclass(frozen=True, slots=True)
class InboxGroup:
    """Hold the Blocked calls that made one mistake, with the errors of the one that waits longest."""

    mistake: Mistake
    count: int
    oldest_at: datetime
    oldest: Call
    errors: tuple[ValidationError, ...]
    claimed_by: str | None = None


def count_tabs(operator: User, *, now: datetime) -> TabCounts:
    """Count what each tab holds, each up to its bound; six queries, however many calls there are."""
    return TabCounts(
        open=BoundedCount.of(awake_calls(now)),
        mine=BoundedCount.of(claimed_calls(operator.pk, now)),
        snoozed=BoundedCount.of(snoozed_calls(now)),
        guided=BoundedCount.of(Call.objects.filter(state=CallState.GUIDED)),
        answered=BoundedCount.of(Guidance.objects.all()),
        all=BoundedCount.of(Call.objects.all()),
    )


def read_groups(*, now: datetime, tool: str = "", size: int = MOST_GROUPS) -> tuple[InboxGroup, ...]:
    """Put the whole queue into groups, the longest waiting first; what is put off is left out. Four queries."""
    queue = awake_calls(now).filter(tool_name=tool) if tool else awake_calls(now)
    grouped = Call.objects.filter(pk__in=queue.values("pk")[:MOST_GROUPED]).order_by()
    rows = list(
        grouped.values("agent__namespace", "tool_name", "fingerprint")
        .annotate(count=Count("pk"), oldest_at=Min("blocked_at"), first=Min("pk"))
        .order_by("oldest_at", "first")[:size]
    )
    calls = Call.objects.select_related("agent", "tool", "version").in_bulk([row["first"] for row in rows])
    newest = Attempt.objects.newest_judged(calls.values()).defer("output", "feedback", "sealed")
    errors = {attempt.call_id: attempt.errors for attempt in newest}
    claims = Claim.objects.active(now).filter(escalation__call__in=calls)
    names = dict(claims.values_list("escalation__call_id", "operator__username"))
    return tuple(
        InboxGroup(
            mistake=Mistake(row["agent__namespace"], row["tool_name"], row["fingerprint"]),
            count=row["count"],
            oldest_at=row["oldest_at"],
            oldest=calls[row["first"]],
            errors=errors.get(row["first"], ()),
            claimed_by=names.get(row["first"]),
        )
        for row in rows
        if row["first"] in calls
    )
