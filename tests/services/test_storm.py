"""Faults in a row, in both ways to run: nothing that was answered is lost, nothing is done twice.

The soak has a tenth of them; `make chaos` has all, 198 faults and 60 kills.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.conftest import require
from tests.services.storm import Storm
from tests.serving.scaled import ScaledService
from tests.serving.servers import (
    NO_POSTGRESQL,
    NO_REDIS,
    PostgreSQL,
    Redis,
    postgresql_programs,
    redis_server,
    running_postgresql,
    running_redis,
)
from tests.serving.service import Service

# A hang guard: on a quiet machine a whole storm takes ten minutes, beside others' work several times that.
pytestmark = [pytest.mark.services, pytest.mark.soak, pytest.mark.timeout(7_200)]

EMBEDDED_KILLS = int(os.environ.get("RETRYCONTRACT_STORM_KILLS", "10"))
# Each kind of fault, and how often it comes; one run shuffles them with the same seed every time.
# A worker's child is started again in a moment; a process that loads all of the service takes seconds.
FAULTS = {"child": 112, "worker": 18, "both workers": 4, "web": 14, "redis": 32, "postgresql": 6,
          "redis stands still": 5, "postgresql stands still": 4, "worker stands still": 3}  # fmt: skip
SHARE = float(os.environ.get("RETRYCONTRACT_STORM_SHARE", "0.1"))  # of the faults above; each kind comes at least once
CALLS = 1_200
ROUNDS = 3  # of each of the slower faults
HANG = 120  # seconds; a hang guard
KILLED_WITHIN = 120  # a hang guard: a killed process that waits for its disk ends when the disk answers


def still(process: subprocess.Popen[bytes] | None, seconds: float) -> None:
    """Cut a process off from everybody without ending it, as a network does that drops every packet."""
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)


class Faults:
    """What can go wrong with a service of two web processes and two workers."""

    def __init__(self, service: ScaledService, redis: Redis, postgresql: PostgreSQL) -> None:
        self.service, self.redis, self.postgresql = service, redis, postgresql
        self.random = Random(4242)

    def happen(self, kind: str) -> None:
        """Let one fault happen, and start again what it ended."""
        getattr(self, kind.replace(" ", "_"))()

    def worker(self) -> None:
        number = self.random.randrange(2)
        self.service.kill_worker(number)
        self.service.restart_worker(number)

    def both_workers(self) -> None:
        for number in (0, 1):
            self.service.kill_worker(number)
        for number in (0, 1):
            self.service.restart_worker(number)

    def child(self) -> None:
        parent = self.random.choice(self.service.worker_processes).pid
        found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout.split()
        for child in found[:1]:
            with suppress(ProcessLookupError):  # it may end by itself this moment
                os.kill(int(child), signal.SIGKILL)

    def web(self) -> None:
        number = self.random.randrange(2)
        self.service.web_processes[number].kill()
        self.service.web_processes[number].wait(KILLED_WITHIN)
        self.service.restart_web(number)

    def redis_(self) -> None:
        self.redis.stop(signal.SIGKILL)
        self.redis.start()

    def postgresql_(self) -> None:
        self.postgresql.stop(signal.SIGQUIT)
        self.postgresql.start()

    def redis_stands_still(self) -> None:
        still(self.redis.process, 4)

    def postgresql_stands_still(self) -> None:
        still(self.postgresql.process, 4)

    def worker_stands_still(self) -> None:
        process = self.random.choice(self.service.worker_processes)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(8)  # longer than a lease: another worker takes over what it holds
        os.killpg(process.pid, signal.SIGCONT)


@contextmanager
def scaled_service(folder: Path) -> Iterator[Faults]:
    with running_redis() as redis, running_postgresql() as postgresql:
        environment = {
            "RETRYCONTRACT_DATABASE_URL": postgresql.new_database(), "RETRYCONTRACT_REDIS_URL": redis.url,
            "RETRYCONTRACT_JUDGE": "worker", "RETRYCONTRACT_LEASE_SECONDS": "6",
        }  # fmt: skip
        service = ScaledService(folder / "data", environment, webs=2, workers=2, anew=True)
        try:
            service.start()
            yield Faults(service, redis, postgresql)
        finally:
            service.stop(signal.SIGKILL)


def test_a_storm_on_the_scaled_service_loses_and_doubles_nothing(tmp_path: Path) -> None:
    require(redis_server(), NO_REDIS)
    require(postgresql_programs(), NO_POSTGRESQL)
    kinds = [kind for kind, times in FAULTS.items() for _ in range(max(1, round(times * SHARE)))]
    Random(2026).shuffle(kinds)
    with scaled_service(tmp_path) as faults:
        storm = Storm(faults.service, threads=16)
        with storm.load(CALLS):
            started = time.monotonic()
            for kind in kinds:
                faults.happen(f"{kind}_" if kind in ("redis", "postgresql") else kind)
                time.sleep(faults.random.uniform(0.1, 0.6))
            lasted, last_fault = time.monotonic() - started, time.monotonic()
        drained = time.monotonic() - last_fault

        def ask(question: str) -> Any:
            with psycopg.connect(faults.service.environment["RETRYCONTRACT_DATABASE_URL"]) as connection:
                row = connection.execute(question).fetchone()  # type: ignore[call-overload]
            return row[0]

        lost, doubled = storm.check(ask)
        shown = " ".join(f"{kind.replace(' ', '_')}={times}" for kind, times in Counter(kinds).items())
        print(f"\nfaults={len(kinds)} in={lasted:.0f}s {shown} {storm.figures()} "
              f"drained={drained:.1f}s lost={lost} doubled={doubled}")  # fmt: skip
        assert (lost, doubled) == (0, 0)


FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


@pytest.mark.skipif(FAKETIME is None, reason="no libfaketime here: apt-get install libfaketime")
def test_a_clock_that_jumps_loses_and_doubles_nothing(tmp_path: Path) -> None:
    jumps, clock = ["+1h", "-1h", "+40s", "-40s", "+2d", "+0"], tmp_path / "clock"
    clock.write_text("+0", encoding="ascii")
    faked = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
             "DONT_FAKE_MONOTONIC": "1", "RETRYCONTRACT_JUDGE": "worker"}  # fmt: skip
    service = Service(tmp_path / "data", faked, anew=True)
    service.start()
    storm = Storm(service, threads=3)
    try:
        with storm.load(CALLS):
            for jump in jumps:
                time.sleep(2)
                clock.write_text(jump, encoding="ascii")
            time.sleep(2)
    finally:
        service.stop()
    lost, doubled = storm.check(lambda question: ask_sqlite(tmp_path / "data", question))
    print(f"\njumps={len(jumps)} {storm.figures()} lost={lost} doubled={doubled}")
    assert (lost, doubled) == (0, 0)


def ask_sqlite(data_dir: Path, question: str, *, whole: bool = False) -> Any:
    """Ask the database of one process for one value, or for all rows."""
    with closing(sqlite3.connect(data_dir / "retrycontract.sqlite3")) as database:
        rows = database.execute(question).fetchall()
        return rows if whole else rows[0][0]


def kill_often(service: Service, kills: int, pause: Callable[[], float]) -> int:
    """Kill the service, also while it starts, and start it again; gives how often it was killed."""
    for number in range(kills):
        time.sleep(pause())
        assert service.process
        service.process.kill()
        service.process.wait(KILLED_WITHIN)
        if number % 4 == 3:  # once more, in the middle of its start
            command = [*service._manage("up"), "--port", str(service.port), *service.arguments]
            with (service.data_dir / "killed.log").open("ab") as log:
                starting = subprocess.Popen(command, env=service._environ(), stdout=log, stderr=log)
            time.sleep(pause())
            starting.kill()
            starting.wait(KILLED_WITHIN)
        service.start()
    return kills + kills // 4


def test_a_storm_on_one_process_loses_and_doubles_nothing(tmp_path: Path) -> None:
    service, random = Service(tmp_path / "data", anew=True), Random(7)
    service.start()
    storm = Storm(service, threads=3)
    try:
        with storm.load(CALLS):
            kills = kill_often(service, EMBEDDED_KILLS * 4 // 5, lambda: random.uniform(0.2, 2.5))
    finally:
        service.stop()

    def ask(question: str) -> Any:
        return ask_sqlite(tmp_path / "data", question)

    assert ask("PRAGMA integrity_check") == "ok"
    lost, doubled = storm.check(ask)
    print(f"\nkills={kills} {storm.figures()} lost={lost} doubled={doubled}")
    assert (lost, doubled) == (0, 0)


def test_restarts_in_turn_under_load_lose_and_double_nothing(tmp_path: Path) -> None:
    """A deploy: each process is told to end and started again, one after the other."""
    require(redis_server(), NO_REDIS)
    require(postgresql_programs(), NO_POSTGRESQL)
    with scaled_service(tmp_path) as faults:
        service, storm = faults.service, Storm(faults.service)
        with storm.load(CALLS):
            for number in (0, 1):
                for process, restart in (
                    (service.web_processes[number], service.restart_web),
                    (service.worker_processes[number], service.restart_worker),
                ):
                    process.send_signal(signal.SIGTERM)
                    # uvicorn, once all is finished, ends itself by the signal that it was sent
                    assert process.wait(KILLED_WITHIN) in (0, -signal.SIGTERM)
                    restart(number)

        def ask(question: str) -> Any:
            with psycopg.connect(service.environment["RETRYCONTRACT_DATABASE_URL"]) as connection:
                row = connection.execute(question).fetchone()  # type: ignore[call-overload]
            return row[0]

        lost, doubled = storm.check(ask)
        print(f"\nrestarts=4 {storm.figures()} lost={lost} doubled={doubled}")
        assert (lost, doubled) == (0, 0)
        assert ask("SELECT max(deliveries) FROM retrycontract_attempt") == 1, "a deploy lets what is in hand finish"
