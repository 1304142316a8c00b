"""What a Celery worker does beside its pool: it sweeps, delivers, and waits for children that check dear outputs."""

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

from retrycontract.store.outages import outage
from worker import OutboxDrain, Threads, pause_after, sweep, worker_name
from worker.celery_doorbell import CeleryDoorbell

logger = logging.getLogger("retrycontract")

# A ring that was heard is acted on in milliseconds; with a full queue this long is nothing unusual either.
PATIENCE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = 60.0  # between two rings for one attempt
LONGEST_STOP: Final = 5.0  # seconds that a worker waits for all its threads together
LISTEN_SECONDS: Final = 1.0  # for a ring for dear attempts, before it is looked whether the worker ends


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


class Sweeper(Threads):
    """Sweep every few seconds in a thread; `judge_alone` judges what waits when nobody hears the bell."""

    def __init__(self, *, judge_alone: Callable[[], None] | None = None) -> None:
        super().__init__("sweeper")
        self._judge_alone = judge_alone or judge_in_own_process
        self._bell = CeleryDoorbell()
        self._reminders = Reminders()

    def beat(self) -> None:
        """Give a sign of life."""
        from retrycontract.store.clock import shared_now
        from retrycontract.store.models import WorkerBeat

        WorkerBeat.objects.beat(worker_name(), shared_now())

    def sweep(self) -> None:
        sweep(self.remind)

    def remind(self) -> None:
        """Ring for what was left behind, and have it judged where nobody hears."""
        from retrycontract.store.clock import shared_now
        from retrycontract.store.models import Attempt
        from retrycontract.usecases.calls.sweep import BATCH

        now = shared_now()
        waiting = dict(Attempt.objects.left_behind(now, now - PATIENCE).values_list("pk", "is_dear")[:BATCH])
        # Ends with the first ring that nobody hears: the others would fail as well, each after its time.
        due = self._reminders.due(list(waiting))
        if not all(self._bell.ring_worker(attempt_id, is_dear=waiting[attempt_id]) for attempt_id in due):
            self._judge_alone()

    def _run(self) -> None:
        task = self.beat  # A new worker is heard of at once, however long the pause before its first sweep.
        while True:
            begun = time.monotonic()
            try:
                close_old_connections()
                task()
            except Exception as error:  # noqa: BLE001 - it is logged there
                outage.failed(error, "A sweep failed; the next one goes on")
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


class DearJudges(Threads):
    """Judge attempts that wait for a child process, in as many threads as there may be children.

    One more is for agents that have caused little work so far.

    The pool leaves those alone, so that what is quick finds a process of it free. Without Redis the threads look as
    often as a sweep comes.
    """

    def __init__(self) -> None:
        super().__init__("dear", settings.RETRYCONTRACT.children + 1)
        self._places = threading.Semaphore(settings.RETRYCONTRACT.children)
        self._bell = CeleryDoorbell()

    def _run(self) -> None:
        # Imported here: Celery loads its worker's modules before Django is ready.
        from retrycontract.usecases.calls.sweep import judge_waiting

        while not self._stopping.is_set():
            try:
                close_old_connections()
                judge_waiting(clock=timezone.now, dear=True, is_ending=self._stopping.is_set, places=self._places)
            except Exception as error:  # noqa: BLE001 - it is logged there
                outage.failed(error, "Dear attempts could not be judged; the next look goes on")
            finally:
                # The pool is forked from this process at any time: it inherits no connection that is in use.
                connection.close()
            self._wait()

    def _wait(self) -> None:
        """Wait for a ring, or as long as until a sweep; where those are switched off, for a ring alone."""
        end = time.monotonic() + (pause_after(0) or threading.TIMEOUT_MAX)
        while not self._stopping.is_set() and (left := end - time.monotonic()) > 0:
            begun, listen = time.monotonic(), min(left, LISTEN_SECONDS)
            if self._bell.is_dear_rung(listen):
                return
            # A Redis that is away says so at once.
            self._stopping.wait(max(listen - (time.monotonic() - begun), 0))


class BesidePool(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Run the threads beside the pool, whether the broker can be reached or not."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._running: list[Threads] = []

    def start(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
        self._running = [DearJudges()]
        if settings.RETRYCONTRACT.sweep_seconds:
            self._running += [Sweeper(), OutboxDrain()]
        for each in self._running:
            each.start()

    def stop(self, parent: Any) -> None:  # noqa: ARG002
        """Stop the threads; what hangs in a server that is away ends with the process."""
        end = time.monotonic() + LONGEST_STOP
        for each in self._running:
            each.call_off()
        for each in self._running:
            each.stop(max(end - time.monotonic(), 0))
        self._running = []

    terminate = stop  # what a SIGQUIT ends: what is in hand is finished then, too
