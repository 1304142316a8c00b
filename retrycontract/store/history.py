"""History is append-only in the database itself: triggers refuse to change it, except while it is being forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection, transaction

REFUSED: Final = "retrycontract: history is append-only"
# A verdict, once given, and an answer, once sent; when an answer was taken over is noted later.
FINAL: Final = "OLD.state IN ('judged', 'dead', 'discarded')"
DECIDED: Final = (
    "escalation_id", "call_id", "operator_id", "decision", "text", "arguments", "patch", "base_id", "granted",
    "rendered", "given_at",
)  # fmt: skip
# Each table with what may not be updated, and in which rows.
GUARDED: Final = {
    "retrycontract_event": ("UPDATE", ""),
    "retrycontract_attempt": ("UPDATE", FINAL),
    "retrycontract_guidanceversion": ("UPDATE", ""),
    "retrycontract_guidance": (f"UPDATE OF {', '.join(DECIDED)}", ""),
}
GUARDS: Final = frozenset(f"{table}_{verb}" for table in GUARDED for verb in ("kept", "unchanged"))
_FLAG: Final = "retrycontract.forgetting"
_FUNCTION: Final = f"""
CREATE OR REPLACE FUNCTION retrycontract_keep_history() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE has_rows boolean;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.%I)', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO has_rows;
    IF NOT has_rows THEN RETURN NULL; END IF;
  END IF;
  IF current_setting('{_FLAG}', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION '{REFUSED}' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF TG_OP = 'DELETE' THEN RETURN OLD; ELSIF TG_OP = 'UPDATE' THEN RETURN NEW; END IF;
  RETURN NULL;
END $$
"""  # noqa: S608 - our own words


@contextmanager
def forgetting() -> Iterator[None]:
    """Let history be deleted in this block, by this transaction alone; what fails takes the leave back with it."""
    begin, end = (
        ("INSERT INTO retrycontract_forgetting VALUES (1)", "DELETE FROM retrycontract_forgetting")
        if connection.vendor == "sqlite"
        else (f"SELECT set_config('{_FLAG}', 'on', true)", f"SELECT set_config('{_FLAG}', 'off', true)")
    )
    with transaction.atomic():
        _execute(begin)
        yield
        _execute(end)


def guard_history(*_: Any) -> None:
    """Put the triggers into place; on SQLite a migration that rebuilds a guarded table does so again."""
    if connection.vendor == "sqlite":
        _execute("CREATE TABLE IF NOT EXISTS retrycontract_forgetting (one INTEGER PRIMARY KEY CHECK (one = 1))")
    else:
        _execute(_FUNCTION)
    there = set(connection.introspection.table_names())
    for table, (changes, rows) in GUARDED.items():
        if table not in there:
            continue  # the migration that makes it puts its triggers into place
        _guard(f"{table}_unchanged", changes, table, rows)
        _guard(f"{table}_kept", "DELETE", table)
        if connection.vendor == "postgresql":
            _execute(
                f"CREATE OR REPLACE TRIGGER {table}_full BEFORE TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION retrycontract_keep_history()"
            )


def unguard_history(*_: Any) -> None:
    """Take the triggers away, for a migration that goes back."""
    if connection.vendor == "sqlite":
        for name in GUARDS:
            _execute(f"DROP TRIGGER IF EXISTS {name}")
        _execute("DROP TABLE IF EXISTS retrycontract_forgetting")
    else:
        _execute("DROP FUNCTION IF EXISTS retrycontract_keep_history() CASCADE")


def missing_guards() -> frozenset[str]:
    """Name the triggers that should be there and are not."""
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        # A trigger that was switched off guards nothing.
        else "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D'"
    )
    wanted = GUARDS if connection.vendor == "sqlite" else GUARDS | {f"{table}_full" for table in GUARDED}
    with connection.cursor() as cursor:
        cursor.execute(names)
        return wanted - {name for (name,) in cursor.fetchall()}


def is_left_open() -> bool:
    """Tell whether somebody gave everybody the leave to forget."""
    asked = (
        "SELECT EXISTS (SELECT 1 FROM retrycontract_forgetting)"
        if connection.vendor == "sqlite"
        # Set for a role or the whole database it holds in every session, so this one shows it.
        else f"SELECT current_setting('{_FLAG}', true) = 'on'"
    )
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return bool(cursor.fetchone()[0])


def _guard(name: str, changes: str, table: str, rows: str = "") -> None:
    if connection.vendor == "sqlite":
        conditions = " AND ".join(filter(None, ["NOT EXISTS (SELECT 1 FROM retrycontract_forgetting)", rows]))
        # SQLite has no CREATE OR REPLACE TRIGGER.
        _execute(f"DROP TRIGGER IF EXISTS {name}")
        _execute(
            f"CREATE TRIGGER {name} BEFORE {changes} ON {table} FOR EACH ROW WHEN {conditions} "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
        )
    else:
        when = f"WHEN ({rows})" if rows else ""
        _execute(
            f"CREATE OR REPLACE TRIGGER {name} BEFORE {changes} ON {table} FOR EACH ROW {when} "
            "EXECUTE FUNCTION retrycontract_keep_history()"
        )


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
