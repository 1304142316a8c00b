"""The inbox: tabs with bounded counts, and one page of what waits for a person."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final, cast

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from dashboard.inbox.groups import Filters, Found, Group, find_groups, first_calls, grouped, read_options, rows_of
from dashboard.navigation import may_answer
from dashboard.shared.responses import UNCHANGED, is_htmx
from retrycontract.contract.lifecycle import CallState
from retrycontract.store.call_texts import Sought
from retrycontract.store.fields import without_long_values
from retrycontract.store.models import Call, Claim, Guidance, HeldAnswer, Snooze
from retrycontract.store.models.calls import CallQuerySet, sought
from retrycontract.store.models.escalations import awake_calls, claimed_calls, free_calls, snoozed_calls
from retrycontract.store.statements import Statement, planned_for_values

PAGE = 25
MOST_UNSENT = 5  # shown at once: those behind them come when these are put away
MOST_COUNTED = 10_000  # exact up to here, 8 ms; beyond, whether a list grows or shrinks is seen elsewhere
AGENTS_TURN = (CallState.GUIDED, CallState.RETRYING, CallState.PENDING)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Tab(StrEnum):
    """Name the tabs."""

    OPEN = "open"
    MINE = "mine"
    AGENT = "agent"
    ANSWERED = "answered"
    ALL = "all"
    SNOOZED = "snoozed"  # a line below the tabs, where anything is put off

    @property
    def label(self) -> str:
        return "Waiting for agent" if self is Tab.AGENT else self.value.capitalize()

    @property
    def waits_for_us(self) -> bool:
        """Tell whether the tab's calls wait for a person."""
        return self in (Tab.OPEN, Tab.MINE, Tab.SNOOZED)

    @property
    def holds_few(self) -> bool:
        """Tell whether the tab's calls are few: those of now, not those of all time."""
        return self.waits_for_us or self is Tab.AGENT

    def calls(self, operator: int, now: datetime) -> CallQuerySet:
        """Give the tab's calls in their order: what waits for a person by how long it waits, others newest first."""
        match self:
            case Tab.OPEN:
                return awake_calls(now)
            case Tab.MINE:
                return claimed_calls(operator, now)
            case Tab.AGENT:
                underway = Call.objects.in_states(*AGENTS_TURN)
                # By their keys: where a tool is chosen SQLite would read all its calls for the few under way.
                # PostgreSQL would look for all keys that a search found once for each of them.
                by_key = connection.vendor == "sqlite"
                calls = Call.objects.filter(pk__in=underway.order_by().values("pk")) if by_key else underway
                return calls.order_by("-pk")
            case Tab.ANSWERED:
                return Call.objects.answered()
            case Tab.ALL:
                return Call.objects.order_by("-pk")
            case Tab.SNOOZED:
                return snoozed_calls(now)

    def counted(self, filters: Filters, found: Sought, operator: int, now: datetime) -> TabCount:
        """Count what the tab would list, as far as a person wants to know."""
        if not filters.is_any:
            return _unfiltered(self, operator, now)
        filters = filters.bounded(are_few=self.holds_few)
        calls = filters.apply(self.calls(operator, now), now, are_all=self is Tab.ALL)
        if self.holds_few:
            return TabCount(calls.filter(found.any).order_by()[: MOST_COUNTED + 1].count())
        return TabCount(calls.count_up_to(MOST_COUNTED + 1, found))


UNFILTERED: Final = {  # every look counts all of them, mostly without a filter
    tab: Statement[Call](
        lambda operator, now, tab=tab: tab.calls(operator, now).order_by().only("pk")[: MOST_COUNTED + 1],
        "operator",
        "now",
    )
    for tab in Tab
}
SHOWN_TABS: Final = tuple(tab for tab in Tab if tab is not Tab.SNOOZED)


@dataclass(frozen=True, slots=True)
class TabCount:
    """Hold how many calls a tab has, counted up to a bound."""

    number: int

    def __str__(self) -> str:
        return f"over {MOST_COUNTED:,}" if self.number > MOST_COUNTED else f"{self.number:,}"


