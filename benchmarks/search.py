"""How long a search takes among many calls: `python -m benchmarks.search 200000 [--postgresql] [--desk]`.

Each text has a goal and some values, of words that are as rare and as common as words are; each search has another word
in it. Without `--desk` only the look into the words is measured: what it finds are at most 500 keys, which any list
reads by. With it calls are planted whole, and what is measured is each page with a search, rendered in this process.
`--postgresql` starts a server of its own; without it the database is SQLite.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from tempfile import TemporaryDirectory

import django

from tests.serving.servers import running_postgresql

SEARCHES = 300
VOCABULARY = 20_000
WORDS = 25  # of one call
BATCH = 5_000
PAGES = ("/find/?q=", "/calls/?q=", "/?q=", "/?show=all&q=")
OF_DESK = 6  # times each search on each page
SOUGHT = ("invoice", "de", "flight", "the", "seed-tr", "call_01", "finish what the customer", "berlin", "zurich", "17")


def main() -> None:
    """Write the texts or the calls, search in them and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=200_000)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--desk", action="store_true")
    asked = parser.parse_args()
    with _database(is_postgresql=asked.postgresql):
        django.setup()
        (_measure_desk if asked.desk else _measure_words)(asked.number)


@contextmanager
def _database(*, is_postgresql: bool) -> Iterator[None]:
    os.environ["DJANGO_SETTINGS_MODULE"] = "retrycontract.settings"
    with TemporaryDirectory() as folder:
        os.environ["RETRYCONTRACT_DATA_DIR"] = folder
        if not is_postgresql:
            yield
            return
        with running_postgresql() as server:
            os.environ["RETRYCONTRACT_DATABASE_URL"] = server.new_database()
            yield


def _measure_words(number: int) -> None:
    from django.db import connection, transaction

    from retrycontract.management.commands.seed import database_size
    from retrycontract.store import call_texts

    chance = random.Random(1)  # noqa: S311 - no secret
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]  # as words are: few are in most texts
    call_texts.prepare()
    for begin in range(1, number + 1, BATCH):
        with transaction.atomic():
            drawn = chance.choices(words, weights, k=BATCH * WORDS)
            call_texts.write(
                (begin + n, list(dict.fromkeys(drawn[n * WORDS : (n + 1) * WORDS])), 1) for n in range(BATCH)
            )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"VACUUM ANALYZE {call_texts.TABLE}")  # as autovacuum does
    for name, sought in (
        ("one word", lambda: chance.choice(words)),
        ("two common words", lambda: " ".join(words[chance.randrange(50)] for _ in range(2))),
        ("the beginning of one", lambda: chance.choice(words)[:3]),
    ):
        _say(name, SEARCHES, lambda text: call_texts.find(text, most=500), sought)
    print(f"{connection.vendor}, {number:,} calls, {database_size() / number:.0f} bytes each")


def _measure_desk(number: int) -> None:
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.utils import timezone

    from dashboard.navigation import Role, give_role
    from retrycontract.usecases.calls.sweep import index_calls
    from retrycontract.usecases.counts.recount import sum_up_everything

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("seed", calls=number, days=60, waiting=200)
    while index_calls():
        pass
    sum_up_everything(now=timezone.now() + timedelta(hours=2))
    operator = User.objects.create_user("ada")
    give_role(operator, Role.OPERATOR)
    desk = Client(SERVER_NAME="127.0.0.1")
    desk.force_login(operator)

    def look(address: str) -> None:
        answer = desk.get(address)
        assert answer.status_code == 200, answer.status_code

    for page in PAGES:
        addresses = (page + text for text in SOUGHT * OF_DESK)
        look(page + "warm")
        _say(page, OF_DESK * len(SOUGHT), look, addresses.__next__)
    print(f"{connection.vendor}, {number:,} calls")


def _say(name: str, times: int, work: Callable[[str], object], sought: Callable[[], str]) -> None:
    waited, worked = [], []
    for _ in range(times):
        text, started, used = sought(), time.perf_counter(), time.process_time()
        work(text)
        waited.append((time.perf_counter() - started) * 1e3)
        worked.append((time.process_time() - used) * 1e3)
    told = [f"{sorted(each)[int(times * part)]:.2f}" for each in (waited, worked) for part in (0.5, 0.95)]
    print(f"{name}: p50 {told[0]} ms, p95 {told[1]} ms; of this processor {told[2]} and {told[3]} ms", flush=True)


if __name__ == "__main__":
    main()
