"""The real service for story tests: `manage.py up` as a process of its own, reached over HTTP only.

What a service makes at its very first start, tables and gathered files, is made once in a run and copied: it takes
longer than all of the rest. `tests/cli/test_terminal.py` begins with nothing.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.serving.forked import forked
from tests.serving.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 180  # a hang guard: a quiet machine migrates a new database in a few
DATABASE = "retrycontract.sqlite3"
SHARED_BY = "TESTS_SHARE"
FIRST_START = """
import os
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "retrycontract.settings"
os.umask(0o077)
import django
django.setup()
from django.core.management import call_command
from retrycontract.management.commands.up import gather_files
call_command("migrate", interactive=False, verbosity=0)
gather_files(Path(os.environ["RETRYCONTRACT_DATA_DIR"]))
"""
REVOKE = """
from django.utils import timezone
from retrycontract.store.models import ApiKey, Door
from retrycontract.usecases.people.admit import revoke_key
revoke_key(ApiKey.objects.get(prefix="{prefix}"), now=timezone.now(), actor="ada", door=Door.COMMAND)
"""
# Commands of one service one after the other: to start a process for each takes longer than most stories.
CONSOLE = """
import io, json, sys
from django.core.management import call_command
from django.db import connections
for line in sys.stdin:
    told, refused = io.StringIO(), None
    try:
        call_command(*json.loads(line), stdout=told)
    except Exception as error:
        refused = repr(error)
    connections.close_all()
    print(json.dumps([told.getvalue().strip(), refused]), flush=True)
"""


def shared_folder() -> Path:
    """Give the folder that all processes of a run share: who asks first makes it, and clears it away at its end."""
    if SHARED_BY not in os.environ:
        os.environ[SHARED_BY] = tempfile.mkdtemp(prefix="retrycontract-first-")
        atexit.register(shutil.rmtree, os.environ[SHARED_BY], ignore_errors=True)
    return Path(os.environ[SHARED_BY])


@cache
def first_data() -> Path:
    """Make what a new data folder gets at the first start, less its keys."""
    folder, begun = shared_folder() / "made", shared_folder() / "begun"
    with (shared_folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            command, environment = [sys.executable, "-c", FIRST_START], Service(begun)._environ()
            made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
            for name in ("secret_key", "encryption_key"):
                (begun / name).unlink()
            begun.rename(folder)
    return folder


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: status, headers and the parsed body."""

    status: int
    headers: dict[str, str]
    body: Any
    text: str


