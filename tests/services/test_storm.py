"""Faults in a row, in both ways to run: nothing that was answered is lost, nothing is done twice.

The soak has a tenth of them; `make chaos` has all, 198 faults and 60 kills.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.services.faults import KILLED_WITHIN, restart_in_turn, scaled_out
from tests.services.storm import Storm, ask
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


def test_a_storm_on_the_scaled_service_loses_and_doubles_nothing(tmp_path: Path) -> None:
    kinds = [kind for kind, times in FAULTS.items() for _ in range(max(1, round(times * SHARE)))]
    Random(2026).shuffle(kinds)
    with scaled_out(tmp_path, RETRYCONTRACT_LEASE_SECONDS="6") as faults:
        storm = Storm(faults.service, threads=16)
        with storm.load(CALLS):
            started = time.monotonic()
            for kind in kinds:
                faults.happen(f"{kind}_" if kind in ("redis", "postgresql") else kind)
                time.sleep(faults.random.uniform(0.1, 0.6))
            lasted, last_fault = time.monotonic() - started, time.monotonic()
        drained = time.monotonic() - last_fault

        lost, doubled = storm.check(partial(ask, faults.service))
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
    lost, doubled = storm.check(partial(ask, service))
    print(f"\njumps={len(jumps)} {storm.figures()} lost={lost} doubled={doubled}")
    assert (lost, doubled) == (0, 0)


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
    assert ask(service, "PRAGMA integrity_check") == "ok"
    lost, doubled = storm.check(partial(ask, service))
    print(f"\nkills={kills} {storm.figures()} lost={lost} doubled={doubled}")
    assert (lost, doubled) == (0, 0)


def test_restarts_in_turn_under_load_lose_and_double_nothing(tmp_path: Path) -> None:
    """A deploy: each process is told to end and started again, one after the other."""
    with scaled_out(tmp_path, RETRYCONTRACT_LEASE_SECONDS="6") as faults:
        service, storm = faults.service, Storm(faults.service)
        with storm.load(CALLS):
            restart_in_turn(service)
        lost, doubled = storm.check(partial(ask, service))
        print(f"\nrestarts=4 {storm.figures()} lost={lost} doubled={doubled}")
        assert (lost, doubled) == (0, 0)
        deliveries = ask(service, "SELECT max(deliveries) FROM retrycontract_attempt")
        assert deliveries == 1, "a deploy lets what is in hand finish"
