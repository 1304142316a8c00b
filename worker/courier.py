"""The threads that send what the outbox holds, beside whatever judges."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

logger = logging.getLogger("retrycontract")


THREADS: Final = 3  # a receiver that hangs has one of them, and the others go on


class OutboxDrain:
    """Drain the outbox every few seconds, in threads of its own: a receiver that hangs keeps no attempt waiting."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"retrycontract-courier-{number}", daemon=True)
            for number in range(THREADS)
        ]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 10) -> None:
        """Stop after the messages in hand; what is left is found at the next start."""
        self._stopping.set()
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def _run(self) -> None:
        # Imported here: Celery loads its worker's modules before Django is ready.
        from retrycontract.usecases.notify.drain_outbox import drain_endpoints, drain_outbox

        while not self._stopping.wait(settings.RETRYCONTRACT.sweep_seconds or threading.TIMEOUT_MAX):
            try:
                # These threads belong to no request, after which Django would look after the connection.
                close_old_connections()
                drain_outbox(now=timezone.now(), clock=timezone.now)
                while not self._stopping.is_set() and drain_endpoints(now=timezone.now(), clock=timezone.now):
                    drain_outbox(now=timezone.now(), clock=timezone.now)  # people do not wait for systems
            except Exception:
                logger.exception("The courier's thread failed; it goes on with the next sweep")
            finally:
                connection.close()
