"""Sums of hours and days say what the hourly counts say, whatever part of a time they reach."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrycontract.store.models import Count, Measure, Rollup, Summary, SummarySpan, hour_of
from retrycontract.store.models.summaries import MOST_PLACES, OTHER
from retrycontract.usecases.counts.read_counts import CountScope
from retrycontract.usecases.counts.read_insights import read_heat_map, read_insights, read_tool_rates
from retrycontract.usecases.counts.recount import HOURS_KEPT, rebuild_rollups, sum_up_counts, sum_up_everything
from tests.factories import RIGHT, WRONG, make_agent, make_call, make_tool
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LABELS = {
    Measure.JUDGED: ("1", "2", "more"), Measure.VALID: ("1", "2"), Measure.FAILURE: ("VAL-001", "VAL-008"),
    Measure.PLACE: ("VAL-001 /a\t1\t1\t", "VAL-008 /b/*\t1\t2\tm"), Measure.RETRY_TEXT: ("",),
    Measure.CODE_FIRST: ("VAL-001\t1\t1\t", "VAL-008\t1\t2\tm"), Measure.CODE_RECOVERED: ("VAL-001\t1\t1\t",),
    Measure.OUTCOME: ("valid", "observed"),
    Measure.GUIDANCE: ("hint",), Measure.TRIED: ("hint",), Measure.WORKED: ("hint",), Measure.ESCALATION: ("",),
}  # fmt: skip


def count(at: datetime, tool: str = "deploy", measure: Measure = Measure.JUDGED, label: str = "1", n: int = 1) -> None:
    Rollup.objects.add(Counter({Count(hour_of(at), "team", tool, measure.value, label): n}))


@pytest.fixture
def counted() -> None:
    """Ten days of counts of two tools, with a day in which nothing happened."""
    chance = random.Random(3)
    for hours in range(0, 240, 5):
        at = NOON - hours * HOUR
        for tool in ("deploy", "scale") if at.day != 29 else ():
            for measure, labels in LABELS.items():
                for label in labels:
                    count(at, tool, measure, label, chance.randint(1, 40))


def scopes() -> Iterator[CountScope]:
    for length in (5 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY):
        for end in (NOON + HOUR, NOON - 2 * DAY, NOON - 5 * DAY - 3 * HOUR):
            for tool in (None, "deploy"):
                yield CountScope(end - length, end, tool_name=tool)


def everything() -> list[Any]:
    return [(read_insights(scope), read_tool_rates(scope), read_heat_map(scope)) for scope in scopes()]


@pytest.mark.usefixtures("counted")
def test_what_pages_show_is_the_same_with_no_sums_some_and_all() -> None:
    plain = everything()
    assert plain[0] != plain[-1]
    for _ in range(3):
        assert sum_up_counts(now=NOON + 10 * HOUR)
        assert everything() == plain
    sum_up_everything(now=NOON + 10 * HOUR)
    assert everything() == plain
    assert not sum_up_counts(now=NOON + 10 * HOUR)


@pytest.mark.usefixtures("counted")
def test_what_is_over_is_read_from_the_sums_alone() -> None:
    sum_up_everything(now=NOON + 2 * DAY)
    weeks, day = CountScope(NOON - 12 * HOUR - 30 * DAY, NOON + HOUR), CountScope(NOON - DAY, NOON + HOUR)
    before = [(read_insights(scope), read_tool_rates(scope), read_heat_map(scope)) for scope in (weeks, day)]
    Rollup.objects.all().delete()
    assert [(read_insights(scope), read_tool_rates(scope), read_heat_map(scope)) for scope in (weeks, day)] == before


def test_an_hour_or_a_day_is_summed_up_once_it_is_settled() -> None:
    count(NOON)
    assert not sum_up_counts(now=NOON + HOUR + timedelta(minutes=4))
    assert sum_up_counts(now=NOON + HOUR + timedelta(minutes=5))
    assert set(Summary.objects.values_list("span", flat=True)) == {SummarySpan.HOUR}
    assert not sum_up_counts(now=NOON + 12 * HOUR)
    assert sum_up_counts(now=NOON + 13 * HOUR)
    assert Summary.objects.whole().get(span=SummarySpan.DAY).at == NOON - 12 * HOUR


@pytest.mark.usefixtures("counted")
def test_hours_that_are_shown_as_days_are_forgotten() -> None:
    sum_up_everything(now=NOON + HOUR)
    first = Summary.objects.filter(span=SummarySpan.HOUR).earliest("at").at
    assert first >= NOON - HOURS_KEPT - DAY
    count(NOON + 7 * DAY)
    sum_up_everything(now=NOON + 8 * DAY)
    assert Summary.objects.filter(span=SummarySpan.HOUR).earliest("at").at == NOON + 7 * DAY


@pytest.mark.usefixtures("counted")
def test_two_who_sum_up_at_once_write_one_row() -> None:
    tally = Rollup.objects.all().tally()
    for _ in range(2):
        Summary.objects.write(SummarySpan.DAY, NOON - 12 * HOUR, tally)
    assert Summary.objects.count() == 3


def test_of_places_that_agents_made_up_the_commonest_are_kept() -> None:
    for number in range(MOST_PLACES + 5):
        count(NOON, measure=Measure.PLACE, label=f"VAL-001 /{number}\t1\t1\t", n=1 + (number == 7))
    sum_up_everything(now=NOON + DAY)
    places = Summary.objects.get(span=SummarySpan.DAY, is_whole=False).details[Measure.PLACE]
    assert (len(places), places["VAL-001 /7\t1\t1\t"]) == (MOST_PLACES + 1, 2)
    assert places[f"VAL-001 {OTHER}\t1\t1\t"] == 5, "the others are one"


def test_counts_that_are_made_anew_are_summed_up_anew() -> None:
    make_tool(make_agent())
    make_call(make_agent(), [WRONG, RIGHT], at=NOON)
    count(NOON - DAY)
    count(NOON, n=100)
    sum_up_everything(now=NOON + 2 * DAY)
    assert Summary.objects.whole().get(span=SummarySpan.DAY, at=NOON - 12 * HOUR).judged == 102
    rebuild_rollups(since=NOON, now=NOON + 2 * DAY, actor="rebuild_metrics", door="command")  # type: ignore[arg-type]
    sum_up_everything(now=NOON + 2 * DAY)
    days = Summary.objects.whole().filter(span=SummarySpan.DAY).order_by("at")
    assert list(days.values_list("judged", flat=True)) == [1, 2]


@pytest.mark.usefixtures("counted")
def test_a_longer_time_costs_no_more_queries() -> None:
    sum_up_everything(now=NOON + HOUR)
    asked = []
    for days in (4, 90):
        with CaptureQueriesContext(connection) as queries:
            read_insights(CountScope(NOON - days * DAY, NOON + 2 * HOUR))
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 6
