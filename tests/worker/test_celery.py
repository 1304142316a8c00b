"""What goes through Redis: the number of an attempt and the id of a call, quickly or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from redis import Redis as Client

from retrycontract.store.models import Attempt
from tests.factories import WRONG, make_agent, make_tool, submit
from tests.serving.servers import Redis
from tests.serving.service import ROOT
from tests.serving.threads import eventually
from tests.worker.conftest import queue
from worker.celery_doorbell import (
    AWAKE,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PAUSE_AFTER_REFUSAL,
    Breaker,
    CeleryDoorbell,
)

pytestmark = pytest.mark.services


def seconds(work: Any) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def test_a_message_holds_the_number_of_the_attempt_and_nothing_of_the_call(
    bell: CeleryDoorbell, own_redis: Redis
) -> None:
    bell.attempt_queued(4711)
    (message,) = queue(own_redis)
    arguments, keywords, _ = json.loads(b64decode(message["body"]))
    assert (arguments, keywords) == ([], {"attempt_id": 4711})
    assert (message["headers"]["argsrepr"], message["headers"]["kwargsrepr"]) == ("", "")


def test_a_worker_that_is_awake_is_rung_past_celery(bell: CeleryDoorbell, own_redis: Redis) -> None:
    awake = CeleryDoorbell()
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(awake.next_ring, 1.5)
        with Client.from_url(own_redis.url) as client:
            eventually(lambda: client.info("clients")["blocked_clients"])  # type: ignore[index]
        bell.attempt_queued(4711)
        assert heard.result() == 4711
    assert queue(own_redis) == []


def test_rings_that_nobody_is_awake_for_are_one_message_and_one_word(bell: CeleryDoorbell, own_redis: Redis) -> None:
    for number in range(1, 6):
        bell.attempt_queued(number)
    assert len(queue(own_redis)) == 1
    assert [bell.next_ring(0.01), bell.next_ring(0.01)] == [0, None], "whoever wakes up looks what waits, once"
    assert bell.is_waking()
    bell.attempt_queued(6)
    assert len(queue(own_redis)) == 1, "the message stands for all that waits"


@pytest.mark.parametrize("word", [b"9" * 5_000, b"\xff", b"", b"-1", b"look"])
def test_whatever_is_written_for_those_awake_only_has_them_look(
    bell: CeleryDoorbell, own_redis: Redis, word: bytes
) -> None:
    with Client.from_url(own_redis.url) as client:
        client.rpush(AWAKE, word)
    assert bell.next_ring(0.01) == 0


def test_a_redis_that_is_gone_costs_nothing_and_is_asked_again_soon(bell: CeleryDoorbell, own_redis: Redis) -> None:
    assert bell.ring_worker(1)
    own_redis.stop(signal.SIGKILL)
    assert seconds(lambda: bell.attempt_queued(2)) < 1
    assert not bell.is_heard()
    own_redis.start()
    time.sleep(PAUSE_AFTER_REFUSAL)
    assert bell.ring_worker(3), "a connection that broke is made anew"
    assert bell.is_heard()


def test_a_redis_that_stalls_costs_two_seconds_once(bell: CeleryDoorbell, own_redis: Redis) -> None:
    bell.attempt_queued(1)
    assert own_redis.process is not None
    own_redis.process.send_signal(signal.SIGSTOP)
    try:
        assert 1.5 < seconds(lambda: bell.attempt_queued(2)) < 4
        assert seconds(lambda: [bell.attempt_queued(number) for number in range(100)]) < 0.5
        assert seconds(lambda: bell.call_changed("call_1", 1)) < 0.5
    finally:
        own_redis.process.send_signal(signal.SIGCONT)


def test_a_breaker_waits_ever_longer_after_stalls_and_short_after_a_refusal() -> None:
    now = 100.0
    breaker = Breaker(lambda: now)

    def fail(after: float) -> None:
        nonlocal now
        now += after
        raise ConnectionError

    def is_let_through() -> bool:
        return breaker.attempt(lambda: None)

    stalls = [(2.0, pause) for pause in (FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE, LONGEST_PAUSE)]
    for took, pause in (*stalls, (2.0, LONGEST_PAUSE), (0.01, PAUSE_AFTER_REFUSAL)):
        assert not breaker.attempt(lambda took=took: fail(took), ConnectionError)
        now += pause - 0.01
        assert not is_let_through()
        now += 0.02
    assert is_let_through()
    # One that began beside another finds out the same, and makes nobody wait longer.
    beside = partial(breaker.attempt, lambda: fail(2.0), ConnectionError)
    assert not breaker.attempt(lambda: beside() or fail(0.0), ConnectionError)
    now += FIRST_PAUSE
    assert is_let_through(), "it answered meanwhile"
    assert breaker.failures == 9


@pytest.mark.usefixtures("shared_database")
def test_what_comes_in_is_stored_although_redis_is_gone(bell: CeleryDoorbell, own_redis: Redis) -> None:
    own_redis.stop(signal.SIGKILL)
    agent = make_agent()
    make_tool(agent)
    attempt = submit(agent, WRONG)
    assert Attempt.objects.left_behind(timezone.now(), timezone.now()).get() == attempt


def configured(redis_url: str, code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RETRYCONTRACT")}
    environment |= {"RETRYCONTRACT_DATA_DIR": str(tmp_path), "RETRYCONTRACT_REDIS_URL": redis_url}
    environment |= {"RETRYCONTRACT_LEASE_SECONDS": "8"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_the_application_is_found_by_celery_and_cuts_work_off_before_its_lease_ends(tmp_path: Path) -> None:
    names = "conf.task_time_limit, conf.accept_content, conf.result_backend, conf.CELERY_DB_REUSE_MAX"
    code = f"from celery.app.utils import find_app; conf = find_app('worker').conf; print({names})"
    run = configured("redis://localhost", code, tmp_path)
    assert run.stdout.strip() == "8.0 ['json'] None 200", run.stderr


def test_without_a_redis_a_worker_says_what_it_needs(tmp_path: Path) -> None:
    run = configured("", "import worker.celery", tmp_path)
    assert "RETRYCONTRACT_REDIS_URL is empty" in run.stderr


def test_the_embedded_service_loads_neither_celery_nor_redis(tmp_path: Path) -> None:
    setup = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'retrycontract.settings'; django.setup()"
    code = f"{setup}; import worker.embedded, sys; print(*{{'celery', 'redis'}} & set(sys.modules))"
    run = configured("", code, tmp_path)
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr


def test_a_message_that_redis_is_too_slow_to_forget_holds_no_place(own_redis: Redis, tmp_path: Path) -> None:
    assert own_redis.process is not None
    code = f"""
import logging, os, signal
from celery.utils.imports import symbol_by_name
from worker.celery import JUDGE, app
logging.disable(logging.CRITICAL)
app.conf.broker_transport_options = {{**app.conf.broker_transport_options, "socket_timeout": 0.3}}
app.send_task(JUDGE, kwargs={{"attempt_id": 1}})
with app.connection_for_read() as connection:
    channel, came = connection.channel(), []
    consumer = app.amqp.TaskConsumer(channel, on_message=came.append)
    consumer.qos(prefetch_count=1)
    consumer.consume()
    connection.drain_events(timeout=10)
    message, task = came[0], app.tasks[JUDGE]
    places = [channel.qos.can_consume()]
    request = symbol_by_name(task.Request)(
        message, app=app, task=task, on_ack=message.ack_log_error, connection_errors=connection.connection_errors
    )
    os.kill({own_redis.process.pid}, signal.SIGSTOP)
    try:
        request.acknowledge()
    finally:
        os.kill({own_redis.process.pid}, signal.SIGCONT)
    places += [message.acknowledged, channel.qos.can_consume()]
print(places)
"""
    run = configured(own_redis.url, code, tmp_path)
    assert run.stdout.strip() == "[False, False, True]", run.stderr
