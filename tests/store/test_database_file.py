"""SQLite's file is taken away under the service: nobody is answered from a file that nobody can find."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from retrycontract.store.models import Agent
from retrycontract.store.outages import reason_of
from retrycontract.store.sqlite.base import MUST_EXIST
from retrycontract.store.transactions import write_transaction, write_turn
from tests.factories import make_agent
from tests.file_database import all_at_once
from tests.file_database import file_database as file_database


def put_beside(path: Path) -> Path:
    beside = path.with_name("beside")
    beside.mkdir()
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).rename(beside / (path.name + ending))
    return beside


def nothing(_: Path) -> None:
    """Leave the path empty."""


def another_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE other (n)")


IN_ITS_PLACE: dict[str, Callable[[Path], None]] = {
    "nothing": nothing, "a folder": Path.mkdir, "an empty file": Path.touch, "another database": another_database,
}  # fmt: skip


def in_a_transaction() -> None:
    with write_transaction():
        make_agent("lost")


def in_a_statement() -> None:
    with write_turn():
        Agent.objects.filter(name="kept").update(namespace="lost")


@pytest.mark.parametrize("write", [in_a_transaction, in_a_statement, lambda: Agent.objects.exists()])
@pytest.mark.parametrize("put", IN_ITS_PLACE.values(), ids=list(IN_ITS_PLACE))
def test_a_file_that_is_gone_takes_nothing_until_it_is_back(
    file_database: Path, put: Callable[[Path], None], write: Callable[[], None]
) -> None:
    make_agent("kept")
    connections.settings["default"][MUST_EXIST] = True  # as it is where one serves
    beside = put_beside(file_database)
    put(file_database)
    with pytest.raises(OperationalError) as refused:
        write()
    assert "put it back" in reason_of(refused.value)
    another = connections.create_connection("default")  # as every probe has its own
    with suppress(OperationalError):
        another.ensure_connection()
    another.close()
    assert file_database.exists() == (put is not nothing), "none is made in its place"
    for path in file_database.parent.glob(f"{file_database.name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in beside.iterdir():
        path.rename(file_database.parent / path.name)
    write()
    assert Agent.objects.get(name="kept")


def test_a_file_that_goes_during_a_transaction_is_not_written(file_database: Path) -> None:
    def write() -> Path:
        with write_transaction():
            make_agent("lost")
            return put_beside(file_database)

    with pytest.raises(OperationalError):
        write()
    for path in (file_database.parent / "beside").iterdir():
        path.rename(file_database.parent / path.name)
    assert not Agent.objects.exists()


def test_a_database_that_is_put_in_its_place_is_used_from_the_next_request_on(file_database: Path) -> None:
    make_agent("kept")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(file_database.with_name("copy"))])
    put_beside(file_database)
    file_database.with_name("copy").rename(file_database)
    with pytest.raises(OperationalError):
        Agent.objects.get(name="kept")
    connection.close_if_unusable_or_obsolete()  # as Django does between two requests
    assert Agent.objects.get(name="kept")


def a_log_that_is_gone(path: Path, endings: Sequence[str] = ("-wal", "-shm")) -> None:
    for ending in endings:
        path.with_name(path.name + ending).unlink()


@pytest.mark.parametrize("endings", [("-wal", "-shm"), ("-wal",), ("-shm",)], ids=" ".join)
@pytest.mark.parametrize("write", [in_a_transaction, in_a_statement, lambda: Agent.objects.exists()])
def test_a_log_that_is_gone_takes_nothing_and_what_it_held_is_kept(
    file_database: Path, write: Callable[[], None], endings: Sequence[str]
) -> None:
    make_agent("kept")
    a_log_that_is_gone(file_database, endings)
    with pytest.raises(OperationalError) as refused:
        write()
    assert "start the service anew" in reason_of(refused.value)
    another = connections.create_connection("default")
    with pytest.raises(OperationalError):
        another.ensure_connection()  # it would begin a log of its own
    connection.close()
    with closing(sqlite3.connect(file_database)) as found:
        assert found.execute("SELECT name FROM retrycontract_agent").fetchall() == [("kept",)]
        assert found.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_log_that_goes_during_a_transaction_is_not_written(file_database: Path) -> None:
    make_agent("kept")

    def write() -> None:
        with write_transaction():
            make_agent("lost")
            a_log_that_is_gone(file_database)

    with pytest.raises(OperationalError):
        write()
    with pytest.raises(OperationalError):  # which writes down what the log held before
        Agent.objects.exists()
    connection.close()
    with closing(sqlite3.connect(file_database)) as found:
        assert found.execute("SELECT name FROM retrycontract_agent").fetchall() == [("kept",)]


def test_a_log_that_sqlite_itself_has_removed_is_made_anew(file_database: Path) -> None:
    make_agent("first")
    connection.close()  # the last one: SQLite removes its log
    assert not file_database.with_name(f"{file_database.name}-wal").exists()
    make_agent("second")
    assert Agent.objects.count() == 2


def test_who_opens_the_file_first_with_others_finds_nothing_gone(file_database: Path) -> None:
    def come_and_go(mine: Any) -> None:
        opened = mine.get_new_connection(given[mine])  # alone: what is set up afterwards would part the threads
        opened.execute("SELECT * FROM retrycontract_agent")
        opened.close()

    connection.close()
    for _ in range(300):
        wrappers = [connections.create_connection("default") for _ in range(8)]
        given = {each: each.get_connection_params() for each in wrappers}
        all_at_once(come_and_go, wrappers)
