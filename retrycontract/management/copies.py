"""Copies of the whole database, as the database itself makes them: a file for SQLite, a dump for PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import quote

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader

from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.management.private_files import STANDARD, new_private_file
from retrycontract.store.clock import shared_now
from retrycontract.store.models import Door, WorkerBeat
from retrycontract.store.models.workers import PROBE
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.tools.contracts import sanitizer


class CopyError(RuntimeError):
    """Raised when a copy could not be made or put into place; says what to do."""


class NotOursError(ValueError):
    """Raised for a file that is no whole copy of our database."""


class NotEmptyError(RuntimeError):
    """Raised when a restore would replace something, and nobody said that it may."""

    def __init__(self, holding: str) -> None:
        self.holding = holding
        super().__init__(f"The database holds {holding}. Stop the service and say --yes to replace it; a copy is kept.")


BUSY_SECONDS = 20  # as long as the service itself waits for a writer
BESIDE = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class SqliteCopies:
    """Copy the file of the database while others write to it."""

    database: Path
    suffix: str = ".sqlite3"

    def write(self, draft: Path) -> None:
        if not self.database.exists():
            raise CopyError(
                f"There is no database yet at {self.database}: is RETRYCONTRACT_DATA_DIR the right folder? "
                "'retrycontract up' and 'retrycontract migrate' make one."
            )
        try:
            with _reading(self.database) as database:
                # A file without tables would be copied in a moment, and restored by somebody who trusts it.
                if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'django_migrations'").fetchone():
                    raise CopyError(f"The database at {self.database} was never migrated: there is nothing to copy.")
                database.execute("VACUUM INTO ?", (str(draft),))
        except sqlite3.Error as error:
            raise CopyError(f"The database cannot be copied: {error}. Is there room on the disk?") from None
        except UnicodeDecodeError:  # in what it says of its own tables
            raise CopyError("The database cannot be copied: it is damaged. Restore a copy from before.") from None

    def stream(self, out: IO[bytes]) -> None:
        """Write the same to a pipe, by way of a file beside the database; raises CopyError."""
        with tempfile.TemporaryDirectory(dir=self.database.parent) as folder:  # its owner's alone
            draft = Path(folder, "copy")
            self.write(draft)
            with draft.open("rb") as file:
                shutil.copyfileobj(file, out)

    def migrations_in(self, copy: Path) -> set[tuple[str, str]]:
        if not copy.is_file():
            raise NotOursError("there is no such file")
        try:
            with _reading(copy) as database:
                faults = [fault for (fault,) in database.execute("PRAGMA integrity_check(1)") if fault != "ok"]
                if faults or database.execute("PRAGMA foreign_key_check").fetchone():
                    raise NotOursError("it is damaged")
                return set(database.execute("SELECT app, name FROM django_migrations"))
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return set()
            raise NotOursError("it is no SQLite database, or it is damaged") from None
        except UnicodeDecodeError:  # in what it says of its own tables
            raise NotOursError("it is damaged") from None

    def keep(self, target: Path) -> None:
        """Write the database as it is, whatever state it is in, before it is replaced; raises CopyError."""
        target.touch(mode=0o600)  # its journal gets the same
        try:
            with _reading(self.database) as database:
                database.execute("VACUUM INTO ?", (str(target),))
            there = []
        except (sqlite3.Error, UnicodeDecodeError):  # broken: kept byte for byte, with its log
            there = [end for end in BESIDE if Path(f"{self.database}{end}").exists()]
        try:
            for end in there:
                Path(f"{target}{end}").touch(mode=0o600)
                shutil.copyfile(f"{self.database}{end}", f"{target}{end}")
        except OSError as error:
            for end in (*BESIDE, "-journal"):  # half a copy would pass for a whole one
                Path(f"{target}{end}").unlink(missing_ok=True)
            raise CopyError(f"What is there cannot be kept beside it: {error.strerror}. Nothing was changed.") from None

    def replace_by(self, copy: Path) -> None:
        """Put the copy into the database's place; raises CopyError."""
        try:
            self._overwrite(copy)
        except sqlite3.OperationalError as error:
            raise CopyError(f"The database could not be replaced: {error}. Is the service still running?") from None
        except sqlite3.DatabaseError:  # what is there is no database: it was kept
            for end in BESIDE:
                Path(f"{self.database}{end}").unlink(missing_ok=True)
            self._overwrite(copy)
        self.database.chmod(0o600)

    def _overwrite(self, copy: Path) -> None:
        # SQLite's own way: one write transaction on the file, so that nobody sees half of it.
        with _reading(copy) as source, closing(sqlite3.connect(self.database, timeout=BUSY_SECONDS)) as target:
            target.execute("PRAGMA schema_version")  # raises for what is no database, before anything is written
            source.backup(target)
            # VACUUM INTO writes a file without a write-ahead log, and a database that is new here has none either.
            target.execute("PRAGMA journal_mode=WAL")


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as database:
        yield database


