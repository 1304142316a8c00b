"""Print a database of today's schema as SQL, with rows of every kind in it, for the upgrades of releases to come.

    python -m tests.upgrade.make_dump > tests/upgrade/schema-0001.sql

The number is that of the newest migration. What a release left stays as it is: a newer one gets a file of its own.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import django

HEAD = """\
-- A database as the migration {newest} left it, with rows of every kind in it that the use cases made: calls that are
-- pending, retrying, Blocked, guided, valid, rejected, cancelled and expired, one submission that waits sealed (its key
-- is lost), two versions of a tool, keys, operators. Upgrades must keep every row; see test_upgrade.py. Written by
-- make_dump.py; never written anew once it was released.
"""


def main() -> None:
    """Migrate an empty database, fill it and print it."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.core.management import call_command

    from tests.file_database import using
    from tests.upgrade.newest import NEWEST

    with TemporaryDirectory() as folder:
        path = Path(folder, "old.sqlite3")
        with using(path):
            call_command("migrate", verbosity=0)
            fill()
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE IF EXISTS django_session")
            sys.stdout.write(HEAD.format(newest=NEWEST) + "\n".join(database.iterdump()) + "\n")


def fill() -> None:
    """Add what the tests of an upgrade ask for to what the tests of a move between databases put in."""
    from django.conf import settings
    from django.utils import timezone

    from retrycontract.contract.lifecycle import CallState
    from retrycontract.store.models import Call, Tool, WorkerBeat
    from retrycontract.usecases.calls.cancel_call import cancel_call
    from retrycontract.usecases.calls.repeat_request import RequestKey, answer_once
    from retrycontract.usecases.calls.sweep import expire_overdue
    from retrycontract.usecases.counts.recount import sum_up_everything
    from retrycontract.usecases.people.log_in import LoginTry, begin_login
    from tests import factories
    from tests.management.conftest import fill as fill_what_moves

    now = timezone.now()
    fill_what_moves()
    agent = factories.make_agent()
    factories.make_tool(agent, schema=factories.DEPLOY | {"title": "second version"})
    Tool.objects.update(on_expiry="expire")
    factories.submit(agent, factories.RIGHT)
    cancel_call(factories.make_call(agent, [factories.WRONG]), now=now)
    factories.make_blocked(agent, at=now - timedelta(days=20))
    expire_overdue(now=now)
    answer_once(agent, RequestKey.of("again", "POST"), lambda: {"made": "once"}, now=now)
    begin_login(LoginTry("nobody", "203.0.113.7"), now=now)
    WorkerBeat.objects.create(name="worker", beat_at=now)
    sum_up_everything(now=now)
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"judge": "worker"})
    factories.submit(agent, factories.RIGHT)
    found = set(Call.objects.values_list("state", flat=True))
    assert found == set(CallState) - {CallState.OBSERVED, CallState.UNAVAILABLE}, found


if __name__ == "__main__":
    main()
