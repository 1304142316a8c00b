"""A database in a file of its own, as the service has: threads share it, and its bytes can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.db import connection, connections

Result = TypeVar("Result")


@pytest.fixture
def file_database(tmp_path: Path, transactional_db: None) -> Iterator[Path]:
    """Give the path of a migrated database that every connection of this test uses."""
    path = tmp_path / "service.sqlite3"
    with connections["default"].cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(path)])
    with using(path):
        yield path


@contextmanager
def using(path: Path) -> Iterator[None]:
    """Let every connection lead to the database file while the block runs."""
    template = connections["default"]
    name = template.settings_dict["NAME"]
    # The template may live in memory: it is put aside, not closed.
    del connections["default"]
    connections.settings["default"]["NAME"] = str(path)
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings["default"]["NAME"] = name
        connections["default"] = template


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
