"""Run the whole service in one process."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.exceptions import MigrationSchemaMissing
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from retrycontract.children.pool import ChildUnavailableError
from retrycontract.front.connections import Doorkeeper, guarded
from retrycontract.front.descriptors import TooFewFilesError, allow_many_connections
from retrycontract.management import demo
from retrycontract.management.private_files import DataInUseError, keep_private, sole_service

GRACE_SECONDS = 10  # for requests in hand when the service is told to stop
BACKUPS = 3  # copies kept from before the last migrations


logger = logging.getLogger("retrycontract")


class Command(BaseCommand):
    """Migrate, prepare a first look and serve."""

    help = "Run the service in one process: web, worker and sweep on SQLite. Ctrl-C or SIGTERM ends it cleanly."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take address, data folder and whether to show the demo."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000, choices=range(1, 65536), metavar="PORT")
        parser.add_argument("--data-dir", type=Path, help="folder of the database and the keys (default: data)")
        parser.add_argument("--demo", action=BooleanOptionalAction, default=True)

    def handle(self, *_: Any, host: str, port: int, data_dir: Path | None, demo: bool, **__: Any) -> None:
        """Prepare and serve until told to stop."""
        if data_dir is not None and data_dir.resolve() != settings.RETRYCONTRACT.data_dir.resolve():
            # The settings were made with the first one
            environment = os.environ | {"RETRYCONTRACT_DATA_DIR": str(data_dir)}
            os.execve(sys.executable, [sys.executable, *sys.argv], environment)
        host = bare(host)
        os.umask(0o077)  # what the service keeps is its own: the database, its log, the lock
        folder = settings.RETRYCONTRACT.data_dir
        try:
            allow_many_connections()  # a limit that is too low is told before anything is made
            with sole_service(folder):
                keep_private(folder)
                check_free(host, port)
                settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"embedded_worker": True})
                self._migrate()
                gather_files(folder)
                self._serve(host, port, with_demo=demo)
        except TooFewFilesError as error:
            raise CommandError(str(error)) from None
        except DataInUseError as error:
            raise CommandError(f"{error}, or choose another --data-dir.") from None
        except (OSError, OperationalError, MigrationSchemaMissing) as error:
            if not isinstance(error, OSError) and connection.vendor != "sqlite":
                raise
            raise CommandError(_in_words(error, folder)) from None

    def _migrate(self) -> None:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan and executor.loader.applied_migrations and connection.vendor == "sqlite":
            source = Path(connection.settings_dict["NAME"])
            target = source.with_name(f"before-migration-{timezone.now():%Y%m%d-%H%M%S}.sqlite3")
            with closing(sqlite3.connect(source)) as database:
                database.execute("VACUUM INTO ?", (str(target),))
            target.chmod(0o600)
            for old in sorted(source.parent.glob("before-migration-*.sqlite3"))[:-BACKUPS]:
                old.unlink()
            self.stdout.write(f"Copied the database to {target} before migrating it.")
        if plan:
            new = "" if executor.loader.applied_migrations else "a new database: "
            logger.info(f"Migrating {new}{len(plan)} steps")  # noqa: G004 - said once, to a person who waits
            call_command("migrate", interactive=False, verbosity=0)

    def _serve(self, host: str, port: int, *, with_demo: bool) -> None:
        password = demo.first_operator()
        if with_demo:
            try:
                demo.demo_agent(timezone.now())
            except ChildUnavailableError as error:  # a machine that is too busy for it now: the next start tries again
                logger.warning(f"There is no demo data: {error}")  # noqa: G004 - said once, to a person
                with_demo = False
        # Asked now: once the loop runs, the database must not be touched from its thread.
        example_is_due = with_demo and demo.example_is_due()
        service = settings.RETRYCONTRACT
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        doorkeeper = Doorkeeper(
            most=service.connections or allow_many_connections(),
            most_of_one_address=service.connections_per_address,
            header_seconds=service.header_seconds,
            body_seconds=service.body_seconds,
            trusted=frozenset(service.trusted_proxies),
        )
        server = _Server(
            uvicorn.Config(
                "retrycontract.asgi:application",
                host=host,
                port=port,
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                http=guarded(doorkeeper),
                # Else everybody on this machine could say that they come from elsewhere.
                proxy_headers=bool(service.trusted_proxies),
                forwarded_allow_ips=list(service.trusted_proxies),
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        server.on_ready = lambda: self._ready(server, url, password, with_example=example_is_due)
        server.run()
        self.stdout.write("Stopped; nothing is lost.")

    def _ready(self, server: _Server, url: str, password: str | None, *, with_example: bool) -> None:
        lines = ["", f"  retrycontract is ready   {url}"]
        if password is not None:
            kept = settings.RETRYCONTRACT.data_dir / "operator_password"
            lines += [f"  operator                 {demo.OPERATOR}", f"  password                 {password}"]
            lines += [f"                           (shown this once; also in {kept})"]
        said = "\n".join(lines)
        if with_example:
            lines += ["", "  A demo agent is getting stuck right now: watch it."]
        self.stdout.write("\n".join([*lines, ""]))
        self.stdout.flush()
        if with_example:
            then = f"{said}\n\n  The demo agent waits for a person. Log in, answer its call, and watch it finish.\n"
            server.example = demo.start_example(url, out=self.stdout, then=then)


def gather_files(folder: Path) -> None:
    """Gather the files of the pages, where they changed since: to hash and compress them takes longer than to start.

    Whoever names a folder for them collects them there, as the image does, which may be read alone.
    """
    sources = [Path(storage.path(name)) for finder in get_finders() for name, storage in finder.list([])]
    stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    digest, kept = hashlib.sha256(repr(stats).encode()).hexdigest(), folder / "static.sha256"
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if manifest.exists() and (settings.RETRYCONTRACT.static_dir or (kept.exists() and kept.read_text() == digest)):
        return
    logger.info("Gathering the files of the pages")
    call_command("collectstatic", interactive=False, verbosity=0)
    for path in (root := Path(settings.STATIC_ROOT), *root.rglob("*")):  # Django writes them for everybody to read
        path.chmod(0o700 if path.is_dir() else 0o600)
    kept.write_text(digest)


class _Server(uvicorn.Server):
    """Tell when the service answers."""

    on_ready: Any = None
    example: subprocess.Popen[bytes] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in good order on SIGINT and SIGTERM; the parent would raise them again and exit as if killed."""
        handled = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in handled.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.on_ready:
            self.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the example first: it must not find the service gone."""
        if self.example is not None and self.example.poll() is None:
            self.example.terminate()
        await super().shutdown(sockets)


def _in_words(error: OSError | DatabaseError, folder: Path) -> str:
    """Say in one sentence what keeps the service from its data."""
    said = str(error).casefold()
    if getattr(error, "errno", None) == errno.ENOSPC or "disk is full" in said or "no space" in said:
        return f"The disk of {folder} is full; make room, or choose another --data-dir."
    closed = (PermissionError, NotADirectoryError, FileNotFoundError, FileExistsError)
    read_only = getattr(error, "errno", None) == errno.EROFS or "readonly" in said or "unable to open" in said
    if read_only or isinstance(error, closed):
        return f"The folder {folder} cannot be written; give this account the right to, or choose another --data-dir."
    reason = getattr(error, "strerror", None) or said
    return f"The service cannot use the folder {folder} ({reason}); mend that, or choose another --data-dir."


def bare(host: str) -> str:
    """Take an IPv6 address out of the brackets that it has in a URL."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def check_free(host: str, port: int) -> None:
    """Raise CommandError for an address that cannot be listened on."""
    if not host.strip():  # to a socket that is every address of this machine, and here most often an unset variable
        raise CommandError("--host is empty: name the address to listen on, 0.0.0.0 for all of this machine's.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # As the server's own socket: else the port of a service that was just stopped would look taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, UnicodeError, TypeError) as error:  # the latter two are of a name that is no text
            reason = f"{host}:{port} cannot be used ({getattr(error, 'strerror', None) or 'this is no name of a host'})"
            is_no_host = isinstance(error, socket.gaierror | UnicodeError | TypeError)
            # An address of another machine is as wrong as a name that nobody knows.
            other = "--host" if is_no_host or getattr(error, "errno", None) == errno.EADDRNOTAVAIL else "--port"
            raise CommandError(f"{reason}; choose another with {other}.") from None
