"""Plots as values: columns over time and bars side by side, with everything that a template needs to draw them.

Shapes are drawn in a picture that stretches with the page, words stand around it as text: nothing is too small on a
telephone. Each plot has its numbers as a table, so that nobody depends on seeing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, floor, log10
from typing import Final, Self

from django.utils import timezone

from retrycontract.store.models import SummarySpan, Tool, hour_of
from retrycontract.usecases.counts.read_counts import FINE, CountScope, SourceCut, steps_of

MOST_SERIES: Final = 6  # colours that most people tell apart; what is rarer is one series
HEIGHT: Final = 100.0
STEP: Final = 10.0  # of a column, with the gap beside it
WIDTH: Final = 8.0
TICKS: Final = 4
LABELS: Final = 5  # along the time: more do not fit on a telephone
REST: Final = "rest"
LEAST_SEEN: Final = 0.75  # a bar that is not nothing is not drawn as nothing


@dataclass(frozen=True, slots=True)
class Series:
    """Hold one part of the columns: its colour, what it adds up to, and its shape; `key` names it to the page."""

    tone: str
    key: str
    total: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """Hold one step of time: its name, where it stands, and its amounts by series."""

    label: str
    x: str
    amounts: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.amounts)


@dataclass(frozen=True, slots=True)
class Columns:
    """Hold a plot of amounts over time, in columns of stacked parts."""

    series: tuple[Series, ...]
    columns: tuple[Column, ...]
    top: int
    step: int

    @property
    def total(self) -> int:
        return sum(one.total for one in self.series)

    @property
    def width(self) -> str:
        return _number(len(self.columns) * STEP)

    @property
    def ticks(self) -> list[int]:
        """List the amounts beside the picture, from the top."""
        return list(range(self.top, -1, -self.step))

    @property
    def lines(self) -> list[str]:
        """List the heights of the lines behind the columns."""
        return [_number(HEIGHT - HEIGHT * tick / self.top) for tick in self.ticks]

    @property
    def labels(self) -> list[str]:
        """List what stands below each step: the names of a few, evenly from the first to the last, else nothing."""
        last = len(self.columns) - 1
        # As many as stand evenly; of many steps one more or less cannot be told.
        gaps = next((gaps for gaps in range(min(LABELS - 1, last), 0, -1) if last % gaps == 0 or last > 3 * gaps), 1)
        places = {round(index * last / gaps) for index in range(gaps + 1)}
        return [column.label if place in places else "" for place, column in enumerate(self.columns)]

    @property
    def lesser(self) -> list[int]:
        """List the steps whose names give way where five stand too close: each second one."""
        named = [place for place, label in enumerate(self.labels) if label]
        return named[1::2] if len(named) == LABELS else []

    @property
    def highest(self) -> Column:
        """Give the step with the most."""
        return max(self.columns, key=lambda column: column.total)


@dataclass(frozen=True, slots=True)
class Bar:
    """Hold one row of a table with a bar: `width` is drawn, of 100."""

    label: str
    amount: int
    width: str
    note: str = ""
    doubt: str = ""  # where the amount is small
    link: str = ""  # to the calls that the amount counts
    of_note: str = ""  # to those that the note is about


def draw_columns(amounts: Mapping[tuple[datetime, str], int], steps: Mapping[datetime, str]) -> Columns:
    """Stack amounts by step and series; series beyond the largest six are one, steps without amounts are empty."""
    totals: Counter[str] = Counter()
    for (_, key), amount in amounts.items():
        totals[key] += amount
    ranked = sorted(totals, key=lambda key: (-totals[key], key))
    shown, rest = ranked[:MOST_SERIES], ranked[MOST_SERIES:]
    parts = [[key] for key in shown] + [rest] * bool(rest)
    table = [[sum(amounts.get((at, key), 0) for key in part) for part in parts] for at in steps]
    top, step = _scale(max(map(sum, table), default=0))
    columns = [
        Column(label, _number(index * STEP + (STEP - WIDTH) / 2), tuple(row))
        for index, (label, row) in enumerate(zip(steps.values(), table, strict=True))
    ]
    tones = [(str(number), key) for number, key in enumerate(shown, 1)] + [(REST, "")] * bool(rest)
    series = []
    for number, (tone, key) in enumerate(tones):
        drawn = []  # all its parts as one shape, each on the parts below it
        for column in columns:
            if column.amounts[number]:
                y = HEIGHT - HEIGHT * sum(column.amounts[: number + 1]) / top
                height = HEIGHT * column.amounts[number] / top
                drawn.append(f"M{column.x} {_number(y)}h{_number(WIDTH)}v{_number(height)}h-{_number(WIDTH)}z")
        series.append(Series(tone, key, sum(column.amounts[number] for column in columns), "".join(drawn)))
    return Columns(tuple(series), tuple(columns), top, step)


def draw_bars(rows: Iterable[tuple[str, int, str]], *, of: int | None = None) -> tuple[Bar, ...]:
    """Draw rows of label, amount and note as long as they are of `of`, or of the largest."""
    listed = list(rows)
    whole = of or max((amount for _, amount, _ in listed), default=0)
    bars = []
    for label, amount, note in listed:
        length = _number(max(100 * min(amount / whole, 1), LEAST_SEEN)) if amount and whole else "0"
        bars.append(Bar(label, amount, length, note))
    return tuple(bars)


def percent(part: float) -> str:
    """Write a part of one; what is nearly nothing or nearly all is not rounded to it."""
    if 0 < part < 0.01:
        return "<1%"
    # `round` goes to the even number at a half.
    return f"{min(floor(part * 100 + 0.5), 99) if part < 1 else 100}%"


def _scale(most: int) -> tuple[int, int]:
    """Choose where the axis ends and its steps: round numbers, the end above all columns."""
    if most <= TICKS:
        return max(most, 1), 1
    rough = most / TICKS
    size = 10 ** floor(log10(rough))
    step = next(int(size * factor) for factor in (1, 2, 5, 10) if size * factor >= rough and size * factor >= 1)
    return ceil(most / step) * step, step


def _number(value: float) -> str:
    """Write a length as SVG reads it, in whichever language the page is."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RANGES: Final = {"24h": ("24 hours", DAY), "7d": ("7 days", 7 * DAY), "30d": ("30 days", 30 * DAY),
                 "90d": ("90 days", 90 * DAY)}  # fmt: skip
