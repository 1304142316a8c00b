"""The data: copies, moves between databases, and the keys that seal it."""

from __future__ import annotations

import click

from retrycontract.cli.program import django_command


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

    make, restart the service, reseal, retire, restart: no submission is lost on the way.
    """
    django_command("rotate_keys", step)


@click.command("rebuild-metrics")
@click.option("--since", metavar="DATE", help="2030-01-31 or 2030-01-31T12; default: all that history still has.")
def rebuild_metrics(since: str | None) -> None:
    """Count history anew.

    For metrics and insights, while the service runs; the hour under way is left alone.
    """
    django_command("rebuild_metrics", *([f"--since={since}"] if since is not None else []))
