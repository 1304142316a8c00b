"""What keeps the database from its work, in words for people: never a driver's own, which may quote values."""

from __future__ import annotations

import logging
import mmap
import re
import shutil
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError, connection

logger = logging.getLogger("retrycontract")

MOVED: Final = "SQLITE_READONLY_DBMOVED"  # SQLite's own name for a file that is no longer at its path
LOG_MOVED: Final = "SQLITE_READONLY_LOGMOVED"  # a name of ours: SQLite does not notice
BUSY: Final = "SQLITE_BUSY"
NO_ANSWER: Final = "no answer"  # of a server that is away, which gives no code
# PostgreSQL's own codes; who is refused a connection is given the words alone.
NO_DATABASE: Final = "3D000"
REFUSED: Final = "28P01"
NO_CONNECTION_LEFT: Final = "53300"
NOT_MIGRATED: Final = "42P01"
# What a refusal says, in the order in which it is looked for: a database and a role are both said not to exist.
REFUSALS: Final = (
    (re.compile(r'FATAL:\s+database "[^"]*" does not exist'), NO_DATABASE),
    (re.compile(r"FATAL:\s+(?:password authentication failed|no pg_hba\.conf entry)|no password supplied"), REFUSED),
    (re.compile(r'FATAL:\s+(?:role "[^"]*" (?:does not exist|is not permitted)|permission denied)'), REFUSED),
    (re.compile(r"FATAL:\s+(?:sorry, too many clients|too many connections|remaining connection)"), NO_CONNECTION_LEFT),
)
NO_TABLE: Final = ("no such table", "no such column")  # SQLite has one code for all that a statement gets wrong
# By the code of SQLite's error, less what its second half tells, or by PostgreSQL's.
REASONS: Final = {
    "SQLITE_FULL": "its disk is full: make room",
    "53100": "its disk is full: make room",
    NO_ANSWER: "it does not answer",
    "57P01": "it does not answer",
    "57P02": "it does not answer",
    "57P03": "it does not answer",
    NO_DATABASE: "it does not exist: create it, or correct RETRYCONTRACT_DATABASE_URL",
    REFUSED: "it refuses the user or the password: correct RETRYCONTRACT_DATABASE_URL",
    NO_CONNECTION_LEFT: "it has no connection left: raise its max_connections, or run fewer processes",
    "25006": "it may only be read: let it take writes, or correct RETRYCONTRACT_DATABASE_URL",
    "42501": "its user may not do that: grant it the rights, or make it the database's owner",
    NOT_MIGRATED: "it is not migrated to this release: run 'retrycontract migrate'",
    "42703": "it is not migrated to this release: run 'retrycontract migrate'",
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
    if code == "SQLITE_ERROR" and isinstance(error, DatabaseError) and str(cause).startswith(NO_TABLE):
        return NOT_MIGRATED
    if code or cause is error or not isinstance(error, OperationalError | InterfaceError):
        return str(code or "")
    return next((code for words, code in REFUSALS if words.search(str(cause))), NO_ANSWER)


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


MOMENT: Final = struct.Struct("d")
SETTLED_AFTER: Final = 5.0  # seconds without a failure: some writes still fit on a full disk, and others don't


class OutageLog:
    """Tell of an outage in one line at its beginning and one at its end, whoever meets it and however often.

    Processes that are forked from the one that made it, as those of a worker's pool, share what it knows.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._shared = mmap.mmap(-1, MOMENT.size)  # zero: nothing has failed
        self.is_migrated = False  # then a table that is missing is a fault, of ours or of who took it away

    @property
    def _failed_at(self) -> float:
        moment: float = MOMENT.unpack(self._shared[:])[0]
        return moment

    @_failed_at.setter
    def _failed_at(self, moment: float) -> None:
        self._shared[:] = MOMENT.pack(moment)

    def failed(self, error: BaseException, said: str = "", *words: object) -> bool:
        """Note a failure and tell whether the database is what failed; else log what is `said`, with the traceback."""
        reason = reason_of(error)
        if self.is_migrated and reason == REASONS[NOT_MIGRATED]:
            reason = ""
        if reason:
            self.takes_no_writes(reason)
        elif said:
            logger.error(said, *words, exc_info=error)
        return bool(reason)

    def takes_no_writes(self, reason: str) -> None:
        """Note that nothing can be written, for a reason of `REASONS`."""
        with self._lock:
            # A clock that begins with zero is right as well.
            is_first, self._failed_at = not self._failed_at, self._clock() or sys.float_info.min
        if is_first:
            logger.error("The database takes no writes: %s", reason)

    def written(self) -> None:
        """Note that something was written."""
        if not self._failed_at:  # nearly always
            return
        with self._lock:
            if not self._failed_at or self._clock() - self._failed_at < SETTLED_AFTER or not has_room():
                return
            self._failed_at = 0.0
        logger.warning("The database takes writes again")


outage = OutageLog()
