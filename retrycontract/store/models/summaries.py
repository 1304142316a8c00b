"""Counts of hours and days that are over, summed up: one row where the hourly counts have hundreds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db import models
from django.db.models import Max, Min, Q

from retrycontract.store.fields import JSONText
from retrycontract.store.models.rollups import APART, DETAILED, OF_PLACES, OF_SOURCES, Measure, Tally

MOST_PLACES: Final = 200  # of one row, those that failed most often: more is no map, and agents make names up
MOST_SOURCES: Final = 100  # with the number of the attempt; agents make the names of models up, too
MOST_MODELS: Final = 100  # of the tokens that were told
CHUNK: Final = 500  # rows of one statement
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
        self.bulk_create(rows, CHUNK, ignore_conflicts=True)
        return len(rows)

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
    # The same of what is counted by place and source; of all tools, a label begins with namespace and name.
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
        """Sum up each tool."""
        by_tool: dict[tuple[str, str], Tally] = defaultdict(Counter)
        for count, amount in tally.items():
            by_tool[count.namespace, count.tool_name][count] += amount
        for (namespace, tool_name), own in sorted(by_tool.items()):
            yield cls._summed(span, at, own, is_whole=False, namespace=namespace, tool_name=tool_name)

    @classmethod
    def _summed(cls, span: SummarySpan, at: datetime, tally: Tally, *, is_whole: bool, **names: str) -> Summary:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        details: dict[str, Counter[str]] = defaultdict(Counter)
        for count, amount in tally.items():
            if count.measure in DETAILED:
                tool = (count.namespace, count.tool_name) if is_whole else ()
                details[count.measure][APART.join((*tool, count.label))] += amount
            else:
                counts[count.measure][count.label] += amount
        counts[Measure.TOKENS] = Counter(dict(counts[Measure.TOKENS].most_common(MOST_MODELS)))
        kept = {label for label, _ in details[Measure.PLACE].most_common(MOST_PLACES)}
        # Who answered a mistake later than it was made is kept, too: the longest first.
        kept.update(label for label, _ in details[Measure.PLACE_ANSWERS].most_common(MOST_PLACES))
        sources = {label for label, _ in details[Measure.SOURCE_JUDGED].most_common(MOST_SOURCES)}
        for measures, labels in ((OF_PLACES, kept), (OF_SOURCES, sources)):
            for measure in measures:
                details[measure] = Counter({name: n for name, n in details[measure].items() if name in labels})
        judged, valid = counts[Measure.JUDGED], counts[Measure.VALID]
        return cls(
            span=span, at=at, is_whole=is_whole, judged=judged.total(), valid=valid.total(), first_judged=judged["1"],
            first_valid=valid["1"], counts=_told(counts), details=_told(details), **names,
        )  # fmt: skip


def _told(counts: dict[str, Counter[str]]) -> dict[str, dict[str, int]]:
    return {measure: dict(labels) for measure, labels in counts.items() if labels}
