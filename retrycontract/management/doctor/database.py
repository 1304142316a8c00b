"""The database: whether it answers, how durable it is, whether its schema is ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from retrycontract.config.data_folder import none_in
from retrycontract.management.demo import OPERATOR as FIRST_OPERATOR
from retrycontract.management.doctor import Finding, fail, ok, warn
from retrycontract.management.doctor.surroundings import LOCAL, patches
from retrycontract.store.clock import shared_now
from retrycontract.store.history import is_left_open, missing_guards
from retrycontract.store.models import Call, Event
from retrycontract.usecases.people.admit import with_a_way_in

FULL = 2  # PRAGMA synchronous
OLDEST_POSTGRESQL = 150_000
SKEW = timedelta(seconds=5)  # leases and waits are compared between machines
FUTURE = timedelta(minutes=1)
LAST_EVENTS = 1_000


def answers() -> Iterator[Finding]:
    """Ask the database something; what follows makes sense only when it answers."""
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():  # to ask would make it
        yield fail("database", none_in(settings.RETRYCONTRACT.data_dir))
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        # The first line only: what follows may show where and as whom we tried.
        yield fail("database", f"It does not answer ({str(error).splitlines()[0]}): is it running, and is there room?")
    else:
        if (promises := _PROMISES.get(connection.vendor)) is None:
            yield fail("database", f"{connection.vendor} is not supported: use SQLite or PostgreSQL.")
        else:
            yield from promises()


def migrations() -> Iterator[Finding]:
    """Compare the schema with this release's."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    known = {app for app, _ in executor.loader.disk_migrations or {}}
    newer = [
        key for key in executor.loader.applied_migrations if key[0] in known and key not in executor.loader.graph.nodes
    ]
    newer = [key for key in newer if key not in executor.loader.replacements]
    if newer:
        names = ", ".join(sorted(f"{app}.{name}" for app, name in newer))
        yield fail("migrations", f"A newer release was here ({names}): install it again, or restore an older backup.")
    elif plan:
        yield fail(
            "migrations", f"{len(plan)} are not applied: 'retrycontract up' applies them, or 'retrycontract migrate'."
        )
    else:
        yield ok("migrations", "All are applied.")


def history() -> Iterator[Finding]:
    """Look for the triggers that keep the audit trail as it is."""
    if missing := missing_guards():
        yield fail(
            "history",
            f"The database would let history be changed: {', '.join(sorted(missing))} is gone. Find out who dropped "
            "it; guard_history() of retrycontract.store.history, in manage.py shell, puts it back.",
        )
    elif is_left_open():
        yield fail(
            "history",
            "Somebody let everybody change history: empty the table retrycontract_forgetting, or reset the setting "
            "retrycontract.forgetting, and find out who did.",
        )
    else:
        yield ok("history", "The database refuses to change or delete it.")


def clock(now: datetime) -> Iterator[Finding]:
    """Compare our clock with the database's, and with what was written last."""
    # Of the last ones together: after a jump the very last one is right again.
    newest = max(Event.objects.order_by("-pk").values_list("at", flat=True)[:LAST_EVENTS], default=None)
    apart = abs(shared_now() - now) if connection.vendor == "postgresql" else timedelta()
    if apart > SKEW:
        yield fail("clock", f"The database's clock is {apart.total_seconds():.0f} s away from ours: run NTP on both.")
    elif newest is not None and newest > now + FUTURE:
        yield warn(
            "clock", f"The newest event is of {newest:%Y-%m-%d %H:%M:%S} UTC, in the future: was the clock reset?"
        )
    else:
        yield ok("clock", f"It is {now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC.")


def operators() -> Iterator[Finding]:
    """Look for somebody who can answer."""
    service = settings.RETRYCONTRACT
    way_in = with_a_way_in(by_password=service.password_login, issuer=service.oidc_issuer)
    if count := way_in.filter(is_active=True).count():
        yield ok("operators", f"{count} can log in.")
    elif service.oidc_issuer:
        off = "" if service.password_login else ", and passwords are off"
        makes = "the first log-in of a member of a group in RETRYCONTRACT_OIDC_ROLES makes the operator."
        yield warn("operators", f"Nobody has logged in at {service.oidc_issuer} yet{off}: {makes}")
    else:
        yield warn("operators", "Nobody can log in: retrycontract operator create NAME --role admin")


def first_password() -> Iterator[Finding]:
    """Look whether a service that others reach still has the operator of its first start."""
    service = settings.RETRYCONTRACT
    kept: Path = service.data_dir / "operator_password"
    if not set(service.allowed_hosts) - LOCAL or not kept.is_file():
        return
    operator = User.objects.filter(username=FIRST_OPERATOR, is_active=True).first()
    if operator is not None and operator.check_password(kept.read_text(encoding="utf-8").strip()):
        yield warn(
            "passwords", f"The first operator's password is still the one in {kept}: change it, delete the file."
        )


def backups(now: datetime) -> Iterator[Finding]:
    """Look how old the newest copy is, where there is something to lose."""
    days = settings.RETRYCONTRACT.backup_days
    kept = Event.objects.filter(name="data.backed_up").order_by("-pk").values_list("at", flat=True).first()
    oldest = Call.objects.order_by("pk").values_list("created_at", flat=True).first()
    if not days or oldest is None:
        return
    limit = now - timedelta(days=days)
    if kept is not None and kept >= limit:
        yield ok("backups", f"The newest copy is of {kept:%Y-%m-%d %H:%M} UTC.")
    elif (kept or oldest) < limit:
        said = (
            f"The newest copy is of {kept:%Y-%m-%d}" if kept else f"There is no copy, and calls since {oldest:%Y-%m-%d}"
        )
        yield warn(
            "backups", f"{said}: retrycontract backup FILE, or RETRYCONTRACT_BACKUP_DAYS=0 where others copy it."
        )


def _sqlite() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = str(cursor.fetchone()[0])
        cursor.execute("PRAGMA synchronous")
        synchronous = int(cursor.fetchone()[0])
    if mode not in ("wal", "memory"):  # a database in memory has no log
        yield fail("database", f"The journal mode is {mode}, so that readers and writers wait for each other: set WAL.")
    elif synchronous < FULL:
        yield fail("database", "It does not wait for the disk: what was answered can be lost. Set synchronous=FULL.")
    else:
        yield ok("database", f"SQLite at {settings.DATABASES['default']['NAME']}, journal {mode}, synchronous full.")


def _postgresql() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        number = int(cursor.fetchone()[0])
        cursor.execute("SHOW synchronous_commit")
        commit = str(cursor.fetchone()[0])
        cursor.execute("SHOW server_encoding")
        encoding = str(cursor.fetchone()[0])
    version = f"PostgreSQL {number // 10_000}"
    yield from patches("postgres", number // 10_000, number % 10_000, 0)
    if number < OLDEST_POSTGRESQL:
        yield fail("database", f"{version} is too old: 15 is the oldest that is tested.")
    elif encoding != "UTF8":
        yield fail("database", f"Its encoding is {encoding}: make one with ENCODING 'UTF8', and export and import.")
    elif commit == "off":
        yield fail(
            "database", "It does not wait for the disk: what was answered can be lost. Set synchronous_commit = on."
        )
    else:
        yield ok("database", f"{version}, synchronous_commit {commit}.")


_PROMISES: dict[str, Callable[[], Iterator[Finding]]] = {"sqlite": _sqlite, "postgresql": _postgresql}
