"""No secret at rest or on any way out: places by ways, in one process and scaled out, each with its control."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.canaries.places import PASSING, PLACES
from tests.canaries.planting import Life, Monitor, files_of, keys_of, rows_of
from tests.serving import running, scaled
from tests.serving.receivers import Mailbox, Receiver, receiving, taking_mail
from tests.serving.servers import PostgreSQL, Redis
from tests.serving.service import Service
from tests.serving.threads import eventually

# A whole life with every page read: a minute on an idle machine, many on one that is shared. The four share nothing.
pytestmark = [pytest.mark.processes, pytest.mark.soak, pytest.mark.minutes]
OFF = "tools:\n  validation:\n    sanitizing: {redact_secrets: false}\n"
SHARED_WAYS = ("the API", "the dashboard", "the admin", "the log", "webhooks", "e-mail")
EMBEDDED_WAYS = (*SHARED_WAYS, "the database's files")
SCALED_WAYS = (*SHARED_WAYS, "the database's rows", "PostgreSQL's log", "Redis")
# What is read and used, and shown or kept by nobody: its control is that everything else is found.
NEVER_KEPT = {*PASSING, "the reason for the end"}
# A server that logs every statement, as no server does by itself, logs what is looked up, too.
LOOKED_UP = {
    "an address", "a call's id", "a cursor", "a user's name", "an operator's name",
    "a call of a group", "a mistake of a group", "a call beside", "an address of the desk", "an agent of the desk",
    "a state of a webhook",
}  # fmt: skip


def told(mailbox: Mailbox, receiver: Receiver) -> dict[str, str]:
    """Give the settings by which a service tells everybody everything."""
    return {
        "RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS": "true",
        "RETRYCONTRACT_NOTIFY_WEBHOOK_URL": receiver.url,
        "RETRYCONTRACT_NOTIFY_EMAIL": "ana@example.com",
        "RETRYCONTRACT_NOTIFY_PAUSE_SECONDS": "0",
        "RETRYCONTRACT_EMAIL_HOST": "127.0.0.1",
        "RETRYCONTRACT_EMAIL_PORT": str(mailbox.port),
        "RETRYCONTRACT_EMAIL_SECURITY": "none",
        "RETRYCONTRACT_EMAIL_FROM": "desk@desk.example",
        "RETRYCONTRACT_SWEEP_SECONDS": "0.1",
    }


def lived(service: Service, receiver: Receiver, mailbox: Mailbox, *, sanitised: bool) -> Life:
    """Start a service, let everything happen in it, and keep what went out."""
    service.data_dir.mkdir(parents=True)
    (service.data_dir / "config.yml").write_text("" if sanitised else OFF)
    life = Life(service, receiver, mailbox)
    with running(service):
        life.live()
        # The last answer is told by both ways; what came before it was told before.
        eventually(lambda: any(post.body.get("type") == "guidance.given" for post in receiver.posts), within=30)
        eventually(lambda: bool(mailbox.raw), within=30)
        life.ways |= files_of(service)
    life.ways["webhooks"] = b"\n".join(post.raw for post in receiver.posts)
    life.ways["e-mail"] = b"\n".join(mail.as_bytes() + mail.get_content().encode() for mail in mailbox.mails)
    return life


@contextmanager
def in_one_process(folder: Path, *, sanitised: bool) -> Iterator[Life]:
    """Live in one process on SQLite."""
    with receiving() as receiver, taking_mail() as mailbox:
        yield lived(Service(folder / "data", told(mailbox, receiver)), receiver, mailbox, sanitised=sanitised)


@contextmanager
def scaled_out(request: pytest.FixtureRequest, folder: Path, *, sanitised: bool) -> Iterator[Life]:
    """Live with a worker, on PostgreSQL that logs every statement and on Redis that is listened to."""
    postgresql: PostgreSQL = request.getfixturevalue("postgresql")
    redis: Redis = request.getfixturevalue("redis")
    monitor = Monitor(redis)
    with receiving() as receiver, taking_mail() as mailbox, postgresql.logging_everything():
        service = scaled(request, folder / "data", environment=told(mailbox, receiver), webs=1)
        life = lived(service, receiver, mailbox, sanitised=sanitised)
        life.ways |= rows_of(postgresql, service.environment["RETRYCONTRACT_DATABASE_URL"])
    life.ways["Redis"] = keys_of(redis) + monitor.stop()
    yield life


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A life in one process."""
    with in_one_process(tmp_path_factory.mktemp("life"), sanitised=True) as found:
        yield found


@pytest.fixture(scope="module")
def scaled_life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A life scaled out."""
    with scaled_out(request, tmp_path_factory.mktemp("scaled"), sanitised=True) as found:
        yield found


@pytest.mark.xdist_group("a life")
@pytest.mark.parametrize("way", EMBEDDED_WAYS)
def test_no_secret_leaves_one_process(life: Life, way: str) -> None:
    assert life.found(way) == set()


@pytest.mark.xdist_group("a life scaled out")
@pytest.mark.parametrize("way", SCALED_WAYS)
def test_no_secret_leaves_a_service_that_is_scaled_out(scaled_life: Life, way: str) -> None:
    assert scaled_life.found(way) == (LOOKED_UP if way == "PostgreSQL's log" else set())


@pytest.mark.xdist_group("a life without the sanitiser")
def test_without_the_sanitiser_every_place_is_found_in_one_process(tmp_path: Path) -> None:
    """The negative control: what the tests above look for is there to be found, in every place and on every way."""
    with in_one_process(tmp_path, sanitised=False) as control:
        found = {way: control.found(way) for way in EMBEDDED_WAYS}
    assert set(PLACES) - set().union(*found.values()) <= NEVER_KEPT
    assert [way for way, places in found.items() if not places] == []


@pytest.mark.xdist_group("a life without it scaled out")
def test_without_the_sanitiser_every_place_is_found_scaled_out(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with scaled_out(request, tmp_path, sanitised=False) as control:
        found = {way: control.found(way) for way in SCALED_WAYS}
    assert set(PLACES) - set().union(*found.values()) <= NEVER_KEPT
    # Redis carries numbers of rows, and verdicts that are sealed, whatever the sanitiser does.
    assert [way for way, places in found.items() if not places] == ["Redis"]
