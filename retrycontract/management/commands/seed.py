"""Plant calls to try the service with."""

from __future__ import annotations

import random
import time
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, connection
from django.utils import timezone

from retrycontract.management.demo import AGENT
from retrycontract.management.seeding.rows import PREFIX, Planter
from retrycontract.store.models import Call

REPORTED_EVERY: Final = 100_000
CALLS_OF_WAITING: Final = 40
MOST_WAITING: Final = 40  # unasked: a person looks through as many


class Command(BaseCommand):
    """Tell stories of tools once, and plant copies of them over some days."""

    help = "Plant realistic calls with their attempts, answers and counts, to see how the service does with many."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take how many, over how long, and where chance begins."""
        parser.add_argument("--calls", type=int, default=10_000, help="how many calls; default: 10000")
        parser.add_argument("--days", type=int, default=60, help="over how many days until now; default: 60")
        parser.add_argument("--waiting", type=int, help="how many wait now, at least; default: one of 40, at most 40")
        parser.add_argument("--seed", type=int, default=1, help="equal numbers plant equal calls in an empty database")
        parser.add_argument("--beside-real-calls", action="store_true", help="plant them though there are real calls")

    def handle(
        self, *_: Any, calls: int, days: int, waiting: int | None, seed: int, beside_real_calls: bool, **__: Any
    ) -> None:
        """Plant them, and say how fast and how large."""
        if calls < 1 or days < 1:
            raise CommandError("Name at least one call and one day.")
        if waiting is None:
            waiting = min(calls // CALLS_OF_WAITING, MOST_WAITING)
        if not 0 <= waiting <= calls:
            raise CommandError(f"Of {calls:,} calls none to {calls:,} can wait; name fewer with --waiting.")
        if (
            not beside_real_calls
            and Call.objects.exclude(agent__name__startswith=PREFIX).exclude(agent__name=AGENT).exists()
        ):
            raise CommandError("The database holds real calls; --beside-real-calls plants others among them.")

        def report(done: int) -> None:
            if done % REPORTED_EVERY == 0:
                self.stdout.write(f"{done:,} calls …")
                self.stdout.flush()

        last = Call.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        now, size, started = timezone.now(), database_size(), time.monotonic()
        # With the newest key: planted a second time, the same seed must not make the same ids again.
        planter = Planter(now - timedelta(days=days), now, random.Random(f"{seed}:{last}"))  # noqa: S311 - no secret
        try:
            planter.plant(calls, waiting=waiting, report=report)
        except IntegrityError as error:  # the rows bring their own keys
            raise CommandError(
                "Somebody else wrote to the database meanwhile, and took a key that a planted row has. What was "
                "planted before stays. Stop the service, or its agents, and plant again."
            ) from error
        took = time.monotonic() - started
        each = (database_size() - size) / calls
        self.stdout.write(f"Made {calls:,} calls in {took:.1f} s: {calls / took:,.0f} calls/s, {each:,.0f} bytes/call.")


def database_size() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])
