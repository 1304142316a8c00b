"""Tell the time that all processes of a service share."""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.utils import timezone


def shared_now() -> datetime:
    """Give the database's time, where it has a clock of its own: that of a machine may be wrong by days.

    What is over for good, such as history that is kept no longer, and who lives is told by it.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
