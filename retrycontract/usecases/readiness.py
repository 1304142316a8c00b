"""Tell whether the service can do its work: what it needs, what it misses, how long work waits."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import DatabaseError, connection

from retrycontract.store.models import Attempt, WorkerBeat
from retrycontract.store.transactions import write_transaction
from retrycontract.usecases.notify.doorbell import is_heard

logger = logging.getLogger("retrycontract")

LONG_WAIT: Final = 60.0  # seconds; two leases: the sweep has had its chance


@dataclass(frozen=True, slots=True)
class Readiness:
    """Hold what a look at the service found; `workers` lived within the last minute."""

    is_database_there: bool
    is_writable: bool = True
    is_doorbell_heard: bool = False
    workers: int = 0
    oldest_waiting_seconds: float = 0.0

    @property
    def status(self) -> str:
        """Say "ready", "degraded" (takes work in, which may wait), "not-ready" (can store nothing) or "unavailable"."""
        if not self.is_database_there:
            return "unavailable"
        if not self.is_writable:
            return "not-ready"
        is_well = self.is_doorbell_heard and self.workers and self.oldest_waiting_seconds < LONG_WAIT
        return "ready" if is_well else "degraded"

    def to_json(self) -> dict[str, Any]:
        """Write it for probes and people."""
        return {
            "status": self.status,
            "database": ("ok" if self.is_writable else "takes no writes") if self.is_database_there else "no answer",
            "doorbell": "ok" if self.is_doorbell_heard else "unheard",
            "workers": self.workers,
            "oldest_waiting_seconds": round(self.oldest_waiting_seconds, 1),
        }


def _write(now: datetime) -> bool:
    """Write one small row, for a database on a full disk still reads well; False when it is not taken."""
    try:
        with write_transaction():
            WorkerBeat.objects.probe(now)
    except DatabaseError as error:
        # The class alone: a driver's words may quote what was to be stored.
        logger.warning("The database takes no writes", extra={"reason": type(error.__cause__).__name__})
        return False
    return True


def look(*, now: datetime) -> Readiness:
    """Look at the database, the doorbell and the workers; leaves no connection open."""
    try:
        is_writable = _write(now)
        oldest = Attempt.objects.waiting().order_by("pk").values_list("submitted_at", flat=True).first()
        workers = WorkerBeat.objects.alive(now).count()
    except DatabaseError:
        logger.warning("The database did not answer a probe")
        return Readiness(is_database_there=False)
    finally:
        # Each look has another thread of a pool: left open, there would be a connection for each of them.
        connection.close()
    waited = (now - oldest).total_seconds() if oldest else 0.0
    return Readiness(
        is_database_there=True,
        is_writable=is_writable,
        is_doorbell_heard=is_heard(),
        workers=workers,
        oldest_waiting_seconds=max(waited, 0.0),
    )