@dataclass(frozen=True)
class Queue:
    """Hold one page of a tab, as far as a poll needs it; errors are read when they are asked for."""

    tab: Tab
    filters: Filters
    counts: dict[Tab, TabCount]
    calls: tuple[Call, ...]
    found: tuple[Found, ...]  # empty where calls stand one by one
    claims: dict[int, Claim]  # of the calls, by their keys
    snoozes: dict[int, Snooze]
    next_page: str
    after: str = ""
    unsent: tuple[HeldAnswer, ...] = ()  # the operator's own answers that no agent got
    waiting: TabCount = TabCount(0)  # of all that is open, whatever is filtered
    unfiltered: TabCount = TabCount(0)  # of a tab that holds few, for a filter that nothing fits

    @cached_property
    def version(self) -> str:
        """Digest what the page shows: equal digests need no new page."""
        parts = [f"{call.pk}:{call.state}:{call.updated_at.timestamp()}" for call in self.calls]
        parts += [f"{group.keys[0]}:{group.size}" for group in self.found]
        parts += [f"{call}:{claim.operator_id}" for call, claim in sorted(self.claims.items())]
        parts += [f"{call}:{snooze.until.timestamp()}" for call, snooze in sorted(self.snoozes.items())]
        parts += [f"unsent:{held.pk}" for held in self.unsent]
        parts += [f"waiting:{bool(self.waiting.number)}"] if self.calls else [f"{self.waiting}/{self.unfiltered}"]
        counted = [str(count) for count in self.counts.values()]
        return hashlib.sha256("|".join([self.tab, *counted, self.next_page, *parts]).encode()).hexdigest()[:16]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Give the page's calls, those with the same mistake together where the first of them stands."""
        rows = rows_of(self.calls, self.claims, self.snoozes)
        if self.tab is Tab.ANSWERED:
            given = Guidance.objects.filter(call__in=self.calls).select_related("operator").order_by("pk")
            given = without_long_values(given, but=("text",))
            answers = {answer.call_id: answer for answer in given}  # the newest of a call is the last
            rows = [replace(row, answer=answers.get(row.call.pk)) for row in rows]
        return grouped(rows, self.found) if self.found else tuple(Group((row,), 1) for row in rows)

    @property
    def address(self) -> str:
        """Give what an address asks for to show the tab's first page as it is filtered."""
        return "&".join(filter(None, [f"show={self.tab}", self.filters.address]))

    @property
    def longest_waiting(self) -> Call | None:
        """Give the call that waits longest, when the page begins with it."""
        is_first = self.tab is Tab.OPEN and not self.after
        return self.calls[0] if is_first and self.calls else None

    @property
    def tabs(self) -> list[tuple[Tab, TabCount]]:
        return [(tab, self.counts[tab]) for tab in SHOWN_TABS]


def read_queue(tab: Tab, filters: Filters, *, operator: int, now: datetime, after: str) -> Queue:
    """Read one page as an operator sees it; `after` is the `next_page` of the page before."""
    is_filtered = filters.is_any
    found_by_text = sought(filters.q).of(filters.tool)  # once for all tabs
    if filters.agent:
        found_by_text = found_by_text.by(filters.by_agent)
    # For what was found: a plan for any keys, made after some searches, reads all calls.
    with planned_for_values() if filters.is_any else nullcontext():
        counts = {each: each.counted(filters, found_by_text, operator, now) for each in Tab}
        filters = filters.bounded(are_few=tab.holds_few)
        calls = filters.apply(tab.calls(operator, now).select_related("agent"), now, are_all=tab is Tab.ALL)
        listed: tuple[Call, ...] = ()
        found: tuple[Found, ...] = ()
        next_page = ""
        if counts[tab].number and tab is Tab.OPEN and not filters.like:
            listed, found, next_page = _grouped_page(calls.filter(found_by_text.any), _parse(after))
        elif counts[tab].number:
            listed, next_page = _page(tab, calls, found_by_text, _parse(after))
        claims, snoozes = read_claims(listed, now), read_snoozes(listed, now)
        unsent = HeldAnswer.objects.unsent().select_related("call__agent", "operator", "escalation")
        unsent = without_long_values(unsent.filter(operator=operator), "call__agent", but=("rendered",))
        shown_unsent = tuple(unsent[:MOST_UNSENT])
    waiting = _unfiltered(Tab.OPEN, operator, now) if is_filtered else counts[Tab.OPEN]
    is_misfit = is_filtered and not listed and tab.holds_few
    unfiltered = _unfiltered(tab, operator, now) if is_misfit and tab is not Tab.OPEN else waiting
    return Queue(
        tab, filters, counts, listed, found, claims, snoozes, next_page, after, shown_unsent, waiting, unfiltered
    )


