"""The worker inside the web process: threads that judge, one of them sweeps, and the courier."""

from __future__ import annotations

import threading
import time

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

from retrycontract.children.pool import shared_pool
from retrycontract.front.waiting import bells
from retrycontract.store.outages import outage
from retrycontract.usecases.calls.check_output import bound_children
from retrycontract.usecases.calls.sweep import judge_waiting
from retrycontract.usecases.notify.doorbell import DESK_BELL, agent_bell
from worker import OutboxDrain, pause_after, sweep


class EmbeddedDoorbell:
    """Ring inside this process: the worker thread, and the agents in the waiting room."""

    def attempt_queued(self, attempt_id: int, *, is_dear: bool = False) -> None:  # noqa: ARG002 - threads look
        _rung.ring()

    def call_changed(self, call_id: str, agent_id: int, verdict: bytes | None = None) -> None:
        """Wake whoever waits for the call, and the streams of its agent."""
        bells.ring(call_id, verdict)
        bells.ring(agent_bell(agent_id))
        bells.ring(DESK_BELL)

    def is_heard(self) -> bool:
        """Tell whether this process has a worker."""
        return _worker is not None


class EmbeddedWorker:
    """Run the threads and the courier; `stop` lets the attempts and the messages in hand finish.

    The first thread judges what is quick, and sweeps; of the others there are as many as child processes, for each of
    which one waits, and one more for agents that have caused little work so far.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._places = threading.Semaphore(settings.RETRYCONTRACT.children)
        self._threads = [
            threading.Thread(target=self._run, args=(number == 0,), name=f"retrycontract-worker-{number}", daemon=True)
            for number in range(settings.RETRYCONTRACT.children + 2)
        ]
        self._courier = OutboxDrain()

    def start(self) -> None:
        # The start does not wait for it
        bound_children()
        threading.Thread(target=shared_pool().warm, name="retrycontract-child", daemon=True).start()
        for thread in self._threads:
            thread.start()
        self._courier.start()

    def stop(self, timeout: float = 10) -> None:
        """Stop after the attempt in hand; what waits is found at the next start."""
        self._stopping.set()
        _rung.ring()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        self._courier.stop(max(end - time.monotonic(), 0))

    def _run(self, is_first: bool) -> None:
        # 0 switches the sweep off: then rings alone wake the threads.
        longest = pause = settings.RETRYCONTRACT.sweep_seconds or threading.TIMEOUT_MAX
        heard, swept = 0, 0.0
        while not self._stopping.is_set():
            rings = _rung.wait(heard, pause)
            rung, heard = rings != heard, rings
            if self._stopping.is_set():
                break
            try:
                close_old_connections()
                judge_waiting(
                    clock=timezone.now, dear=False if is_first else None, is_ending=self._stopping.is_set,
                    places=self._places,
                )  # fmt: skip
                # By the clock as well: under load rings never pause, and the sweep would never come.
                if is_first and (not rung or time.monotonic() - swept >= pause):
                    begun = time.monotonic()
                    sweep()
                    swept = time.monotonic()
                    pause = pause_after(swept - begun)
            except Exception as error:  # noqa: BLE001 - it is logged there
                outage.failed(error, "The worker thread failed; it goes on with the next sweep")
                # Rings would wake it at once: a database that is away must not be asked, and the log not be filled,
                # without a pause.
                self._stopping.wait(longest)
        connection.close()


class Rings:
    """Count rings, so that each of several threads hears every one of them."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def ring(self) -> None:
        """Wake everybody who waits."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait(self, heard: int, timeout: float) -> int:
        """Wait until there are other rings than were heard; gives how many there are."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != heard, timeout)
            return self._count


_rung = Rings()
_worker: EmbeddedWorker | None = None


def start() -> None:
    """Start the worker of this process, once."""
    global _worker
    if _worker is None:
        _worker = EmbeddedWorker()
        _worker.start()


def stop() -> None:
    """Stop the worker of this process."""
    global _worker
    if _worker is not None:
        _worker.stop()
        _worker = None
