"""How many calls retention forgets a second, and what months as partitions would change.

`python -m benchmarks.retention 100000 [--postgresql]` plants calls that are all too old and takes sweep after sweep.
With `--postgresql` it starts a server of its own and then makes two copies of the attempts, spread over a year: one
table, and a partition for each month. Both are asked for the same rows in turns.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median

import django

from benchmarks.search import database_of_its_own, plant

SWEEPS = 5
LOOKS = 2_000
MONTHS = 13  # a year, and the month that begins
TABLES = ("plain", "parts")
MAKE = """
CREATE TABLE plain (LIKE retrycontract_attempt INCLUDING DEFAULTS, PRIMARY KEY (id));
CREATE TABLE parts (LIKE retrycontract_attempt INCLUDING DEFAULTS, PRIMARY KEY (id, submitted_at))
    PARTITION BY RANGE (submitted_at);
"""
MAKE_MONTH = "CREATE TABLE parts_{0} PARTITION OF parts FOR VALUES FROM ({1}) TO ({2})"
COPY = "INSERT INTO {0} ({1}, submitted_at) SELECT {1}, {2} FROM {3}"
FORGET = "DELETE FROM plain WHERE submitted_at < {0}"
FIRST_OF = "timestamptz '2026-01-01' + make_interval(months => {0})"


def main() -> None:
    """Plant the calls, forget them, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=100_000)
    parser.add_argument("--postgresql", action="store_true")
    asked = parser.parse_args()
    with database_of_its_own(is_postgresql=asked.postgresql):
        django.setup()
        plant(asked.number)
        if asked.postgresql:
            _compare_partitions()
        _forget()


def _forget() -> None:
    from django.utils import timezone

    from retrycontract.usecases.calls.sweep import forget_calls

    later = timezone.now() + timedelta(days=200)
    for _ in range(SWEEPS):
        begun, worked = time.monotonic(), time.process_time()
        calls = forget_calls(now=later)
        took = time.monotonic() - begun
        worked = time.process_time() - worked
        print(f"{calls:,} calls in {took:.2f} s, {calls / took:,.0f} a second; processor time {worked:.2f} s")


def _compare_partitions() -> None:
    from django.db import connection

    from retrycontract.store.models import Attempt

    columns = ", ".join(f'"{f.column}"' for f in Attempt._meta.fields if f.column != "submitted_at")
    with connection.cursor() as cursor:
        run = cursor.execute
        run(MAKE)
        for month in range(MONTHS + 1):
            begin, end = (FIRST_OF.format(month + n) for n in (0, 1))
            run(f"SELECT {begin}, {end}")
            run(MAKE_MONTH.format(month, *(f"'{at.isoformat()}'" for at in cursor.fetchone())))
        run("SELECT max(id), max(call_id) FROM retrycontract_attempt")
        last, last_call = cursor.fetchone()
        for table in TABLES:
            at = f"timestamptz '2026-01-01' + make_interval(secs => call_id * {MONTHS * 30 * 86_400.0 / last_call})"
            run(COPY.format(table, columns, at, "retrycontract_attempt"))
            run(f"CREATE INDEX ON {table} (call_id, number)")
            run(f"VACUUM ANALYZE {table}")
        chance = random.Random(1)  # noqa: S311 - no secret

        def ask(sql: str) -> Callable[[str, int], None]:
            return lambda table, key: run(sql.format(table), [key])

        for name, most, look in (
            ("one attempt by its key", last, ask("SELECT * FROM {} WHERE id = %s")),
            ("the attempts of a call", last_call, ask("SELECT * FROM {} WHERE call_id = %s ORDER BY number")),
            ("a lease by its key", last, ask("UPDATE {} SET deliveries = deliveries + 1 WHERE id = %s")),
        ):
            took: dict[str, list[float]] = {table: [] for table in TABLES}
            for _ in range(LOOKS):
                key = chance.randint(1, most)
                for table in TABLES:
                    begun = time.perf_counter()
                    look(table, key)
                    took[table].append(time.perf_counter() - begun)
            plain, parts = (median(took[table]) * 1e6 for table in TABLES)
            print(f"{name}: one table {plain:.0f} µs, {MONTHS} months {parts:.0f} µs, {parts / plain:.2f}x")
        run("SELECT pg_total_relation_size('plain')")
        whole = cursor.fetchone()[0]
        begun = time.perf_counter()
        run(FORGET.format(FIRST_OF.format(1)))
        deleted, rows = time.perf_counter() - begun, cursor.rowcount
        run("VACUUM plain")
        run(COPY.format("plain", columns, "submitted_at", "parts_0"))
        run("SELECT pg_total_relation_size('plain')")
        grown = cursor.fetchone()[0] / whole
        begun = time.perf_counter()
        run("DROP TABLE parts_0")
        dropped = time.perf_counter() - begun
    print(f"a month of {rows:,} attempts: deleted in {deleted * 1e3:.0f} ms, dropped in {dropped * 1e3:.0f} ms")
    print(f"the one table when as many have come again: {grown:.2f} of its bytes")


if __name__ == "__main__":
    main()
