"""An upgrade while clients send: the next release's migrations, then each process anew with them; nothing is lost."""

from __future__ import annotations

import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.services.faults import restart_in_turn, scaled_out
from tests.services.load import HANG
from tests.services.storm import Storm, ask, ask_sqlite
from tests.serving.service import DATABASE, Service
from tests.serving.threads import eventually

pytestmark = [pytest.mark.services, pytest.mark.soak, pytest.mark.timeout(7_200)]

CALLS = 20_000  # more than are sent until all is upgraded
SOME = 30  # attempts that are judged before each step goes on
NEXT_SETTINGS = """\
from retrycontract.settings import *
MIGRATION_MODULES = {"retrycontract": "tests.upgrade.next_release"}
"""


def install_next_release(service: Service, folder: Path) -> None:
    """Have every process that is started from now on bring the migrations of the next release."""
    (folder / "next_settings.py").write_text(NEXT_SETTINGS, encoding="utf-8")
    service.environment |= {"DJANGO_SETTINGS_MODULE": "next_settings", "PYTHONPATH": str(folder)}


def migrate(service: Service) -> int:
    """Migrate as an operator does: again, where a lock was not to be had; gives how often."""
    end, tries = time.monotonic() + HANG, 0
    while True:
        tries += 1
        try:
            service.manage("migrate", "--verbosity", "0")
        except subprocess.CalledProcessError as failed:
            is_in_the_way = "lock timeout" in failed.stderr or "deadlock detected" in failed.stderr
            if not is_in_the_way or time.monotonic() > end:
                raise AssertionError(failed.stderr) from failed
        else:
            return tries


def go_on(storm: Storm) -> None:
    """Wait until some more attempts are judged."""
    judged = len(storm.verdicts)
    eventually(lambda: len(storm.verdicts) >= judged + SOME, within=HANG)


def test_the_scaled_service_is_upgraded_under_load(tmp_path: Path) -> None:
    with scaled_out(tmp_path, RETRYCONTRACT_LEASE_SECONDS="6") as faults:
        service, storm = faults.service, Storm(faults.service)
        with psycopg.connect(service.environment["RETRYCONTRACT_DATABASE_URL"]) as upgraded:
            upgraded.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

            def then(question: str) -> Any:  # the database as it was when this was asked first
                row = upgraded.execute(question.encode()).fetchone()
                assert row is not None
                return row[0]

            with storm.load(CALLS):
                go_on(storm)
                install_next_release(service, tmp_path)
                tries = migrate(service)
                go_on(storm)  # this release, on the tables of the next one
                assert then("SELECT count(*) FROM retrycontract_event WHERE next = 7")
                restart_in_turn(service)
                go_on(storm)
            lost, doubled = storm.check(partial(ask, service))
            print(f"\nmigrations={tries} restarts=4 {storm.figures()} lost={lost} doubled={doubled}")
            assert (lost, doubled) == (0, 0)
            with pytest.raises(AssertionError):  # the control: what came after the migration counts
                storm.check(then)


def test_one_process_is_upgraded_while_clients_send_again(tmp_path: Path) -> None:
    service = Service(tmp_path / "data", anew=True)
    service.start()
    storm = Storm(service, threads=3)
    try:
        with storm.load(CALLS):
            go_on(storm)
            assert service.stop() == 0
            judged = len(storm.verdicts)
            install_next_release(service, tmp_path)
            service.start()
            go_on(storm)
    finally:
        service.stop()
    (copy,) = service.data_dir.glob("before-migration-*.sqlite3")
    copied = tmp_path / "copied"
    copied.mkdir()
    copy.rename(copied / DATABASE)
    for folder in (service.data_dir, copied):
        assert ask_sqlite(folder, "PRAGMA integrity_check") == "ok"
    assert ask_sqlite(copied, "SELECT count(*) FROM retrycontract_attempt WHERE state = 'judged'") >= judged
    assert ask_sqlite(service.data_dir, "SELECT min(next) FROM retrycontract_event") == 7
    lost, doubled = storm.check(lambda question: ask_sqlite(service.data_dir, question))
    print(f"\njudged_before={judged} {storm.figures()} lost={lost} doubled={doubled}")
    assert (lost, doubled) == (0, 0)
    with pytest.raises(AssertionError):  # the control: the copy lacks what came after it
        storm.check(lambda question: ask_sqlite(copied, question))