# What Django's OPTIONS may say of the way to the server, by the variable that PostgreSQL's programs read.
OPTIONS = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "service": "PGSERVICE",
    "passfile": "PGPASSFILE",
}
PLACES = {"NAME": "PGDATABASE", "USER": "PGUSER", "PASSWORD": "PGPASSWORD", "HOST": "PGHOST", "PORT": "PGPORT"}
DUMPED = ("--format=custom", "--no-owner", "--no-privileges")
# Ours and Django's, and the function of our triggers; what is of others stays as it is.
DROP = """
SET lock_timeout = '10s';
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables
    WHERE schemaname = 'public' AND tablename ~ '^(retrycontract|auth|django)_'
  LOOP EXECUTE format('DROP TABLE public.%I CASCADE', name); END LOOP;
END $$;
DROP FUNCTION IF EXISTS public.retrycontract_keep_history();
"""


@dataclass(frozen=True, slots=True)
class PostgresqlCopies:
    """Call pg_dump, pg_restore and psql; the way to the server goes through the environment."""

    database: dict[str, Any] = field(repr=False)
    suffix: str = ".dump"

    def write(self, draft: Path) -> None:
        self._run("pg_dump", *DUMPED, "--file", str(draft))

    def stream(self, out: IO[bytes]) -> None:
        """Let pg_dump write to a pipe: nothing of it is kept on the way; raises CopyError."""
        self._run("pg_dump", *DUMPED, out=out)

    def migrations_in(self, copy: Path) -> set[tuple[str, str]]:
        if not copy.is_file():
            raise NotOursError("there is no such file")
        try:
            text = self._run("pg_restore", "--data-only", "--table=django_migrations", "--file=-", str(copy))
            # Read to its end, so that a file that is cut off is found now.
            self._run("pg_restore", f"--file={os.devnull}", str(copy))
        except CopyError as error:
            if isinstance(error, _MissingProgramError):
                raise
            raise NotOursError("it is no dump of PostgreSQL, or it is damaged") from None
        rows = [line.split("\t") for line in text.splitlines()]
        return {(row[1], row[2]) for row in rows if len(row) == 4}  # id, app, name, applied

    def keep(self, target: Path) -> None:
        """Write the database as it is before it is replaced; raises CopyError."""
        target.touch(mode=0o600)
        self.write(target)

    def replace_by(self, copy: Path) -> None:
        """Put the copy into the place of our tables, in one transaction; raises CopyError."""
        with tempfile.TemporaryDirectory() as folder:  # its owner's alone
            drop, fill = Path(folder, "drop.sql"), Path(folder, "fill.sql")
            drop.write_text(DROP, encoding="utf-8")
            # Written out for psql: pg_restore drops only what the dump holds, and tables of a newer release must go in
            # the same transaction.
            self._run("pg_restore", "--no-owner", "--no-privileges", f"--file={fill}", str(copy))
            self._run(
                # Without ON_ERROR_STOP psql rolls back on an error, and ends with status 0 all the same.
                "psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
                "--output", os.devnull, "--file", str(drop), "--file", str(fill),
            )  # fmt: skip

    def _run(self, program: str, *arguments: str, out: IO[bytes] | None = None) -> str:
        found = shutil.which(program)
        if found is None:
            raise _MissingProgramError(program)
        options = self.database.get("OPTIONS") or {}
        places = {variable: str(self.database[name]) for name, variable in PLACES.items() if self.database.get(name)}
        places |= {variable: str(options[name]) for name, variable in OPTIONS.items() if options.get(name)}
        run = subprocess.run(
            # Password and place in the environment: everybody on the machine can read a program's arguments.
            [found, *arguments], env=os.environ | places, stdout=out or subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            reason = next((line for line in run.stderr.splitlines() if "error" in line.lower()), run.stderr.strip())
            raise CopyError(f"{reason}. Nothing was changed.")
        return run.stdout or ""


class _MissingProgramError(CopyError):
    def __init__(self, program: str) -> None:
        super().__init__(
            f"{program} is not on PATH. Install the client programs of PostgreSQL (Debian: apt-get install "
            "postgresql-client), in the server's version or newer; or use 'retrycontract export'."
        )


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


def back_up(path: Path, *, now: datetime) -> None:
    """Write a copy that only its owner may read, and say so in the trail; raises FileExistsError and CopyError."""
    with new_private_file(path) as draft:
        _copies().write(draft)
    _note_copy(path.name, now)


def stream_copy(out: IO[bytes], *, now: datetime) -> None:
    """Write a copy to a pipe, and say so in the trail; raises CopyError: what was written is worth nothing then."""
    _copies().stream(out)
    out.flush()
    _note_copy(STANDARD, now)


def restore(path: Path, *, now: datetime, may_replace: bool) -> Path | None:
    """Put a copy into the database's place, say so in its trail, and return where what it replaces is kept, if any.

    Raises NotOursError, NotEmptyError and CopyError; in all cases the database is as it was.
    """
    copies = _copies()
    migrations = copies.migrations_in(path)
    if not any(app == OURS for app, _ in migrations):
        raise NotOursError("it is no copy of a retrycontract database")
    known = set(MigrationLoader(None).disk_migrations or {})
    apps = {app for app, _ in known}
    if newer := sorted(f"{app}.{name}" for app, name in migrations - known if app in apps):
        raise NotOursError(f"a newer release wrote it ({', '.join(newer)}): install that release, then restore")
    holding = _what_is_there()
    if holding and not may_replace:
        raise NotEmptyError(holding)
    if holding and (alive := _who_uses_it()):
        raise CopyError(
            f"The service still runs ({', '.join(alive)}): stop its web processes and workers, wait {LATELY.seconds} "
            "seconds, and restore again. Nothing was changed."
        )
    kept = None
    if holding:
        # Two restores may fall into one second, and what was kept before may be what is restored now.
        beginning = settings.RETRYCONTRACT.data_dir / f"before-restore-{now:%Y%m%d-%H%M%S}"
        numbers = ("", *(f"-{count}" for count in range(2, 1000)))
        names = (Path(f"{beginning}{number}{copies.suffix}") for number in numbers)
        kept = next(name for name in names if not name.exists())
        copies.keep(kept)
    copies.replace_by(path)
    rows = 0
    with connection.cursor() as cursor:
        for table in _ours(connection.introspection.table_names()):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 - our table
            rows += cursor.fetchone()[0]
    _note("data.restored", path.name, now, rows=rows, kept=kept.name if kept else None)
    return kept


LATELY = timedelta(seconds=20)  # two signs of life of a worker; a machine that is lost keeps nobody from a restore


def _who_uses_it() -> list[str]:
    """Name the workers that live and whence its connections were used lately; of SQLite the service's lock tells."""
    if connection.vendor == "sqlite":
        return []
    with suppress(DatabaseError):  # of an older release, or without tables
        beats = WorkerBeat.objects.exclude(name=PROBE).filter(beat_at__gt=shared_now() - LATELY)
        alive = [f"worker {visible(name)}" for name in beats.values_list("name", flat=True)]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT coalesce(host(client_addr), 'this machine') FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'retrycontract'"
                " AND pid <> pg_backend_pid() AND state_change > now() - make_interval(secs => %s)",
                [LATELY.total_seconds()],
            )
            return alive + [f"connections from {place}" for (place,) in cursor.fetchall()]
    return []


