"""Write all data to a file in constant memory, and read it into an empty database: everything or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TextIO

from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, ForeignKey, Model, OuterRef

from retrycontract.management.private_files import new_private_file
from retrycontract.management.transfer.rows import (
    LinkedRow,
    RowError,
    decode,
    encode,
    label,
    links,
    moved_models,
    moved_rows,
    references,
    schema_state,
    tables_of,
)
from retrycontract.store.models import Attempt, Door, Event
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

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
        counts = {label(model): moved_rows(model, now=now).count() for model in moved_models()}
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
            rows = moved_rows(model, now=now).order_by("pk").prefetch_related(*(link.name for link in links(model)))
            for row in rows.iterator(chunk_size=CHUNK):
                _write(file, {"model": label(model), "row": encode(row)})
    return counts


def _write(file: TextIO, line: dict[str, Any]) -> None:
    # ASCII: lone surrogates, which outputs may hold, have no form in UTF-8.
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


LOST = "refers to a row that is not there"
REFUSALS = (DatabaseError, ValueError, OverflowError)
_Numbered = tuple[int, type[Model], LinkedRow]


class UnreadableExportError(ValueError):
    """Raised for a file that cannot be taken in; names the line and says what is wrong with it."""

    def __init__(self, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(f"line {line}: {problem}")


class TargetNotEmptyError(RuntimeError):
    """Raised when the database holds rows already."""

    def __init__(self, tables: list[str]) -> None:
        self.tables = tables
        setting = "RETRYCONTRACT_DATA_DIR" if connection.vendor == "sqlite" else "RETRYCONTRACT_DATABASE_URL"
        super().__init__(
            f"The database is not empty: it has rows of {', '.join(tables)}. Import goes into a new one only: "
            f"name another one with {setting}, run 'retrycontract migrate' there (not 'up', which makes an "
            "operator), and import again."
        )


def import_from(path: Path, *, now: datetime) -> dict[str, int]:
    """Insert every row in one transaction, say so in the trail, and return how many of each model.

    Raises TargetNotEmptyError and UnreadableExportError; in both cases the database is as it was.
    """
    with path.open(encoding="utf-8") as lines, write_transaction():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = 0")  # a request may not take long; this may
        if holding := [label(model) for model in moved_models() if model._base_manager.exists()]:
            raise TargetNotEmptyError(holding)
        numbered = _parsed(lines)
        expected = _header(next(numbered, (1, None))[1])
        counts = dict.fromkeys(expected, 0)
        last = 1
        for model, rows in groupby(_read_rows(numbered), key=lambda row: row[1]):
            for chunk in iter(lambda rows=rows: list(islice(rows, CHUNK)), []):  # type: ignore[misc]  # bound on purpose
                _insert(model, chunk)
                counts[label(model)] += len(chunk)
                last = chunk[-1][0]
        for name, announced in expected.items():
            if counts[name] != announced:
                raise UnreadableExportError(
                    last,
                    f"the file ends with {counts[name]} rows of {name}, but its header says {announced}: it is cut off",
                )
        _check_forward(path)
        # Both databases look at references at the commit otherwise, which is too late to say what is wrong.
        connection.check_constraints()
        with connection.cursor() as cursor:  # new rows get keys after those that came with theirs
            for statement in connection.ops.sequence_reset_sql(no_style(), tables_of(moved_models())):
                cursor.execute(statement)
        file, count = sanitizer().redact_identifier(path.name), sum(counts.values())
        Event.record("data.imported", actor="import", door=Door.COMMAND, at=now, file=file, rows=count)
    return counts


def _parsed(lines: Any) -> Iterator[tuple[int, Any]]:
    try:
        for number, text in enumerate(lines, start=1):
            try:
                yield number, json.loads(text)
            except ValueError:
                raise UnreadableExportError(number, "this is not JSON, as where a file is cut off") from None
    except UnicodeDecodeError:
        raise UnreadableExportError(1, "the file is not UTF-8 text") from None


def _header(header: Any) -> dict[str, int]:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnreadableExportError(1, "this is no export of retrycontract")
    if header.get("version") != VERSION:
        raise UnreadableExportError(1, f"the format has version {header.get('version')}; this release reads {VERSION}")
    if header.get("schema") != (ours := schema_state()):
        theirs = header.get("schema") or {}
        newest = {app: (names or ["nothing"])[-1] for app, names in theirs.items()}
        differing = [app for app in {*ours, *theirs} if ours.get(app) != theirs.get(app)]
        told = ", ".join(
            f"{app} {newest.get(app)} there, {(ours.get(app) or ['nothing'])[-1]} here" for app in differing
        )
        raise UnreadableExportError(
            1, f"the schemas differ ({told}): bring both services to the same release, migrate, and export again"
        )
    counts: dict[str, int] = header.get("counts") or {}
    if set(counts) != {label(model) for model in moved_models()}:
        raise UnreadableExportError(1, "the models differ from ours: use the same release on both sides")
    return counts


def _read_rows(numbered: Iterator[tuple[int, Any]]) -> Iterator[_Numbered]:
    models = {label(model): model for model in moved_models()}
    order = list(models)
    reached = 0
    for number, line in numbered:
        name = line.get("model") if isinstance(line, dict) else None
        if not isinstance(name, str) or name not in models:
            raise UnreadableExportError(number, "it names no model of ours")
        if order.index(name) < reached:
            raise UnreadableExportError(number, f"{name} comes after models that build on it")
        reached = order.index(name)
        try:
            yield number, models[name], decode(models[name], line.get("row"))
        except RowError as error:
            raise UnreadableExportError(number, str(error)) from None


def _insert(model: type[Model], chunk: list[_Numbered]) -> None:
    try:
        with transaction.atomic():
            model._base_manager.bulk_create([row.instance for _, _, row in chunk])
            _link(model, chunk)
    except REFUSALS:
        _name_the_line(model, chunk)
    for reference in references(model):
        if not _points_forward(reference):
            # Reversed: of several lines with one reference, the first is the one that is named.
            wanted = {getattr(row.instance, reference.attname): number for number, _, row in reversed(chunk)}
            _check_there(reference.related_model, wanted, reference.attname)
    for link in links(model):
        members = {member: number for number, _, row in reversed(chunk) for member in row.links[link.name]}
        _check_there(link.related_model, members, link.name)


def _link(model: type[Model], chunk: list[_Numbered]) -> None:
    for link in links(model):
        through: Any = link.remote_field.through
        source, target = link.m2m_column_name(), link.m2m_reverse_name()
        through._base_manager.bulk_create(
            [
                through(**{source: row.instance.pk, target: member})
                for _, _, row in chunk
                for member in row.links[link.name]
            ]
        )


def _name_the_line(model: type[Model], chunk: list[_Numbered]) -> None:
    """Insert one row after the other, to say which one the database refused."""
    for numbered in chunk:
        number, _, row = numbered
        try:
            with transaction.atomic():
                model._base_manager.bulk_create([row.instance])
                _link(model, [numbered])
        except REFUSALS as error:
            # What a constraint or a type is about, without the values that PostgreSQL shows in its detail.
            said = str(error).split("\n")[0] if isinstance(error, DatabaseError) else "a value cannot be stored there"
            raise UnreadableExportError(number, f"the database refuses this row of {label(model)}: {said}") from None
    raise UnreadableExportError(chunk[0][0], f"the database refuses these rows of {label(model)} together")


def _check_there(target: Any, wanted: dict[Any, int], name: str) -> None:
    known = {None, *target._base_manager.filter(pk__in=set(wanted) - {None}).values_list("pk", flat=True)}
    if lost := set(wanted) - known:
        raise UnreadableExportError(min(wanted[key] for key in lost), f"{name} {LOST}")


def _check_forward(path: Path) -> None:
    """Do the same for references to rows that came later, now that all are there."""
    for model in moved_models():
        for reference in filter(_points_forward, references(model)):
            target: Any = reference.related_model
            there = Exists(target._base_manager.filter(pk=OuterRef(reference.attname)))
            pointing = model._base_manager.filter(**{f"{reference.name}__isnull": False})
            lost = pointing.filter(~there).order_by("pk").first()
            if lost is not None:
                wanted, key = label(model), model._meta.pk.attname
                with path.open(encoding="utf-8") as lines:
                    rows = ((at, line["row"]) for at, line in _parsed(lines) if line.get("model") == wanted)
                    number = next(at for at, row in rows if row[key] == lost.pk)
                raise UnreadableExportError(number, f"{reference.attname} {LOST}")


def _points_forward(reference: ForeignKey[Any, Any]) -> bool:
    order: list[Any] = moved_models()
    return order.index(reference.related_model) > order.index(reference.model)
