"""The thread that sends what the outbox holds, beside whatever judges."""

from __future__ import annotations

import logging
import threading

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

logger = logging.getLogger("retrycontract")


class Courier:
    """Drain the outbox every few seconds, in a thread of its own: a receiver that hangs keeps no attempt waiting."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retrycontract-courier", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, timeout: float = 10) -> None:
        """Stop after the message in hand; what is left is found at the next start."""
        self._stopping.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        # Imported here: Celery loads its worker's modules before Django is ready.
        from retrycontract.usecases.drain_outbox import drain_outbox

        while not self._stopping.wait(settings.RETRYCONTRACT.sweep_seconds or threading.TIMEOUT_MAX):
            try:
                close_old_connections()
                drain_outbox(now=timezone.now(), clock=timezone.now)
            except Exception:
                logger.exception("The courier's thread failed; it goes on with the next sweep")
            finally:
                connection.close()
