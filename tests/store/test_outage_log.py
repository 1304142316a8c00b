"""Outages of the database: one line at the beginning and one at the end, whoever meets them; faults keep theirs."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from django.db import DatabaseError, IntegrityError, OperationalError

from retrycontract.store.outages import OutageLog, reason_of

pytestmark = pytest.mark.django_db


def of_sqlite(name: str, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    cause, error = sqlite3.OperationalError("near 'hunter2': what was bound"), kind("quotes hunter2")
    cause.sqlite_errorname = name
    error.__cause__ = cause
    return error


def of_postgresql(cause: psycopg.Error) -> OperationalError:
    error = OperationalError("quotes hunter2")
    error.__cause__ = cause
    return error


OUTAGES = {
    "full": (of_sqlite("SQLITE_FULL"), "disk is full"),
    "full on the way": (of_sqlite("SQLITE_IOERR_SHMSIZE"), "disk cannot be"),
    "locked": (of_sqlite("SQLITE_BUSY_SNAPSHOT"), "locked"),
    "gone": (of_sqlite("SQLITE_READONLY_DBMOVED"), "file is gone"),
    "read only": (of_sqlite("SQLITE_READONLY_DIRECTORY"), "only be read"),
    "no database": (of_sqlite("SQLITE_NOTADB", DatabaseError), "no database"),
    "a server without room": (of_postgresql(psycopg.errors.DiskFull("hunter2")), "disk is full"),
    "a server that ends": (of_postgresql(psycopg.errors.AdminShutdown("hunter2")), "does not answer"),
    "a server that is away": (of_postgresql(psycopg.OperationalError("hunter2")), "does not answer"),
}
FAULTS = {
    "no such table": of_sqlite("SQLITE_ERROR"),
    "a constraint": of_sqlite("SQLITE_CONSTRAINT_UNIQUE", IntegrityError),
    "a deadlock": of_postgresql(psycopg.errors.DeadlockDetected("hunter2")),
    "our own": OperationalError("the transaction took too long"),
    "no database at all": LookupError("n"),
}


@pytest.mark.parametrize(("error", "told"), OUTAGES.values(), ids=list(OUTAGES))
def test_an_outage_is_told_when_it_begins_and_when_it_ends(
    caplog: pytest.LogCaptureFixture, error: DatabaseError, told: str
) -> None:
    now = [0.0]
    log = OutageLog(lambda: now[0])
    for now[0] in range(40):
        assert log.failed(error, "The step %s failed", "beat")
        log.written()  # a smaller one that fitted
    for now[0] in range(40, 50):
        log.written()
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("ERROR", None), ("WARNING", None)]
    begin, end = caplog.messages
    assert begin.startswith("The database takes no writes: ")
    assert told in begin
    assert "hunter2" not in begin
    assert end == "The database takes writes again"


@pytest.mark.parametrize("error", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_keeps_its_traceback_each_time(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    log = OutageLog(lambda: 0.0)
    for _ in range(2):
        assert not log.failed(error, "The step %s failed", "beat")
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["The step beat failed"] * 2
    assert reason_of(error) == ""
    log.written()
    assert len(caplog.records) == 2, "what has not begun does not end"
