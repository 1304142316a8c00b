"""The inbox as values: tabs with bounded counts, and one page of what was looked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property

from dashboard.filters import Filters
from dashboard.groups import Found, Group, find_groups, first_calls, grouped, rows_of
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.models import Call, Guidance
from retrycontract.store.models.calls import ENDED, CallQuerySet

PAGE = 25
MOST_COUNTED = 100  # beyond it a tab says "100+": counting on would scan what nobody reads
AGENTS_TURN = (CallState.GUIDED, CallState.RETRYING, CallState.PENDING)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Tab(StrEnum):
    """Name the tabs."""

    OPEN = "open"
    AGENT = "agent"
    ANSWERED = "answered"
    ALL = "all"

    @property
    def label(self) -> str:
        """Say what the tab holds."""
        return "Waiting for agent" if self is Tab.AGENT else self.value.capitalize()

    @property
    def holds_few(self) -> bool:
        """Tell whether the tab's calls are few: those of now, not those of all time."""
        return self in (Tab.OPEN, Tab.AGENT)

    @property
    def calls(self) -> CallQuerySet:
        """Give the tab's calls in their order: what waits for a person by how long it waits, others newest first."""
        match self:
            case Tab.OPEN:
                return Call.objects.blocked()
            case Tab.AGENT:
                return Call.objects.filter(state__in=AGENTS_TURN).order_by("-pk")
            case Tab.ANSWERED:
                answered = Guidance.objects.order_by().values("call_id")
                return Call.objects.filter(state__in=ENDED, pk__in=answered).order_by("-pk")
            case Tab.ALL:
                return Call.objects.order_by("-pk")


@dataclass(frozen=True, slots=True)
class Count:
    """Hold how many calls a tab has, counted up to a bound."""

    number: int

    def __str__(self) -> str:
        return f"{MOST_COUNTED}+" if self.number > MOST_COUNTED else str(self.number)


@dataclass(frozen=True)
class Queue:
    """Hold one page of a tab, as far as a poll needs it; errors are read when they are asked for."""

    tab: Tab
    filters: Filters
    counts: dict[Tab, Count]
    calls: tuple[Call, ...]
    found: tuple[Found, ...]  # empty where calls stand one by one
    next_page: str
    after: str = ""

    @cached_property
    def version(self) -> str:
        """Digest what the page shows: equal digests need no new page."""
        parts = [f"{call.pk}:{call.state}:{call.updated_at.timestamp()}" for call in self.calls]
        parts += [f"{group.first_pk}:{group.size}" for group in self.found]
        counted = [str(count) for count in self.counts.values()]
        return hashlib.sha256("|".join([self.tab, *counted, self.next_page, *parts]).encode()).hexdigest()[:16]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Give the page's calls, those with the same mistake together where the first of them stands."""
        rows = rows_of(self.calls)
        return grouped(rows, self.found) if self.found else tuple(Group((row,), 1) for row in rows)

    @property
    def longest_waiting(self) -> Call | None:
        """Give the call that waits longest, when the page begins with it."""
        is_first = self.tab is Tab.OPEN and not self.after and not self.filters.is_any
        return self.calls[0] if is_first and self.calls else None

    @property
    def tabs(self) -> list[tuple[Tab, Count]]:
        """Give each tab with its count."""
        return [(tab, self.counts[tab]) for tab in Tab]


def read_queue(tab: Tab, filters: Filters, *, now: datetime, after: str = "") -> Queue:
    """Read one page; `after` is the `next_page` of the page before."""
    filters = filters.bounded(are_few=tab.holds_few)
    calls = filters.apply(tab.calls.select_related("agent", "version"), now)
    counts = {each: Count(each.calls.order_by()[: MOST_COUNTED + 1].count()) for each in Tab}
    place = _parse(after)
    if tab is Tab.OPEN and not filters.like:
        found = find_groups(calls, beyond=_moment(place), number=PAGE + 1)
        next_page = _key(found[PAGE - 1].first_at, found[PAGE - 1].first_pk) if len(found) > PAGE else ""
        shown = tuple(found[:PAGE])
        return Queue(tab, filters, counts, tuple(first_calls(calls, shown)), shown, next_page, after)
    is_oldest_first = tab is Tab.OPEN
    calls = calls.order_by("pk" if is_oldest_first else "-pk")
    if len(place) == 1:
        calls = calls.filter(pk__gt=place[0]) if is_oldest_first else calls.filter(pk__lt=place[0])
    listed = list(calls[: PAGE + 1])
    next_page = str(listed[PAGE - 1].pk) if len(listed) > PAGE else ""
    return Queue(tab, filters, counts, tuple(listed[:PAGE]), (), next_page, after)


def next_blocked(*, beside: Call | None = None) -> Call | None:
    """Give the Blocked call that waits longest, other than the one at hand."""
    calls = Call.objects.blocked()
    return (calls.exclude(pk=beside.pk) if beside else calls).first()


def _key(at: datetime, pk: int) -> str:
    """Write where a page of groups ends: the microsecond of blocking, then the primary key."""
    return f"{(at - EPOCH) // timedelta(microseconds=1)}.{pk}"


def _parse(after: str) -> list[int]:
    """Read a page's key; one that nobody gave out is as good as none."""
    parts = after.split(".")
    return [int(part) for part in parts] if all(part.isdecimal() and len(part) < 18 for part in parts) else []


def _moment(place: list[int]) -> tuple[datetime, int] | None:
    return (EPOCH + timedelta(microseconds=place[0]), place[1]) if len(place) == 2 else None
