"""Stories of calls, told through the same use cases as real ones, and the rows they leave, ready to be copied."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import DateTimeField, ForeignKey, Model

from retrycontract.contract.decisions import Decision
from retrycontract.contract.generation import Generation
from retrycontract.management.seeding.tools import SeedTool
from retrycontract.store.models import Agent, AnswerRecord, Attempt, Call, Count, Escalation, Event, Guidance, hour_of
from retrycontract.usecases.answers.give_guidance import give_guidance
from retrycontract.usecases.calls.cancel_call import cancel_call
from retrycontract.usecases.calls.continue_call import NewAttempt
from retrycontract.usecases.calls.judge_attempt import judge_attempt
from retrycontract.usecases.calls.submit_attempt import submit_attempt
from retrycontract.usecases.counts.recount import tallies_of_call

COPIED: Final[tuple[type[Model], ...]] = (Call, Attempt, Escalation, Guidance, Event)  # each after what it refers to

REFERRED: Final = (*COPIED, AnswerRecord)


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """Hold a row's values, and where those stand that each copy has of its own."""

    model: type[Model]
    pk: int
    values: tuple[Any, ...]
    times: tuple[tuple[int, timedelta], ...]
    references: tuple[tuple[int, type[Model], int], ...]
    identifier: int | None
    session: int | None


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """Hold the rows of a call, what it adds to the counts, and how often each answer was given, tried and worked."""

    rows: tuple[RowTemplate, ...]
    counts: tuple[tuple[timedelta, Count, int], ...]
    answers: tuple[tuple[int, int, int], ...]
    lasted: timedelta


def template_of(call: Call) -> CallTemplate:
    """Read a call that was told."""
    began = call.created_at
    rows: list[Model] = [call, *call.attempts.all(), *call.escalations.all(), *call.guidance.all(), *call.events.all()]
    counts = tuple((at - began, count, amount) for at, count, amount in _counted(call))
    answers = tuple(
        (given.record_id, int(given.next_valid is not None), int(given.next_valid is True))
        for given in call.guidance.all()
        if given.record_id is not None
    )
    return CallTemplate(tuple(_row(row, began) for row in rows), counts, answers, call.updated_at - began)


def columns(model: type[Model]) -> list[str]:
    """List a model's columns in the order of a template's values."""
    return [str(field.column) for field in model._meta.concrete_fields]


def _counted(call: Call) -> Iterable[tuple[datetime, Count, int]]:
    """Say when a call added what to the counts."""
    for at, tally in tallies_of_call(call):
        yield from ((at, count, amount) for count, amount in tally.items() if amount)


def _row(row: Model, began: datetime) -> RowTemplate:
    values: list[Any] = []
    times: list[tuple[int, timedelta]] = []
    references: list[tuple[int, type[Model], int]] = []
    at: Mapping[str, int] = {field.attname: place for place, field in enumerate(row._meta.concrete_fields)}
    for place, field in enumerate(row._meta.concrete_fields):
        value = getattr(row, field.attname)
        if isinstance(field, DateTimeField) and value is not None:
            happened = row.at if isinstance(row, Event) else value  # when a copy was stored is when it happened
            times.append((place, happened - began))
            value = None
        elif isinstance(field, ForeignKey) and field.related_model in REFERRED and value is not None:
            references.append((place, field.related_model, value))
            value = None
        else:
            value = field.get_db_prep_save(value, connection)
        values.append(value)
    return RowTemplate(
        type(row), int(row.pk), tuple(values), tuple(times), tuple(references), at.get("public_id"),
        at.get("session_id"),
    )  # fmt: skip


def shifted(count: Count, at: datetime) -> Count:
    """Give a counter in the hour that a copy's moment belongs to."""
    return count._replace(hour=hour_of(at))


GOALS: Final = (
    "Finish what the customer asked for",
    "Prepare tomorrow's trip",
    "Bring the release out",
    "Clear the inbox",
)
MODELS: Final = ("model-s", "model-m", None)  # some agents name none
PAUSE: Final = timedelta(seconds=20)
THINKING: Final = timedelta(minutes=6)


