"""Plots are drawn to scale, and say nothing that their numbers do not say."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.insights.plots import MOST_SERIES, draw_bars, draw_columns, percent

DAY = datetime(2030, 1, 1, tzinfo=UTC)
DAYS = {DAY + timedelta(days=number): f"day {number}" for number in range(4)}
AMOUNTS = st.dictionaries(
    st.tuples(st.sampled_from(list(DAYS)), st.sampled_from([f"key {number}" for number in range(9)])),
    st.integers(0, 10**7),
)


@given(amounts=AMOUNTS)
def test_columns_add_up_and_stay_within_the_picture(amounts: dict[tuple[datetime, str], int]) -> None:
    plot = draw_columns(amounts, DAYS)
    assert plot.total == sum(amounts.values()) == sum(column.total for column in plot.columns)
    assert len(plot.series) <= MOST_SERIES + 1
    assert [one.total for one in plot.series] == [
        sum(c.amounts[n] for c in plot.columns) for n in range(len(plot.series))
    ]
    assert plot.top >= max(column.total for column in plot.columns)
    assert (plot.ticks[0], plot.ticks[-1], len(plot.ticks) <= 6) == (plot.top, 0, True)
    heights = [sum(map(float, re.findall(r"v([\d.]+)", one.path))) for one in plot.series]
    assert heights == pytest.approx([100 * one.total / plot.top for one in plot.series], abs=0.1)
    assert all(float(y) >= 0 for one in plot.series for y in re.findall(r"M[\d.]+ ([-\d.]+)h", one.path))


def test_parts_stand_on_each_other() -> None:
    plot = draw_columns({(DAY, "a"): 3, (DAY, "b"): 1}, {DAY: "day", DAY + timedelta(days=1): "next"})
    assert [one.path for one in plot.series] == ["M1 25h8v75h-8z", "M1 0h8v25h-8z"]
    assert [column.amounts for column in plot.columns] == [(3, 1), (0, 0)]


def test_series_beyond_the_largest_six_are_one() -> None:
    amounts = {(DAY, f"key {number}"): 10 - number for number in range(8)}
    plot = draw_columns(amounts, DAYS)
    assert [(one.tone, one.key, one.total) for one in plot.series][-2:] == [("6", "key 5", 5), ("rest", "", 7)]


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(0, [1, 0]), (1, [1, 0]), (4, [4, 3, 2, 1, 0]), (5, [6, 4, 2, 0]), (187, [200, 150, 100, 50, 0]),
     (9_999, [10_000, 5_000, 0])],
)  # fmt: skip
def test_the_axis_has_round_numbers(most: int, ticks: list[int]) -> None:
    assert draw_columns({(DAY, "a"): most}, DAYS).ticks == ticks


@pytest.mark.parametrize(
    ("number", "labelled"), [(1, [0]), (2, [0, 1]), (5, [0, 1, 2, 3, 4]), (7, [0, 2, 4, 6]), (24, [0, 6, 12, 17, 23])]
)
def test_labels_stand_evenly(number: int, labelled: list[int]) -> None:
    labels = draw_columns({}, {DAY + timedelta(days=day): str(day) for day in range(number)}).labels
    assert [place for place, label in enumerate(labels) if label] == labelled


def test_labels_are_a_few_from_the_first_to_the_last_each_at_its_step() -> None:
    steps = {DAY + timedelta(days=number): str(number) for number in range(30)}
    labels = draw_columns({}, steps).labels
    assert {place: label for place, label in enumerate(labels) if label} == {n: str(n) for n in (0, 7, 14, 22, 29)}
    assert draw_columns({}, steps).lesser == [7, 22], "where five stand too close"
    assert draw_columns({}, {DAY: "only"}).labels == ["only"]


def test_bars_are_as_long_as_their_part() -> None:
    bars = draw_bars([("a", 50, ""), ("b", 1, ""), ("c", 0, ""), ("d", 400, "")], of=200)
    assert [bar.width for bar in bars] == ["25", "0.75", "0", "100"]
    assert [bar.width for bar in draw_bars([("a", 2, ""), ("b", 1, "")])] == ["100", "50"]
    assert draw_bars([]) == ()


@pytest.mark.parametrize(
    ("part", "said"), [(0, "0%"), (0.004, "<1%"), (0.5, "50%"), (0.615, "62%"), (0.999, "99%"), (1, "100%")]
)
def test_nearly_all_is_not_all(part: float, said: str) -> None:
    assert percent(part) == said
