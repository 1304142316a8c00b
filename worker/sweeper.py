"""The sweep of a Celery worker: rings again for what waits, and judges it without Redis when nobody hears."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from celery import bootsteps
from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

from worker import OutboxDrain, pause_after, sweep, worker_name
from worker.celery_doorbell import CeleryDoorbell

logger = logging.getLogger("retrycontract")

# A ring that was heard is acted on in milliseconds; with a full queue this long is nothing unusual either.
PATIENCE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = 60.0  # between two rings for one attempt
LONGEST_STOP: Final = 5.0  # seconds that a worker waits for its sweep and its courier together


class Reminders:
    """Space out the rings for what waits on: ever longer pauses, so that a long queue is not doubled each sweep."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._next: dict[int, tuple[float, float]] = {}

    def due(self, waiting: Sequence[int]) -> list[int]:
        """Keep those that are to be rung for now; what no longer waits is forgotten."""
        now = self._clock()
        known = {attempt_id: self._next.get(attempt_id, (now, PATIENCE.total_seconds())) for attempt_id in waiting}
        due = [attempt_id for attempt_id, (moment, _) in known.items() if moment <= now]
        for attempt_id in due:
            pause = known[attempt_id][1]
            # Workers sweep at the same pace: by chance, so that not all ring for the same ones each time.
            known[attempt_id] = (now + pause * (0.75 + self._chance() / 2), min(pause * 2, LONGEST_PAUSE))
        self._next = known
        return due


class Sweeper:
    """Sweep every few seconds in a thread; `judge_alone` judges what waits when nobody hears the bell."""

    def __init__(self, *, judge_alone: Callable[[], None] | None = None) -> None:
        self._judge_alone = judge_alone or judge_in_own_process
        self._bell = CeleryDoorbell()
        self._reminders = Reminders()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retrycontract-sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 5) -> None:
        self.call_off()
        self._thread.join(timeout)

    def call_off(self) -> None:
        """Let the thread end after what it has in hand, without waiting for it."""
        self._stopping.set()

    def beat(self) -> None:
        """Give a sign of life."""
        from retrycontract.store.models import WorkerBeat

        WorkerBeat.objects.beat(worker_name(), timezone.now())

    def sweep(self) -> None:
        sweep(self.remind)

    def remind(self) -> None:
        """Ring for what was left behind, and have it judged where nobody hears."""
        from retrycontract.store.models import Attempt
        from retrycontract.usecases.calls.sweep import BATCH

        now = timezone.now()
        waiting = Attempt.objects.left_behind(now, now - PATIENCE).values_list("pk", flat=True)[:BATCH]
        # Ends with the first ring that nobody hears: the others would fail as well, each after its time.
        if not all(self._bell.ring_worker(attempt_id) for attempt_id in self._reminders.due(list(waiting))):
            self._judge_alone()

    def _run(self) -> None:
        task = self.beat  # A new worker is heard of at once, however long the pause before its first sweep.
        while True:
            begun = time.monotonic()
            try:
                close_old_connections()
                task()
            except Exception:
                logger.exception("A sweep failed; the next one goes on")
            finally:
                # Children are forked from this process at any time: they inherit no connection that is in use.
                connection.close()
            if self._stopping.wait(pause_after(time.monotonic() - begun)):
                return
            task = self.sweep


def judge_in_own_process() -> None:
    """Judge what waits without a broker: in a process that ends itself, so that no check can stop this worker."""
    environment = {"DJANGO_SETTINGS_MODULE": "retrycontract.settings"} | os.environ
    command = [sys.executable, "-m", "worker.once"]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=False)  # noqa: S603 - our own module
    if done.returncode:
        logger.error("Judging without Redis ended early", extra={"status": done.returncode})


class SweeperStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Run the sweep and the courier beside the pool, whether the broker can be reached or not."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._sweeper: Sweeper | None = None
        self._courier: OutboxDrain | None = None

    def include_if(self, parent: Any) -> bool:  # noqa: ARG002 - Celery's signature
        """Leave the sweep out where it is switched off."""
        return bool(settings.RETRYCONTRACT.sweep_seconds)

    def start(self, parent: Any) -> None:  # noqa: ARG002
        self._sweeper, self._courier = Sweeper(), OutboxDrain()
        self._sweeper.start()
        self._courier.start()

    def stop(self, parent: Any) -> None:  # noqa: ARG002
        """Stop sweeping; what hangs in a server that is away ends with the process."""
        if self._sweeper is not None and self._courier is not None:
            end = time.monotonic() + LONGEST_STOP
            for thread in (self._sweeper, self._courier):
                thread.call_off()
            for thread in (self._sweeper, self._courier):
                thread.stop(max(end - time.monotonic(), 0))
            self._sweeper = self._courier = None