USUAL: Final = "7d"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Hold a time until now: whole hours of a day, or whole days, in UTC, the one under way with them."""

    name: str
    start: datetime
    end: datetime

    @classmethod
    def of(cls, name: str, now: datetime) -> Self:
        """Read an address; what nobody offers is the usual time."""
        name = name if name in RANGES else USUAL
        length, end = RANGES[name][1], hour_of(now) + HOUR
        start = end - length if length <= FINE else SummarySpan.DAY.beginning(now) - length + DAY
        return cls(name, start, end)

    @staticmethod
    def is_one(name: str) -> bool:
        return name in RANGES

    @property
    def words(self) -> str:
        return RANGES[self.name][0]

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(name, words) for name, (words, _) in RANGES.items()]

    def scope(self, tool: Tool | None = None, cut: SourceCut = SourceCut()) -> CountScope:  # noqa: B008 - a frozen value
        names = {"namespace": tool.namespace, "tool_name": tool.name} if tool else {}
        return CountScope(self.start, self.end, **names, cut=cut)

    @property
    def labels(self) -> dict[datetime, str]:
        """Name each step: days by their date, hours as whoever looks has them."""
        steps = steps_of(self.scope())
        if self.name == "24h":
            return {at: timezone.localtime(at).strftime("%H:%M") for at in steps}
        return {at: f"{at.day} {at:%b}" for at in steps}
