"""The service: run it, look after it, copy and move its data, fill it for a trial, and say who may use it."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from retrycontract import __version__
from retrycontract.cli.program import django_command, start_django

MOST_CALLS = 100_000_000  # made up in one go: more is a slip of the hand, and would fill the disk


def _first_words(what: str) -> None:
    """Say at once what happens: the framework takes seconds to load on a cold machine."""
    said = f"retrycontract {__version__}: {what}"
    if not sys.stderr.isatty():  # whoever reads the log reads JSON, from the first line on
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        # The log's own formatter comes with the framework, which is not loaded yet.
        said = json.dumps({"message": said, "level": "info", "logger": "retrycontract", "time": now})
    click.echo(said, err=True)


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
    start_django(makes_data=True)
    logging.captureWarnings(capture=True)
    django_command("up", host=host, port=port, demo=demo, data_dir=data_dir)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port to listen on.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
def web(host: str, port: int, workers: int) -> None:
    """Run web processes, where the service is scaled out.

    They wait for a database that is migrated; a 'worker' judges beside them.
    """
    _first_words("starting web processes")
    start_django()
    logging.captureWarnings(capture=True)  # in the log, as everything else
    import uvicorn
    from django.conf import settings
    from django.db import Error

    from retrycontract.front.connections import BoundedRequest
    from retrycontract.front.descriptors import allow_many_connections
    from retrycontract.management.commands.up import GRACE_SECONDS, bare, check_free

    with suppress(Error):  # a database that cannot be used is told by each process, and waited for
        _refuse_foreign_keys("web")
    # Before the server begins: a port that is taken is told in one line, whatever uvicorn would write.
    check_free(host := bare(host), port)
    allow_many_connections()
    proxies = settings.RETRYCONTRACT.trusted_proxies
    uvicorn.run(
        "retrycontract.asgi:application", host=host, port=port, workers=workers, lifespan="on", log_config=None,
        access_log=False, server_header=False, timeout_graceful_shutdown=GRACE_SECONDS,
        forwarded_allow_ips=list(proxies) or None, http=BoundedRequest,
    )  # fmt: skip


def _refuse_foreign_keys(actor: str) -> None:
    """Refuse to run with keys that are not the service's: what others seal would come back to agents as unreadable."""
    from django.db import connection
    from django.utils import timezone

    from retrycontract.store.models import Door
    from retrycontract.store.schema import database_schema
    from retrycontract.usecases.reseal import FOREIGN, know_keys

    try:
        if not database_schema.missing() and not know_keys(now=timezone.now(), actor=actor, door=Door.COMMAND):
            raise click.ClickException(f"{FOREIGN}.")
    finally:
        connection.close()  # processes are forked afterwards


@click.command()
@click.option("--concurrency", type=click.IntRange(1, 256), default=2, show_default=True, help="Attempts at once.")
def worker(concurrency: int) -> None:
    """Run a Celery worker, where the service is scaled out.

    It waits for a database that is migrated.
    SIGTERM lets the attempts in hand finish, and takes no new ones.
    """
    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")  # read when Celery is imported
    _first_words("starting a worker")
    start_django()
    logging.captureWarnings(capture=True)
    celery: Any = import_module("worker.celery")
    from retrycontract.store.schema import database_schema

    database_schema.wait()  # as for a migration that runs beside, or a server that starts with it
    _refuse_foreign_keys("worker")
    # Workers need not know of each other: the database says who has which attempt. A heartbeat that a silent Redis does
    # not take would keep a worker from ending.
    options = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--concurrency", str(concurrency))
    celery.app.start(["--quiet", "worker", *options])


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
    start_django(makes_data=True)
    from django.conf import settings

    if not settings.RETRYCONTRACT.database_url:  # where keys are given, nobody made the folder yet
        os.umask(0o077)  # the database is the service's alone, as 'up' makes it
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
@click.option("--calls", type=click.IntRange(1, MOST_CALLS), default=10_000, show_default=True, help="How many calls.")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=60, show_default=True, help="Over how many days until now."
)
@click.option("--waiting", type=click.IntRange(0, MOST_CALLS), help="How many wait for a person now.")
@click.option("--seed", "number", default=1, show_default=True, help="Equal numbers make equal calls.")
@click.option("--beside-real-calls", is_flag=True, help="Do it though there are real calls.")
def seed(calls: int, days: int, waiting: int | None, number: int, beside_real_calls: bool) -> None:
    """Fill the database with made-up calls.

    To see how the desk looks and how the service does with many.
    """
    django_command("seed", calls=calls, days=days, waiting=waiting, seed=number, beside_real_calls=beside_real_calls)


@click.command()
@click.argument("file")
def backup(file: str) -> None:
    """Copy the database to a new FILE.

    The service may run meanwhile. The keys are not in the copy. - is standard output.

    \b
    retrycontract backup /backups/monday.sqlite3
    retrycontract backup - | gzip > monday.gz
    """
    django_command("backup", file)


@click.command()
@click.argument("file")
@click.option("--yes", is_flag=True, help="Replace what the database holds; a copy of it is kept.")
def restore(file: str, yes: bool) -> None:
    """Put a copy into the database's place.

    FILE is what 'backup' wrote, or - for standard input. Stop the service first.
    """
    django_command("restore", file, yes=yes)


@click.command()
@click.argument("file")
@click.option("--with-sealed", is_flag=True, help="Take submissions along that wait, encrypted, to be judged.")
def export(file: str, with_sealed: bool) -> None:
    """Write all data to a new FILE.

    For 'import' on another database: SQLite or PostgreSQL. - is standard output.

    \b
    retrycontract export - | gzip > all.jsonl.gz
    """
    django_command("export", file, with_sealed=with_sealed)


