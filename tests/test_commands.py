"""The management commands: what they print, make and refuse."""

from __future__ import annotations

import re
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from dashboard.navigation import Role, may_answer
from retrycontract.management import demo
from retrycontract.management.commands import up
from retrycontract.management.private_files import sole_service
from retrycontract.store.models import Agent, ApiKey, Event, Tool
from tests.file_database import file_database as file_database
from tests.management.conftest import printed


@pytest.mark.django_db
def test_create_agent_prints_one_line_the_key() -> None:
    text = printed("create_agent", "deployer")
    assert re.fullmatch(r"rc_[0-9a-f]{8}_[\w-]{43}\n", text)
    key = ApiKey.objects.authenticate(text.strip(), timezone.now())
    assert key is not None
    assert (key.agent.name, key.agent.namespace) == ("deployer", "deployer")


@pytest.mark.django_db
def test_create_agent_again_makes_another_key_of_the_same_agent() -> None:
    keys = {printed("create_agent", "deployer") for _ in range(2)}
    assert (len(keys), Agent.objects.count(), ApiKey.objects.count()) == (2, 1, 2)


@pytest.mark.django_db
def test_agents_may_share_a_namespace() -> None:
    printed("create_agent", "one", namespace="team")
    printed("create_agent", "one")
    printed("create_agent", "two", "--namespace", "team")
    assert set(Agent.objects.values_list("name", "namespace")) == {("one", "team"), ("two", "team")}


@pytest.mark.django_db
def test_an_agents_namespace_is_not_changed_in_passing() -> None:
    printed("create_agent", "one")
    with pytest.raises(CommandError, match="has the namespace one"):
        printed("create_agent", "one", namespace="team")
    assert ApiKey.objects.count() == 1


@pytest.mark.django_db
def test_a_key_can_be_for_some_things_and_some_time_only() -> None:
    printed("create_agent", "watcher", "--scopes", "read, tools", "--expires-after", "30d")
    key = ApiKey.objects.get()
    assert (key.granted, key.expires_at) == ({"read", "tools"}, key.created_at + timedelta(days=30))
    printed("create_agent", "agent")
    key = ApiKey.objects.get(agent__name="agent")
    assert (key.granted, key.expires_at) == ({"submit", "read", "tools"}, None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("option", "value", "advice"),
    [
        ("--scopes", "all", "submit, read, tools"),
        ("--scopes", "", "submit, read, tools"),
        ("--expires-after", "soon", "'7d'"),
    ],
)
def test_create_agent_refuses_what_no_key_can_have(option: str, value: str, advice: str) -> None:
    with pytest.raises(CommandError, match=advice):
        printed("create_agent", "watcher", option, value)
    assert not Agent.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "a\nb", "<b>", "x" * 201])
def test_create_agent_refuses_a_name_that_cannot_be_shown(name: str) -> None:
    with pytest.raises(CommandError, match="An agent's name has"):
        printed("create_agent", name)
    assert not Agent.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("role", list(Role))
def test_create_operator_prints_one_line_the_password(role: Role) -> None:
    text = printed("create_operator", "mia", "--role", role.value)
    assert re.fullmatch(r"[\w-]{16}\n", text)
    user = authenticate(username="mia", password=text.strip())
    assert isinstance(user, User)
    assert [group.name for group in user.groups.all()] == [role.value]
    assert (user.is_staff, user.is_superuser) == (role is Role.ADMIN, False)
    assert may_answer(user) is (role is not Role.VIEWER)


@pytest.mark.django_db
def test_create_operator_makes_operators_unless_it_is_told_otherwise() -> None:
    printed("create_operator", "mia")
    assert User.objects.get().groups.get().name == "operator"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["mia", "", "with space", "x" * 151])
def test_create_operator_refuses_a_name_that_is_taken_or_unusable(name: str) -> None:
    printed("create_operator", "mia")
    with pytest.raises(CommandError):
        printed("create_operator", name)
    assert User.objects.count() == 1


@pytest.fixture
def data_dir(settings: Settings, tmp_path: Path) -> Path:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": tmp_path})
    return tmp_path


