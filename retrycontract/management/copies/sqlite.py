"""Copies of an SQLite database: files that are databases themselves."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote

from retrycontract.management.copies.errors import CopyError, NotOursError

BUSY_SECONDS = 20  # as long as the service itself waits for a writer
BESIDE = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class SqliteCopies:
    """Copy the file of the database while others write to it."""

    database: Path
    suffix: str = ".sqlite3"

    def write(self, draft: Path) -> None:
        """Write everything as it is at one moment; raises CopyError."""
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

    def stream(self, out: IO[bytes]) -> None:
        """Write the same to a pipe, by way of a file beside the database; raises CopyError."""
        with tempfile.TemporaryDirectory(dir=self.database.parent) as folder:  # its owner's alone
            draft = Path(folder, "copy")
            self.write(draft)
            with draft.open("rb") as file:
                shutil.copyfileobj(file, out)

    def migrations_in(self, copy: Path) -> set[tuple[str, str]]:
        """List the migrations of a copy that is whole; raises NotOursError."""
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

    def keep(self, target: Path) -> None:
        """Write the database as it is, whatever state it is in, before it is replaced; raises CopyError."""
        try:
            with _reading(self.database) as database:
                database.execute("VACUUM INTO ?", (str(target),))
        except sqlite3.Error:  # broken: kept byte for byte, with its log
            for end in BESIDE:
                if Path(f"{self.database}{end}").exists():
                    shutil.copyfile(f"{self.database}{end}", f"{target}{end}")
        target.chmod(0o600)

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
            target.execute("PRAGMA journal_mode=WAL")


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as database:
        yield database
