"""A database that threads share, as they do in the service; with SQLite its bytes can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections

Result = TypeVar("Result")


@pytest.fixture
def file_database(tmp_path: Path, transactional_db: None) -> Iterator[Path]:
    """Give the path of a migrated database that every connection of this test uses."""
    template = connections["default"]
    if template.vendor != "sqlite":
        pytest.skip("reads the database's file, which only SQLite has")
    path = tmp_path / "service.sqlite3"
    with template.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(path)])
    with using(path):
        yield path


@contextmanager
def using(database: Path | dict[str, Any]) -> Iterator[None]:
    """Let every connection lead to another database while the block runs: a file, or what settings say."""
    template, before = connections["default"], connections.settings["default"]
    changes = {"NAME": str(database)} if isinstance(database, Path) else database
    # The template may live in memory: it is put aside, not closed.
    del connections["default"]
    connections.settings["default"] = before | changes
    ContentType.objects.clear_cache()  # keys differ from database to database
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings["default"] = before
        connections["default"] = template
        ContentType.objects.clear_cache()


@pytest.fixture
def shared_database(request: pytest.FixtureRequest, transactional_db: None) -> None:
    """Use a database that several threads may use at once."""
    if connection.vendor == "sqlite":
        request.getfixturevalue("file_database")


def all_at_once(work: Callable[[Any], Result], items: list[Any]) -> list[Result]:
    """Run the work for every item in a thread of its own, started together; raises what a thread raised."""
    start = Barrier(len(items))

    def run(item: Any) -> Result:
        start.wait(30)
        try:
            return work(item)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(run, items))


def bytes_at_rest(database: Path) -> bytes:
    """Read the database and what lies beside it: write-ahead log and shared memory."""
    return b"".join(path.read_bytes() for path in sorted(database.parent.glob(f"{database.name}*")))
