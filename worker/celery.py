"""The Celery application of the workers: `celery -A worker worker`."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any, Final

from celery import Celery, Task
from celery.signals import setup_logging
from celery.worker.request import Request
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections
from django.utils import timezone
from kombu.transport.virtual import QoS

from retrycontract.config.service_settings import ServiceSettings
from retrycontract.store.outages import outage
from worker.beside_pool import BesidePool
from worker.celery_doorbell import JUDGE, QUEUE, CeleryDoorbell

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")

# Checks that take long wait for children beside the pool; this is for whatever might hang in it. The lease outlives it.
LONGEST_SECONDS: Final = 25.0
# After its work a worker stays awake until so long after its task began, and is rung without Celery meanwhile, which
# takes ten times as long. It counts against the limit above.
AWAKE_SECONDS: Final = 1.0


def judge(*, attempt_id: int, **_: Any) -> None:
    """Judge what is quick and waits, then what is rung for within the next moment.

    Further arguments are those of other releases.
    """
    try:
        _judge(attempt_id)
    except Exception as error:
        if not outage.failed(error):  # else Celery would write a traceback for each process that met the outage
            raise


def _judge(attempt_id: int) -> None:
    from retrycontract.usecases.calls.sweep import judge_or_leave, judge_waiting
    from retrycontract.usecases.notify.doorbell import ring_after_commit

    end = time.monotonic() + AWAKE_SECONDS
    bell = _bell()

    def is_over() -> bool:
        return time.monotonic() >= end

    rung: int | None = 0  # one message stands for all that waits
    while rung is not None:
        # Connections are kept over many tasks (CELERY_DB_REUSE_MAX): one that is too old or broken is replaced here.
        if not (rung and judge_or_leave(rung, clock=timezone.now, dear=False)):
            close_old_connections()
        if not rung and not judge_waiting(clock=timezone.now, dear=False, is_ending=is_over) and bell.is_waking():
            return  # of many messages that find nothing none may take a second
        left = end - time.monotonic()
        if left <= 0 and not rung:
            ring_after_commit(attempt_id=attempt_id)  # for what is left
        rung = bell.next_ring(left) if left > 0 else None


@cache
def _bell() -> CeleryDoorbell:
    return CeleryDoorbell()


class SettledRequest(Request):  # type: ignore[misc] # Celery has no types
    """Give back the place of a message that Redis was too slow to let go of.

    Celery logs that and keeps the place: after as many as it has, a worker takes nothing for ever. Redis hands the
    message out once more, which finds nothing to do.
    """

    def acknowledge(self) -> None:
        """Let Redis forget the message."""
        try:
            super().acknowledge()
        finally:
            self._give_back()

    def reject(self, requeue: bool = False) -> None:
        """Let Redis forget the message, or hand it out again."""
        try:
            super().reject(requeue)
        finally:
            self._give_back()

    def _give_back(self) -> None:
        if not self.message.acknowledged:
            QoS.ack(self.message.channel.qos, self.message.delivery_tag)  # type: ignore[no-untyped-call]


class JudgeTask(Task):  # type: ignore[misc]
    """Judge, by requests that hold no place in vain."""

    Request = SettledRequest


def make_app(service: ServiceSettings) -> Celery:
    """Make the application for the service's Redis."""
    if not service.redis_url:
        raise ImproperlyConfigured("RETRYCONTRACT_REDIS_URL is empty: a Celery worker needs the address of a Redis.")
    limit = min(LONGEST_SECONDS, service.lease_seconds)
    made = Celery("retrycontract", broker=service.redis_url)
    made.conf.update(
        task_default_queue=QUEUE,
        task_serializer="json",
        # Pickle would run the code of whoever can write to Redis.
        accept_content=["json"],
        # The verdict is in the database; what Celery keeps of a task would lie in Redis, readable, for a day.
        result_backend=None,
        task_ignore_result=True,
        # The database remembers: a message that comes twice finds nothing to do, one that is lost is rung again.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        # What a worker takes in advance waits behind the check in hand, though another worker is free.
        worker_prefetch_multiplier=1,
        # Ends Python code by an exception, which is logged; native code hears of it too late, and is killed at the
        # limit itself.
        task_soft_time_limit=limit * 0.9,
        task_time_limit=limit,
        # What libraries leak ends with the child, but not after a number of tasks: Celery may hear of a child's end
        # five seconds late, and what it had handed to that child waits as long (celery/celery#9588).
        worker_max_memory_per_child=300_000,  # kilobytes
        # Tasks in hand are finished at a SIGQUIT, too: without it each waits for its lease to run out and is done
        # again. Celery waits for all of this time if there is one, and what takes seconds is none of its tasks.
        worker_soft_shutdown_timeout=5,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        # For ever: while Redis is away the sweep judges, and a worker that gave up would hear no ring afterwards.
        broker_connection_max_retries=None,
        # The same for one that answers and takes nothing in, since it is full or a replica: by default a worker ends.
        broker_channel_error_retry=True,
        broker_transport_options={
            # Longer than any task may take: with a shorter one Redis hands out a task again that is still being worked
            # on.
            "visibility_timeout": 60,
            # By default kombu looks each tenth time only, with ten seconds in between: what a dead worker had was back
            # after 100.
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            # Without these a connection that died in silence is waited for for ever.
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "socket_keepalive": True,
            "health_check_interval": 5,
        },
        # Else Celery closes the database's connection after every task: half the throughput.
        CELERY_DB_REUSE_MAX=200,
    )
    # The service's logging stays as it is: else Celery would write lines of its own form.
    setup_logging.connect(lambda **_: None, weak=False)
    made.task(name=JUDGE, base=JudgeTask)(judge)
    made.steps["worker"].add(BesidePool)
    return made


app = make_app(settings.RETRYCONTRACT)
