"""Hourly counts, and their sums over hours and days that are over: what pages show without looking through history."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import connection, models
from django.db.models import Max, Min, Q, Sum

from retrycontract.store.fields import JSONText

# Several writers on one row wait for each other's commit; each thread has a row of its own, as far as they last.
SHARDS: Final = 8
HOUR: Final = timedelta(hours=1)
CHUNK: Final = 1_000  # rows of one statement


class Measure(models.TextChoices):
    """Name what is counted; the comment says what its label holds."""

    JUDGED = "judged"  # attempts by their number
    VALID = "valid"  # valid attempts by their number
    FAILURE = "failure"  # failed attempts by each code they had
    PLACE = "place"  # failed attempts by code and place, such as "VAL-008 /region", and source
    PLACE_TOKENS = "place_tokens"  # what these attempts took, each shared by its places
    PLACE_ANSWERS = "place_answers"  # answers of people to calls that stood there
    PLACE_SECONDS = "place_seconds"  # of people, from taking such a call on to the answer
    RETRY_TEXT = "retry_text"  # characters that retries cost: every feedback, and each output after the first
    ESCALATION = "escalation"
    GUIDANCE = "guidance"  # answers by decision
    GUIDANCE_TIME = "guidance_time"  # answers by the bucket that their time from escalation to answer falls in
    GUIDANCE_SECONDS = "guidance_seconds"  # the sum of these times
    TRIED = "tried"  # first attempts after an answer by its decision
    WORKED = "worked"  # those of them that were valid
    SOURCE_JUDGED = "source_judged"  # attempts by their number and source
    SOURCE_VALID = "source_valid"  # valid ones of these
    CODE_FIRST = "code_first"  # first attempts that failed, by each code they had and source
    CODE_RECOVERED = "code_recovered"  # calls of these that were valid later, by the codes of the first attempt
    TOKENS = "tokens"  # tokens that agents told of, by direction and model, such as "in gpt-5"
    RETRY_TOKENS = "retry_tokens"  # those of attempts after the first; what is told is not counted as retry_text
    API_ERROR = "api_error"  # tries for which the model could not be asked, by why, such as "HTTP 429"
    OUTCOME = "outcome"  # ends of calls by state; one that a late answer reopens ends twice


# Their labels name a source, and are too many for what is shown over a whole time.
OF_PLACES: Final = (Measure.PLACE, Measure.PLACE_TOKENS, Measure.PLACE_ANSWERS, Measure.PLACE_SECONDS)
OF_SOURCES: Final = (Measure.SOURCE_JUDGED, Measure.SOURCE_VALID)
OF_CODES: Final = (Measure.CODE_FIRST, Measure.CODE_RECOVERED)
DETAILED: Final = frozenset({*OF_PLACES, *OF_SOURCES, *OF_CODES})
APART: Final = "\t"  # no name holds one: what is invisible is written out in them


class Source(NamedTuple):
    """Name where an attempt came from: agent and version by their keys, and the model, empty where nobody named it."""

    agent: str
    version: str
    model: str

    def label(self, head: str) -> str:
        return APART.join((head, *self))


class Count(NamedTuple):
    """Name one counter: of an hour, a namespace of agents, a tool, a measure and its label."""

    hour: datetime
    namespace: str
    tool_name: str  # empty for tools that nobody registered: their names are anybody's to make up
    measure: str
    label: str


Tally = Counter[Count]


class RollupQuerySet(models.QuerySet["Rollup"]):
    """Count, and read the counts."""

    def add(self, tally: Tally) -> None:
        """Add to the counters in one statement, right however many do so at once."""
        # Sorted: who locks rows in one order never waits in a circle.
        rows = sorted((count, amount) for count, amount in tally.items() if amount)
        if rows:
            # SQLite lets one writer in at a time, so that nobody waits for a row there.
            shard = 0 if connection.vendor == "sqlite" else threading.get_native_id() % SHARDS
            self._upsert([(*count, amount) for count, amount in rows], shard)

    def replace(self, tally: Tally, *, start: datetime, end: datetime) -> None:
        """Put counts in the place of those of the hours from `start` to before `end`, which are over."""
        self.filter(hour__gte=start, hour__lt=end).delete()
        rows = [Rollup(**count._asdict(), amount=amount) for count, amount in tally.items() if amount]
        # What somebody has folded meanwhile is overwritten, not added to.
        key = [*Count._fields, "shard"]
        self.bulk_create(rows, CHUNK, update_conflicts=True, unique_fields=key, update_fields=["amount"])

    def tally(self) -> Tally:
        """Sum up each counter over its shards."""
        columns = self.order_by().values_list(*Count._fields).annotate(total=Sum("amount"))
        return Counter({Count(*key): amount for *key, amount in columns.iterator()})

    def totals(self) -> Counter[tuple[str, str, str, str]]:
        """Sum up each counter over hours and shards: by namespace, tool, measure and label."""
        columns = self.order_by().values_list(*Count._fields[1:]).annotate(total=Sum("amount"))
        return Counter({tuple(key): amount for *key, amount in columns.iterator()})

    def spread(self, before: datetime) -> RollupQuerySet:
        """Keep what is to be folded."""
        return self.filter(shard__gt=0, hour__lt=before).order_by("hour", "pk")

    def fold(self, before: datetime) -> int:
        """Put the shards of hours that are over into one row each; returns how many rows were taken in."""
        # What another sweep is folding right now is left to it.
        rows = list(self.spread(before).select_for_update(skip_locked=True)[:CHUNK])
        sums: Tally = Counter()
        for row in rows:
            sums[row.count] += row.amount
        if rows:
            # Sorted, as in `add`: two transactions that lock the same rows in different
            # orders could wait for each other.
            self._upsert([(*count, amount) for count, amount in sorted(sums.items())], 0)
            self.filter(pk__in=[row.pk for row in rows]).delete()
        return len(rows)

    def _upsert(self, rows: Iterable[tuple[Any, ...]], shard: int) -> None:
        # Django's bulk_create replaces what it finds; it has no way to add to it.
        quote = connection.ops.quote_name
        table, names = quote(self.model._meta.db_table), (*Count._fields, "amount", "shard")
        moment = connection.ops.adapt_datetimefield_value
        values = [moment(value) if isinstance(value, datetime) else value for row in rows for value in (*row, shard)]
        places = ", ".join([f"({', '.join(['%s'] * len(names))})"] * (len(values) // len(names)))
        columns = ", ".join(map(quote, names))
        key = ", ".join(map(quote, (*Count._fields, "shard")))
        amount = quote("amount")
        statement = (
            f"INSERT INTO {table} ({columns}) VALUES {places} "  # noqa: S608 - our own names; values are parameters
            f"ON CONFLICT ({key}) DO UPDATE SET {amount} = {table}.{amount} + excluded.{amount}"
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, values)


class Rollup(models.Model):
    """One counter, or a shard of it; written in the transaction of what it counts."""

    hour = models.DateTimeField()
    namespace = models.CharField(max_length=200)
    tool_name = models.CharField(max_length=300)
    measure = models.CharField(max_length=20, choices=Measure.choices)
    label = models.CharField(max_length=300)
    shard = models.PositiveSmallIntegerField(default=0)
    amount = models.BigIntegerField()

    objects = RollupQuerySet.as_manager()

    class Meta:
        ordering = ("-hour", "-pk")
        constraints = (
            # Found by when it is counted, and by the hours that a page shows.
            models.UniqueConstraint(
                fields=("hour", "namespace", "tool_name", "measure", "label", "shard"), name="rollup_unique"
            ),
            models.CheckConstraint(condition=Q(measure__in=Measure.values), name="rollup_measure_known"),
        )
        indexes = (
            # What is still to be folded.
            models.Index(fields=("hour",), name="rollup_spread", condition=Q(shard__gt=0)),
        )

    def __str__(self) -> str:
        return f"{self.measure} {self.label}".strip()

    @property
    def count(self) -> Count:
        return Count(self.hour, self.namespace, self.tool_name, self.measure, self.label)


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


MOST_PLACES: Final = 200  # of one row, those that failed most often: more is no map, and agents make names up
MOST_CODES: Final = 200  # with their sources
MOST_SOURCES: Final = 100  # with the number of the attempt; agents make the names of models up, too
MOST_MODELS: Final = 100  # of the tokens that were told
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
        # What came right in this time may have failed in another.
        codes = {label for measure in OF_CODES for label, _ in details[measure].most_common(MOST_CODES)}
        for measures, labels in ((OF_PLACES, kept), (OF_SOURCES, sources), (OF_CODES, codes)):
            for measure in measures:
                details[measure] = Counter({name: n for name, n in details[measure].items() if name in labels})
        judged, valid = counts[Measure.JUDGED], counts[Measure.VALID]
        return cls(
            span=span, at=at, is_whole=is_whole, judged=judged.total(), valid=valid.total(), first_judged=judged["1"],
            first_valid=valid["1"], counts=_told(counts), details=_told(details), **names,
        )  # fmt: skip


def _told(counts: dict[str, Counter[str]]) -> dict[str, dict[str, int]]:
    return {measure: dict(labels) for measure, labels in counts.items() if labels}
