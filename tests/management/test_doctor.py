"""The doctor finds what is wrong, says what to do, and leaves secrets alone."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyotp
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from retrycontract.config.service_settings import load
from retrycontract.contract.webhooks import WebhookEvent
from retrycontract.management.commands.doctor import examine
from retrycontract.management.doctor import Finding, Level
from retrycontract.store.history import unguard_history
from retrycontract.store.models import Attempt, Door, Event, ProviderIdentity, ToolVersion
from retrycontract.usecases.notify.tend_endpoint import add_endpoint
from retrycontract.usecases.people.log_in import begin_factor, confirm_factor
from tests.factories import PASSWORD, RIGHT, make_agent, make_tool, make_user, submit
from tests.file_database import file_database as file_database
from tests.management.outbox_ills import BY, gone_endpoint, message, stubborn_endpoints


class Setup:
    """A data folder with keys, a database, and settings that a table can change."""

    def __init__(self, settings: Settings, database: Path) -> None:
        self.settings, self.database, self.folder = settings, database, database.parent / "data"
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.config.touch(mode=0o600)
        made = load({"RETRYCONTRACT_DATA_DIR": str(self.folder), "RETRYCONTRACT_CONFIG_FILE": str(self.config)})
        settings.RETRYCONTRACT = made

    @property
    def config(self) -> Path:
        return self.folder / "config.yml"

    def set(self, **values: Any) -> None:
        self.settings.RETRYCONTRACT = self.settings.RETRYCONTRACT.model_copy(update=values)

    def wait(self, since: timedelta = timedelta()) -> Attempt:
        """Let a submission wait to be judged."""
        self.set(judge="worker")
        make_tool(make_agent())
        return submit(make_agent(), RIGHT, at=timezone.now() - since)


@pytest.fixture
def service(settings: Settings, file_database: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    for name in ("SECRET_KEY", "ENCRYPTION_KEYS"):
        monkeypatch.delenv(f"RETRYCONTRACT_{name}", raising=False)
    made = Setup(settings, file_database)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=WAL")
    make_user("mia")
    return made


def found(name: str) -> list[Finding]:
    return [finding for finding in examine(timezone.now()) if finding.name == name]


def test_a_service_in_order_has_only_good_findings(service: Setup) -> None:
    findings = examine(timezone.now())
    assert [finding for finding in findings if finding.level is not Level.OK] == []
    names = [finding.name for finding in findings]
    assert {"database", "migrations", "keys", "clock", "disk", "queue", "hosts", "config file", "data folder"} <= set(
        names
    )


def open_folder(service: Setup) -> None:
    service.folder.chmod(0o755)


def open_key(service: Setup) -> None:
    (service.folder / "encryption_key").chmod(0o644)


def lose_database(service: Setup) -> None:
    connection.close()
    for file in service.database.parent.glob(f"{service.database.name}*"):
        file.unlink()


def lose_key(service: Setup) -> None:
    (service.folder / "secret_key").unlink()


def spoil_config(service: Setup) -> None:
    service.config.write_text("tools: {validation: {retry: {max_attempts: 99}}}")


def lose_config(service: Setup) -> None:
    service.config.unlink()


def change_config(service: Setup) -> None:
    service.config.write_text("tools: {validation: {retry: {max_attempts: 5}}}")


def forget_migration(_: Setup) -> None:
    call_command("migrate", "sessions", "zero", verbosity=0)


def newer_release(_: Setup) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('retrycontract', '0999_later', '2030-01-01')"
        )


def without_log(service: Setup) -> None:
    """As on a file system that has no memory for several processes, where asking for a log changes nothing."""
    connection.close()
    with closing(sqlite3.connect(service.database)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
    connection.settings_dict["OPTIONS"] = {**connection.settings_dict["OPTIONS"], "init_command": ""}


def careless(_: Setup) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=NORMAL")


def waits_long(service: Setup) -> None:
    service.wait(timedelta(hours=3))


def lost_encryption_key(service: Setup) -> None:
    service.wait()
    service.set(encryption_keys=[Fernet.generate_key().decode()])


def closed_schema(service: Setup) -> None:
    make_tool(make_agent(), "deploy", {"properties": {"a": {"const": "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"}}})
    service.set(encryption_keys=[Fernet.generate_key().decode()])


def rotation_begun(service: Setup) -> None:
    service.wait()
    rotation_done(service)


def rotation_done(service: Setup) -> None:
    service.set(encryption_keys=[Fernet.generate_key().decode(), *service.settings.RETRYCONTRACT.encryption_keys])


def dropped_triggers(_: Setup) -> None:
    unguard_history()


def left_open(_: Setup) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO retrycontract_forgetting VALUES (1)")


def event_of_tomorrow(_: Setup) -> None:
    for at in (timedelta(days=1), timedelta()):  # the newest is right again
        Event.record("agent.admitted", actor="x", door=Door.COMMAND, at=timezone.now() + at)


def nobody(_: Setup) -> None:
    User.objects.update(is_active=False)


def seeded_alone(_: Setup) -> None:
    User.objects.all().delete()
    User.objects.create(username="seeded")
    unusable = User(username="invited")
    unusable.set_unusable_password()
    unusable.save()


def never_copied(_: Setup) -> None:
    make_tool(make_agent())
    submit(make_agent(), RIGHT, at=timezone.now() - timedelta(days=8))


def copied(*, days: int) -> Callable[[Setup], None]:
    def copy(setup: Setup) -> None:
        never_copied(setup)
        Event.record("data.backed_up", actor="x", door=Door.COMMAND, at=timezone.now() - timedelta(days=days), file="f")

    return copy


def quarantined(_: Setup) -> None:
    make_tool(make_agent())
    ToolVersion.objects.get().quarantine(timezone.now())


def misspelt(_: Setup) -> None:
    make_tool(make_agent())
    ToolVersion.objects.update(schema={"properties": {"a": {"x-sensitve": True}}})


def closed_endpoint(service: Setup) -> None:
    add_endpoint("https://x.example/", list(WebhookEvent), now=timezone.now(), **BY)
    service.set(encryption_keys=[Fernet.generate_key().decode()])


def closed_second_factor(service: Setup) -> None:
    noa, now = make_user("noa"), timezone.now()
    assert confirm_factor(noa, pyotp.TOTP(begin_factor(noa, now=now).secret).at(now), now=now)
    service.set(encryption_keys=[Fernet.generate_key().decode()])


def known_token(service: Setup) -> None:
    service.set(metrics_token="short")


def first_password(service: Setup) -> None:
    service.set(allowed_hosts=["a.example"], https=True, trusted_origins=["https://a.example"])
    make_user("operator")
    (service.folder / "operator_password").write_text(PASSWORD)


def collected(service: Setup, **files: str) -> None:
    """Use the storage of production, with files that were collected."""
    service.settings.STATIC_ROOT = service.folder / "static"
    service.settings.STORAGES = service.settings.STORAGES | {
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
    }
    service.settings.STATIC_ROOT.mkdir()
    manifest = {"version": "1.1", "paths": files, "hash": ""}
    (service.settings.STATIC_ROOT / "staticfiles.json").write_text(json.dumps(manifest))


def lose_a_static_file(service: Setup) -> None:
    collected(service, **{"desk.css": "desk.0a1b.css"})


def setting(**values: Any) -> Callable[[Setup], None]:
    return lambda service: service.set(**values)


ILLS: list[tuple[Callable[[Setup], None], str, str, str]] = [
    (open_folder, "warn", "data folder", "chmod 700"),
    (lose_database, "FAIL", "database", "there is no service's data in"),
    (setting(data_dir=Path("/nowhere/at/all")), "FAIL", "data folder", "set RETRYCONTRACT_DATA_DIR"),
    (open_key, "FAIL", "keys", "chmod 600"),
    (lose_key, "FAIL", "keys", "put it back"),
    (spoil_config, "FAIL", "config file", "max_attempts"),
    (lose_config, "FAIL", "config file", "will not start again without it"),
    (change_config, "warn", "config file", "restart the service"),
    (setting(debug=True), "warn", "debug", "unset it"),
    (setting(debug=True, allowed_hosts=["a.example"]), "FAIL", "debug", "unset it"),
    (setting(allowed_hosts=["*"]), "warn", "hosts", "list the names"),
    (setting(allowed_hosts=["a.example"]), "warn", "https", "RETRYCONTRACT_HTTPS=true"),
    (setting(allowed_hosts=["a.example"], https=True), "warn", "https", "RETRYCONTRACT_TRUSTED_ORIGINS"),
    (forget_migration, "FAIL", "migrations", "'retrycontract up' applies them"),
    (newer_release, "FAIL", "migrations", r"newer release was here \(retrycontract\.0999_later\)"),
    (without_log, "FAIL", "database", "set WAL"),
    (careless, "FAIL", "database", "synchronous=FULL"),
    (setting(sweep_seconds=0), "warn", "sweep", "turns it off"),
    (waits_long, "FAIL", "queue", "1 submissions wait, the oldest for 3 h, and none is lost: no worker works"),
    (lost_encryption_key, "FAIL", "sealed", "1 of 1 waiting submissions cannot be opened: add the key"),
    (closed_schema, "FAIL", "schemas", "1 cannot be opened, such as that of deploy v1, so nothing is judged"),
    (rotation_begun, "warn", "rotation", "needed for 1 that it sealed: retrycontract rotate-keys reseal"),
    (rotation_done, "warn", "rotation", "retrycontract rotate-keys retire"),
    (dropped_triggers, "FAIL", "history", "retrycontract_event_kept.* is gone"),
    (left_open, "FAIL", "history", "let everybody change history: empty the table"),
    (event_of_tomorrow, "warn", "clock", "in the future"),
    (nobody, "warn", "operators", "retrycontract operator create"),
    (seeded_alone, "warn", "operators", "Nobody can log in: retrycontract operator create"),
    (never_copied, "warn", "backups", "There is no copy, and calls since .*: retrycontract backup FILE"),
    (copied(days=8), "warn", "backups", "The newest copy is of .*: retrycontract backup FILE"),
    (message(tries=9, given_up_at=timezone.now()), "warn", "messages", "1 were given up"),
    (
        message(tries=2, last_error="no such host"),
        "warn",
        "messages",
        r"email does not take them \(no such host\): 1 wait",
    ),
    (
        message(tries=1, delivered_at=timezone.now(), last_error="bo@example.com (550): no such user"),
        "warn",
        "messages",
        r"refused recipients of the last e-mail \(bo@example.com \(550\): no such user\): correct .*NOTIFY_EMAIL",
    ),
    (stubborn_endpoints(failures=2, tries=2), "warn", "messages", r"\(https://x.example/\) does not take .*lately: 2"),
    (stubborn_endpoints(failures=3, tries=1), "warn", "messages", r"\(https://.*.example/\) .* \(no\): 2 wait. "),
    (gone_endpoint, "warn", "endpoints", r"1 were switched off, .* \(410\): correct them under Settings, Webhooks"),
    (
        closed_endpoint,
        "FAIL",
        "endpoints",
        "What 1 keep sealed cannot be opened, so they are told nothing: add the key",
    ),
    (closed_second_factor, "FAIL", "operators", "The second factor of 1 cannot be opened, such as that of noa"),
    (setting(database_url="postgresql://me:Postgres@db/x"), "FAIL", "passwords", "DATABASE_URL is one that everybody"),
    (known_token, "warn", "passwords", "RETRYCONTRACT_METRICS_TOKEN can be guessed"),
    (first_password, "warn", "passwords", "still the one in .*operator_password: change it"),
    (collected, "FAIL", "static files", "retrycontract collectstatic"),
    (lose_a_static_file, "FAIL", "static files", "1 are gone"),
    (misspelt, "warn", "slips", "deploy v1 has a slip at /properties/a/x-sensitve: .* did you mean `x-sensitive`"),
    (quarantined, "warn", "quarantine", "deploy v1 crashed"),
]


@pytest.mark.parametrize(
    ("fall_ill", "level", "name", "advice"), ILLS, ids=[f"{ill[2]}: {ill[3][:30]}" for ill in ILLS]
)
def test_an_illness_is_found_with_what_to_do(
    service: Setup, fall_ill: Callable[[Setup], None], level: str, name: str, advice: str
) -> None:
    fall_ill(service)
    findings = [finding for finding in found(name) if finding.level is not Level.OK]
    assert [finding.level.value for finding in findings] == [level]
    assert re.search(advice, findings[0].text)
    others = {finding.name for finding in examine(timezone.now()) if finding.level is Level.FAIL} - {name}
    assert others == set(), "one illness, one failure"


def test_a_secret_that_an_author_wrote_into_a_schema_is_no_slip(service: Setup) -> None:
    make_tool(
        make_agent(), "deploy", {"properties": {"a": {"enum": ["ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"]}}}
    )
    assert "[REDACTED" in str(ToolVersion.objects.get().schema)
    assert found("slips") == []


def test_where_passwords_are_off_only_who_came_by_this_provider_can_log_in(service: Setup) -> None:
    moved = User.objects.create(username="moved")
    known = {"operator": moved, "subject": "7", "linked_at": timezone.now()}
    identity = ProviderIdentity.objects.create(issuer="https://old.example", **known)
    service.set(password_login=False, oidc_issuer="https://id.example")
    (warned,) = found("operators")
    assert warned.text.startswith("Nobody has logged in at https://id.example yet, and passwords are off: the first")
    ProviderIdentity.objects.filter(pk=identity.pk).update(issuer="https://id.example")
    assert [finding.text for finding in found("operators")] == ["1 can log in."]


@pytest.mark.parametrize(("fall_ill", "days", "told"), [(never_copied, 0, []), (copied(days=1), 7, [Level.OK])])
def test_a_service_that_is_copied_is_found_so(
    service: Setup, fall_ill: Callable[[Setup], None], days: int, told: list[Level]
) -> None:
    service.set(backup_days=days)
    fall_ill(service)
    assert [finding.level for finding in found("backups")] == told


def test_a_backup_is_known_to_the_next_examination(service: Setup, tmp_path: Path) -> None:
    never_copied(service)
    call_command("backup", str(tmp_path / "copy"))
    assert [finding.level for finding in found("backups")] == [Level.OK]


def test_a_folder_that_nothing_needs_may_be_read_only(service: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container with a read-only root, its keys in the environment and its database elsewhere."""
    service.set(data_dir=Path("/proc/self/nowhere"), database_url="postgresql://me:aZ3kQ9xW7b@db/x")
    assert [finding.level for finding in found("data folder")] == [Level.FAIL]
    for name in ("SECRET_KEY", "ENCRYPTION_KEYS"):
        monkeypatch.setenv(f"RETRYCONTRACT_{name}", "given")
    assert [finding.level for finding in (*found("data folder"), *found("disk"))] == [Level.OK]


