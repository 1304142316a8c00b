"""Between SQLite and PostgreSQL: all data moves both ways, is copied and put back, and the doctor knows both."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from retrycontract.config.database_url import read_database_url
from retrycontract.management.commands.doctor import examine
from retrycontract.management.doctor import Level
from retrycontract.store.history import missing_guards
from retrycontract.store.models import Agent, Call, Event, WorkerBeat
from tests.factories import RIGHT, answer, make_agent, make_blocked, make_tool, make_user, submit
from tests.file_database import file_database as file_database
from tests.file_database import using
from tests.management.conftest import everything, fill, printed
from tests.serving.servers import PASSWORD, PostgreSQL, postgresql_programs

pytestmark = [pytest.mark.services, pytest.mark.soak]


@pytest.fixture
def data_dir(settings: Settings, tmp_path: Path) -> Path:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": tmp_path})
    return tmp_path


@pytest.fixture
def empty(tmp_path: Path, file_database: Path) -> Path:
    """An empty SQLite database, migrated, beside the one that is used."""
    return Path(shutil.copy(file_database, tmp_path / "empty.sqlite3"))


@pytest.fixture
def postgres(postgresql: PostgreSQL, file_database: Path) -> dict[str, Any]:
    """Django's settings of an empty PostgreSQL database, migrated."""
    address: dict[str, Any] = read_database_url(postgresql.new_database())
    with using(address):
        call_command("migrate", verbosity=0)
    return address


@pytest.fixture
def on_postgres(postgres: dict[str, Any]) -> Iterator[None]:
    """Work on PostgreSQL."""
    with using(postgres):
        yield


def work() -> None:
    """Insert rows of every kind: nothing may get the key of a row that was moved."""
    agent = make_agent("newcomer")
    make_tool(agent)
    answer(make_blocked(agent), make_user("noah"))
    assert submit(Agent.objects.get(name="deployer"), RIGHT).call.state == "valid"


def test_all_data_moves_to_postgresql_and_back_without_loss(
    tmp_path: Path, empty: Path, postgres: dict[str, Any]
) -> None:
    fill()
    there, back = tmp_path / "there.jsonl", tmp_path / "back.jsonl"
    before = everything()
    printed("export", str(there))
    with using(postgres):
        printed("import", str(there))
        assert connection.vendor == "postgresql"
        assert everything() == before
        with pytest.raises(CommandError, match="name another one with RETRYCONTRACT_DATABASE_URL"):
            printed("import", str(there))
        work()
        grown = everything()
        printed("export", str(back))
    with using(empty):
        printed("import", str(back))
        assert connection.vendor == "sqlite"
        assert everything() == grown
        newest = Event.objects.latest("pk").pk
        submit(Agent.objects.get(name="newcomer"), RIGHT)
        assert Event.objects.latest("pk").pk == newest + 1


