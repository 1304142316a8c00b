"""Outages of the database: one line at the beginning and one at the end, whoever meets them; faults keep theirs."""

from __future__ import annotations

import os
import sqlite3

import psycopg
import pytest
from django.db import DatabaseError, IntegrityError, InternalError, OperationalError, ProgrammingError

from retrycontract.store.outages import OutageLog, reason_of

pytestmark = pytest.mark.django_db


def of_sqlite(
    name: str, kind: type[DatabaseError] = OperationalError, said: str = "near 'hunter2': what was bound"
) -> DatabaseError:
    cause, error = sqlite3.OperationalError(said), kind("quotes hunter2")
    cause.sqlite_errorname = name
    error.__cause__ = cause
    return error


def of_postgresql(cause: psycopg.Error, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    error = kind("quotes hunter2")
    error.__cause__ = cause
    return error


def refused(said: str) -> DatabaseError:
    """Give what the driver raises where a server lets nobody in: words, and no code."""
    place = 'connection failed: connection to server at "10.0.0.7", port 5432 failed'
    return of_postgresql(psycopg.OperationalError(f"{place}: FATAL:  {said}"))


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
    "a server that begins": (refused("the database system is starting up"), "does not answer"),
    "a standby": (of_postgresql(psycopg.errors.ReadOnlySqlTransaction("hunter2"), InternalError), "only be read"),
    "no table": (of_sqlite("SQLITE_ERROR", said="no such table: hunter2"), "is not migrated"),
    "no column": (of_sqlite("SQLITE_ERROR", said="no such column: hunter2"), "is not migrated"),
    "no relation": (of_postgresql(psycopg.errors.UndefinedTable("hunter2"), ProgrammingError), "is not migrated"),
    "no field": (of_postgresql(psycopg.errors.UndefinedColumn("hunter2"), ProgrammingError), "is not migrated"),
    "no rights": (of_postgresql(psycopg.errors.InsufficientPrivilege("hunter2"), ProgrammingError), "grant it"),
    "no such database": (refused('database "hunter2" does not exist'), "it does not exist: create it"),
    "another password": (refused('password authentication failed for user "hunter2"'), "refuses the user or the pass"),
    "no such user": (refused('role "hunter2" does not exist'), "refuses the user or the password"),
    "no way in": (refused('no pg_hba.conf entry for host "hunter2"'), "refuses the user or the password"),
    "too many": (refused("sorry, too many clients already"), "no connection left"),
}
FAULTS = {
    "a statement that is wrong": of_sqlite("SQLITE_ERROR"),
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


def test_what_one_process_of_a_worker_has_told_no_other_tells_again(caplog: pytest.LogCaptureFixture) -> None:
    log, error = OutageLog(), of_postgresql(psycopg.OperationalError("hunter2"))
    if not (child := os.fork()):
        log.failed(error)
        os._exit(len(caplog.records))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert log.failed(error)
    assert caplog.messages == []
