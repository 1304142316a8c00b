"""Sums over hours and days that are over, made from the hourly counts and made anew with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from django.db import models
from django.db.models import Max, Min, Q
from django.db.models.functions import Cast

from retrycontract.store.fields import JSONText
from retrycontract.store.models.counts import (
    APART,
    DETAILED,
    OF_CODES,
    OF_PLACES,
    OF_SOURCES,
    Count,
    Measure,
    Source,
    Tally,
)

# Of one row, the commonest: agents make names up. What is beyond is `OTHER`, alike in every measure, so that sums add
# up and no part is more than its whole.
MOST_TOOLS: Final = 1_000  # of the row of all tools
MOST_SOURCES: Final = 2_000  # of one tool; in the row of all tools, pairs of tool and model
MOST_PLACES: Final = 1_000
MOST_PLACES_BY_SOURCE: Final = 5_000
MOST_LABELS: Final = 100  # of the models whose tokens were told, and of the reasons why none could be asked
OTHER: Final = "\x1a"  # no name holds it: what is invisible is written out in them
OTHER_TOOL: Final = ("", OTHER)
ALL_TOLD: Final = "all_told"  # in the details of a row; those without it lost labels, of some measures only
SUMMARY_CHUNK: Final = 500  # rows of one statement
Reach = dict[str, tuple[datetime, datetime]]


class SummarySpan(models.TextChoices):
    """Name what a row sums up."""

    HOUR = "hour"
    DAY = "day"  # in UTC

    @property
    def length(self) -> timedelta:
        """Tell how long it lasts."""
        return timedelta(hours=1) if self is SummarySpan.HOUR else timedelta(days=1)

    def beginning(self, moment: datetime) -> datetime:
        """Give when the one that a moment belongs to began."""
        hour = moment.replace(minute=0, second=0, microsecond=0)
        return hour if self is SummarySpan.HOUR else hour.replace(hour=0)


class SummaryQuerySet(models.QuerySet["Summary"]):
    """Write sums, and find them."""

    def whole(self) -> SummaryQuerySet:
        """Keep the sums of all tools together."""
        return self.filter(is_whole=True)

    def reach(self) -> Reach:
        """Tell from when to before when hours and days are summed up; what is left out between had nothing counted."""
        rows = self.whole().order_by().values_list("span").annotate(first=Min("at"), last=Max("at"))
        return {span: (first, last + SummarySpan(span).length) for span, first, last in rows}

    def write(self, span: SummarySpan, at: datetime, tally: Tally) -> int:
        """Write what an hour or a day came to; who did so before, at the same moment, said the same."""
        rows = [Summary.of(span, at, tally), *Summary.of_tools(span, at, tally)]
        self.bulk_create(rows, SUMMARY_CHUNK, ignore_conflicts=True)
        return len(rows)

    def lossy(self) -> SummaryQuerySet:
        """Keep the sums of all tools that lost labels; looks through them all."""
        written = self.whole().annotate(written=Cast("details", models.TextField()))
        return written.exclude(written__contains=f'"{ALL_TOLD}"').order_by("-at")

    def forget_hours_before(self, moment: datetime) -> None:
        """Forget hours that are only shown as days any more."""
        self.filter(span=SummarySpan.HOUR, at__lt=moment).delete()

    def forget_from(self, start: datetime) -> None:
        """Forget what begins or goes on after a moment: the counts that it stands on have changed."""
        self.filter(at__gte=SummarySpan.DAY.beginning(start)).delete()


class Summary(models.Model):
    """What an hour or a day came to, of one tool or of all; made from the hourly counts, and made anew with them."""

    span = models.CharField(max_length=4, choices=SummarySpan.choices)
    at = models.DateTimeField()
    is_whole = models.BooleanField()
    namespace = models.CharField(max_length=200)
    tool_name = models.CharField(max_length=300)
    # What every list of tools shows: summed up without opening the counts.
    judged = models.BigIntegerField()
    valid = models.BigIntegerField()
    first_judged = models.BigIntegerField()
    first_valid = models.BigIntegerField()
    counts = JSONText(default=dict)  # measure -> label -> amount
    # The same of what is counted by place and source. Of all tools a label begins with namespace and name, and tells of
    # its source no more than the model of attempts: what the agents and versions came to is summed up by tool.
    details = JSONText(default=dict)

    objects = SummaryQuerySet.as_manager()

    class Meta:
        ordering = ("-at", "-pk")
        verbose_name_plural = "summaries"
        constraints = (
            # One chart of all tools is one range, and so are the tools of a time.
            models.UniqueConstraint(fields=("span", "is_whole", "at", "namespace", "tool_name"), name="summary_unique"),
            models.CheckConstraint(condition=Q(span__in=SummarySpan.values), name="summary_span_known"),
            models.CheckConstraint(
                condition=Q(is_whole=False) | Q(namespace="", tool_name=""), name="summary_whole_names_nothing"
            ),
        )
        indexes = (
            # One chart of one tool.
            models.Index(fields=("namespace", "tool_name", "span", "at"), name="summary_by_tool"),
        )

    def __str__(self) -> str:
        return f"{self.span} {self.at:%Y-%m-%d %H:%M}"

    # Factories

    @classmethod
    def of(cls, span: SummarySpan, at: datetime, tally: Tally) -> Summary:
        """Sum up all tools."""
        return cls._summed(span, at, tally, is_whole=True, namespace="", tool_name="")

    @classmethod
    def of_tools(cls, span: SummarySpan, at: datetime, tally: Tally) -> Iterable[Summary]:
        by_tool: dict[tuple[str, str], Tally] = defaultdict(Counter)
        for count, amount in tally.items():
            by_tool[count.namespace, count.tool_name][count] += amount
        for (namespace, tool_name), own in sorted(by_tool.items()):
            yield cls._summed(span, at, own, is_whole=False, namespace=namespace, tool_name=tool_name)

    @classmethod
    def _summed(cls, span: SummarySpan, at: datetime, tally: Tally, *, is_whole: bool, **names: str) -> Summary:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        details: dict[str, Counter[_Key]] = defaultdict(Counter)
        for count, amount in tally.items():
            if count.measure in DETAILED:
                details[count.measure][_Key.of(count, is_whole=is_whole)] += amount
            else:
                counts[count.measure][count.label] += amount
        counts[Measure.TOKENS] = _commonest(counts[Measure.TOKENS], lambda label: f"{label.partition(' ')[0]} {OTHER}")
        counts[Measure.API_ERROR] = _commonest(counts[Measure.API_ERROR], lambda _: OTHER)
        judged, valid = counts[Measure.JUDGED], counts[Measure.VALID]
        labelled = {
            measure: {key.label(is_whole=is_whole): amount for key, amount in amounts.items()}
            for measure, amounts in _bounded(details).items()
        }
        return cls(
            span=span, at=at, is_whole=is_whole, judged=judged.total(), valid=valid.total(), first_judged=judged["1"],
            first_valid=valid["1"], counts=_told(counts), details=_told(labelled) | {ALL_TOLD: {"": 1}}, **names,
        )  # fmt: skip


class _Key(NamedTuple):
    """Name a label of details by what it is made of; the tool is empty in the rows of one tool."""

    tool: tuple[str, str]
    head: str
    source: Source

    @classmethod
    def of(cls, count: Count, *, is_whole: bool) -> _Key:
        head, *names = count.label.split(APART)
        source = Source(*names)
        if not is_whole:
            return cls(NO_TOOL, head, source)
        tool = NO_TOOL if count.measure in OF_CODES else (count.namespace, count.tool_name)
        return cls(tool, head, Source("", "", source.model) if count.measure in OF_SOURCES else NO_SOURCE)

    @property
    def origin(self) -> tuple[tuple[str, str], Source]:
        """Give tool and source, one for all whose source says nothing: these need no bound of their own."""
        return (self.tool if any(self.source) else NO_TOOL, self.source)

    @property
    def with_others(self) -> _Key:
        """Leave of its source the agent alone: agents are admitted by people, models and versions made up."""
        return self._replace(source=Source(self.source.agent, OTHER, OTHER)) if any(self.source) else self

    @property
    def of_other_place(self) -> _Key:
        """Leave of its place the code alone: these are few."""
        return _Key(OTHER_TOOL, f"{self.head.partition(' ')[0]} {OTHER}", self.source)

    def label(self, *, is_whole: bool) -> str:
        return self.source.label(APART.join((*self.tool, self.head)) if is_whole else self.head)


NO_TOOL, NO_SOURCE = ("", ""), Source("", "", "")
_Details = Mapping[str, Counter[_Key]]
_Name = TypeVar("_Name", bound=tuple[Any, ...])


def _bounded(details: _Details) -> _Details:
    """Put what is beyond the bounds under `OTHER`: whole tools, sources of a tool, places, and sources of a place."""
    # Who answered a mistake later than it was made counts among the commonest, too.
    judged, failed = (Measure.SOURCE_JUDGED, Measure.PLACE_ANSWERS), (Measure.PLACE, Measure.PLACE_ANSWERS)
    details = _cut(details, judged, lambda key: key.tool, MOST_TOOLS, lambda key: key._replace(tool=OTHER_TOOL))
    details = _cut(details, judged, lambda key: key.origin, MOST_SOURCES, lambda key: key.with_others)
    places = {measure: amounts for measure, amounts in details.items() if measure in OF_PLACES}
    places = _cut(places, failed, lambda key: (key.tool, key.head), MOST_PLACES, lambda key: key.of_other_place)
    return {**details, **_cut(places, failed, lambda key: key, MOST_PLACES_BY_SOURCE, lambda key: key.with_others)}


def _cut(
    details: _Details, ranking: Collection[Measure], name_of: Callable[[_Key], _Name], most: int,
    other: Callable[[_Key], _Key],
) -> dict[str, Counter[_Key]]:  # fmt: skip
    """Keep the names with the most of each of some measures, and put another key in the place of the others'."""
    if len({name_of(key) for amounts in details.values() for key in amounts}) <= most:
        return dict(details)
    kept: set[_Name] = set()
    for measure in ranking:
        sums: Counter[_Name] = Counter()
        for key, amount in details.get(measure, {}).items():
            sums[name_of(key)] += amount
        # Of as many the first by name: who sums up the same says the same.
        kept.update(sorted(sums, key=lambda name: (-sums[name], name))[:most])
    found: dict[str, Counter[_Key]] = defaultdict(Counter)
    for name, amounts in details.items():
        for key, amount in amounts.items():
            found[name][key if name_of(key) in kept else other(key)] += amount
    return found


def _commonest(labels: Counter[str], other: Callable[[str], str]) -> Counter[str]:
    kept, found = {label for label, _ in labels.most_common(MOST_LABELS)}, Counter[str]()
    for label, amount in labels.items():
        found[label if label in kept else other(label)] += amount
    return found


def _told(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {measure: dict(labels) for measure, labels in counts.items() if labels}
