"""The door for time: workers that judge, send and sweep, and the name that each signs with."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable

logger = logging.getLogger("retrycontract")


def worker_name() -> str:
    """Name this process among those of every machine."""
    return f"{socket.gethostname()}:{os.getpid()}"


def sweep(*first: Callable[[], None]) -> None:
    """Take every step of a sweep, `first` ones before the others; one that fails is logged and keeps no other back."""
    # Imported here: Celery loads its worker's modules before Django is ready.
    from django.db import close_old_connections
    from django.utils import timezone

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
        return lambda: step(now=timezone.now())

    later = (
        send_held, expire_overdue, tidy_queue, forget_answers, forget_requests, forget_calls, fold_rollups,
        sum_up_counts,
    )  # fmt: skip
    steps: list[tuple[str, Callable[[], object]]] = [
        *((step.__name__, step) for step in first),
        *((step.__name__, timed(step)) for step in later),
        ("index_calls", index_calls),
        ("beat", lambda: WorkerBeat.objects.beat(worker_name(), timezone.now())),
    ]
    for name, step in steps:
        try:
            step()
        except Exception:
            logger.exception("The step %s of a sweep failed; the others go on", name)
            close_old_connections()  # one that broke would fail them, too
