"""The doorbell over Redis: Celery's queue for workers, publish/subscribe for agents that wait in any process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from retrycontract.front.waiting import bells
from retrycontract.usecases.notify.doorbell import DESK_BELL, agent_bell

logger = logging.getLogger("retrycontract")

QUEUE: Final = "retrycontract"
JUDGE: Final = "retrycontract.judge"
CHANNEL: Final = "retrycontract.calls"
# Where workers that have just judged wait: for the number of an attempt, or the word to look what waits.
AWAKE: Final = "retrycontract.awake"
# Where the threads of workers wait that judge dear attempts.
DEAR: Final = "retrycontract.dear"
DIGITS: Final = 18  # so many fit a bigint whatever they are
LOOK: Final = "look"
# A request waits no longer for a ring that is a hint only.
LONGEST_SECONDS: Final = 2.0
# A Redis that stalls costs each ring the time above, so it is left alone, twice as long each time it still does; one
# that refuses costs milliseconds.
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 30.0
PAUSE_AFTER_REFUSAL: Final = 1.0
QUICK: Final = 0.25


class Breaker:
    """Leave a broken service alone for a while; `failures` counts how often it failed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._closed_from, self._pause = 0.0, FIRST_PAUSE
        self.failures = 0

    def attempt(self, work: Callable[[], object], *failures: type[Exception]) -> bool:
        """Do the work unless it failed a moment ago; tell whether it was done."""
        started = self._clock()
        if started < self._closed_from:
            return False
        try:
            work()
        except failures:
            self.failures += 1
            now = self._clock()
            if now >= self._closed_from:  # else another thread has just found out the same
                pause = PAUSE_AFTER_REFUSAL
                if now - started >= QUICK:
                    pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
                self._closed_from = now + pause
            logger.warning("Redis could not be rung; the sweep will find the work", extra={"failures": self.failures})
            return False
        self._pause = FIRST_PAUSE
        return True


def connect(url: str) -> Redis:
    """Make a client that gives up in time and tries once."""
    return Redis.from_url(
        url,
        socket_timeout=LONGEST_SECONDS,
        socket_connect_timeout=LONGEST_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


class CeleryDoorbell:
    """Ring over Redis: bounded in time, errors counted and swallowed; the database has what matters."""

    def __init__(self) -> None:
        url = settings.RETRYCONTRACT.redis_url
        self._redis = connect(url)
        self._breaker = Breaker()
        # An application of its own: it tries once, where a worker's would wait for Redis to come back.
        self._ringer = Celery("retrycontract.doorbell", broker=url, set_as_current=False, fixups=[])
        self._ringer.conf.broker_transport_options = {
            "socket_timeout": LONGEST_SECONDS,
            "socket_connect_timeout": LONGEST_SECONDS,
            "socket_keepalive": True,
            # A Redis that refuses is known within 10 ms so; with the defaults it took 600.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        }

    def attempt_queued(self, attempt_id: int, *, is_dear: bool = False) -> None:
        self.ring_worker(attempt_id, is_dear=is_dear)

    def ring_worker(self, attempt_id: int, *, is_dear: bool = False) -> bool:
        """Wake a worker, and tell whether the ring went out."""
        ring = self._ring_dear if is_dear else partial(self._publish, attempt_id)
        return self._breaker.attempt(ring, OperationalError, RedisError, OSError)

    def call_changed(self, call_id: str, agent_id: int, verdict: bytes | None = None) -> None:
        """Wake whoever waits for the call, and the streams of its agent, in this process and in the others."""
        keys = (call_id, agent_bell(agent_id), DESK_BELL)
        # At once, without the way over Redis, for whoever waits in this process: Redis may be away.
        bells.ring(call_id, verdict)
        for key in keys[1:]:
            bells.ring(key)
        message = b"%b\n%b" % (" ".join(keys).encode(), verdict or b"")
        self._breaker.attempt(lambda: self._redis.publish(CHANNEL, message), RedisError, OSError)

    def is_heard(self) -> bool:
        """Tell whether Redis answers."""
        try:
            return bool(self._redis.ping())
        except (RedisError, OSError):
            return False

    def is_waking(self) -> bool:
        """Tell whether a message waits in Celery's queue for a worker."""
        try:
            return bool(self._redis.llen(QUEUE))
        except (RedisError, OSError):
            return False

    def next_ring(self, seconds: float) -> int | None:
        """Wait for a ring, as a worker that is awake: an attempt's number, 0 to look what waits, or None."""
        try:
            rung: Any = self._redis.blpop([AWAKE], timeout=seconds)
        except (RedisError, OSError):
            return None
        if rung is None:
            return None
        # Whoever can write to Redis can ring, and with anything.
        return int(rung[1]) if rung[1].isdigit() and len(rung[1]) <= DIGITS else 0

    def is_dear_rung(self, seconds: float) -> bool:
        """Wait for a ring for dear attempts; without Redis for nothing."""
        try:
            return self._redis.blpop([DEAR], timeout=seconds) is not None
        except (RedisError, OSError):
            return False

    def _ring_dear(self) -> None:
        """Have a thread look that waits for dear attempts; one word stands for all where none waits."""
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.lpush(DEAR, LOOK)
            pipe.ltrim(DEAR, 0, 0)
            pipe.execute()

    def _publish(self, attempt_id: int) -> None:
        """Hand the attempt to a worker that is awake, else wake one through Celery if none is being woken already."""
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.lpush(AWAKE, attempt_id)
            # Redis serves who waits between two commands: then the list is gone, and this fails. Where nobody waited it
            # keeps one word for whoever is awake next.
            pipe.lset(AWAKE, 0, LOOK)
            pipe.ltrim(AWAKE, 0, 0)
            pipe.llen(QUEUE)
            pushed, left, _, waking = pipe.execute(raise_on_error=False)
        if isinstance(pushed, Exception):
            raise pushed
        if isinstance(left, Exception) or waking:
            return
        self._ringer.send_task(
            JUDGE,
            kwargs={"attempt_id": attempt_id},
            queue=QUEUE,
            # Retried, a ring to a Redis that stalls never returns, and a request waits for it.
            retry=False,
            ignore_result=True,
            # What Celery would write into the message's headers for people to read.
            argsrepr="",
            kwargsrepr="",
        )