@click.command("import")
@click.argument("file")
def import_(file: str) -> None:
    """Take in what 'export' wrote.

    Into an empty database: everything or nothing. - is standard input.
    """
    django_command("import", file)


@click.command("rotate-keys")
@click.argument("step", type=click.Choice(["make", "reseal", "retire"]))
def rotate_keys(step: str) -> None:
    """Replace the encryption key, step by step.

    make, reseal, retire: no submission is lost on the way. Where the keys are given to the service, restart it after
    make and after retire.
    """
    django_command("rotate_keys", step)


@click.command("rebuild-metrics")
@click.option("--since", metavar="DATE", help="2030-01-31 or 2030-01-31T12; default: all that history still has.")
def rebuild_metrics(since: str | None) -> None:
    """Count history anew.

    For metrics and insights, while the service runs; the hour under way is left alone.
    """
    django_command("rebuild_metrics", *([f"--since={since}"] if since is not None else []))


@click.group(no_args_is_help=False)
def agent() -> None:
    """Let agents in: create, list, revoke."""


@agent.command("create")
@click.argument("name")
@click.option("--namespace", help="Agents of one namespace share their tools; default: the name.")
@click.option("--scopes", help="Some of submit, read, tools, with commas between them; default: all.")
@click.option("--expires-after", metavar="DURATION", help="30d, say; default: until it is revoked.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def create_agent(name: str, as_json: bool, **options: str | None) -> None:
    """Make an agent, if it is new, and print an API key for it: shown this once.

    \b
    export RETRYCONTRACT_API_KEY=$(retrycontract agent create planner)
    """
    given = [f"--{option.replace('_', '-')}={value}" for option, value in options.items() if value is not None]
    with _kept_once_shown():
        key = _printed("create_agent", name, *given)
        click.echo(json.dumps({"agent": name, "api_key": key}) if as_json else key)
    # To stderr: standard output holds the key alone, for `$(…)` to take.
    click.echo(f"The API key of {name}, shown this once; the agent reads it from RETRYCONTRACT_API_KEY.", err=True)


@agent.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_agents(as_json: bool) -> None:
    """List agents and their keys: prefix, state, scopes, when they were used."""
    start_django()
    from django.utils import timezone

    from retrycontract.store.models import ApiKey

    def moment(at: Any) -> str | None:
        return at.isoformat(timespec="seconds") if at else None

    rows: list[dict[str, Any]] = [
        {
            "agent": key.agent.name,
            "namespace": key.agent.namespace,
            "key": key.prefix,
            "state": key.state_at(timezone.now()).value,
            "scopes": sorted(scope.value for scope in key.granted),
            "created_at": moment(key.created_at),
            "expires_at": moment(key.expires_at),
            "last_used_at": moment(key.last_used_at),
        }
        for key in ApiKey.objects.select_related("agent").order_by("agent__name", "created_at", "pk")
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    if not rows:
        click.echo("There is no agent yet: retrycontract agent create NAME", err=True)
    for row in rows:
        used = row["last_used_at"] or "never used"
        click.echo(f"{row['key']}  {row['state']:8} {row['agent']}  ({', '.join(row['scopes'])}; {used})")


@agent.command("revoke")
@click.argument("key", metavar="PREFIX")
def revoke_agent_key(key: str) -> None:
    """Take a key away for good, named by its PREFIX (rc_ and eight characters, as 'list' shows it)."""
    start_django()
    from django.utils import timezone

    from retrycontract.store.models import ApiKey, Door
    from retrycontract.usecases.people.admit import revoke_key

    # Whoever pastes the whole key is understood as well: its secret part is not looked at.
    found = list(ApiKey.objects.filter(prefix="_".join(key.split("_")[:2])).select_related("agent"))
    if len(found) != 1:
        # Repeats no more than a prefix has, since a whole key may have been pasted.
        raise click.ClickException(f"no key begins with {key[:11]}: 'retrycontract agent list' shows them.")
    was_good = revoke_key(found[0], now=timezone.now(), actor="retrycontract", door=Door.COMMAND)
    said = "revoked" if was_good else "was revoked before"
    click.echo(f"{found[0].prefix} of {found[0].agent.name}: {said}.")


@click.group(no_args_is_help=False)
def operator() -> None:
    """Let people in: create, free."""


@operator.command("create")
@click.argument("name")
@click.option("--role", type=click.Choice(["viewer", "operator", "admin"]), default="operator", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def create_operator(name: str, role: str, as_json: bool) -> None:
    """Make an operator and print a random password: shown this once."""
    with _kept_once_shown():
        password = _printed("create_operator", name, f"--role={role}")
        click.echo(json.dumps({"operator": name, "role": role, "password": password}) if as_json else password)
    click.echo(f"The password of {name} ({role}), shown this once; they log in at the desk.", err=True)


@operator.command("free")
@click.argument("name")
@click.option("--second-factor", is_flag=True, help="Take a second factor away that is lost.")
def free_operator(name: str, second_factor: bool) -> None:
    """Let an operator log in again who failed too often."""
    django_command("free_operator", name, second_factor=second_factor)


@contextmanager
def _kept_once_shown() -> Iterator[None]:
    """Keep what a block makes once what it prints has gone out: a secret that nobody got would stay good for ever."""
    start_django()
    from django.db import transaction

    try:
        with transaction.atomic():
            yield
            sys.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the interpreter flushes once more at its end, and would fail again
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - closed by the interpreter
        said = f"what is shown once cannot be written ({error.strerror}): nothing was made."
        raise click.ClickException(said) from None


def _printed(command: str, *arguments: str) -> str:
    said = io.StringIO()
    django_command(command, *arguments, stdout=said)
    return said.getvalue().strip()
