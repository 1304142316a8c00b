"""Hear the rings of other processes: one Redis subscription and one catch-up query each second for the waiting room."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.db import close_old_connections, connection
from redis.client import PubSub
from redis.exceptions import RedisError

from retrycontract.front.waiting import Bells, bells
from retrycontract.store.models import Call, Event
from retrycontract.store.outages import outage
from retrycontract.usecases.notify.doorbell import AGENT_BELL, DESK_BELL, agent_bell
from worker.celery_doorbell import CHANNEL, connect

logger = logging.getLogger("retrycontract")

SECOND: Final = 1.0
PING_EVERY: Final = 5.0
SILENT_FOR: Final = 15.0  # three pings without an answer: the connection died in silence


class CatchUp:
    """Ring for what changed since the last look, among the keys that somebody here waits for.

    `look` gives for each key something that is another when there is news.
    """

    def __init__(self, bells: Bells, look: Callable[[Sequence[str]], Mapping[str, object]]) -> None:
        self._bells = bells
        self._look = look
        self._seen: Mapping[str, object] = {}

    def run(self) -> None:
        """Look once; costs nothing while nobody waits."""
        waited_for = self._bells.waited_for()
        found = self._look(waited_for) if waited_for else {}
        for key, newest in found.items():
            # Of a key that is new here nothing is known to compare with: whoever waits for it has just asked.
            if self._seen.get(key, newest) != newest:
                self._bells.ring(key)
        self._seen = found


def look(keys: Sequence[str]) -> Mapping[str, object]:
    """Tell when calls changed last, and which event of an agent is the newest."""
    agents = [int(key.removeprefix(AGENT_BELL)) for key in keys if key.startswith(AGENT_BELL)]
    calls = [key for key in keys if not key.startswith(AGENT_BELL) and key != DESK_BELL]
    newest = Event.objects.newest_ids(agents) if agents else {}
    changed = Call.objects.changed_at(calls) if calls else {}
    desk = {DESK_BELL: Event.objects.newest_id()} if DESK_BELL in keys else {}
    return changed | desk | {agent_bell(agent_id): event_id for agent_id, event_id in newest.items()}


class RingListener:
    """Listen in a thread; after a gap everybody is woken, since rings may have been missed."""

    def __init__(self, url: str, bells: Bells, catch_up: CatchUp) -> None:
        self._url = url
        self._bells = bells
        self._catch_up = catch_up
        self._next_look = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retrycontract-rings", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 5) -> None:
        self._stopping.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        was_lost = False
        while not self._stopping.is_set():
            try:
                if self._url:
                    self._listen()
                was_lost = False
            except (RedisError, OSError):
                # Said once for each gap: it is tried again every second.
                if not was_lost:
                    logger.warning("Redis cannot be heard; agents are woken by the catch-up query")
                was_lost = True
            except Exception:
                logger.exception("The listener for rings failed; it goes on")
            self._look_if_due()
            self._stopping.wait(SECOND)
        connection.close()

    def _listen(self) -> None:
        with connect(self._url) as redis, redis.pubsub() as subscription:
            subscription.subscribe(CHANNEL)
            heard = pinged = time.monotonic()
            while not self._stopping.is_set() and time.monotonic() - heard < SILENT_FOR:
                if self._hear(subscription):
                    heard = time.monotonic()
                if time.monotonic() - pinged >= PING_EVERY:
                    subscription.ping()
                    pinged = time.monotonic()
                self._look_if_due()

    def _hear(self, subscription: PubSub) -> bool:
        message: dict[str, Any] | None = subscription.get_message(timeout=SECOND)
        if message is None:
            return False
        if message["type"] == "subscribe":
            self._bells.ring_all()
        elif message["type"] == "message":
            # The bells, the call's first, and in a line of its own its verdict, if it has one.
            rung, _, verdict = message["data"].partition(b"\n")
            for number, key in enumerate(rung.decode("ascii", "replace").split()):
                self._bells.ring(key, None if number else verdict)
        return True

    def _look_if_due(self) -> None:
        if time.monotonic() < self._next_look:
            return
        try:
            close_old_connections()
            self._catch_up.run()
        except Exception as error:  # noqa: BLE001 - it is logged there
            outage.failed(error, "The catch-up query failed; it is asked again")
        self._next_look = time.monotonic() + SECOND


_listener: RingListener | None = None


def start() -> None:
    """Start the listener of this process, once."""
    global _listener
    if _listener is None:
        _listener = RingListener(settings.RETRYCONTRACT.redis_url, bells, CatchUp(bells, look))
        _listener.start()


def stop() -> None:
    """Stop the listener of this process."""
    global _listener
    if _listener is not None:
        _listener.stop()
        _listener = None
