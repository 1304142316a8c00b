"""Stories as rows: what the database holds of a call that was told, ready to be copied to another time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import DateTimeField, ForeignKey, Model

from retrycontract.store.models import AnswerRecord, Attempt, Call, Count, Escalation, Event, Guidance, hour_of
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
