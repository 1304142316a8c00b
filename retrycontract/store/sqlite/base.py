"""SQLite as Django speaks to it, for files that may be taken away while the service runs."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from django.db.backends.sqlite3 import base

from retrycontract.store.outages import LOG_MOVED, MOVED

# Set for a database that has to be there: whoever serves makes no empty one where it was.
MUST_EXIST: Final = "MUST_EXIST"
LOG, INDEX = "-wal", "-shm"  # what SQLite writes beside its file, and takes away with its last connection
FileId = tuple[int, int] | None


class Opened(sqlite3.Connection):
    """Tell of its end, so that it is known who still has a file open; the last one takes its log away."""

    def close(self) -> None:
        """Close the file."""
        with _listing:
            _opened.pop(self, None)
        super().close()


_opened = WeakKeyDictionary[Opened, tuple[FileId, ...]]()  # of this process, with the file, its log and index
_listing = threading.Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    """Use a file and its log only as long as they lie at their paths.

    SQLite goes on with files that nobody can find any more: what was answered would be lost with the process.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open the file, and remember which it is; one in memory is none.

        While a connection has a log that is gone, another would begin a new one, and both would write the file.
        """
        self._path = str(conn_params["database"])
        if self.settings_dict.get(MUST_EXIST):
            conn_params = conn_params | {"database": f"{Path(self._path).absolute().as_uri()}?mode=rw"}
        with _listing:  # looked up here: another thread's first connection makes a log meanwhile
            file, *beside = self._files()
            is_gone = file and any(of == file and _differ(its, beside) for of, *its in _opened.values())
        if is_gone:
            raise _refusal(LOG_MOVED)
        opened = super().get_new_connection(conn_params | {"factory": Opened})
        opened.execute("PRAGMA schema_version").fetchone()  # the first thing that is read opens the log
        self._file, *self._beside = files = self._files()
        with _listing:
            _opened[opened] = files
        return opened

    def _files(self) -> tuple[FileId, ...]:
        return _file_at(self._path), _file_at(self._path + LOG), _file_at(self._path + INDEX)

    def create_cursor(self, name: str | None = None) -> Any:
        """Give a cursor; every statement has one, also those outside of a transaction."""
        self._look()
        return super().create_cursor(name)

    def is_usable(self) -> bool:
        """Tell whether a connection with which something went wrong may be kept: not when another file is there now.

        Where none is it stays open, since a file that was deleted lives as long as whoever has it open.
        """
        return _file_at(self._path) in (self._file, None)

    def _commit(self) -> None:
        with self.wrap_database_errors:
            self._look()
        super()._commit()  # type: ignore[misc] # Django's types know none of what is for its backends alone

    def _look(self) -> None:
        # Each time: it costs a thousandth of a write, and what is answered within a second would be lost, too.
        if not self._file:
            return
        file, *beside = self._files()
        if file != self._file:
            raise _refusal(MOVED)
        if _differ(self._beside, beside):
            with suppress(sqlite3.Error):  # in a transaction; the next statement tries again
                self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # into the file, which nobody has taken
            raise _refusal(LOG_MOVED)


def _refusal(code: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("the database's file, or its log, is no longer at its path")
    error.sqlite_errorname = code
    return error


def _differ(known: Sequence[FileId], found: Sequence[FileId]) -> bool:
    """Say whether one that was there is gone, or is another one now."""
    return any(was not in (None, now) for was, now in zip(known, found, strict=True))


def _file_at(path: str) -> FileId:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path takes as long again, and this is asked with every statement
    except OSError:
        return None
    return found.st_dev, found.st_ino
