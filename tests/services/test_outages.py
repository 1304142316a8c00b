"""Redis dies, PostgreSQL dies: what is said meanwhile, and that all goes on by itself afterwards; nothing leaks."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from celery import Celery
from redis import Redis as Client

from tests.bombs import known
from tests.conftest import require
from tests.services.faults import scaled_out
from tests.serving import running
from tests.serving.scaled import ScaledService
from tests.serving.servers import (
    NO_POSTGRESQL,
    NO_REDIS,
    PASSWORD,
    PostgreSQL,
    Redis,
    postgresql_programs,
    redis_server,
    running_postgresql,
    running_redis,
)
from tests.serving.service import AgentClient
from tests.serving.threads import eventually
from worker.celery_doorbell import JUDGE, QUEUE

pytestmark = [pytest.mark.services, pytest.mark.soak]

OUTAGE_SECONDS = 6.0  # more than it takes to settle
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SECRET = "sk_live_" + "51HqLyjWDarjtT1zdp7dcXYZ"


@pytest.fixture(scope="module")
def own_redis() -> Iterator[Redis]:
    require(redis_server(), NO_REDIS)
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def own_postgresql() -> Iterator[PostgreSQL]:
    require(postgresql_programs(), NO_POSTGRESQL)
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="module")
def scaled(
    own_redis: Redis, own_postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScaledService]:
    environment = {
        "RETRYCONTRACT_DATABASE_URL": own_postgresql.new_database(),
        "RETRYCONTRACT_REDIS_URL": own_redis.url,
        "RETRYCONTRACT_JUDGE": "worker",
        "RETRYCONTRACT_SWEEP_SECONDS": "1",
        "RETRYCONTRACT_CHECK_SECONDS": "8",  # so long that others' attempts come to their verdicts meanwhile
    }
    with running(
        ScaledService(tmp_path_factory.mktemp("outages") / "data", environment, webs=1, workers=1, anew=True)
    ) as service:
        yield service


@pytest.fixture(scope="module")
def agent(scaled: ScaledService) -> AgentClient:
    client = AgentClient(scaled, scaled.new_key("outages"))
    assert client.register("count", SCHEMA).status == 201
    return client


def readiness(scaled: ScaledService) -> tuple[int, Any]:
    answer = scaled.send("GET", "/readyz", headers={"Host": "not-allowed.example"})
    return answer.status, answer.body


def test_a_service_that_is_well_says_so(scaled: ScaledService) -> None:
    status, state = readiness(scaled)
    assert (status, state["status"], state["workers"]) == (200, "ready", 1)
    assert scaled.send("GET", "/livez").body == {"status": "alive"}


def test_a_worker_keeps_its_child_however_many_rings_it_has_answered(scaled: ScaledService, own_redis: Redis) -> None:
    worker = scaled.worker_processes[0].pid
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text()
    ringer = Celery("ringer", broker=own_redis.url, set_as_current=False, fixups=[])
    for _ in range(2_100):
        ringer.send_task(JUDGE, kwargs={"attempt_id": 0}, queue=QUEUE, ignore_result=True)
    with Client.from_url(own_redis.url) as redis:
        eventually(lambda: not redis.llen(QUEUE) and not redis.hlen("unacked"), within=300)
    assert Path(f"/proc/{worker}/task/{worker}/children").read_text() == children != ""


def test_while_redis_is_down_work_is_taken_in_and_judged_and_agents_are_woken(
    scaled: ScaledService, agent: AgentClient, own_redis: Redis
) -> None:
    own_redis.stop(signal.SIGKILL)
    assert readiness(scaled)[1]["doorbell"] == "unheard"
    body = {"tool": "count", "tool_call_id": "no redis", "arguments": {"n": 1}}
    answer = agent.send("POST", "/calls", body, headers={"Prefer": "wait=60"})
    assert (answer.status, answer.body["status"]) == (200, "valid")
    own_redis.start()
    eventually(lambda: readiness(scaled)[1]["status"] == "ready")
    assert agent.submit("count", "redis again", {"n": 1})["status"] == "valid"


# What keeps it from taking anything in, and what ends that.
STATES = {
    "full": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    "read-only": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    "another password": ("CONFIG SET requirepass another", f"CONFIG SET requirepass {PASSWORD}"),
}


@pytest.mark.parametrize("state", STATES)
def test_a_redis_that_takes_nothing_in_costs_time_and_no_work(
    scaled: ScaledService, agent: AgentClient, own_redis: Redis, state: str
) -> None:
    made, undone = STATES[state]
    with Client.from_url(own_redis.url, single_connection_client=True) as redis:  # which stays logged in
        redis.execute_command(*made.split())  # type: ignore[no-untyped-call]
        for kind in ("normal", "pubsub"):  # all others come again, and find it so
            redis.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")  # type: ignore[no-untyped-call]
        try:
            body = {"tool": "count", "tool_call_id": state, "arguments": {"n": 1}}
            answer = agent.send("POST", "/calls", body, headers={"Prefer": "wait=60"})
            assert (answer.status, answer.body["status"]) == (200, "valid")
            assert scaled.send("GET", "/livez").status == 200
        finally:
            redis.execute_command(*undone.split())  # type: ignore[no-untyped-call]
    eventually(lambda: readiness(scaled)[1]["status"] == "ready", within=120)
    assert agent.submit("count", f"{state} no more", {"n": 1})["status"] == "valid"


def test_while_postgresql_is_down_requests_are_refused_for_the_moment_and_then_all_goes_on(
    scaled: ScaledService, agent: AgentClient, own_postgresql: PostgreSQL
) -> None:
    own_postgresql.stop(signal.SIGQUIT)
    body = {"tool": "count", "tool_call_id": "no database", "arguments": {"n": 1}}
    answer = agent.send("POST", "/calls", body)
    assert (answer.status, answer.body["code"]) == (503, "database-unavailable")
    assert answer.headers["retry-after"] == "1"
    eventually(lambda: readiness(scaled)[0] == 503)
    assert scaled.send("GET", "/livez").status == 200
    own_postgresql.start()
    for number in range(10):
        assert agent.submit("count", f"database again {number}", {"n": number})["status"] == "valid"
    assert readiness(scaled)[0] == 200


def test_an_outage_of_postgresql_has_two_lines_of_each_process_however_many_are_refused(
    scaled: ScaledService, agent: AgentClient, own_postgresql: PostgreSQL
) -> None:
    blocked = agent.submit("count", "for a person", {"n": "x"}, max_attempts=1)
    assert blocked["status"] == "blocked"
    path = f"/calls/{blocked['call_id']}/wait?for=guidance"
    waits = Thread(target=lambda: agent.send("GET", path, headers={"Prefer": "wait=20"}))
    waits.start()  # so that what the listener asks each second fails as well

    def is_settled() -> bool:
        agent.submit("count", "writes", {"n": 1})
        return scaled.log.count("takes no writes") == scaled.log.count("takes writes again")

    eventually(is_settled, within=60)  # after the outage of another test
    before = len(scaled.log)
    own_postgresql.stop(signal.SIGQUIT)
    until = time.monotonic() + OUTAGE_SECONDS
    while time.monotonic() < until:
        body = {"tool": "count", "tool_call_id": "outage", "arguments": {"n": 1}}
        assert agent.send("POST", "/calls", body).status == 503
        assert scaled.send("GET", "/login/").status == 503
    own_postgresql.start()
    eventually(lambda: readiness(scaled)[0] == 200, within=60)

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in scaled.log[before:].splitlines() if line.startswith("{")]

    def told() -> list[str]:
        of_calls = ("Tool ", "Redis ")
        return sorted(
            line["message"] for line in lines() if line["level"] != "info" and not line["message"].startswith(of_calls)
        )

    for number in range(10):
        agent.submit("count", f"after the outage {number}", {"n": number})
    both = ["The database takes no writes: it does not answer", "The database takes writes again"]
    eventually(lambda: agent.submit("count", "last", {"n": 1}) and len(told()) >= 4, within=60)
    time.sleep(OUTAGE_SECONDS)
    assert told() == sorted(both * 2)
    waits.join()


def test_a_lock_that_is_held_for_long_is_not_waited_for(scaled: ScaledService, agent: AgentClient) -> None:
    body = {"tool": "count", "tool_call_id": "locked", "session_id": "locked", "arguments": {"n": 1}}
    with psycopg.connect(scaled.environment["RETRYCONTRACT_DATABASE_URL"]) as connection:
        connection.execute("SELECT 1 FROM retrycontract_agent FOR UPDATE")
        answer = agent.send("POST", "/calls", body)  # answered while the lock is still held
        assert (answer.status, answer.body["code"]) == (503, "database-unavailable")
    assert agent.send("POST", "/calls", body).status == 200


def test_a_secret_is_in_no_queue_and_no_log_and_at_rest_nowhere(
    scaled: ScaledService, agent: AgentClient, own_redis: Redis, own_postgresql: PostgreSQL
) -> None:
    scaled.kill_worker(0)
    body = {"tool": "count", "tool_call_id": "secret", "arguments": {"n": SECRET, "note": f"use {SECRET}"}}
    queued = agent.send("POST", "/calls", body, headers={"Prefer": "wait=0"})
    assert queued.status == 202
    with Client.from_url(own_redis.url) as client:
        client.config_set("rdbcompression", "no")
        held = b"".join(client.dump(name) or b"" for name in client.keys("*"))  # type: ignore[union-attr]
    assert b"retrycontract.judge" in held
    assert SECRET.encode() not in held
    assert_nowhere(own_postgresql)
    scaled.restart_worker(0)
    path = f"/calls/{queued.body['call_id']}/wait?for=verdict"
    assert agent.send("GET", path, headers={"Prefer": "wait=60"}).body["status"] == "retry"
    assert_nowhere(own_postgresql)
    assert SECRET not in scaled.log


def assert_nowhere(server: PostgreSQL) -> None:
    """Look into every file of the server: tables, write-ahead log, log."""
    time.sleep(0.3)  # the write-ahead log's buffers reach the file
    holding = [path for path in Path(server.folder).rglob("*") if path.is_file() and SECRET.encode() in read(path)]
    assert holding == []


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.parametrize("binds_apart", [True, False], ids=["as it is", "without our option"])
def test_a_statement_that_fails_writes_its_values_to_no_log(
    scaled: ScaledService, agent: AgentClient, own_postgresql: PostgreSQL, binds_apart: bool
) -> None:
    before = own_postgresql.log.count("ERROR:")
    code = (
        "import django; django.setup()\n"
        "from django.conf import settings\n"
        f"settings.DATABASES['default']['OPTIONS']['server_side_binding'] = {binds_apart}\n"
        "from retrycontract.store.models import Agent\n"
        "from django.utils import timezone\n"
        f"try: Agent.objects.create(name='x' * 300, namespace={SECRET!r}, created_at=timezone.now())\n"
        "except Exception: pass\n"
    )
    scaled.run_code(code)
    assert own_postgresql.log.count("ERROR:") == before + 1
    assert (SECRET not in own_postgresql.log) is binds_apart


def test_a_check_that_never_ends_is_cut_off_counts_as_failed_and_stops_nobody_else(
    scaled: ScaledService, agent: AgentClient
) -> None:
    scaled.add_worker()
    bomb = known()[0]
    dear = AgentClient(scaled, scaled.new_key("dear"))
    assert dear.register("dear", bomb.schema).status == 201
    body = {"tool": "dear", "tool_call_id": "dear", "arguments": bomb.value}
    call_id = dear.send("POST", "/calls", body, headers={"Prefer": "wait=0"}).body["call_id"]
    for number in range(5):
        assert agent.submit("count", f"meanwhile {number}", {"n": number})["status"] == "valid"
    path = f"/calls/{call_id}/wait?for=verdict"
    verdict = dear.send("GET", path, headers={"Prefer": "wait=60"}).body
    assert (verdict["status"], verdict["attempt"]) == ("retry", 1)
    assert "too much work to check" in verdict["tool_result"]["content"]
    assert "fewer and shorter values" in verdict["tool_result"]["content"]
    with psycopg.connect(scaled.environment["RETRYCONTRACT_DATABASE_URL"]) as connection:
        told = connection.execute(
            "SELECT c.tool_name, a.deliveries"
            " FROM retrycontract_attempt a JOIN retrycontract_call c ON c.id = a.call_id"
            " WHERE a.judged_at >= (SELECT submitted_at FROM retrycontract_attempt WHERE tool_call_id = 'dear')"
            " ORDER BY a.judged_at"
        ).fetchall()
    assert told == [*[("count", 1)] * 5, ("dear", 1)]  # the others' were judged while it was under way, and it but once


# Seconds; a broker that is silent is waited for by Celery itself, twice.
ENDS_WITHIN = {"gone": 10.0, "silent": 25.0}


@pytest.mark.parametrize("state", ENDS_WITHIN)
def test_an_idle_worker_ends_soon_although_redis_and_postgresql_are_away(tmp_path: Path, state: str) -> None:
    with scaled_out(tmp_path, webs=1, workers=1, RETRYCONTRACT_JUDGE="auto", RETRYCONTRACT_SWEEP_SECONDS="1") as faults:
        redis, postgresql = faults.redis, faults.postgresql
        assert redis.process is not None
        assert postgresql.process is not None
        servers, worker = (redis.process, postgresql.process), faults.service.worker_processes[0]
        if state == "gone":
            redis.stop(signal.SIGKILL)
            postgresql.stop(signal.SIGQUIT)
        else:
            for server in servers:
                server.send_signal(signal.SIGSTOP)
        try:
            time.sleep(4)  # some sweeps that fail
            began = time.monotonic()
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)
            took = time.monotonic() - began
        finally:
            for server in servers if state == "silent" else ():
                server.send_signal(signal.SIGCONT)
        print(f"\n{state}: an idle worker ended after {took:.1f} s")
        assert took < ENDS_WITHIN[state]