def _unfiltered(tab: Tab, operator: int, now: datetime) -> TabCount:
    return TabCount(UNFILTERED[tab].count(operator=operator, now=now))


def next_blocked(*, now: datetime, beside: Call) -> Call | None:
    """Give the Blocked call that waits longest and that nobody has or put off, other than the one at hand."""
    return free_calls(now).exclude(pk=beside.pk).first()


def read_claims(calls: Collection[Call], now: datetime) -> dict[int, Claim]:
    """Read who has some calls, by their keys."""
    active = Claim.objects.active(now).filter(escalation__call__in=calls)
    return {claim.escalation.call_id: claim for claim in active.select_related("operator", "escalation")}


def read_snoozes(calls: Collection[Call], now: datetime) -> dict[int, Snooze]:
    """Read until when some calls are put off, by their keys."""
    active = Snooze.objects.active(now).filter(escalation__call__in=calls)
    return {snooze.escalation.call_id: snooze for snooze in active.select_related("operator", "escalation")}


def _grouped_page(calls: CallQuerySet, place: list[int]) -> tuple[tuple[Call, ...], tuple[Found, ...], str]:
    moment = (EPOCH + timedelta(microseconds=place[0]), place[1]) if len(place) == 2 else None
    found = find_groups(calls, beyond=moment, number=PAGE + 1)
    shown = tuple(found[:PAGE])
    listed = tuple(first_calls(shown))
    last = next((call for call in listed if call.pk == shown[-1].keys[0]), None) if len(found) > PAGE else None
    if last is None:
        return listed, shown, ""
    assert last.blocked_at is not None
    # In whole microseconds, as the database has them: a place that was rounded could repeat or skip a call.
    return listed, shown, f"{(last.blocked_at - EPOCH) // timedelta(microseconds=1)}.{last.pk}"


def _page(tab: Tab, calls: CallQuerySet, sought: Sought, place: list[int]) -> tuple[tuple[Call, ...], str]:
    if len(place) == 1:
        calls = calls.filter(pk__gt=place[0]) if tab.waits_for_us else calls.up_to(place[0] - 1)
    if tab.holds_few:
        # In no index's order: PostgreSQL would walk through all calls by their keys until enough of the few came.
        key = F("pk") + 0
        found = calls.filter(sought.any).order_by(key.asc() if tab.waits_for_us else key.desc())[: PAGE + 1]
        listed = tuple(found)
    else:
        listed = tuple(calls.newest(PAGE + 1, sought))
    return listed[:PAGE], str(listed[PAGE - 1].pk) if len(listed) > PAGE else ""


def _parse(after: str) -> list[int]:
    """Read a page's key; one that nobody gave out is as good as none."""
    parts = after.split(".")
    return [int(part) for part in parts] if all(part.isdecimal() and len(part) < 18 for part in parts) else []


def answered_today(operator: int, now: datetime) -> int:
    """Count what an operator has answered since midnight by their clock; what is held counts once it is sent."""
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return Guidance.objects.filter(operator=operator, given_at__gte=midnight).count()


@require_safe
@never_cache
@gzip_page  # a page of 45 kB is 7 kB; its form's token is masked anew each time, so that lengths give nothing away
def inbox(request: HttpRequest) -> HttpResponse:
    """Show what waits for a person, or another tab."""
    show, now = request.GET.get("show", ""), timezone.now()
    tab = Tab(show) if show in list(Tab) else Tab.OPEN
    queue = read_queue(
        tab,
        Filters.of(request.GET),
        operator=cast(User, request.user).pk,
        now=now,
        after=request.GET.get("after", ""),
    )
    is_first_look = not queue.calls and not queue.filters.is_any and not Call.objects.exists()
    address = request.build_absolute_uri("/").rstrip("/")
    context = {"queue": queue, "filters": queue.filters, "is_first_look": is_first_look, "address": address} | {
        "now": now,
        "may_answer": may_answer(request.user),
    }
    context["answered_today"] = answered_today(cast(User, request.user).pk, now)
    if not is_htmx(request):
        context["pane_is_open"] = request.COOKIES.get("pane") == "open"
        is_place = bool(_parse(request.GET.get("after", "")))
        context["unread"] = Filters.unread(request.GET, show=show in list(Tab), after=is_place, seen=True)
        return render(request, "inbox/inbox.html", context | {"options": read_options()})
    if request.GET.get("seen") == queue.version:
        return HttpResponse(status=UNCHANGED)
    return render(request, "inbox/_queue.html", context)