def test_a_fault_leaves_postgresql_empty_and_names_the_line(
    tmp_path: Path, empty: Path, postgres: dict[str, Any]
) -> None:
    fill()
    path = tmp_path / "all.jsonl"
    printed("export", str(path))
    lines = path.read_text().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines, 1) if '"state":"blocked"' in line)
    lines[number - 1] = lines[number - 1].replace('"state":"blocked"', '"state":"lost"')
    path.write_text("".join(lines))
    with using(postgres):
        with pytest.raises(CommandError, match=rf"line {number}: the database refuses this row of retrycontract.call"):
            printed("import", str(path))
        assert not any(everything().values())


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's programs of the server's version on PATH."""
    folder = postgresql_programs()
    if not (folder / "pg_dump").exists():
        pytest.skip("this server comes without pg_dump")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("on_postgres", "programs")
def test_a_restore_is_refused_while_workers_or_web_processes_live(data_dir: Path, postgres: dict[str, Any]) -> None:
    fill()
    printed("backup", str(data_dir / "monday.dump"))
    WorkerBeat.objects.all().delete()
    before = everything()
    address = {"host": postgres["HOST"], "port": postgres["PORT"], "dbname": postgres["NAME"]}
    address |= {"user": postgres["USER"], "password": postgres["PASSWORD"], "application_name": "retrycontract"}
    with psycopg.connect(**address) as web:
        web.execute("SELECT 1")
        with pytest.raises(CommandError, match=r"still runs \(connections from .*\): stop its web processes"):
            printed("restore", str(data_dir / "monday.dump"), "--yes")
    WorkerBeat.objects.beat("machine:7", timezone.now())
    with pytest.raises(CommandError, match=r"still runs \(worker machine:7\): stop its web processes"):
        printed("restore", str(data_dir / "monday.dump"), "--yes")
    assert everything() == before
    assert list(data_dir.glob("before-restore-*")) == []
    WorkerBeat.objects.update(beat_at=timezone.now() - timedelta(seconds=30))
    printed("restore", str(data_dir / "monday.dump"), "--yes")


@pytest.mark.usefixtures("on_postgres", "programs")
def test_a_dump_comes_back_as_it_was_and_what_it_replaces_is_kept(data_dir: Path, settings: Settings) -> None:
    fill()
    before = everything()
    printed("backup", str(data_dir / "monday.dump"))
    content = (data_dir / "monday.dump").read_bytes()
    assert settings.RETRYCONTRACT.encryption_keys[0].encode() not in content
    make_agent("newer")
    with pytest.raises(CommandError, match="--yes"):
        printed("restore", str(data_dir / "monday.dump"))
    assert Agent.objects.filter(name="newer").exists()
    printed("restore", str(data_dir / "monday.dump"), "--yes")
    assert everything() == before
    assert missing_guards() == set()
    work()
    (kept,) = data_dir.glob("before-restore-*.dump")
    content = kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    printed("restore", str(kept), "--yes")
    assert kept.read_bytes() == content
    assert Agent.objects.filter(name="newer").exists()


@pytest.mark.usefixtures("on_postgres", "programs")
def test_a_restore_leaves_the_tables_of_others_alone(data_dir: Path) -> None:
    make_agent()
    printed("backup", str(data_dir / "all.dump"))
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE recipes (name text)")
        cursor.execute("INSERT INTO recipes VALUES ('bread')")
    printed("restore", str(data_dir / "all.dump"), "--yes")
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM recipes")
        assert cursor.fetchall() == [("bread",)]
    assert Agent.objects.get().name == "deployer"


@pytest.mark.usefixtures("on_postgres", "programs")
@pytest.mark.parametrize("size", [0, 100, 0.5])
def test_a_dump_that_is_cut_off_changes_nothing(data_dir: Path, size: float) -> None:
    fill()
    before = everything()
    path = data_dir / "all.dump"
    printed("backup", str(path))
    content = path.read_bytes()
    path.write_bytes(content[: int(size if size != 0.5 else len(content) / 2)])
    with pytest.raises(CommandError, match="no dump of PostgreSQL, or it is damaged"):
        printed("restore", str(path), "--yes")
    assert everything() == before


@pytest.mark.usefixtures("on_postgres")
def test_without_its_programs_a_backup_says_what_to_install(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(data_dir))
    with pytest.raises(CommandError, match=r"pg_dump is not on PATH\. Install the client programs"):
        printed("backup", str(data_dir / "all.dump"))
    assert not (data_dir / "all.dump").exists()


@pytest.mark.usefixtures("on_postgres")
def test_the_doctor_knows_postgresql(data_dir: Path) -> None:
    make_blocked()
    found = {finding.name: finding for finding in examine(timezone.now())}
    assert found["database"].level is Level.OK
    assert found["database"].text.startswith("PostgreSQL 1")
    assert {found[name].level for name in ("migrations", "clock", "queue")} == {Level.OK}
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    assert [finding.level for finding in examine(timezone.now()) if finding.name == "database"] == [Level.FAIL]


def test_the_doctor_says_when_postgresql_is_gone(postgresql: PostgreSQL, file_database: Path, data_dir: Path) -> None:
    address = read_database_url(postgresql.url("there_is_no_such_database"))
    with using(address):
        failed = [finding for finding in examine(timezone.now()) if finding.level is Level.FAIL]
    assert "database" in {finding.name for finding in failed}
    assert PASSWORD not in "".join(finding.text for finding in failed)


def test_a_call_that_is_blocked_here_is_answered_there(tmp_path: Path, empty: Path, postgres: dict[str, Any]) -> None:
    call = make_blocked()
    printed("export", str(tmp_path / "all.jsonl"))
    with using(postgres):
        printed("import", str(tmp_path / "all.jsonl"))
        moved = Call.objects.get(public_id=call.public_id)
        answer(moved, make_user("mia"))
        assert submit(make_agent(), RIGHT, call=Call.objects.get(pk=moved.pk)).call.state == "valid"
