"""An upgrade keeps every row: databases of older schemas, with data in them, under the migrations of a next release."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from pytest_django import Settings

from retrycontract.management.commands import up
from retrycontract.management.copies import restore
from retrycontract.store.history import missing_guards
from retrycontract.store.models import Agent, Attempt, Call, Event, Tool
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.factories import DEPLOY, RIGHT, submit
from tests.file_database import using

OLD = sorted(Path(__file__).parent.glob("schema-*.sql"))
# What belongs to Django and is made anew by every migration.
DJANGOS = ("auth_permission", "django_content_type", "django_migrations", "sqlite_sequence")
KINDS = (
    "agent", "apikey", "tool", "toolversion", "call", "attempt", "escalation", "guidance", "guidanceversion", "event",
    "answerrecord", "standinghint", "webhookendpoint", "webhookdelivery", "outboxmessage", "notice", "snooze",
    "savedreply", "preferences", "secondfactor", "failedlogins", "idempotencykey", "rollup", "summary", "workerbeat",
)  # fmt: skip
Rows = dict[str, list[dict[str, Any]]]


def rows_of(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: [dict(row) for row in database.execute(f'SELECT * FROM "{table}" ORDER BY 1')]
            for table in tables
            if table not in DJANGOS
        }


@pytest.fixture(params=OLD, ids=lambda path: path.stem)
def old_database(
    request: pytest.FixtureRequest, tmp_path: Path, settings: Settings, transactional_db: None
) -> Iterator[Path]:
    if connection.vendor != "sqlite":
        pytest.skip("the old databases are SQLite's")
    path = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(request.param.read_text(encoding="utf-8"))
    settings.MIGRATION_MODULES = {"retrycontract": "tests.upgrade.next_release"}
    with using(path):
        yield path


def upgrade() -> str:
    output = StringIO()
    up.Command(stdout=output)._migrate()
    return output.getvalue()


def test_the_old_databases_hold_rows_of_every_kind() -> None:
    assert OLD
    for path in OLD:
        text = path.read_text(encoding="utf-8")
        tables = {line.split('"')[1] for line in text.splitlines() if line.startswith("INSERT INTO")}
        assert {f"retrycontract_{kind}" for kind in KINDS} | {"auth_user", "auth_user_groups"} <= tables


def test_an_upgrade_keeps_every_row_and_every_value_of_it(old_database: Path) -> None:
    before = rows_of(old_database)
    assert "Copied the database" in upgrade()
    connection.close()
    after = rows_of(old_database)
    for table, rows in before.items():
        assert len(after[table]) == len(rows), table
        for old, new in zip(rows, after[table], strict=True):
            kept = {column: new[column] for column in old if column in new}
            assert kept.items() <= old.items(), table


def test_a_copy_of_an_older_release_is_restored_says_so_and_is_upgraded(old_database: Path, tmp_path: Path) -> None:
    with using(tmp_path / "new.sqlite3"):
        restore(old_database, now=timezone.now(), may_replace=False)
        upgrade()
        assert Event.objects.latest("pk").name == "data.restored"
        assert Event.objects.count() > 1


def test_an_upgraded_database_has_nothing_left_to_migrate(old_database: Path) -> None:
    upgrade()
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert upgrade() == ""


def test_history_is_guarded_in_an_upgraded_database(old_database: Path) -> None:
    upgrade()
    assert not missing_guards()


def test_the_copy_from_before_an_upgrade_holds_what_the_database_held(old_database: Path) -> None:
    before = rows_of(old_database)
    upgrade()
    (copy,) = old_database.parent.glob("before-migration-*.sqlite3")
    assert rows_of(copy) == before


def test_the_work_goes_on_in_an_upgraded_database(old_database: Path) -> None:
    upgrade()
    agent = Agent.objects.get(name="deployer")
    blocked = Call.objects.blocked().order_by("pk")[0]
    assert submit(agent, RIGHT, call=blocked).call.state == "valid"
    assert submit(agent, RIGHT).call.state == "valid"
    assert Tool.named("deployer", "deploy").current_version.schema == DEPLOY | {"title": "second version"}  # type: ignore[union-attr]


def test_a_submission_that_waited_with_a_lost_key_is_asked_for_again(old_database: Path) -> None:
    upgrade()
    waiting = Attempt.objects.waiting().get()
    judge_waiting(clock=timezone.now)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.call.state, waiting.sealed) == ("discarded", "retrying", None)
    assert "send the same arguments again" in waiting.feedback
