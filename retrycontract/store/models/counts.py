"""Hourly counts: what pages show without looking through history."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import connection, models
from django.db.models import Q, Sum

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
    # Answers by the bucket that their time from escalation to answer falls in, and by that time, such as "at 240".
    GUIDANCE_TIME = "guidance_time"
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
