"""The address of a PostgreSQL database: what it may say, what is refused, and that a refusal quotes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrycontract.config.database_url import read_database_url
from retrycontract.config.service_settings import PREFIX, WrongSettingError, load

READ: list[tuple[str, dict[str, str]]] = [
    ("postgresql://u:p@db:5432/name", {"USER": "u", "PASSWORD": "p", "HOST": "db", "PORT": "5432", "NAME": "name"}),
    ("postgres://u@db/name", {"USER": "u", "PASSWORD": "", "HOST": "db", "PORT": "", "NAME": "name"}),
    ("postgresql://u:p%40%2F%3A@db/name", {"PASSWORD": "p@/:"}),
    ("postgresql://u:p@[::1]:5432/name", {"HOST": "::1"}),
    ("postgresql://u:p@%2Fvar%2Frun/name", {"HOST": "/var/run"}),
    ("postgresql://u:p@db/my%20name", {"NAME": "my name"}),
]


@pytest.mark.parametrize(("url", "parts"), READ)
def test_an_address_is_read_part_by_part(url: str, parts: dict[str, str]) -> None:
    found = read_database_url(url)
    assert {name: found[name] for name in parts} == parts


def test_options_of_the_connection_are_handed_on_beside_ours() -> None:
    options = read_database_url("postgresql://u:p@db/name?sslmode=verify-full&sslrootcert=%2Fca.pem")["OPTIONS"]
    assert (options["sslmode"], options["sslrootcert"]) == ("verify-full", "/ca.pem")
    assert options["server_side_binding"] is True
    assert "lock_timeout=3s" in options["options"]


def test_a_migration_may_take_its_time_but_waits_no_longer_for_locks() -> None:
    given = [read_database_url("postgresql://u:p@db/n", is_migration=flag)["OPTIONS"]["options"] for flag in (0, 1)]
    assert ["statement_timeout=15s" in options for options in given] == [True, False]
    assert ["lock_timeout=3s" in options for options in given] == [True, True]


WRONG = [
    "mysql://u:secret@db/name",
    "postgresql://db/name",
    "postgresql://u:secret@db",
    "postgresql://u:secret@db/",
    "postgresql://u:secret@db:port/name",
    "postgresql://u:secret@db:99999/name",
    "postgresql://u:sec@ret@db/name",
    "postgresql://u:secret@db/name?options=-c%20x",
    "postgresql://u:secret@db/name#part",
    "postgresql://u:secret@db/name/other",
    " postgresql://u:secret@db/name",
    "sqlite:///file",
]


@pytest.mark.parametrize("url", WRONG)
def test_another_address_is_refused_without_being_quoted(tmp_path: Path, url: str) -> None:
    with pytest.raises(WrongSettingError) as refused:
        load({f"{PREFIX}DATA_DIR": str(tmp_path), f"{PREFIX}DATABASE_URL": url})
    message = str(refused.value)
    assert message.startswith(f"{PREFIX}DATABASE_URL: ")
    assert "sec" not in message.replace("user:password", "")


@pytest.mark.parametrize("url", ["localhost:6379", "http://db", "redis://", "redis://h #x"])
def test_an_address_that_is_no_redis_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(WrongSettingError, match=r"REDIS_URL: .*redis://:password@host"):
        load({f"{PREFIX}DATA_DIR": str(tmp_path), f"{PREFIX}REDIS_URL": url})


BELLS = [
    ({}, "worker.embedded.EmbeddedDoorbell"),
    ({"REDIS_URL": "redis://r"}, "worker.celery_doorbell.CeleryDoorbell"),
    ({"REDIS_URL": "redis://r", "EMBEDDED_WORKER": "true"}, "worker.embedded.EmbeddedDoorbell"),
    ({"REDIS_URL": "redis://r", "DOORBELL": "a.B"}, "a.B"),
]


@pytest.mark.parametrize(("given", "bell"), BELLS)
def test_the_doorbell_follows_from_who_works(tmp_path: Path, given: dict[str, str], bell: str) -> None:
    variables = {f"{PREFIX}{name}": value for name, value in given.items()}
    assert load({f"{PREFIX}DATA_DIR": str(tmp_path), **variables}).doorbell_class == bell
