"""What keeps the database from taking writes, in words for people: never a driver's own, which may quote values."""

from __future__ import annotations

from typing import Final

MOVED: Final = "SQLITE_READONLY_DBMOVED"  # SQLite's own name for a file that is no longer at its path
BUSY: Final = "SQLITE_BUSY"
# By the code of SQLite's error, less what its second half tells, or by PostgreSQL's.
REASONS: Final = {
    "SQLITE_FULL": "its disk is full: make room",
    "53100": "its disk is full: make room",
    BUSY: "another process keeps it locked: let that one end",
    "SQLITE_READONLY": "it may only be read: look who owns the file and how the disk is mounted",
    MOVED: "its file is gone, or another one lies in its place: put it back",
    "SQLITE_CANTOPEN": "its file cannot be opened: put it back",
    "SQLITE_IOERR": "its disk cannot be read or written: look after the disk",
}


def reason_of(error: BaseException) -> str:
    """Say what is wrong and what to do, as far as an error of the database or its cause tells; "" when it doesn't."""
    code = _code_of(error)
    return REASONS.get(code) or REASONS.get(_family(code), "")


def is_busy(error: BaseException) -> bool:
    """Tell whether SQLite gave up waiting for somebody else's lock."""
    return _family(_code_of(error)) == BUSY


def _code_of(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None))


def _family(code: str) -> str:
    return "_".join(code.split("_")[:2])
