"""The service under steady load: alone, with a fault now and then, and without Redis; nothing is lost, nothing grows.

`RETRYCONTRACT_LOAD_SECONDS` says for how long. Figures are printed, and no time is held to: machines are shared.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count, cycle
from pathlib import Path

import psycopg
import pytest
from redis import Redis as Client

from tests.services.bombing import held
from tests.services.faults import KILLED_WITHIN, scaled_out
from tests.services.load import HANG, Load
from tests.services.storm import rows
from tests.serving import running
from tests.serving.scaled import ScaledService
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually
from worker.beside_pool import PATIENCE

SECONDS = float(os.environ.get("RETRYCONTRACT_LOAD_SECONDS", "20"))
pytestmark = [pytest.mark.services, pytest.mark.soak, pytest.mark.timeout(7_200 + SECONDS)]

WARM_SECONDS = 3.0  # before memory is read first: schemas are compiled, connections and threads made
WITHOUT_REDIS = 25.0  # attempts a second
FAULTS = ("child", "worker", "redis_", "web", "connections")  # those of the storms, and one of these tests' own
FAULT_EVERY = min(60.0, SECONDS / (len(FAULTS) + 1))  # seconds, so that each kind comes once however short the run is
LOOK_EVERY = max(0.5, min(5.0, FAULT_EVERY / 5))
# What each gauge may stand higher at the end than at its highest before the first fault.
MAY_VARY = {
    "files": 8,  # of each process: one for each request in hand, and a few that sweep and courier open and close
    "connections": 8,  # sweep and courier of two workers have four threads each that connect for a moment
    "keys": 6,  # a list is a key while something is in it: two kinds of rings, dear ones, and three of unacknowledged
    "waiting": 7,  # seconds: a ring that nobody heard is missed after five, by a sweep that comes every two
}
OTHERS = " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
LEFT = "SELECT 1 FROM retrycontract_attempt WHERE state IN ('queued', 'leased') AND NOT is_dear"
Gauges = dict[str, float]


def processes(service: Service) -> dict[str, int]:
    """Name the processes of a service, and give their numbers."""
    if not isinstance(service, ScaledService):
        assert service.process is not None
        return {"service": service.process.pid}
    started = {"web": service.web_processes, "worker": service.worker_processes}
    return {f"{kind}{number}": each.pid for kind, them in started.items() for number, each in enumerate(them)}


def memory(service: Service) -> int:
    """Give the megabytes that all processes of a service hold."""
    return sum(map(held, processes(service).values())) // 1024


def bear(load: Load) -> None:
    """Let a load run, print what it was like, and see that each attempt was judged once."""
    with load.running():
        time.sleep(WARM_SECONDS)
        before = memory(load.service)
        time.sleep(SECONDS)
        after = memory(load.service)
    lost, doubled = load.check()
    print(f"\n{load.figures()} memory_start={before}MB memory_end={after}MB lost={lost} doubled={doubled}")
    assert (lost, doubled) == (0, 0)


def test_one_process_bears_fifty_attempts_a_second(tmp_path: Path) -> None:
    with running(Service(tmp_path / "data", anew=True)) as service:
        bear(Load(service, rate=50))


def test_the_scaled_service_bears_a_hundred_attempts_a_second(tmp_path: Path) -> None:
    with scaled_out(tmp_path) as faults:
        bear(Load(faults.service, rate=100))


def test_without_idempotency_keys_what_is_sent_twice_counts_twice(tmp_path: Path) -> None:
    with running(Service(tmp_path / "data", anew=True)) as service:
        load = Load(service, rate=50, is_keyed=False)
        with load.running():
            time.sleep(WARM_SECONDS)
        lost, doubled = load.check()
    print(f"\nsent={len(load.expected)} lost={lost} doubled={doubled}")
    assert doubled > 0


def open_files(pid: int) -> int:
    """Count the descriptors of a process; none of one that has ended."""
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0


def look_at(service: Service, redis: Client | None = None) -> Gauges:
    """Read what would grow if something leaked, or were left undone."""
    gauges: Gauges = {f"{name}_files": open_files(pid) for name, pid in processes(service).items()}
    gauges["memory_mb"] = memory(service)
    age = "(julianday('now') - julianday(min(submitted_at))) * 86400"
    if redis is not None:
        age = "extract(epoch FROM now() - min(submitted_at))"
        gauges["connections"] = rows(service, f"SELECT count(*) {OTHERS}")[0][0]
        gauges["keys"], gauges["redis_kb"] = redis.dbsize(), redis.info("memory")["used_memory"] // 1024
    waiting = f"SELECT coalesce({age}, 0) FROM retrycontract_attempt WHERE state IN ('queued', 'leased')"
    return gauges | {"waiting": float(rows(service, waiting)[0][0])}


def watch(look: Callable[[], Gauges], seconds: float) -> list[Gauges]:
    """Look every few seconds for so long, at least three times."""
    end, seen = time.monotonic() + seconds, list[Gauges]()
    while time.monotonic() < end or len(seen) < 3:
        time.sleep(LOOK_EVERY)
        seen.append(look())
    return seen


def grown(early: Sequence[Gauges], late: Sequence[Gauges]) -> Gauges:
    """Give the gauges that stand higher than they did, by more than they may vary."""
    now = {name: statistics.median(each[name] for each in late) for name in late[0]}
    may_vary = {name: MAY_VARY[kind] for name in now if (kind := name.rpartition("_")[2]) in MAY_VARY}
    return {name: now[name] for name, by in may_vary.items() if now[name] > by + max(each[name] for each in early)}


def soak(load: Load, look: Callable[[], Gauges], faults: Iterator[Callable[[], object]]) -> list[Gauges]:
    """Let faults happen under load, and hold the gauges to what they were before, which are given."""
    with load.running():
        time.sleep(WARM_SECONDS)
        seen = early = watch(look, FAULT_EVERY)
        end, happened = time.monotonic() + SECONDS - 2 * FAULT_EVERY, 0
        while time.monotonic() < end or happened < len(FAULTS):
            next(faults)()
            happened += 1
            seen = seen + watch(look, FAULT_EVERY)
        given_up = time.monotonic() + HANG
        while (higher := grown(early, late := watch(look, 0))) and time.monotonic() < given_up:
            pass  # the last fault takes a while to get over, and longer where others work
    lost, doubled = load.check()
    most = ({name: max(each[name] for each in gauges) for name in late[0]} for gauges in (early, seen, late))
    shown = " ".join(f"{name}={'/'.join(f'{each:.0f}' for each in values)}" for name, *values in joined(*most))
    print(f"\nfaults={happened} {load.figures()} lost={lost} doubled={doubled} early/most/end: {shown}")
    assert (lost, doubled, higher) == (0, 0, {})
    return early


def joined(*gauges: Gauges) -> Iterator[tuple[str, float]]:
    """Bring together what is of one name."""
    yield from ((name, *(each[name] for each in gauges)) for name in gauges[0])


def test_a_fault_now_and_then_leaves_nothing_behind_in_the_scaled_service(tmp_path: Path) -> None:
    with scaled_out(tmp_path, RETRYCONTRACT_LEASE_SECONDS="6") as faults:
        service, redis = faults.service, Client.from_url(faults.redis.url)
        kinds: dict[str, Callable[[], object]] = {kind: partial(faults.happen, kind) for kind in FAULTS}
        kinds["connections"] = partial(rows, service, f"SELECT pg_terminate_backend(pid) {OTHERS}")
        look = partial(look_at, service, redis)
        early = soak(Load(service, rate=20, is_calm=False), look, cycle(kinds.values()))
        with ExitStack() as leaks:  # the control: what hangs on, and a queue that nobody works on, is seen
            for port in service.ports * 60:
                leaks.enter_context(socket.create_connection(("127.0.0.1", port)))
            for number in range(40):
                leaks.enter_context(psycopg.connect(service.environment["RETRYCONTRACT_DATABASE_URL"]))
                redis.set(f"leak {number}", "")
            for number in (0, 1):
                service.kill_worker(number)
            agent = AgentClient(service, service.new_key("agent 0", another=True))
            stuck = {"tool": "count", "tool_call_id": "stuck", "arguments": {"n": 1}}
            assert agent.send("POST", "/calls", stuck, headers={"Prefer": "wait=0"}).status == 202
            seen = {"web0_files", "web1_files", "connections", "keys", "waiting"}
            eventually(lambda: grown(early, [look()]).keys() == seen, within=HANG)


def test_kills_of_one_process_leave_nothing_behind(tmp_path: Path) -> None:
    with running(Service(tmp_path / "data", {"RETRYCONTRACT_JUDGE": "worker"}, anew=True)) as service:

        def die() -> None:
            assert service.process is not None
            service.process.kill()
            service.process.wait(KILLED_WITHIN)
            service.start()

        early = soak(Load(service, rate=20, is_calm=False), partial(look_at, service), cycle([die]))
        with ExitStack() as leaks:  # the control
            for _ in range(60):
                leaks.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            eventually(lambda: "service_files" in grown(early, [look_at(service)]), within=HANG)


def test_without_redis_all_is_judged_by_the_sweep_and_rings_are_heard_afterwards(tmp_path: Path) -> None:
    with scaled_out(tmp_path) as faults:
        service, load, tries = faults.service, Load(faults.service, rate=WITHOUT_REDIS), count()
        faults.redis.stop(signal.SIGKILL)
        with load.running():
            time.sleep(min(SECONDS, 500 / WITHOUT_REDIS))
        lost, doubled = load.check()
        faults.redis.start()
        agent = AgentClient(service, service.new_key("agent 0", another=True))

        def is_heard() -> bool:
            assert agent.submit("count", f"heard {next(tries)}", {"n": 1})["status"] == "valid"
            newest = "SELECT judged_at - submitted_at FROM retrycontract_attempt ORDER BY id DESC LIMIT 1"
            return bool(rows(service, newest)[0][0] < PATIENCE)  # the sweep leaves it alone for so long

        eventually(is_heard, within=HANG)
        print(f"\n{load.figures()} lost={lost} doubled={doubled} unheard={next(tries) - 1}")
        assert (lost, doubled) == (0, 0)


def test_without_redis_and_sweep_work_waits_until_a_ring_is_heard(tmp_path: Path) -> None:
    with scaled_out(tmp_path, RETRYCONTRACT_SWEEP_SECONDS="0") as faults:
        service, load = faults.service, Load(faults.service, rate=WITHOUT_REDIS, waits=False)
        faults.redis.stop(signal.SIGKILL)
        with load.running():
            time.sleep(WARM_SECONDS)
        time.sleep(2 * PATIENCE.total_seconds())
        lost, doubled = load.check()
        print(f"\nsent={len(load.expected)} lost={lost} doubled={doubled}")
        assert lost == len(load.expected)
        faults.redis.start()
        agent = AgentClient(service, service.new_key("agent 0", another=True))
        body = {"tool": "count", "tool_call_id": "a ring", "arguments": {"n": 1}}

        def is_judged() -> bool:  # what is dear has rings of its own
            agent.send("POST", "/calls", body, headers={"Prefer": "wait=1"})
            return not rows(service, LEFT)

        eventually(is_judged, within=HANG)