@pytest.mark.django_db
def test_the_first_operators_password_is_kept_for_its_owner_alone(data_dir: Path) -> None:
    password = demo.first_operator()
    kept = data_dir / "operator_password"
    assert kept.read_text() == f"{password}\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert authenticate(username=demo.OPERATOR, password=password) is not None
    assert demo.first_operator() is None


@pytest.mark.django_db
def test_the_demo_is_made_once_and_its_key_opens_the_door(data_dir: Path) -> None:
    for _ in range(2):
        demo.demo_agent(timezone.now())
    kept = data_dir / "demo_agent_key"
    key = ApiKey.objects.authenticate(kept.read_text().strip(), timezone.now())
    assert key is not None
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert (key.agent.name, ApiKey.objects.count()) == (demo.AGENT, 1)
    assert set(Tool.objects.values_list("name", flat=True)) == set(demo.TOOLS)
    assert demo.example_is_due()
    told = Event.objects.filter(name__in=("agent.admitted", "key.issued")).order_by("pk")
    assert list(told.values_list("name", "actor", "door")) == [
        ("agent.admitted", "up", "command"), ("key.issued", "up", "command")
    ]  # fmt: skip


def migrate() -> str:
    """Do what `up` does before it serves."""
    output = StringIO()
    up.Command(stdout=output)._migrate()
    return output.getvalue()


def forget_a_migration() -> None:
    """Bring the database to where it stood before its last migration."""
    call_command("migrate", "sessions", "zero", verbosity=0)


def copies(database: Path) -> list[Path]:
    return sorted(database.parent.glob("before-migration-*.sqlite3"))


def test_up_copies_the_database_before_it_migrates(file_database: Path) -> None:
    Agent.objects.create(name="kept", namespace="kept", created_at=timezone.now())
    forget_a_migration()
    text = migrate()
    (copy,) = copies(file_database)
    assert str(copy) in text
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as copied:
        assert copied.execute("SELECT name FROM retrycontract_agent").fetchall() == [("kept",)]
        tables = {name for (name,) in copied.execute("SELECT name FROM sqlite_master")}
    assert "django_session" not in tables
    assert "django_session" in connection.introspection.table_names()


def test_up_copies_nothing_when_there_is_nothing_to_migrate(file_database: Path) -> None:
    assert migrate() == ""
    assert copies(file_database) == []


def test_up_migrates_a_new_database_without_a_copy(file_database: Path) -> None:
    connection.close()
    file_database.unlink()
    assert migrate() == ""
    assert copies(file_database) == []
    assert not Agent.objects.exists()


def test_up_keeps_the_last_copies_only(file_database: Path) -> None:
    for year in range(2001, 2008):
        (file_database.parent / f"before-migration-{year}0101-000000.sqlite3").touch()
    forget_a_migration()
    migrate()
    kept = [copy.name[17:21] for copy in copies(file_database)]
    assert kept == ["2006", "2007", f"{timezone.now():%Y}"]


@pytest.mark.django_db
def test_up_says_when_its_address_is_taken(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=rf"127\.0\.0\.1:{port} cannot be used .*--port"):
            printed("up", port=port)


HOLD = """
import sys, time
from pathlib import Path
from retrycontract.management.private_files import sole_service
with sole_service(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def another_service(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Hold the folder as a service in another process does, until it is killed."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.django_db
@pytest.mark.parametrize("command", [("up", "--port", "1"), ("restore", "monday.backup")], ids=["up", "restore"])
def test_a_folder_has_one_service_at_a_time(data_dir: Path, command: tuple[str, ...]) -> None:
    with another_service(data_dir) as process:
        told = rf"A service is running on {data_dir} \(process {process.pid}\)\. Stop it first"
        with pytest.raises(CommandError, match=told):
            printed(*command)
    with sole_service(data_dir):  # killed without a word, and free again
        assert (data_dir / "service.lock").read_text().isdigit()


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    assert printed("makemigrations", "--check", "--dry-run", verbosity=1) == "No changes detected\n"


@pytest.mark.django_db
def test_a_folder_that_cannot_be_made_is_said_in_one_line(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "data"
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"data_dir": folder})
    with pytest.raises(CommandError, match=rf"{folder} cannot be used: Not a directory\."):
        printed("restore", "monday.backup")
