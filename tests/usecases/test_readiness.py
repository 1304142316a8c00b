"""Readiness: the database decides, the rest is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from retrycontract.settings import RETRYCONTRACT
from retrycontract.store.models import WorkerBeat
from retrycontract.store.outages import LEAST_ROOM
from retrycontract.usecases.probes import look
from tests.factories import WRONG, make_agent, make_tool, submit
from tests.usecases.conftest import configure

pytestmark = pytest.mark.usefixtures("shared_database")

SILENT = "retrycontract.usecases.notify.doorbell.SilentDoorbell"
NOW = timezone.now()


def a_worker() -> None:
    WorkerBeat.objects.beat("here:1", timezone.now())


def a_worker_of_yesterday() -> None:
    WorkerBeat.objects.beat("here:1", timezone.now() - timedelta(days=1))


def queued(seconds: float) -> None:
    agent = make_agent()
    make_tool(agent)
    submit(agent, WRONG, at=NOW - timedelta(seconds=seconds))


FOUND: dict[str, tuple[list[Callable[[], None]], str, str]] = {
    "all is well": ([a_worker], SILENT, "ready"),
    "work that is being done": ([a_worker, lambda: queued(2)], SILENT, "ready"),
    "nobody works": ([], SILENT, "degraded"),
    "nobody has worked since yesterday": ([a_worker_of_yesterday], SILENT, "degraded"),
    "work that waits for long": ([a_worker, lambda: queued(61)], SILENT, "degraded"),
    "a bell that nobody hears": ([a_worker], "worker.embedded.EmbeddedDoorbell", "degraded"),
    "a bell that does not exist": ([a_worker], "nowhere.Bell", "degraded"),
}


@pytest.mark.parametrize(("happened", "bell", "status"), FOUND.values(), ids=list(FOUND))
def test_what_is_missing_degrades_the_service(
    settings: Settings, happened: list[Callable[[], None]], bell: str, status: str
) -> None:
    configure(settings, judge="worker", doorbell=bell)
    for event in happened:
        event()
    assert look(now=NOW).status == status


def test_the_row_of_a_probe_whose_clock_is_ahead_is_no_worker(settings: Settings) -> None:
    configure(settings, judge="worker", doorbell=SILENT)
    assert look(now=NOW + timedelta(days=1)).workers == 0


def test_the_age_of_the_oldest_waiting_attempt_is_told(settings: Settings) -> None:
    configure(settings, judge="worker", doorbell=SILENT)
    queued(61)
    assert look(now=NOW).to_json() == {
        "status": "degraded",
        "database": "ok",
        "doorbell": "ok",
        "workers": 0,
        "oldest_waiting_seconds": 61.0,
    }


def test_a_worker_signs_at_most_every_ten_seconds_and_the_long_gone_are_forgotten() -> None:
    WorkerBeat.objects.beat("gone:1", NOW - timedelta(days=2))
    for seconds in (0, 5, 9, 11):
        WorkerBeat.objects.beat("here:1", NOW + timedelta(seconds=seconds))
    assert list(WorkerBeat.objects.values_list("name", "beat_at")) == [("here:1", NOW + timedelta(seconds=11))]


def test_a_database_that_reads_but_stores_nothing_is_not_ready() -> None:
    closed = "PRAGMA query_only = ON" if connection.vendor == "sqlite" else "SET default_transaction_read_only = on"
    with connection.cursor() as cursor:
        cursor.execute(closed)
    state = look(now=NOW)
    assert (state.status, state.to_json()["database"]) == ("not-ready", "takes no writes")
    assert look(now=NOW).status != "not-ready"  # on another connection, which writes
    assert WorkerBeat.objects.alive(NOW).count() == 0  # the probe's row counts for no worker


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the disk of another database cannot be looked at")
def test_a_disk_on_which_a_submit_would_not_fit_is_not_ready() -> None:
    disk = shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent)
    assert look(now=NOW, least_room=disk.total).to_json()["database"] == "takes no writes"
    assert look(now=NOW).to_json()["database"] == "ok"  # at once, when there is room again
    assert 2 * RETRYCONTRACT.max_body_bytes <= LEAST_ROOM < disk.total
