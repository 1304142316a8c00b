"""SQLite's files are their owner's alone, whichever command makes them and whatever the umask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db.utils import ConnectionHandler

from retrycontract.config.database_url import database_settings


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.django_db  # guards every connection
@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        (tmp_path / "retrycontract.sqlite3").touch(mode=0o644)
    database = ConnectionHandler({"default": database_settings("", tmp_path)})["default"]
    with database.cursor() as cursor:
        cursor.execute("CREATE TABLE one (number)")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    database.close()
    assert set(modes.values()) == {0o600}, modes
