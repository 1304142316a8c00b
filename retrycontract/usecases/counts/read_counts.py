"""Read the counts of any time: sums where hours and days are over, the hourly counts for what is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from django.db.models import F, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast

from retrycontract.store.models import DETAILED, Measure, Rollup, Source, Summary, SummarySpan
from retrycontract.store.models.counts import APART
from retrycontract.store.models.summaries import ALL_TOLD

FINE: Final = timedelta(days=3)  # a longer time is shown by days
# Agents make places and models up: they are read apart.
PLAIN: Final = [measure for measure in Measure if measure not in DETAILED and measure is not Measure.TOKENS]
NAMES: Final = ("namespace", "tool_name")
RATED: Final = ("judged", "valid", "first_judged", "first_valid")
Stretch = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class SourceCut:
    """Say which sources are looked at: of an agent, a version (by their keys), a model; empty is any."""

    agent: str = ""
    version: str = ""
    model: str = ""

    def holds(self, source: Source) -> bool:
        wanted = (self.agent, self.version, self.model)
        return all(not one or one == name for one, name in zip(wanted, source, strict=True))


@dataclass(frozen=True, slots=True)
class CountScope:
    """Say what is looked at: from the hour of `start` to before `end`, and of which namespace, tool and sources.

    The cut by sources holds for details alone: the other counts know none.
    """

    start: datetime
    end: datetime
    namespace: str | None = None
    tool_name: str | None = None
    cut: SourceCut = SourceCut()

    @property
    def span(self) -> SummarySpan:
        """Name what one point of a series stands for: an hour or a day, in UTC."""
        return SummarySpan.HOUR if self.end - self.start <= FINE else SummarySpan.DAY

    @property
    def step(self) -> timedelta:
        """Tell how long that lasts."""
        return self.span.length

    @property
    def names(self) -> dict[str, str]:
        """Give what narrows it."""
        names = {"namespace": self.namespace, "tool_name": self.tool_name}
        return {name: value for name, value in names.items() if value is not None}


class Point(NamedTuple):
    """Name a counter of a series."""

    at: datetime
    measure: str
    label: str


class ToolPoint(NamedTuple):
    """Name a tool in a step of a series; the name is empty for tools that nobody registered."""

    at: datetime
    namespace: str
    tool_name: str


class Detail(NamedTuple):
    """Name a counter by place or by number of the attempt, the `head`, and by source, in a step of a series."""

    at: datetime
    namespace: str
    tool_name: str
    measure: str
    head: str
    source: Source


@dataclass(frozen=True, slots=True)
class _Sources:
    """Hold where the counts of a scope are found: which sums, and which hours that nobody has summed up yet."""

    scope: CountScope
    summed: tuple[tuple[SummarySpan, Stretch], ...]
    left: tuple[Stretch, ...]

    @classmethod
    def of(cls, scope: CountScope) -> _Sources:
        reach = Summary.objects.reach()
        days, rest = None, [(scope.start, scope.end)]
        # The whole days that are summed up, unless hours are shown, then the hours of what lies around them.
        if scope.span is not SummarySpan.HOUR and (of_days := reach.get(SummarySpan.DAY)):
            # Rounded up: of the day in which a scope begins a part lies before it.
            begin = SummarySpan.DAY.beginning(scope.start + SummarySpan.DAY.length - timedelta.resolution)
            days, rest = _cut(rest[0], begin, min(SummarySpan.DAY.beginning(scope.end), of_days[1]))
        first, last = reach.get(SummarySpan.HOUR) or (scope.end, scope.end)
        cut = [_cut(stretch, max(stretch[0], first), min(stretch[1], last)) for stretch in rest]
        hours = [(SummarySpan.HOUR, summed) for summed, _ in cut if summed]
        return cls(
            scope,
            (*([(SummarySpan.DAY, days)] if days else []), *hours),
            tuple(part for _, left in cut for part in left),
        )

    def sums(self, *, is_whole: bool) -> QuerySet[Summary]:
        if not self.summed:
            return Summary.objects.none()
        parts = [Q(span=span, at__gte=start, at__lt=end) for span, (start, end) in self.summed]
        return Summary.objects.filter(reduce(or_, parts), is_whole=is_whole, **self.scope.names).order_by()

    def counts(self, *measures: Measure, more: Iterable[Stretch] = ()) -> QuerySet[Rollup]:
        if not (left := [*self.left, *more]):
            return Rollup.objects.none()
        parts = [Q(hour__gte=start, hour__lt=end) for start, end in left]
        return Rollup.objects.filter(reduce(or_, parts), measure__in=measures, **self.scope.names).order_by()


class _Steps(dict[str, datetime]):
    """Give the step that a written moment belongs to; thousands of rows share a few moments, so each is read once."""

    def __init__(self, span: SummarySpan) -> None:
        super().__init__()
        self._span = span

    def __missing__(self, written: str) -> datetime:
        step = self[written] = self._span.beginning(_moment(written))
        return step


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


def _written(name: str) -> Cast:
    """Ask for a moment as the database writes it: in UTC, with an offset or without."""
    return Cast(name, TextField())


def read_points(scope: CountScope) -> Counter[Point]:
    """Read every counter but those of places, by step; three queries."""
    sources, steps = _Sources.of(scope), _Steps(scope.span)
    found: Counter[Point] = Counter()
    # All tools together have sums of their own: one row for each step, instead of one for each tool in it.
    for at, counts in sources.sums(is_whole=not scope.names).values_list(_written("at"), "counts"):
        for measure, labels in counts.items():
            for label, amount in labels.items():
                found[Point(steps[at], measure, label)] += amount
    rows = sources.counts(*PLAIN).values_list(_written("hour"), "measure", "label").annotate(total=Sum("amount"))
    for hour, measure, label, amount in rows:
        found[Point(steps[hour], measure, label)] += amount
    return found


def read_tool_totals(scope: CountScope) -> dict[tuple[str, str], Counter[str]]:
    """Read how each tool fared: judged, valid, and both of first attempts, by namespace and name; three queries."""
    sources, found = _Sources.of(scope), defaultdict[tuple[str, str], Counter[str]](Counter)
    sums = sources.sums(is_whole=False).values_list(*NAMES).annotate(*map(Sum, RATED))
    for namespace, tool_name, *amounts in sums:
        found[namespace, tool_name].update(dict(zip(RATED, amounts, strict=True)))
    rows = sources.counts(Measure.JUDGED, Measure.VALID).values_list(*NAMES, "measure", "label")
    for namespace, tool_name, measure, label, amount in rows.annotate(total=Sum("amount")):
        found[namespace, tool_name].update({measure: amount, f"first_{measure}": amount if label == "1" else 0})
    return found


def read_failed(scope: CountScope) -> Counter[ToolPoint]:
    """Read how many attempts of each tool failed in each step; three queries."""
    sources, steps = _Sources.of(scope), _Steps(scope.span)
    found: Counter[ToolPoint] = Counter()
    failed = F("judged") - F("valid")
    for at, namespace, tool_name, amount in sources.sums(is_whole=False).values_list(_written("at"), *NAMES, failed):
        found[ToolPoint(steps[at], namespace, tool_name)] += amount
    rows = sources.counts(Measure.JUDGED, Measure.VALID).values_list(_written("hour"), *NAMES, "measure")
    for hour, namespace, tool_name, measure, amount in rows.annotate(total=Sum("amount")):
        found[ToolPoint(steps[hour], namespace, tool_name)] += amount if measure == Measure.JUDGED else -amount
    return +found


def read_details(scope: CountScope) -> Counter[Detail]:
    """Read what is counted by place and source, as far as the cut of the scope fits; three queries.

    Sums that lost some of it are left alone: what they stand on is there.
    """
    sources, steps, named = _Sources.of(scope), _Steps(scope.span), _Labels(scope.cut)
    # The row of all tools tells of no agents and versions.
    is_whole = not scope.names and not named.is_cut
    told: defaultdict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    lossy: set[tuple[str, str]] = set()
    sums = sources.sums(is_whole=is_whole).values_list("span", _written("at"), *NAMES, "details")
    for span, at, namespace, tool_name, details in sums:
        if details.pop(ALL_TOLD, None) is None:
            lossy.add((span, at))
            continue
        begin = "" if is_whole else f"{namespace}{APART}{tool_name}{APART}"
        told[span, at] += (
            (measure, begin + label, amount) for measure, labels in details.items() for label, amount in labels.items()
        )
    again = [(begin, begin + SummarySpan(span).length) for span, at in lossy for begin in [_moment(at)]]
    rows = sources.counts(*DETAILED, more=again).values_list(_written("hour"), *NAMES, "measure", "label")
    for hour, namespace, tool_name, measure, label, amount in rows.annotate(total=Sum("amount")):
        told["", hour].append((measure, APART.join((namespace, tool_name, label)), amount))
    found: Counter[Detail] = Counter()
    for moment, amounts in told.items():
        at = steps[moment[1]]
        for measure, label, amount in amounts if moment not in lossy else ():
            if names := named[label]:
                namespace, tool_name, head, source = names
                found[Detail(at, namespace, tool_name, measure, head, source)] += amount
    return found


class _Labels(dict[str, tuple[str, str, str, Source] | None]):
    """Give what a label is made of, nothing where its source is left out; the same ones come every day."""

    def __init__(self, cut: SourceCut) -> None:
        super().__init__()
        self._cut, self.is_cut = cut, cut != SourceCut()

    def __missing__(self, label: str) -> tuple[str, str, str, Source] | None:
        namespace, tool_name, head, *names = label.split(APART)
        source = Source(*names)
        found = self[label] = (namespace, tool_name, head, source) if self._cut.holds(source) else None
        return found


def _cut(stretch: Stretch, begin: datetime, end: datetime) -> tuple[Stretch | None, list[Stretch]]:
    """Cut what is summed up out of a stretch, and give what lies before and behind it."""
    if end <= begin:
        return None, [stretch]
    return (begin, end), [part for part in ((stretch[0], begin), (end, stretch[1])) if part[0] < part[1]]


def steps_of(scope: CountScope) -> Iterator[datetime]:
    """List the steps of a scope, those without a count among them."""
    at = scope.span.beginning(scope.start)
    while at < scope.end:
        yield at
        at += scope.step
