"""How long a search takes among many calls: `python -m benchmarks.search 200000 [--postgresql] [--desk]`.

Each text has a goal and some values, of words that are as rare and as common as words are; each search has another word
in it. Without `--desk` only the look into the words is measured: what it finds are at most 500 keys, which any list
reads by. With it calls are planted whole, and each page with a search is rendered in this process, for beginnings of
ids, values, parts of tools' names and words of goals, rare and common, alone, in twos, and with filters.
`--postgresql` starts a server of its own; without it the database is SQLite. `--kept` takes what was planted before.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import django

from tests.serving.servers import running_postgresql

SEARCHES = 300
VOCABULARY = 20_000
WORDS = 25  # of one call
BATCH = 5_000
PAGES = ("/find/", "/calls/", "/", "/?show=answered", "/?show=all")
FILTERED = PAGES[1:]
OF_DESK = 200  # searches on each page, and as many with filters, unless told otherwise
COMMON = (
    "the",
    "de",
    "invoice",
    "flight",
    "what",
    "customer",
    "inbox",
    "release",
    "call_01",
    "session",
    "eur",
    "se",
    "17",
)
RARE = ("zurich", "berlin", "seed-tr", "finish what the customer", "nothing", "qwertz")


def main() -> None:
    """Write the texts or the calls, search in them and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=200_000)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--desk", action="store_true")
    parser.add_argument("--kept", help="the folder, or the address, of a database with planted calls")
    parser.add_argument("--searches", type=int, default=OF_DESK, help="how many of each page")
    asked = parser.parse_args()
    with database_of_its_own(is_postgresql=asked.postgresql, kept=asked.kept):
        django.setup()
        if not asked.desk:
            _measure_words(asked.number)
            return
        if not asked.kept:
            plant(asked.number)
        _measure_desk(asked.searches)


@contextmanager
def database_of_its_own(*, is_postgresql: bool, kept: str | None = None) -> Iterator[None]:
    os.environ["DJANGO_SETTINGS_MODULE"] = "retrycontract.settings"
    with TemporaryDirectory() as folder:
        os.environ["RETRYCONTRACT_DATA_DIR"] = kept if kept and not is_postgresql else folder
        if kept and is_postgresql:
            os.environ["RETRYCONTRACT_DATABASE_URL"] = kept
        if kept or not is_postgresql:
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


def plant(number: int) -> None:
    from django.core.management import call_command
    from django.utils import timezone

    from retrycontract.usecases.calls.sweep import index_calls
    from retrycontract.usecases.counts.recount import sum_up_everything

    call_command("migrate", verbosity=0)
    call_command("seed", calls=number, days=60, waiting=200)
    begun = time.monotonic()
    indexed = sum(iter(index_calls, 0))
    print(f"the words of {indexed:,} calls taken: {indexed / (time.monotonic() - begun):,.0f} a second")
    sum_up_everything(now=timezone.now() + timedelta(hours=2))


def _measure_desk(times: int) -> None:
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from dashboard.navigation import Role, give_role
    from retrycontract.store.models import Call

    call_command("collectstatic", interactive=False, verbosity=0)
    operator, _ = User.objects.get_or_create(username="ada")
    give_role(operator, Role.OPERATOR)
    desk = Client(SERVER_NAME="127.0.0.1")
    desk.force_login(operator)

    def look(address: str) -> None:
        answer = desk.get(address)
        assert answer.status_code == 200, answer.status_code

    chance = random.Random(1)  # noqa: S311 - no secret
    number = Call.objects.count()
    for page in PAGES:
        _say(page, times, look, lambda page=page: _address(page, _sought(chance)))  # type: ignore[misc]
    for page in FILTERED:
        _say(f"{page} filtered", times, look,
             lambda page=page: _address(page, _sought(chance), **_filters(chance, page)))  # type: ignore[misc]  # fmt: skip
    print(f"{connection.vendor}, {number:,} calls")


def _address(page: str, text: str, **filters: str) -> str:
    return f"{page}{'&' if '?' in page else '?'}{urlencode({'q': text} | filters)}"


def _sought(chance: random.Random) -> str:
    """Draw what somebody could look for: in what was planted, at random."""
    from retrycontract.store.models import Call

    newest = Call.objects.order_by("-pk").values_list("pk", flat=True)[0]
    call = Call.objects.filter(pk__lte=chance.randint(1, newest)).order_by("-pk")[0]
    attempt = call.attempts.order_by("-number")[0]
    values = [word for value in _scalars(attempt.output) for word in str(value).split()]
    words = [*str((call.context or {}).get("goal", "the")).split(), *values]
    ways = (
        lambda: call.public_id[: chance.choice((6, 8, 12, 30))],
        lambda: (call.session_id or "s")[: chance.randint(7, 14)],
        lambda: attempt.tool_call_id[: chance.randint(3, 20)], lambda: call.tool_name,
        lambda: chance.choice(call.tool_name.split("_")), lambda: call.tool_name[: chance.randint(2, 5)],
        lambda: chance.choice(words), lambda: chance.choice(words)[:3], lambda: " ".join(chance.choices(words, k=2)),
        lambda: chance.choice(COMMON), lambda: chance.choice(RARE),
        lambda: " ".join(chance.choices((*COMMON, *RARE), k=2)),
    )  # fmt: skip
    return chance.choice(ways)()


def _scalars(value: object) -> Iterator[object]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _scalars(part)
    if not isinstance(value, dict | list):
        yield value


def _filters(chance: random.Random, page: str) -> dict[str, str]:
    """Draw one or two filters, which may contradict each other and what is looked for."""
    from retrycontract.store.models import Agent, Tool

    agent, tool = (chance.choice(list(kind.objects.values_list("name", flat=True))) for kind in (Agent, Tool))
    offered = {"agent": agent, "tool": tool, "code": chance.choice(("VAL-002", "VAL-008"))}
    if page == "/calls/":
        offered |= {"model": chance.choice(("model-m", "model-s")), "state": chance.choice(("blocked", "valid"))}
    return dict(chance.sample(sorted(offered.items()), k=chance.randint(1, 2)))


def _say(name: str, times: int, work: Callable[[str], object], sought: Callable[[], str]) -> None:
    waited, worked, slowest = [], [], (0.0, "")
    work(sought())  # the first opens files and compiles templates
    for _ in range(times):
        text = sought()
        started, used = time.perf_counter(), _processor_time()
        work(text)
        waited.append((time.perf_counter() - started) * 1e3)
        worked.append((_processor_time() - used) * 1e3)
        slowest = max(slowest, (worked[-1], text))
    told = [f"{sorted(each)[int(times * part)]:.2f}" for each in (waited, worked) for part in (0.5, 0.95)]
    print(f"{name}: p50 {told[0]} ms, p95 {told[1]} ms; of the processor {told[2]} and {told[3]} ms, "
          f"at most {slowest[0]:.0f} ms for {slowest[1]!r}", flush=True)  # fmt: skip


def _processor_time() -> float:
    """Give the seconds of this process, and of the one that PostgreSQL runs for its connection."""
    from django.db import connection

    if connection.vendor == "sqlite":
        return time.process_time()
    connection.ensure_connection()
    of_server = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text().split()[0]
    return time.process_time() + int(of_server) / 1e9


if __name__ == "__main__":
    main()
