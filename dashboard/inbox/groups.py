"""Calls that made the same mistake, gathered over the whole queue: one page of groups, each with its mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from dashboard.shared.mistakes import MistakePattern, by_pattern, patterns_of
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.store.models import Attempt, Call, Claim, Guidance, Snooze
from retrycontract.store.models.calls import CallQuerySet

READ_CALLS = 12  # of a group, the longest waiting: what their values show, hundreds more rarely change
SHOWN_MISTAKES = 3  # in a row of the list
MOST_GROUPED = 10_000  # Blocked calls that are looked at, the longest waiting: 30 ms even then


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one call with what is wrong with its newest judged attempt, the worst error first."""

    call: Call
    errors: tuple[ValidationError, ...]
    claim: Claim | None = None  # who has it
    snooze: Snooze | None = None  # until when it is put off
    answer: Guidance | None = None  # the newest one, where the list tells of answers

    @property
    def worst(self) -> ValidationError | None:
        """Give the worst error, if there is any."""
        return max(self.errors, key=lambda error: error.severity, default=None)

    @property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give its errors, those that are alike as one."""
        return by_pattern(self.errors)

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
    """Hold calls that made the same mistakes, oldest first; often only one. `size` counts also those not read."""

    rows: tuple[Row, ...]
    size: int
    agents: int = 1

    @property
    def is_shared(self) -> bool:
        """Tell whether several calls share the mistake."""
        return self.size > 1

    @property
    def first(self) -> Row:
        """Give the first row."""
        return self.rows[0]

    @property
    def mistakes(self) -> tuple[MistakePattern, ...]:
        """Give the worst of what its calls did wrong, each with what stood there."""
        return self._mistakes[:SHOWN_MISTAKES]

    @property
    def hidden_mistakes(self) -> int:
        """Count the mistakes that the list leaves out."""
        return max(len(self._mistakes) - SHOWN_MISTAKES, 0)

    @property
    def unread(self) -> int:
        """Count the calls whose values are not shown."""
        return self.size - len(self.rows)

    @property
    def takers(self) -> list[Claim]:
        """Say who has some of them, each person once."""
        return list({row.claim.operator_id: row.claim for row in self.rows if row.claim}.values())

    @property
    def _mistakes(self) -> tuple[MistakePattern, ...]:
        return patterns_of([row.errors for row in self.rows])


@dataclass(frozen=True, slots=True)
class Found:
    """Hold one group as it was found: the keys of its first calls, how many it has, and of how many agents."""

    keys: tuple[int, ...]
    size: int
    agents: int


def find_groups(calls: CallQuerySet, *, beyond: tuple[datetime, int] | None, number: int) -> list[Found]:
    """Find the groups of Blocked calls that follow a place, by how long their first call waits."""
    groups: dict[tuple[str, str, str | int], list[tuple[int, int]]] = {}
    waiting = calls.order_by("blocked_at", "pk")
    looked_at = waiting.values_list("pk", "agent_id", "agent__namespace", "tool_name", "fingerprint")[:MOST_GROUPED]
    for pk, agent, namespace, tool, fingerprint in looked_at:
        # A call without a fingerprint has a mistake of its own.
        groups.setdefault((namespace, tool, fingerprint or pk), []).append((pk, agent))
    earlier = _until(waiting, beyond)
    following = [members for members in groups.values() if members[0][0] not in earlier]
    return [
        Found(tuple(pk for pk, _ in members[:READ_CALLS]), len(members), len({agent for _, agent in members}))
        for members in following[:number]
    ]


def first_calls(groups: Sequence[Found]) -> list[Call]:
    """Read the first calls of some groups, group by group, the longest waiting first."""
    keys = [key for group in groups for key in group.keys]
    found = Call.objects.select_related("agent").in_bulk(keys)
    return [found[key] for key in keys if key in found]


def rows_of(calls: Sequence[Call], claims: Mapping[int, Claim], snoozes: Mapping[int, Snooze]) -> list[Row]:
    """Read what is wrong with each call, and put beside it who has it and until when it is put off."""
    newest = Attempt.objects.newest_judged(calls).defer("output", "feedback", "sealed")
    errors = {attempt.call_id: attempt.errors for attempt in newest}
    return [Row(call, errors.get(call.pk, ()), claims.get(call.pk), snoozes.get(call.pk)) for call in calls]


def grouped(rows: Sequence[Row], found: Sequence[Found]) -> tuple[Group, ...]:
    """Put the rows into their groups."""
    by_key = {row.call.pk: row for row in rows}
    members = [(tuple(by_key[key] for key in group.keys if key in by_key), group) for group in found]
    return tuple(Group(shown, group.size, group.agents) for shown, group in members if shown)


def _until(waiting: CallQuerySet, place: tuple[datetime, int] | None) -> set[int]:
    """Give the keys of the calls that stand at a place or before it."""
    if place is None:
        return set()
    at, pk = place
    return set(waiting.filter(Q(blocked_at__lt=at) | Q(blocked_at=at, pk__lte=pk)).values_list("pk", flat=True))
