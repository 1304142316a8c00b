"""Know which encryption keys are the service's, and seal anew what older ones sealed, so that they can be retired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Model

from retrycontract.store.models import Attempt, Door, Event, SecondFactor, ToolVersion, WebhookEndpoint
from retrycontract.store.sealing import UnreadableError, is_current, resealed, seal, unseal
from retrycontract.store.transactions import write_transaction

SEALED: Final[tuple[tuple[type[Model], str], ...]] = (
    (Attempt, "sealed"),
    (WebhookEndpoint, "sealed"),
    (WebhookEndpoint, "sealed_address"),
    (ToolVersion, "sealed"),
    (SecondFactor, "sealed"),
)
BATCH: Final = 100
FOREIGN: Final = (
    "these encryption keys do not open what the service's other processes seal: give this one theirs in "
    "RETRYCONTRACT_ENCRYPTION_KEYS, newest first; or, where those are lost, 'retrycontract rotate-keys reseal' makes "
    "these the service's"
)


@dataclass(frozen=True, slots=True)
class Resealing:
    """Count what was sealed anew, and what no known key opens."""

    resealed: int
    unreadable: int


def know_keys(*, now: datetime, actor: str, door: Door) -> bool:
    """Tell whether our keys are the service's; those of the first process that asks are."""
    if not _proof():
        with write_transaction():
            Event.record("keys.noted", actor=actor, door=door, at=now, proof=_new_proof())
    return not are_foreign()


def are_foreign() -> bool:
    """Tell whether none of our keys opens what was sealed to tell the service's; no process may have started yet."""
    proof = _proof()
    try:
        return bool(proof and not unseal(proof))
    except UnreadableError:
        return True


def _proof() -> bytes:
    """Read what the keys of the service open: sealed anew with all else, and before that by its first process."""
    # Of two processes that began at one moment, both of which found none, the first counts.
    resealed, noted = (Event.objects.filter(name=f"keys.{step}") for step in ("resealed", "noted"))
    for event in (resealed.order_by("-pk").first(), noted.order_by("pk").first()):
        if event is not None and "proof" in event.data:
            return str(event.data["proof"]).encode()
    return b""


def _new_proof() -> str:
    return seal({"sealed": "by the service"}).decode()


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
        Event.record(
            "keys.resealed", actor=actor, door=door, at=now, resealed=done, unreadable=unreadable, proof=_new_proof()
        )
    return Resealing(done, unreadable)


def still_old() -> int:
    """Count what the newest key does not open."""
    proof = _proof()
    left = sum(len(batch) for model, column in SEALED for batch in _batches(model, column))
    return left + bool(proof and not is_current(proof))


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
