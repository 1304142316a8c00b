"""Write all data to a file: streamed, from one moment, in constant memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from django.db import connection, transaction
from django.db.models import Model

from retrycontract.management.private_files import new_private_file
from retrycontract.management.transfer.rows import encode, label, links, moved_models, schema_state
from retrycontract.store.models import Attempt

FORMAT = "retrycontract-export"
VERSION = 1
CHUNK = 100  # rows that are in memory at once; each may hold a megabyte of output


class SealedWaitError(RuntimeError):
    """Raised when submissions wait to be judged, and nobody said that they are to travel."""

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        super().__init__(
            f"{waiting} submissions wait to be judged. Stop the agents and let the worker finish, then export again; "
            "or take them along, encrypted as they are, with --with-sealed: the other service needs the same "
            "RETRYCONTRACT_ENCRYPTION_KEYS to judge them."
        )


Progress = Callable[[str, int], None]


def _unheard(model: str, count: int) -> None:
    """Tell nobody."""


def export_to(path: Path, *, now: datetime, with_sealed: bool = False, progress: Progress = _unheard) -> dict[str, int]:
    """Write every row to a new file, as `export_into` does; raises FileExistsError as well."""
    with new_private_file(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        return export_into(file, now=now, with_sealed=with_sealed, progress=progress)


def export_into(
    file: TextIO, *, now: datetime, with_sealed: bool = False, progress: Progress = _unheard
) -> dict[str, int]:
    """Write every row and return how many of each model; raises SealedWaitError before anything is written.

    `progress` is told each model and the number of its rows before they are written.
    """
    with _one_moment():
        waiting = Attempt.objects.waiting().count()
        if waiting and not with_sealed:
            raise SealedWaitError(waiting)
        counts = {label(model): model._base_manager.count() for model in moved_models()}
        header = {
            "format": FORMAT,
            "version": VERSION,
            "made_at": now.isoformat(),
            "schema": schema_state(),
            "counts": counts,
        }
        _write(file, header)
        for model in moved_models():
            progress(label(model), counts[label(model)])
            for row in _rows(model):
                _write(file, {"model": label(model), "row": encode(row)})
    return counts


def _rows(model: type[Model]) -> Iterator[Model]:
    query = model._base_manager.order_by("pk").prefetch_related(*(link.name for link in links(model)))
    return query.iterator(chunk_size=CHUNK)


def _write(file: TextIO, line: dict[str, Any]) -> None:
    file.write(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n")


@contextmanager
def _one_moment() -> Iterator[None]:
    """Read everything as it is now, whatever others write meanwhile, without holding them up."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        # Our transactions are IMMEDIATE and would keep writers out; a deferred one only reads.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")  # a request may not take long; this may
            yield
