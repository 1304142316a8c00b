"""The worker inside the web process: a thread that judges and sweeps, and one that sends what the outbox holds."""

from __future__ import annotations

import logging
import threading
import time

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

from retrycontract.usecases.drain_outbox import drain_outbox
from retrycontract.usecases.sweep import expire_overdue, judge_waiting
from retrycontract.waiting import bells

logger = logging.getLogger("retrycontract")


class EmbeddedDoorbell:
    """Ring inside this process: the worker thread, and the agents in the waiting room."""

    def attempt_queued(self, attempt_id: int) -> None:  # noqa: ARG002 - the thread looks for itself
        """Wake the worker thread."""
        _work.set()

    def call_changed(self, call_id: str) -> None:
        """Wake whoever waits for the call."""
        bells.ring(call_id)


class EmbeddedWorker:
    """Run the two threads; `stop` lets the attempt and the message in hand finish."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._threads = (
            threading.Thread(target=self._run, name="retrycontract-worker", daemon=True),
            # Of its own: a receiver that hangs must not keep attempts waiting.
            threading.Thread(target=self._send, name="retrycontract-courier", daemon=True),
        )

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 10) -> None:
        """Stop after the attempt in hand; what waits is found at the next start."""
        self._stopping.set()
        _work.set()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def _send(self) -> None:
        while not self._stopping.wait(settings.RETRYCONTRACT.sweep_seconds):
            try:
                close_old_connections()
                drain_outbox(now=timezone.now(), clock=timezone.now)
            except Exception:
                logger.exception("The courier's thread failed; it goes on with the next sweep")
        connection.close()

    def _run(self) -> None:
        pause = settings.RETRYCONTRACT.sweep_seconds
        swept = 0.0
        while not self._stopping.is_set():
            rung = _work.wait(pause)
            _work.clear()
            if self._stopping.is_set():
                break
            try:
                close_old_connections()
                judge_waiting(clock=timezone.now)
                if not rung or time.monotonic() - swept >= pause:
                    expire_overdue(now=timezone.now())
                    swept = time.monotonic()
            except Exception:
                logger.exception("The worker thread failed; it goes on with the next sweep")
                self._stopping.wait(pause)
        connection.close()


_work = threading.Event()
_worker: EmbeddedWorker | None = None


def start() -> None:
    """Start the worker thread of this process, once."""
    global _worker
    if _worker is None:
        _worker = EmbeddedWorker()
        _worker.start()


def stop() -> None:
    """Stop the worker thread of this process."""
    global _worker
    if _worker is not None:
        _worker.stop()
        _worker = None
