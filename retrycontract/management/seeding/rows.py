"""Plant copies of stories, in chunks: any number of calls in bounded memory, the same ones for the same seed."""

from __future__ import annotations

import logging
import random
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import merge
from itertools import accumulate, islice
from operator import itemgetter
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import F, Max, Model

from retrycontract.management.seeding.courses import (
    COPIED,
    STORIES,
    TOOLS,
    CallTemplate,
    SeedTool,
    Story,
    Teller,
    columns,
    shifted,
    template_of,
)
from retrycontract.store.fields import ALPHABET, LENGTH
from retrycontract.store.models import Agent, AnswerRecord, Rollup, Summary, Tally
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.counts.recount import sum_up_everything
from retrycontract.usecases.tools.register_tool import register_tool

PREFIX: Final = "seed-"  # of agents and the operator
CHUNK: Final = 2_000  # calls of one transaction
LEAST_TOOLS: Final = 3
CALLS_OF_TOOL: Final = 300
WAITING_OF_TOOL: Final = 6
COMMON: Final = 6  # of a thousand: these stories are told of every tool
COUNTERS: Final = 2_000  # of one statement: SQLite takes 32,766 values
OPEN_FOR: Final = timedelta(days=2)  # what is open began lately: a Blocked call expires after a week
Templates = Mapping[str, list[CallTemplate]]  # by plot
PREFIXES: Final = {"call": "call", "escalation": "esc"}


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing of what is told: it did not happen."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@dataclass(slots=True)
class Planter:
    """Plant calls that happened from `begin` to `end`."""

    begin: datetime
    end: datetime
    chance: random.Random
    records: dict[int, int] = field(default_factory=dict)  # of answers: key when it was told -> key
    next_pk: dict[type[Model], int] = field(default_factory=dict)

    def plant(self, number: int, *, waiting: int, report: Callable[[int], None]) -> None:
        """Plant a number of calls, oldest first, so many of which wait for a person, and a few more by chance.

        `report` is told how many there are after each chunk.
        """
        templates = self._told_and_rolled_back(LEAST_TOOLS + number // CALLS_OF_TOOL + waiting // WAITING_OF_TOOL)
        last = {model: model._default_manager.aggregate(last=Max("pk"))["last"] for model in COPIED}
        self.next_pk = {model: int(pk or 0) + 1 for model, pk in last.items()}
        closed = [story for story in STORIES if not story.is_open]
        blocked = [story for story in STORIES if story.plot == "xxx"]
        ended = self._spread(
            number - waiting, self.begin, lambda at: STORIES if self.end - at < OPEN_FOR else closed, templates
        )
        newest = self._spread(waiting, max(self.begin, self.end - OPEN_FOR), lambda _: blocked, templates)
        copies = merge(ended, newest, key=itemgetter(0))
        done = 0
        while chunk := list(islice(copies, CHUNK)):
            self._write(chunk)
            done += len(chunk)
            report(done)
        with write_transaction():
            with connection.cursor() as cursor:
                # The rows brought their own keys, of which PostgreSQL's sequences know nothing.
                for statement in connection.ops.sequence_reset_sql(no_style(), list(COPIED)):
                    cursor.execute(statement)
            Summary.objects.forget_from(self.begin)
            # What a story told and none of the copies repeats was never given.
            AnswerRecord.objects.filter(pk__in=self.records.values(), given=0).delete()
        sum_up_everything(now=self.end)

    def _told_and_rolled_back(self, tools_wanted: int) -> Templates:
        """Tell the stories by the real use cases: what stays is how their rows look, and the trail holds nothing."""
        operator, _ = User.objects.get_or_create(username=f"{PREFIX}operator")
        told_of: list[tuple[Agent, SeedTool]] = []
        for name, tools in TOOLS.items():
            defaults = {"namespace": PREFIX + name, "created_at": self.begin}
            agent, _ = Agent.objects.get_or_create(name=PREFIX + name, defaults=defaults)
            for tool in tools:
                register_tool(agent, tool.name, tool.schema, now=self.begin)
            told_of += [(agent, tool) for tool in tools]
        # Few calls are of few tools, and what happens rarely happens to few of these.
        told_of = self.chance.sample(told_of, min(len(told_of), tools_wanted))
        found: dict[str, list[CallTemplate]] = defaultdict(list)
        with quiet(), write_transaction(longest=600), transaction.atomic():
            for story in STORIES:
                for agent, tool in told_of if story.share >= COMMON else told_of[:LEAST_TOOLS]:
                    teller = Teller(agent, operator, tool, self.chance, self.begin)
                    found[story.plot].append(template_of(teller.tell(story)))
            answers = list(AnswerRecord.objects.filter(namespace__startswith=PREFIX))
            transaction.set_rollback(True)
        for told in answers:  # found again, or made anew, given by nobody yet
            key = {name: getattr(told, name) for name in ("namespace", "tool_name", "fingerprint", "digest")}
            says = {name: getattr(told, name) for name in ("decision", "text", "patch", "last_given_at")}
            self.records[told.pk] = AnswerRecord.objects.get_or_create(**key, defaults=says)[0].pk
        return found

    def _spread(
        self, number: int, begin: datetime, stories_at: Callable[[datetime], Sequence[Story]], templates: Templates
    ) -> Iterator[tuple[datetime, CallTemplate]]:
        """Give so many copies from a time to the end, each of a story that may begin then."""
        for index in range(number):
            at = begin + (self.end - begin) / number * (index + self.chance.random())
            stories = stories_at(at)
            sums = list(accumulate(story.share for story in stories))
            template = self.chance.choice(templates[stories[bisect(sums, self.chance.randrange(sums[-1]))].plot])
            yield min(at, self.end - template.lasted), template

    def _write(self, chunk: list[tuple[datetime, CallTemplate]]) -> None:
        rows: dict[type[Model], list[tuple[Any, ...]]] = {model: [] for model in COPIED}
        tally: Tally = Counter()
        answers: dict[int, Counter[str]] = defaultdict(Counter)
        for at, template in chunk:
            self._copy(at, template, rows)
            for after, count, amount in template.counts:
                tally[shifted(count, at + after)] += amount
            for record, tried, worked in template.answers:
                answers[self.records[record]].update(given=1, tried=tried, worked=worked)
        with write_transaction():
            for model in COPIED:
                _insert(model, rows[model])
            counters = sorted(tally.items())
            for start in range(0, len(counters), COUNTERS):
                Rollup.objects.add(Counter(dict(counters[start : start + COUNTERS])))
            for pk, added in answers.items():
                changes = {name: F(name) + amount for name, amount in added.items()}
                AnswerRecord.objects.filter(pk=pk).update(last_given_at=chunk[-1][0], **changes)

    def _copy(self, at: datetime, template: CallTemplate, rows: dict[type[Model], list[tuple[Any, ...]]]) -> None:
        keys: dict[tuple[type[Model], int], int] = {}
        moment = connection.ops.adapt_datetimefield_value
        for row in template.rows:
            values = list(row.values)
            pk = values[0] = self.next_pk[row.model]
            self.next_pk[row.model] += 1
            keys[row.model, row.pk] = pk
            for place, after in row.times:
                values[place] = moment(at + after)
            for place, model, old in row.references:
                values[place] = self.records[old] if model is AnswerRecord else keys[model, old]
            if row.identifier is not None:
                prefix = PREFIXES[str(row.model._meta.model_name)]
                # As `new_id` makes them, with the time of the copy and the chance of the seed.
                number = int(at.timestamp() * 1000) << 80 | self.chance.getrandbits(80)
                values[row.identifier] = (
                    f"{prefix}_{''.join(ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))}"
                )
            if row.session is not None:
                values[row.session] = f"session-{pk}"
            rows[row.model].append(tuple(values))


def _insert(model: type[Model], rows: list[tuple[Any, ...]]) -> None:
    names = ", ".join(map(connection.ops.quote_name, columns(model)))
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            places = ", ".join(["%s"] * len(columns(model)))
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)  # noqa: S608 - our own names
