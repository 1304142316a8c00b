"""The door for time: workers that judge, send and sweep, and the name that each signs with."""

from __future__ import annotations

import os
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

from retrycontract.store.outages import outage


def worker_name() -> str:
    """Name this process among those of every machine."""
    return f"{socket.gethostname()}:{os.getpid()}"


def sweep(*first: Callable[[], None]) -> None:
    """Take every step of a sweep, `first` ones before the others; one that fails is logged and keeps no other back."""
    # Imported here: Celery loads its worker's modules before Django is ready.
    from retrycontract.store.clock import shared_now
    from retrycontract.store.models import WorkerBeat
    from retrycontract.usecases.answers.send_answer import send_held
    from retrycontract.usecases.calls.repeat_request import forget_requests
    from retrycontract.usecases.calls.sweep import (
        expire_overdue,
        forget_answers,
        forget_calls,
        index_calls,
        tidy_queue,
    )
    from retrycontract.usecases.counts.recount import fold_rollups, sum_up_counts

    def timed(step: Callable[..., object]) -> Callable[[], object]:
        return lambda: step(now=shared_now())

    later = (
        send_held, expire_overdue, tidy_queue, forget_answers, forget_requests, forget_calls, fold_rollups,
        sum_up_counts,
    )  # fmt: skip
    steps: list[tuple[str, Callable[[], object]]] = [
        *((step.__name__, step) for step in first),
        *((step.__name__, timed(step)) for step in later),
        ("index_calls", index_calls),
        ("beat", lambda: WorkerBeat.objects.beat(worker_name(), shared_now())),
    ]
    for name, step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - it is logged there
            outage.failed(error, "The step %s of a sweep failed; the others go on", name)
            close_old_connections()  # one that broke would fail them, too


def pause_after(took: float) -> float:
    """Give the seconds until the next sweep when the last one took so many: it keeps up, and leaves room for others."""
    every: float = settings.RETRYCONTRACT.sweep_seconds
    return max(every - took, every / 4)


class Threads(ABC):
    """Run beside other work, in threads of their own, until they are stopped."""

    def __init__(self, name: str, count: int = 1) -> None:
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"retrycontract-{name}-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 5) -> None:
        """Stop after what is in hand; what is left is found by others, or at the next start."""
        self.call_off()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def call_off(self) -> None:
        """Let the threads end after what they have in hand, without waiting for them."""
        self._stopping.set()

    @abstractmethod
    def _run(self) -> None:
        """Work until it is time to stop."""


# A receiver that takes long has one of these, and the others go on; one more is kept for those that do not.
THREADS: Final = 3


class OutboxDrain(Threads):
    """Drain the outbox every few seconds, in threads of its own: a receiver that hangs keeps no attempt waiting."""

    def __init__(self) -> None:
        super().__init__("courier", THREADS + 1)
        self._kept = iter((True,))  # for the first thread that asks

    def _run(self) -> None:
        # Imported here: Celery loads its worker's modules before Django is ready.
        from retrycontract.usecases.notify.drain_outbox import drain_endpoints, drain_outbox

        quick = next(self._kept, False)
        while not self._stopping.wait(settings.RETRYCONTRACT.sweep_seconds or threading.TIMEOUT_MAX):
            try:
                # These threads belong to no request, after which Django would look after the connection.
                close_old_connections()
                drain_outbox(now=timezone.now(), clock=timezone.now)
                while not self._stopping.is_set() and drain_endpoints(
                    now=timezone.now(), clock=timezone.now, quick=quick
                ):
                    drain_outbox(now=timezone.now(), clock=timezone.now)  # people do not wait for systems
            except Exception as error:  # noqa: BLE001 - it is logged there
                outage.failed(error, "The courier's thread failed; it goes on with the next sweep")
            finally:
                connection.close()
