"""The inbox as values: tabs with bounded counts, one page of calls, and the calls that share a mistake."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property

from django.db.models import Q

from retrycontract.contract import pointers
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Attempt, Call
from retrycontract.store.models.calls import CallQuerySet
from retrycontract.usecases.identifiers import safe_identifier

PAGE = 50
MOST_COUNTED = 100  # beyond it a tab says "100+": counting on would scan what nobody reads
MAX_SEARCH = 200  # the longest id
# Most calls have ended: asked for those that have not, databases walk back by key instead of sorting the rest.
OPEN = [state.value for state in CallState if not state.has_ended]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Tab(StrEnum):
    """Name the tabs."""

    BLOCKED = "blocked"
    GUIDED = "guided"
    ENDED = "ended"
    ALL = "all"

    @property
    def label(self) -> str:
        """Say what the tab holds."""
        return {Tab.GUIDED: "Waiting for agent", Tab.ALL: "All"}.get(self, self.value.capitalize())

    @property
    def calls(self) -> CallQuerySet:
        """Give the tab's calls in their order: Blocked ones by how long they wait, others newest first."""
        match self:
            case Tab.BLOCKED:
                return Call.objects.blocked()
            case Tab.GUIDED:
                return Call.objects.filter(state=CallState.GUIDED).order_by("-pk")
            case Tab.ENDED:
                return Call.objects.exclude(state__in=OPEN).order_by("-pk")
            case Tab.ALL:
                return Call.objects.order_by("-pk")


@dataclass(frozen=True, slots=True)
class Count:
    """Hold how many calls a tab has, counted up to a bound."""

    number: int

    def __str__(self) -> str:
        return f"{MOST_COUNTED}+" if self.number > MOST_COUNTED else str(self.number)


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one call with what is wrong with its newest judged attempt, the worst error first."""

    call: Call
    errors: tuple[ValidationError, ...]

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
    def mistake(self) -> tuple[str, str, str] | None:
        """Give what calls with the same mistake share."""
        call = self.call
        return (call.agent.namespace, call.tool_name, call.fingerprint) if call.fingerprint else None


@dataclass(frozen=True, slots=True)
class Group:
    """Hold the calls of a page that made the same mistake, in the page's order; often only one."""

    rows: tuple[Row, ...]

    @property
    def is_shared(self) -> bool:
        """Tell whether several calls share the mistake."""
        return len(self.rows) > 1

    @property
    def first(self) -> Row:
        """Give the first row."""
        return self.rows[0]

    @property
    def places(self) -> str:
        """Name where the shared mistake is, items of arrays as `*`."""
        return pointers.pattern(self.first.worst.field_path) if self.first.worst else ""


@dataclass(frozen=True)
class Queue:
    """Hold one page of a tab, as far as a poll needs it; errors are read when they are asked for."""

    tab: Tab
    search: str
    counts: dict[Tab, Count]
    calls: tuple[Call, ...]
    next_page: str
    after: str = ""

    @cached_property
    def version(self) -> str:
        """Digest what the page shows: equal digests need no new page."""
        parts = [f"{call.pk}:{call.state}:{call.updated_at.timestamp()}" for call in self.calls]
        counted = [str(count) for count in self.counts.values()]
        return hashlib.sha256("|".join([self.tab, *counted, self.next_page, *parts]).encode()).hexdigest()[:16]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Give the page's calls, those with the same mistake together where the first of them stands."""
        newest = Attempt.objects.newest_judged(self.calls).defer("output", "feedback", "sealed")
        errors = {attempt.call_id: attempt.errors for attempt in newest}
        rows = [Row(call, errors.get(call.pk, ())) for call in self.calls]
        return _grouped(rows) if self.tab is Tab.BLOCKED else tuple(Group((row,)) for row in rows)

    @property
    def longest_waiting(self) -> Call | None:
        """Give the call that waits longest, when the page begins with it."""
        return self.calls[0] if self.tab is Tab.BLOCKED and self.calls and not self.after else None

    @property
    def tabs(self) -> list[tuple[Tab, Count]]:
        """Give each tab with its count."""
        return [(tab, self.counts[tab]) for tab in Tab]


def read_queue(tab: Tab, *, search: str = "", after: str = "") -> Queue:
    """Read one page; `after` is the `next_page` of the page before."""
    search = safe_identifier(search.strip()[:MAX_SEARCH].replace("\x00", "\ufffd"))  # PostgreSQL refuses NUL
    calls = tab.calls.select_related("agent", "version")
    if search:
        calls = calls.search(search)
    if after:
        calls = _beyond(calls, tab, after)
    found = list(calls[: PAGE + 1])
    next_page = _key(tab, found[PAGE - 1]) if len(found) > PAGE else ""
    counts = {each: Count(each.calls.order_by()[: MOST_COUNTED + 1].count()) for each in Tab}
    return Queue(tab, search, counts, tuple(found[:PAGE]), next_page, after)


def next_blocked(*, beside: Call | None = None) -> Call | None:
    """Give the Blocked call that waits longest, other than the one at hand."""
    calls = Call.objects.blocked()
    return (calls.exclude(pk=beside.pk) if beside else calls).first()


def _grouped(rows: Sequence[Row]) -> tuple[Group, ...]:
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.mistake or row.call.pk, []).append(row)
    return tuple(Group(tuple(members)) for members in groups.values())


def _key(tab: Tab, call: Call) -> str:
    """Write where a page ends: the primary key, in the queue after the microsecond of blocking."""
    if tab is not Tab.BLOCKED or call.blocked_at is None:
        return str(call.pk)
    return f"{(call.blocked_at - EPOCH) // timedelta(microseconds=1)}.{call.pk}"


def _beyond(calls: CallQuerySet, tab: Tab, after: str) -> CallQuerySet:
    """Keep what follows a page's end; a key that nobody gave out is as good as none."""
    numbers = [int(part) for part in after.split(".") if part.isdecimal() and len(part) < 18]
    match tab, numbers:
        case Tab.BLOCKED, [micros, pk]:
            at = EPOCH + timedelta(microseconds=micros)
            return calls.filter(Q(blocked_at__gt=at) | Q(blocked_at=at, pk__gt=pk))
        case ((Tab.GUIDED | Tab.ENDED | Tab.ALL), [pk]):
            return calls.filter(pk__lt=pk)
        case _:
            return calls
