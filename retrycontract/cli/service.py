"""The service: run it, look after it, fill it for a trial."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from retrycontract import __version__
from retrycontract.cli.program import django_command, start_django


def _first_words(what: str) -> None:
    """Say at once what happens: the framework takes seconds to load on a cold machine."""
    click.echo(f"retrycontract {__version__}: {what}", err=True)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port to listen on.")
@click.option("--data-dir", type=Path, metavar="DIR", help="Folder of the database and the keys; default: data")
@click.option("--demo/--no-demo", default=True, show_default=True, help="Let a demo agent get stuck.")
def up(host: str, port: int, data_dir: Path | None, demo: bool) -> None:
    """Run the service: desk, API and worker.

    One process on SQLite. Makes what is missing: folder, keys, database, a first operator.
    Ctrl-C or SIGTERM ends it; nothing is lost.

    \b
    retrycontract up
    retrycontract up --no-demo --port 9000 --data-dir /var/lib/retrycontract
    """
    if data_dir is not None:
        os.environ["RETRYCONTRACT_DATA_DIR"] = str(data_dir)
    _first_words("starting")
    django_command("up", host=host, port=port, demo=demo, data_dir=data_dir)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of findings.")
def doctor(as_json: bool) -> None:
    """Say what is wrong and what to do about it.

    Looks at database, keys, workers, disk and settings.

    Exit status: 0 all is well or only warnings, 1 something fails, 2 wrong use.
    """
    django_command("doctor", as_json=as_json)


@click.command()
def migrate() -> None:
    """Bring the database to this version.

    'up' does it by itself.
    """
    _first_words("migrating the database")
    # The settings give a migration the time that it needs; they look at the command line for it.
    sys.argv[1:] = ["migrate"]
    start_django()
    from django.conf import settings

    if not settings.RETRYCONTRACT.database_url:  # where keys are given, nobody made the folder yet
        settings.RETRYCONTRACT.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    django_command("migrate", interactive=False, verbosity=0)
    click.echo("The database is at this version.")


@click.command()
def collectstatic() -> None:
    """Gather the files of the pages.

    Once for each new version, where processes are started one by one. 'up' does it by itself.
    """
    _first_words("gathering the files of the pages")
    django_command("collectstatic", interactive=False, verbosity=0)
    click.echo("The files of the pages are this version's.")


@click.command()
@click.option("--calls", default=10_000, show_default=True, help="How many calls.")
@click.option("--days", default=60, show_default=True, help="Over how many days until now.")
@click.option("--waiting", type=int, help="How many wait for a person now.")
@click.option("--seed", "number", default=1, show_default=True, help="Equal numbers make equal calls.")
@click.option("--beside-real-calls", is_flag=True, help="Do it though there are real calls.")
def seed(calls: int, days: int, waiting: int | None, number: int, beside_real_calls: bool) -> None:
    """Fill the database with made-up calls.

    To see how the desk looks and how the service does with many.
    """
    django_command("seed", calls=calls, days=days, waiting=waiting, seed=number, beside_real_calls=beside_real_calls)
