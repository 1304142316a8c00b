"""The database of the settings: SQLite in the data folder, or PostgreSQL by its address; and what a Redis is at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

DATABASE_FILE: Final = "retrycontract.sqlite3"  # in the data folder
EXAMPLE: Final = "postgresql://user:password@host:5432/name"
# What a server may ask of its clients; everything else of libpq is ours to set.
OPTIONS: Final = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs", "channel_binding"})
PARTS: Final = re.compile(
    r"""(?:postgresql|postgres)://
        (?P<USER>[^:@/?#]+) (?: : (?P<PASSWORD>[^:@/?#]*) )? @
        (?P<HOST>\[[0-9A-Fa-f:.]+\]|[^:@/?#\[\]]+) (?: : (?P<PORT>[0-9]{1,5}) )?
        / (?P<NAME>[^/?#]+) (?: \? (?P<options>[^#]*) )?""",
    re.VERBOSE,
)
# Of an address of Redis, with the values that they take; for what is misspelt redis-py raises at the first use.
REDIS_OPTIONS: Final = {
    "ssl_cert_reqs": "required|optional|none", "ssl_check_hostname": "true|false",
    "ssl_ca_certs": r"[^\s]+", "ssl_certfile": r"[^\s]+", "ssl_keyfile": r"[^\s]+",
}  # fmt: skip
# A statement or a lock that takes longer is a fault of ours, and would hold up an agent that waits.
SESSION: Final = {
    "lock_timeout": "3s",
    "statement_timeout": "15s",
    "idle_in_transaction_session_timeout": "30s",
    # A statement that fails is written to the server's log: without the values that were bound to it.
    "log_parameter_max_length_on_error": "0",
}


def read_database_url(url: str, *, is_migration: bool = False) -> dict[str, Any]:
    """Read the address of a PostgreSQL database as Django's settings; raises ValueError, which quotes nothing of it.

    A migration may take its time, since an index of a large table does; it waits no longer for a lock than others.
    """
    found = PARTS.fullmatch(url)
    if found is None:
        raise ValueError(f"write it as {EXAMPLE}, with special characters percent-encoded")
    parts = {name: unquote(value or "") for name, value in found.groupdict().items() if name != "options"}
    parts["HOST"] = parts["HOST"].strip("[]")
    if int(parts["PORT"] or 0) > 65_535:
        raise ValueError("its port is over 65535")
    given = dict(parse_qsl(found["options"] or "", keep_blank_values=True))
    if not given.keys() <= OPTIONS:
        raise ValueError(f"its options may be {', '.join(sorted(OPTIONS))}")
    session = SESSION | ({"statement_timeout": "0"} if is_migration else {})
    return {
        "ENGINE": "django.db.backends.postgresql",
        **parts,
        # Connecting costs as much as several statements; a connection that died is replaced at its next use.
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **given,
            "connect_timeout": 5,
            "application_name": "retrycontract",
            # Values travel apart from the statement, so that a failing one does not write them to the server's log.
            "server_side_binding": True,
            "prepare_threshold": 5,  # executions after which a statement is planned once for all: 15 % of a submit
            "options": " ".join(f"-c {name}={value}" for name, value in session.items()),
        },
    }


def database_settings(url: str, data_dir: Path, *, is_migration: bool = False) -> dict[str, Any]:
    """Give Django's settings of the database; without an address it is a file in the data folder."""
    if url:
        return read_database_url(url, is_migration=is_migration)
    return {
        "ENGINE": "retrycontract.store.sqlite",
        "NAME": data_dir / DATABASE_FILE,
        # Threads of the bridge live as long as the process: their connections may, too.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A deferred transaction that starts to write fails at once, whatever the timeout; an immediate one waits.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # FULL: what was answered with 2xx survives a power cut.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864;",
        },
    }


def check_redis_url(url: str) -> None:
    """Raise ValueError, which quotes nothing of it, for an address that leads to no Redis."""
    # Redis' own reader takes database 0 for a path that is no number, and the default port for none.
    try:
        parts = urlsplit(url)
        names_place = bool(parts.hostname) and parts.port != 0 and re.fullmatch(r"/?|/[0-9]{1,5}", parts.path)
        is_right = bool(names_place and re.fullmatch(r"rediss?://[^\s#]+", url))
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError("write it as redis://:password@host:6379/0, or rediss:// for TLS")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        allowed = REDIS_OPTIONS.get(name) if parts.scheme == "rediss" else None
        if allowed is None:
            raise ValueError(f"its options may be {', '.join(REDIS_OPTIONS)}, with rediss:// alone")
        if not re.fullmatch(allowed, value):
            raise ValueError(f"its option {name} may be {allowed.replace('|', ' or ') if '|' in allowed else 'a path'}")
