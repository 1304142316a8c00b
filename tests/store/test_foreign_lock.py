"""A lock that another process holds: those who write wait for it together, and who reads does not wait."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from django.db import OperationalError, connection, connections
from django.db.models import Q
from django.utils import timezone

from retrycontract.store.models import Agent, ApiKey
from retrycontract.store.outages import is_busy
from retrycontract.store.transactions import SharedPatience, write_transaction, write_turn
from tests.factories import make_agent
from tests.file_database import all_at_once, using
from tests.file_database import file_database as file_database
from tests.serving.threads import eventually

WAITS = 2.0  # seconds that a connection of these tests waits for a lock
WRITERS = 5


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield other


@pytest.fixture
def impatient(file_database: Path) -> Iterator[Path]:
    """Give a database whose lock is waited for not quite so long as in the service."""
    options = connections.settings["default"]["OPTIONS"] | {"timeout": WAITS}
    with using({"NAME": str(file_database), "OPTIONS": options}):
        yield file_database


def in_a_transaction() -> None:
    with write_transaction():
        make_agent("written")


def in_a_statement() -> None:
    with write_turn():
        Agent.objects.filter(name="known").update(namespace="written")


def refusal(write: Callable[[], None]) -> str:
    with pytest.raises(OperationalError) as refused:
        write()
    assert is_busy(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("write", [in_a_transaction, in_a_statement])
def test_writers_wait_together_and_go_on_when_the_lock_is_free(impatient: Path, write: Callable[[], None]) -> None:
    make_agent("known")
    with locked(impatient):
        said = all_at_once(refusal, [write] * WRITERS)
    assert Counter(said) == {"database is locked": 1, "the database is still locked": WRITERS - 1}
    eventually(lambda: is_written(write))
    assert Agent.objects.filter(Q(name="written") | Q(namespace="written")).exists()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (WAITS * 1000,)


def is_written(write: Callable[[], None]) -> bool:
    try:
        write()
    except OperationalError:
        return False
    return True


@pytest.mark.usefixtures("file_database")
def test_one_of_those_who_come_later_tries_each_second() -> None:
    now = 0.0
    patience = SharedPatience(lambda: now)
    came = list[float]()

    locked = sqlite3.OperationalError("locked")
    locked.sqlite_errorname = "SQLITE_BUSY_SNAPSHOT"
    for now, error in [(0.0, locked), (0.9, None), (1.0, locked), (1.9, None), (2.0, LookupError()), (2.1, None)]:
        with suppress(OperationalError, sqlite3.OperationalError, LookupError), patience.turn():
            came.append(now)
            if error:
                raise error
    assert came == [0.0, 1.0, 2.0, 2.1]  # what else goes wrong is written before: the lock was free


@pytest.mark.parametrize("holder", ["a thread of ours", "another process"])
def test_what_is_only_noted_keeps_no_reader_waiting(file_database: Path, holder: str) -> None:
    key = ApiKey.create_for(make_agent("reads"), timezone.now())[0]
    over = threading.Event()

    def hold() -> None:
        with write_transaction():
            over.wait(60)
        connection.close()

    writer = threading.Thread(target=hold)
    with locked(file_database) if holder == "another process" else nullcontext():
        if holder == "a thread of ours":
            writer.start()
            eventually(lambda: not is_free(file_database))
        key.touch(timezone.now())  # or the test would hang with the lock
        assert ApiKey.objects.get().last_used_at is None
    over.set()
    if writer.ident:
        writer.join(60)
    key.touch(timezone.now())
    assert ApiKey.objects.get().last_used_at


def is_free(path: Path) -> bool:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True