def _note_copy(name: str, now: datetime) -> None:
    with suppress(DatabaseError):  # a database that takes no writes any more was copied all the same
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA busy_timeout = 2000")  # whoever copies is not to wait for a long writer
        _note("data.backed_up", name, now)


def _note(event_name: str, file: str, now: datetime, **more: Any) -> None:
    """Add an event to the trail, which may be that of an older release: in the columns of all."""
    data = {"file": sanitizer().redact_identifier(file), **more}
    actor = {"data.restored": "restore", "data.backed_up": "backup"}[event_name]
    event = {
        "name": event_name, "actor": actor, "door": Door.COMMAND.value, "from_state": "", "to_state": "",
        "data": json.dumps(data), "at": connection.ops.adapt_datetimefield_value(now),
    }  # fmt: skip
    columns = ", ".join(map(connection.ops.quote_name, event))
    with write_transaction(), connection.cursor() as cursor:
        places = ", ".join(["%s"] * len(event))
        cursor.execute(f"INSERT INTO retrycontract_event ({columns}) VALUES ({places})", list(event.values()))  # noqa: S608 - our names


def _ours(tables: Iterable[str]) -> list[str]:
    return sorted(table for table in tables if table.startswith((OURS, "auth_user")))


def _copies() -> Copies:
    if connection.vendor == "sqlite":
        return SqliteCopies(Path(connection.settings_dict["NAME"]))
    if connection.vendor == "postgresql":
        return PostgresqlCopies(connection.settings_dict)
    raise CopyError(f"a {connection.vendor} database cannot be copied from here; use its own tools")


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
        # A broken database is replaced by deleting its files: a connection that stayed open would go on in those.
        connection.close()
    return ""
