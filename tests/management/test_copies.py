"""A backup can be put back, and nothing is lost by trying."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from retrycontract.management.commands.doctor import examine
from retrycontract.management.copies import restore
from retrycontract.management.doctor import Level
from retrycontract.store.history import missing_guards
from retrycontract.store.models import Agent, Attempt, Event
from tests.factories import RIGHT, make_agent, make_tool, submit
from tests.file_database import file_database as file_database
from tests.management.conftest import everything, fill, printed


@pytest.fixture
def data_dir(settings: Settings, file_database: Path) -> Path:
    """The folder of the database."""
    folder = file_database.parent
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": folder})
    return folder


@pytest.fixture
def backup(data_dir: Path) -> Path:
    """A backup of a database with something of everything in it."""
    fill()
    path = data_dir / "monday.backup"
    printed("backup", str(path))
    return path


def empty(database: Path) -> None:
    connection.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{database}{end}").unlink(missing_ok=True)


def test_a_backup_comes_back_as_it_was(backup: Path, file_database: Path) -> None:
    before = everything()
    empty(file_database)
    text = printed("restore", str(backup))
    assert everything() == before
    assert missing_guards() == set()
    assert "kept" not in text
    assert stat.S_IMODE(file_database.stat().st_mode) == 0o600
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone() == ("wal",)


def test_a_restore_is_in_the_trail_that_came_with_the_copy(backup: Path, data_dir: Path) -> None:
    make_agent("newer")
    printed("restore", str(backup), "--yes")
    event = Event.objects.latest("pk")
    (kept,) = data_dir.glob("before-restore-*.sqlite3")
    assert stat.S_IMODE((data_dir / "service.lock").stat().st_mode) == 0o600
    assert (event.name, event.actor, event.door) == ("data.restored", "restore", "command")
    assert event.data.keys() == {"file", "rows", "kept"}
    assert (event.data["file"], event.data["kept"]) == ("monday.backup", kept.name)
    assert event.data["rows"] > sum(map(len, everything().values())) / 2
    assert event.stored_at - event.at < timedelta(minutes=1)


def test_a_backup_is_a_whole_copy_for_its_owner_alone(backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(sqlite3.connect(backup)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("SELECT name FROM retrycontract_agent").fetchall() == [("deployer",)]


def test_a_backup_is_taken_while_others_write(data_dir: Path, file_database: Path) -> None:
    make_agent("before")
    with closing(sqlite3.connect(file_database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE retrycontract_agent SET name = 'not yet committed'")
        printed("backup", str(data_dir / "copy"))
        other.execute("ROLLBACK")
    with closing(sqlite3.connect(data_dir / "copy")) as copy:
        assert copy.execute("SELECT name FROM retrycontract_agent").fetchall() == [("before",)]


def test_a_backup_never_overwrites(backup: Path) -> None:
    before = backup.read_bytes()
    with pytest.raises(CommandError, match="exists already"):
        printed("backup", str(backup))
    assert backup.read_bytes() == before


@pytest.mark.parametrize("target", ["nowhere/copy"])
def test_a_backup_that_cannot_be_written_is_said_and_leaves_nothing(data_dir: Path, target: str) -> None:
    with pytest.raises(CommandError, match="cannot be written"):
        printed("backup", str(data_dir / target))


def test_no_key_is_in_a_backup_and_what_waits_in_it_stays_sealed(data_dir: Path, settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "worker"})
    make_tool(make_agent())
    submit(make_agent(), RIGHT | {"service": "a-name-to-look-for"})
    assert Attempt.objects.waiting().count() == 1
    printed("backup", str(data_dir / "copy"))
    content = (data_dir / "copy").read_bytes()
    for secret in (settings.SECRET_KEY, *settings.RETRYCONTRACT.encryption_keys, "a-name-to-look-for"):
        assert secret.encode() not in content


def test_a_database_with_rows_is_not_replaced_unasked(backup: Path) -> None:
    make_agent("newer")
    before = everything()
    with pytest.raises(CommandError, match=r"holds rows of \w+\. Stop the service and say --yes"):
        printed("restore", str(backup))
    assert everything() == before


def test_what_is_replaced_is_kept(backup: Path, data_dir: Path) -> None:
    make_agent("newer")
    text = printed("restore", str(backup), "--yes")
    assert not Agent.objects.filter(name="newer").exists()
    (kept,) = data_dir.glob("before-restore-*.sqlite3")
    assert str(kept) in text
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with closing(sqlite3.connect(kept)) as copy:
        assert copy.execute("SELECT count(*) FROM retrycontract_agent").fetchone() == (2,)


def test_what_was_kept_can_be_restored_in_turn_and_is_not_overwritten(backup: Path, data_dir: Path) -> None:
    before = everything()
    now = timezone.now()
    make_agent("newer")
    newer = everything()
    kept = restore(backup, now=now, may_replace=True)
    assert kept is not None
    assert everything() == before
    again = restore(kept, now=now, may_replace=True)  # in the same second
    assert everything() == newer
    assert again not in (None, kept)


def test_a_database_of_somebody_else_is_not_replaced_unasked(backup: Path, file_database: Path) -> None:
    empty(file_database)
    with closing(sqlite3.connect(file_database)) as other:
        other.execute("CREATE TABLE recipes (name)")
    with pytest.raises(CommandError, match="holds tables that are not ours, such as recipes"):
        printed("restore", str(backup))
    assert connection.introspection.table_names() == ["recipes"]


def test_a_broken_database_is_kept_byte_for_byte_and_replaced(
    backup: Path, data_dir: Path, file_database: Path
) -> None:
    before = everything()
    empty(file_database)
    file_database.write_bytes(b"this was a database once" * 1000)
    with pytest.raises(CommandError, match="something that cannot be read"):
        printed("restore", str(backup))
    printed("restore", str(backup), "--yes")
    assert everything() == before
    (kept,) = data_dir.glob("before-restore-*.sqlite3")
    assert kept.read_bytes().startswith(b"this was a database once")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scribble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20_000:60_000] = b"\xff" * 40_000
    path.write_bytes(content)


def sql(statement: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path)) as copy:
            copy.execute(statement)
            copy.commit()

    return run


NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('retrycontract', '0999_later', '2030-01-01')"
SPOILT: list[tuple[str, Callable[[Path], None], str]] = [
    ("cut off", cut, "damaged"),
    ("scribbled over", scribble, "damaged"),
    ("a dead reference", sql("UPDATE retrycontract_call SET agent_id = 99"), "it is damaged"),
    ("text", lambda path: path.write_text("hello"), "no SQLite database"),
    ("not there", Path.unlink, "there is no such file"),
    ("another database", sql("DROP TABLE django_migrations"), "no copy of a retrycontract database"),
    ("another service", sql("DELETE FROM django_migrations WHERE app = 'retrycontract'"), "no copy of a retrycontract"),
    ("a newer release", sql(NEWER), r"a newer release wrote it \(retrycontract\.0999_later\)"),
]


@pytest.mark.parametrize(("spoil", "reason"), [case[1:] for case in SPOILT], ids=[case[0] for case in SPOILT])
def test_a_copy_that_cannot_be_used_changes_nothing(backup: Path, spoil: Callable[[Path], None], reason: str) -> None:
    spoil(backup)
    before = everything()
    with pytest.raises(CommandError, match=reason):
        printed("restore", str(backup), "--yes")
    assert everything() == before


def test_a_connection_that_was_left_open_sees_the_restored_database(backup: Path, file_database: Path) -> None:
    with closing(sqlite3.connect(file_database, isolation_level=None)) as other:
        other.execute("PRAGMA busy_timeout = 0")
        printed("restore", str(backup), "--yes")
        assert other.execute("SELECT count(*) FROM retrycontract_agent").fetchone() == (1,)


def damage(database: Path) -> None:
    """Spoil the name of a table, so that whatever SQLite says of it is no text."""
    connection.close()
    with closing(sqlite3.connect(database)) as spoilt:
        spoilt.execute("PRAGMA writable_schema=ON")
        spoilt.execute("UPDATE sqlite_master SET name=CAST(x'7891' AS TEXT), sql='create tab' WHERE name='auth_group'")
        spoilt.commit()


def test_what_is_damaged_in_its_own_tables_is_no_copy_and_is_kept_and_replaced(
    backup: Path, data_dir: Path, file_database: Path
) -> None:
    spoilt = data_dir / "spoilt.backup"
    spoilt.write_bytes(backup.read_bytes())
    damage(spoilt)
    with pytest.raises(CommandError, match=r"it is damaged\. Nothing was changed"):
        printed("restore", str(spoilt), "--yes")
    damage(file_database)
    with pytest.raises(CommandError, match="cannot be copied: it is damaged"):
        printed("backup", str(data_dir / "tuesday.backup"))
    failing = [finding.text for finding in examine(timezone.now()) if finding.level is Level.FAIL]
    assert "restore a backup" in str(failing)
    printed("restore", str(backup), "--yes")
    assert Agent.objects.exists()


def test_what_is_kept_is_its_owners_from_the_first_byte_and_never_half(backup: Path, data_dir: Path) -> None:
    resource = pytest.importorskip("resource")
    umask, limits = os.umask(0), resource.getrlimit(resource.RLIMIT_FSIZE)
    seen, over = set[int](), threading.Event()

    def watch() -> None:
        while not over.is_set():
            for path in data_dir.glob("before-restore-*"):
                with suppress(FileNotFoundError):
                    seen.add(stat.S_IMODE(path.stat().st_mode))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, limits[1]))  # as on a full disk
        with pytest.raises(CommandError, match=r"cannot be kept beside it: .*Nothing was changed"):
            printed("restore", str(backup), "--yes")
        assert [*data_dir.glob("before-restore-*")] == []
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        printed("restore", str(backup), "--yes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        os.umask(umask)
        over.set()
        watcher.join()
    assert seen == {0o600}
