"""SQLite as Django speaks to it, for a file that may be taken away while the service runs."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, Final

from django.db.backends.sqlite3 import base

from retrycontract.store.outages import MOVED

# Set for a database that has to be there: whoever serves makes no empty one where it was.
MUST_EXIST: Final = "MUST_EXIST"


class DatabaseWrapper(base.DatabaseWrapper):
    """Use a file only as long as it lies at its path.

    SQLite goes on with a file that nobody can find any more: what was answered would be lost with the process.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open the file, and remember which it is; one in memory is none."""
        self._path = str(conn_params["database"])
        if self.settings_dict.get(MUST_EXIST):
            conn_params = conn_params | {"database": f"{Path(self._path).absolute().as_uri()}?mode=rw"}
        opened = super().get_new_connection(conn_params)
        self._file = _file_at(self._path)
        return opened

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
        if self._file and _file_at(self._path) != self._file:
            error = sqlite3.OperationalError("the database's file is no longer at its path")
            error.sqlite_errorname = MOVED
            raise error


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path takes as long again, and this is asked with every statement
    except OSError:
        return None
    return found.st_dev, found.st_ino