@dataclass
class Service:
    """Start, stop and talk to one service with a data folder of its own."""

    data_dir: Path
    environment: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ("--no-demo",)
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    operator_password: str = ""
    anew: bool = False  # start Python, fork nothing: for who weighs it, limits it, or kills it at any moment
    _console: subprocess.Popen[str] | None = None
    _names: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        """Give the address of the service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Give everything that the service has printed."""
        return (self.data_dir / "service.log").read_text(encoding="utf-8")

    def start(self) -> None:
        """Start the service and wait until it says that it is ready."""
        if not (self.data_dir / DATABASE).exists():
            shutil.copytree(
                first_data(), self.data_dir, ignore=shutil.ignore_patterns("config.yml"), dirs_exist_ok=True
            )
        self.port = self.port or free_port()
        seen = len(self.log) if (self.data_dir / "service.log").exists() else 0
        with (self.data_dir / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._manage("up"), "--port", str(self.port), *self.arguments],
                cwd=ROOT,
                env=self._environ(),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_SECONDS
        while "is ready" not in self.log[seen:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the service did not start:\n{self.log[seen:]}")
            time.sleep(0.05)
        password = self.data_dir / "operator_password"
        self.operator_password = password.read_text(encoding="utf-8").strip() if password.exists() else ""

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop the service with a signal and return its exit status."""
        assert self.process is not None
        self.close_console()
        self.process.send_signal(how)
        return self.process.wait(60)

    def new_name(self, name: str) -> str:
        """Give a name that nobody had, by a number: a test that is tried again meets nothing that it left."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}-{self._names[name]}"

    def new_key(self, name: str, *, another: bool = False) -> str:
        """Make an agent, of a name like this one, and a key for it; or another key for the agent of this name."""
        return self.command("create_agent", name if another else self.new_name(name))

    def new_keys(self, *names: str) -> list[str]:
        """Make many agents, each with a key."""
        return [self.new_key(name) for name in names]

    def new_operator(self, name: str, role: str) -> str:
        """Make an operator, and give the password."""
        return self.command("create_operator", name, "--role", role)

    def command(self, *words: str) -> str:
        """Run a command in the process that runs them all, and give what it printed."""
        if self._console is None:
            with (self.data_dir / "console.log").open("ab") as log:
                self._console = subprocess.Popen(
                    [*self._manage("shell"), "--verbosity", "0", "--command", CONSOLE],
                    cwd=ROOT, env=self._environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                )  # fmt: skip
        assert self._console.stdin
        assert self._console.stdout
        self._console.stdin.write(json.dumps(words) + "\n")
        self._console.stdin.flush()
        told = self._console.stdout.readline()
        assert told, (self.data_dir / "console.log").read_text(encoding="utf-8")
        answer, refused = json.loads(told)
        assert refused is None, refused
        return str(answer)

    def close_console(self) -> None:
        """End the process that runs commands; the next command starts another one."""
        if self._console is not None:
            self._console.communicate(timeout=60)
            self._console = None

    def manage(self, command: str, *arguments: str) -> str:
        """Run a command in a process of its own, and give what it printed."""
        done = subprocess.run(
            [*self._manage(command), *arguments],
            cwd=ROOT,
            env=self._environ(),
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def revoke(self, key: str) -> None:
        """Revoke an agent's key, while it is in use."""
        self.manage("shell", "--verbosity", "0", "--command", REVOKE.format(prefix=key[:11]))

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = 90,
    ) -> Answer:
        """Send one request; `body` is sent as JSON unless it is bytes already."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = {"Authorization": f"Bearer {key}"} if key else {}
        payload = body
        if body is not None:
            sent["Content-Type"] = "application/json"
            payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, payload, sent | (headers or {}))
            response = connection.getresponse()
            text = response.read().decode("utf-8")
        finally:
            connection.close()
        is_json = "json" in (response.headers.get("Content-Type") or "")
        found = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, found, json.loads(text) if is_json else None, text)

    def _manage(self, command: str) -> list[str]:
        return self._python(str(ROOT / "manage.py"), command)

    def _python(self, *arguments: str) -> list[str]:
        return [sys.executable, *arguments] if self.anew else forked(*arguments)

    def _environ(self) -> dict[str, str]:
        # Only what a shell would have: nothing of the tests' own settings may leak into the service.
        ours = ("RETRYCONTRACT", "DJANGO")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        config = self.data_dir / "config.yml"
        if not config.exists():  # empty: not the one that may stand where the tests are run
            self.data_dir.mkdir(parents=True, exist_ok=True)
            config.touch()
        return inherited | {
            "RETRYCONTRACT_DATA_DIR": str(self.data_dir),
            "RETRYCONTRACT_CONFIG_FILE": str(config),
            "PYTHONUNBUFFERED": "1",
            "RETRYCONTRACT_ANSWER_HOLD_SECONDS": "0",  # what is not about taking back does not wait for it
            **self.environment,
        }


@dataclass
class AgentClient:
    """An agent with its key: the few requests that stories need."""

    service: Service
    key: str

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send a request below /api/v1 with the agent's key."""
        return self.service.send(method, f"/api/v1{path}", body, key=self.key, **options)

    def register(self, name: str, schema: Any, **settings: Any) -> Answer:
        """Register a tool."""
        return self.send("PUT", f"/tools/{quote(name)}", {"input_schema": schema, **settings})

    def submit(self, tool: str, tool_call_id: str, arguments: Any = None, **fields: Any) -> Any:
        """Submit an attempt and return the verdict, however long it takes; fails when the answer is none."""
        body = {"tool": tool, "tool_call_id": tool_call_id, **fields}
        if "raw" not in fields:
            body["arguments"] = arguments
        answer = self.send("POST", "/calls", body, headers={"Prefer": "wait=60"})
        assert answer.status == 200, answer.text
        return answer.body
