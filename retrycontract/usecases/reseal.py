"""Seal anew with the newest key what older keys sealed, so that they can be retired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Model

from retrycontract.store.models import Attempt, Door, Event, SecondFactor, ToolVersion, WebhookEndpoint
from retrycontract.store.sealing import UnreadableError, is_current, resealed
from retrycontract.store.transactions import write_transaction

SEALED: Final[tuple[tuple[type[Model], str], ...]] = (
    (Attempt, "sealed"),
    (WebhookEndpoint, "sealed"),
    (WebhookEndpoint, "sealed_address"),
    (ToolVersion, "sealed"),
    (SecondFactor, "sealed"),
)
BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Resealing:
    """Count what was sealed anew, and what no known key opens."""

    resealed: int
    unreadable: int


def reseal_all(*, now: datetime, actor: str, door: Door) -> Resealing:
    """Seal everything with the newest key, a batch at a time; what a run that broke off had done is passed over."""
    done = unreadable = 0
    for model, column in SEALED:
        for batch in _batches(model, column):
            opened: dict[Any, bytes] = {}
            for pk, sealed in batch.items():
                try:
                    opened[pk] = resealed(sealed)
                except UnreadableError:
                    unreadable += 1
            with write_transaction():
                done += sum(_replace(model, column, pk, batch[pk], new) for pk, new in opened.items())
    with write_transaction():
        Event.record("keys.resealed", actor=actor, door=door, at=now, resealed=done, unreadable=unreadable)
    return Resealing(done, unreadable)


def still_old() -> int:
    """Count what the newest key does not open."""
    return sum(len(batch) for model, column in SEALED for batch in _batches(model, column))


def note_keys(name: str, *, known: int, now: datetime, actor: str, door: Door) -> None:
    """Write down that a key was made or that old ones were retired, and how many are known now."""
    with write_transaction():
        Event.record(name, actor=actor, door=door, at=now, known=known)


def _batches(model: type[Model], column: str) -> Iterator[dict[int, bytes]]:
    """Read what the newest key did not seal, in the order of the keys."""
    # No query can tell which key sealed a row, so all are read, and each run looks at all of them again.
    rows = model._base_manager.filter(**{f"{column}__isnull": False}).order_by("pk")
    after = 0
    while chunk := list(rows.filter(pk__gt=after).values_list("pk", column)[:BATCH]):
        after = chunk[-1][0]
        old = {pk: bytes(sealed) for pk, sealed in chunk if not is_current(bytes(sealed))}
        if old:
            yield old


def _replace(model: type[Model], column: str, pk: Any, old: bytes, new: bytes) -> int:
    """Replace what is still as it was read: it may have been judged, or replaced, meanwhile."""
    return model._base_manager.filter(**{"pk": pk, column: old}).update(**{column: new})