def test_what_waits_for_a_worker_that_is_there_is_no_illness(service: Setup) -> None:
    service.wait(timedelta(seconds=5))
    assert [finding.level for finding in (*found("queue"), *found("sealed"))] == [Level.OK, Level.OK]


def test_settings_that_are_right_for_the_public_are_found_so(service: Setup) -> None:
    service.set(allowed_hosts=["a.example"], https=True, trusted_origins=["https://a.example"])
    (finding,) = found("hosts")
    assert finding == Finding(Level.OK, "hosts", "It answers to a.example over HTTPS.")


def test_a_broken_database_is_said_and_the_rest_is_left_out(service: Setup) -> None:
    connection.close()
    for end in ("-wal", "-shm"):
        Path(f"{service.database}{end}").unlink(missing_ok=True)
    service.database.write_bytes(b"no database at all" * 1000)
    findings = examine(timezone.now())
    assert [(finding.name, finding.level) for finding in findings if finding.level is Level.FAIL] == [
        ("database", Level.FAIL)
    ]
    assert "queue" not in [finding.name for finding in findings]


def test_collected_files_are_found(service: Setup) -> None:
    lose_a_static_file(service)
    (service.folder / "static/desk.0a1b.css").touch()
    assert [finding.level for finding in found("static files")] == [Level.OK]
