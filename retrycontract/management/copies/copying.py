"""Make a copy, and put one into the database's place: what both databases have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from retrycontract.management.copies.errors import CopyError, NotEmptyError, NotOursError
from retrycontract.management.copies.postgresql import PostgresqlCopies
from retrycontract.management.copies.sqlite import SqliteCopies
from retrycontract.management.private_files import new_private_file
from retrycontract.store.models import Door
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer

OURS = "retrycontract"
TABLE = "retrycontract_call"


class Copies(Protocol):
    """What a kind of database knows of copies of itself."""

    @property
    def suffix(self) -> str:
        """Give the end of a copy's name."""

    def write(self, draft: Path) -> None:
        """Write everything as it is at one moment; raises CopyError."""

    def stream(self, out: IO[bytes]) -> None:
        """Write the same to a pipe; raises CopyError."""

    def migrations_in(self, copy: Path) -> set[tuple[str, str]]:
        """List the migrations of a copy that is whole; raises NotOursError."""

    def keep(self, target: Path) -> None:
        """Write the database as it is, whatever state it is in, before it is replaced; raises CopyError."""

    def replace_by(self, copy: Path) -> None:
        """Put the copy into the place of our tables; raises CopyError."""


def back_up(path: Path) -> None:
    """Write a copy that only its owner may read; raises FileExistsError and CopyError."""
    with new_private_file(path) as draft:
        _copies().write(draft)


def stream_copy(out: IO[bytes]) -> None:
    """Write a copy to a pipe; raises CopyError, after which what was written is worth nothing."""
    _copies().stream(out)
    out.flush()


def restore(path: Path, *, now: datetime, may_replace: bool) -> Path | None:
    """Put a copy into the database's place, say so in its trail, and return where what it replaces is kept, if any.

    Raises NotOursError, NotEmptyError and CopyError; in all cases the database is as it was.
    """
    copies = _copies()
    _check_known(copies.migrations_in(path))
    holding = _what_is_there()
    if holding and not may_replace:
        raise NotEmptyError(holding)
    kept = None
    if holding:
        kept = _free_name(settings.RETRYCONTRACT.data_dir / f"before-restore-{now:%Y%m%d-%H%M%S}", copies.suffix)
        copies.keep(kept)
    copies.replace_by(path)
    _note(path, kept, now)
    return kept


def _note(path: Path, kept: Path | None, now: datetime) -> None:
    """Add the event to the trail that came with the copy, whose release may be an older one: in the columns of all."""
    data = {"file": sanitizer().redact_identifier(path.name), "rows": _count(), "kept": kept.name if kept else None}
    event = {
        "name": "data.restored", "actor": "restore", "door": Door.COMMAND.value, "from_state": "", "to_state": "",
        "data": json.dumps(data), "at": connection.ops.adapt_datetimefield_value(now),
    }  # fmt: skip
    columns = ", ".join(map(connection.ops.quote_name, event))
    with write_transaction(), connection.cursor() as cursor:
        places = ", ".join(["%s"] * len(event))
        cursor.execute(f"INSERT INTO retrycontract_event ({columns}) VALUES ({places})", list(event.values()))  # noqa: S608 - our names


def _count() -> int:
    """Count the rows of ours that are there."""
    rows = 0
    with connection.cursor() as cursor:
        for table in _ours(connection.introspection.table_names()):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - our table
            rows += cursor.fetchone()[0]
    return rows


def _ours(tables: Iterable[str]) -> list[str]:
    return sorted(table for table in tables if table.startswith((OURS, "auth_user")))


def _free_name(beginning: Path, suffix: str) -> Path:
    """Give a name that nothing has: what was kept before may be what is restored now."""
    names = (Path(f"{beginning}{number}{suffix}") for number in ("", *(f"-{count}" for count in range(2, 1000))))
    return next(name for name in names if not name.exists())


def _copies() -> Copies:
    if connection.vendor == "sqlite":
        return SqliteCopies(Path(connection.settings_dict["NAME"]))
    if connection.vendor == "postgresql":
        return PostgresqlCopies(connection.settings_dict)
    raise CopyError(f"a {connection.vendor} database cannot be copied from here; use its own tools")


def _check_known(migrations: set[tuple[str, str]]) -> None:
    """Refuse what a newer release wrote: it could not be read."""
    if not any(app == OURS for app, _ in migrations):
        raise NotOursError("it is no copy of a retrycontract database")
    known = set(MigrationLoader(None).disk_migrations or {})
    apps = {app for app, _ in known}
    if newer := sorted(f"{app}.{name}" for app, name in migrations - known if app in apps):
        raise NotOursError(f"a newer release wrote it ({', '.join(newer)}): install that release, then restore")


def _what_is_there() -> str:
    """Say what would be lost; an empty answer when nothing would."""
    try:
        tables = set(connection.introspection.table_names())
        if tables and TABLE not in tables:
            return f"tables that are not ours, such as {min(tables)}"
        with connection.cursor() as cursor:
            for table in _ours(tables):
                cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - our table
                if cursor.fetchone():
                    return f"rows of {table}"
    except Exception as error:  # noqa: BLE001 - a broken database is a reason to restore, and is kept as it is
        return f"something that cannot be read ({error})"
    finally:
        connection.close()
    return ""
