"""What keeps the database from taking writes, in words for people: never a driver's own, which may quote values."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger("retrycontract")

MOVED: Final = "SQLITE_READONLY_DBMOVED"  # SQLite's own name for a file that is no longer at its path
LOG_MOVED: Final = "SQLITE_READONLY_LOGMOVED"  # a name of ours: SQLite does not notice
BUSY: Final = "SQLITE_BUSY"
NO_ANSWER: Final = "no answer"  # of a server that is away, which gives no code
# By the code of SQLite's error, less what its second half tells, or by PostgreSQL's.
REASONS: Final = {
    "SQLITE_FULL": "its disk is full: make room",
    "53100": "its disk is full: make room",
    NO_ANSWER: "it does not answer",
    "57P01": "it does not answer",
    "57P02": "it does not answer",
    "57P03": "it does not answer",
    BUSY: "another process keeps it locked: let that one end",
    "SQLITE_READONLY": "it may only be read: look who owns the file and how the disk is mounted",
    MOVED: "its file is gone, or another one lies in its place: put it back",
    LOG_MOVED: "its log (-wal, -shm) is gone: what it held is in the file again; start the service anew",
    "SQLITE_CANTOPEN": "its file cannot be opened: put it back",
    "SQLITE_NOTADB": "its file is damaged, or no database: put a copy into its place",
    "SQLITE_CORRUPT": "its file is damaged, or no database: put a copy into its place",
    "SQLITE_IOERR": "its disk cannot be read or written: look after the disk",
}


def reason_of(error: BaseException) -> str:
    """Say what is wrong and what to do, where an error or its cause tells of an outage; "" for all others."""
    code = _code_of(error)
    return REASONS.get(code) or REASONS.get(_family(code), "")


def is_busy(error: BaseException) -> bool:
    """Tell whether SQLite gave up waiting for somebody else's lock."""
    return _family(_code_of(error)) == BUSY


def _code_of(error: BaseException) -> str:
    cause = error.__cause__ or error
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    is_away = cause is not error and isinstance(error, OperationalError | InterfaceError)
    return str(code or (NO_ANSWER if is_away else ""))


def _family(code: str) -> str:
    return "_".join(code.split("_")[:2])


# Bytes on SQLite's disk: so many its log has before all of it is written into the database (1,000 pages), and the
# largest request of the settings takes half of them. One small row fits where a submit and its log do not.
LEAST_ROOM: Final = 4 * 1024**2


def has_room(least: int = LEAST_ROOM) -> bool:
    """Tell whether SQLite's disk has so many free bytes; raises OSError. Of other databases only they know."""
    if connection.vendor != "sqlite":
        return True
    disk = shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent)
    return disk.free >= least or not disk.total  # some file systems tell neither


SETTLED_AFTER: Final = 5.0  # seconds without a failure: some writes still fit on a full disk, and others don't


class OutageLog:
    """Tell of an outage in one line at its beginning and one at its end, whoever meets it and however often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_at: float | None = None

    def failed(self, error: BaseException, said: str = "", *words: object) -> bool:
        """Note a failure and tell whether the database is what failed; else log what is `said`, with the traceback."""
        reason = reason_of(error)
        if reason:
            self.takes_no_writes(reason)
        elif said:
            logger.error(said, *words, exc_info=error)
        return bool(reason)

    def takes_no_writes(self, reason: str) -> None:
        """Note that nothing can be written, for a reason of `REASONS`."""
        with self._lock:
            is_first, self._failed_at = self._failed_at is None, self._clock()
        if is_first:
            logger.error("The database takes no writes: %s", reason)

    def written(self) -> None:
        """Note that something was written."""
        if self._failed_at is None:  # nearly always
            return
        with self._lock:
            if self._failed_at is None or self._clock() - self._failed_at < SETTLED_AFTER or not has_room():
                return
            self._failed_at = None
        logger.warning("The database takes writes again")


outage = OutageLog()