@dataclass(frozen=True, slots=True)
class Story:
    """Say how a call goes and how many of a thousand go so; `is_open` when it has not ended."""

    plot: str
    share: int
    is_open: bool = False


# What a plot is written in: v a valid attempt, x a failed one; h hint, c correction, a accept, r reject, z given up.
STORIES: Final = (
    Story("v", 800), Story("xv", 120), Story("xxv", 32), Story("xxxhv", 14), Story("xxxcv", 8), Story("xxxhxv", 3),
    Story("xxxhxxhv", 1), Story("xxxa", 2), Story("xxxr", 3), Story("xz", 5), Story("xxxv", 4),
    Story("xxx", 6, is_open=True), Story("xxxh", 1, is_open=True), Story("x", 1, is_open=True),
)  # fmt: skip


@dataclass(slots=True)
class Teller:
    """Tell stories of one tool: a moment of its own, an agent, an operator, and chance."""

    agent: Agent
    operator: User
    tool: SeedTool
    chance: random.Random
    now: datetime
    call: Call | None = None
    session: str = ""
    model: str | None = None

    def tell(self, story: Story) -> Call:
        """Let a call go as the story says."""
        self.call = None
        wrongs = list(faults(self.tool, parsed="a" in story.plot))
        # The same mistakes come again and again: that is what groups and suggestions are for.
        (wrong,) = self.chance.choices(wrongs, [1 / (rank + 1) ** 2 for rank in range(len(wrongs))])
        self.model = self.chance.choice(MODELS)
        self.session = f"seed-{self.chance.getrandbits(64):016x}"
        for step in story.plot:
            answers: dict[str, Callable[[], Any]] = {
                "h": lambda: self._answer(Decision.HINT, text=f"Send it as here: {json.dumps(self.tool.valid)}"),
                "c": lambda: self._answer(Decision.CORRECTED, arguments=self.tool.valid),
                "a": lambda: self._answer(Decision.ACCEPT, text="Good enough for this once."),
                "r": lambda: self._answer(Decision.REJECT, text="Leave it; the customer has called."),
                "z": lambda: self.call is not None and cancel_call(self.call, now=self.now),
                "v": lambda: self._submit(self.tool.valid),
                "x": lambda: self._submit(wrong),
            }
            self.now += THINKING if step in "hcar" else PAUSE
            answers[step]()
        assert self.call is not None
        return Call.objects.get(pk=self.call.pk)

    def _submit(self, output: Any) -> None:
        new = NewAttempt(
            tool=self.tool.name,
            tool_call_id=f"toolu_{self.chance.getrandbits(64):016x}",
            output=output,
            call_id=self.call.public_id if self.call else None,
            session_id=self.session,
            context={"goal": self.chance.choice(GOALS)} if self.call is None else None,
            generation=Generation(model=self.model),
        )
        attempt = submit_attempt(self.agent, new, now=self.now)
        if attempt.is_waiting:  # where everything is judged by a worker
            judge_attempt(attempt.pk, clock=lambda: self.now)
            attempt = Attempt.objects.select_related("call").get(pk=attempt.pk)
        self.call = attempt.call

    def _answer(self, decision: Decision, **words: Any) -> None:
        assert self.call is not None
        give_guidance(self.call.escalations.latest("round"), self.operator, decision, now=self.now, **words)


def faults(tool: SeedTool, *, parsed: bool = False) -> Iterator[Any]:
    """Give arguments that are wrong, as models get them wrong; text that is no JSON among them unless `parsed`."""
    for name in tool.schema["required"]:
        yield {key: value for key, value in tool.valid.items() if key != name}
    for name, value in tool.valid.items():
        schema = tool.schema["properties"][name]
        if "enum" in schema:
            yield tool.valid | {name: "something else"}
        elif "pattern" in schema or "format" in schema:
            yield tool.valid | {name: "not as asked"}
        elif schema.get("type") == "integer":
            yield tool.valid | {name: str(value)}
            yield tool.valid | {name: 10**9}
        elif schema.get("type") == "array":
            yield tool.valid | {name: []}
    yield tool.valid | {"note": "as discussed"}
    if not parsed:
        yield json.dumps(tool.valid)[:-1]
