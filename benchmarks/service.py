"""Services for the benchmarks: the product's own processes, with the floors' addresses beside its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from time import monotonic, sleep

from benchmarks import calls
from benchmarks.load import Ask, request
from tests.serving.desk import Desk
from tests.serving.scaled import ScaledService
from tests.serving.servers import running_postgresql, running_redis
from tests.serving.service import ROOT, AgentClient, Service

METRICS_TOKEN = "metrics-of-the-benchmarks"
FLOOR = {
    "DJANGO_SETTINGS_MODULE": "benchmarks.floor_settings",
    "RETRYCONTRACT_REQUESTS_PER_MINUTE": "0",
    "RETRYCONTRACT_METRICS_TOKEN": METRICS_TOKEN,
}
TABLE = (
    "from django.db import connection; from benchmarks.floor_site import Row\n"
    "with connection.schema_editor() as editor: editor.create_model(Row)"
)
TOOL = "book_flight"
AGENTS = 10
OPEN_SECONDS = 120
SETTLING_SECONDS = 3  # what opening and closing a crowd costs is over then


@dataclass
class Site:
    """A running service with its agents, and the requests that they send."""

    service: Service
    keys: list[str]
    blocked: list[str] = field(default_factory=list)
    beside: Sequence[subprocess.Popen[bytes]] = ()  # database and Redis, whose work counts as well
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def port(self) -> int:
        """Give the port of the service, or of its first web process."""
        return self.service.port

    def processor_seconds(self) -> float:
        """Give what the service's processes, its servers and all their children have used so far."""
        ticks, pending = 0, [process.pid for process in [*self.processes, *self.beside]]
        for pid in pending:  # which grows on the way
            with suppress(OSError):  # a child that has just ended
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))  # its own, and that of children that have ended
                pending += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return ticks / os.sysconf("SC_CLK_TCK")

    @property
    def processes(self) -> list[subprocess.Popen[bytes]]:
        """List the processes that were started."""
        if isinstance(self.service, ScaledService):
            return [*self.service.web_processes, *self.service.worker_processes]
        return [self.service.process] if self.service.process else []

    def held(self) -> int:
        """Count the long polls that the service holds at the moment."""
        text = self.service.send("GET", "/metrics", key=METRICS_TOKEN).text
        lines = (
            line.rpartition(" ") for line in text.splitlines() if line.startswith("retrycontract_waiting_requests")
        )
        return sum(int(float(figure)) for _, _, figure in lines)

    def submits(self, arguments: Sequence[bytes]) -> Ask:
        """Submit the arguments in turn, each as a new call of the next agent."""
        keys, given = cycle(self.keys), cycle(arguments)

        def ask() -> bytes:
            body = {"tool": TOOL, "tool_call_id": f"call_{next(self._numbers)}", "raw": next(given).decode()}
            return request("POST", "/api/v1/calls", next(keys), json.dumps(body).encode())

        return ask

    def floor(self, path: str, arguments: Sequence[bytes]) -> Ask:
        """Send the same bytes to a floor."""
        keys, given = cycle(self.keys), cycle(arguments)

        def ask() -> bytes:
            body = {"tool": TOOL, "tool_call_id": f"call_{next(self._numbers)}", "raw": next(given).decode()}
            return request("POST", path, next(keys), json.dumps(body).encode())

        return ask

    def block_calls(self, each: int) -> None:
        """Have so many calls of each agent Blocked: the desk is full, and agents can wait for a person."""
        for number in range(each):
            for key in self.keys:
                raw = calls.FOUR_FAULTS[number].decode()
                verdict = AgentClient(self.service, key).submit(TOOL, f"blocked {number}", raw=raw, max_attempts=1)
                self.blocked.append(verdict["call_id"])

    @contextmanager
    def crowd(self, polls: int, streams: int, readers: Sequence[str] = ()) -> Iterator[None]:
        """Hold so many long polls and event streams open while the block runs.

        The agents that submit share them evenly; with the keys of `readers` it is they who share the streams.
        """
        waits = [
            request("GET", f"/api/v1/calls/{call}/wait?for=guidance", key, b"", "Prefer: wait=60").decode()
            for key, call in zip(self.keys, self.blocked, strict=False)
        ]
        events = [request("GET", "/api/v1/events", key).decode() for key in readers or self.keys]
        given = {"port": self.port, "polls": waits * (polls // AGENTS), "streams": events * (streams // len(events))}
        command = [sys.executable, "-m", "benchmarks.crowd"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(given) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "open\n"
            deadline = monotonic() + OPEN_SECONDS
            while self.held() < len(given["polls"]) and monotonic() < deadline:
                sleep(0.2)
            sleep(SETTLING_SECONDS)
            yield
            process.stdin.close()
            ended = json.loads(process.stdout.readline())
            assert not ended["failed"], ended
        sleep(SETTLING_SECONDS)

    def page(self, path: str) -> Callable[[], object]:
        """Give an operator's look at a page."""
        desk = Desk(self.service)
        desk.log_in()
        return lambda: desk.get(path)


@contextmanager
def embedded() -> Iterator[Site]:
    """Run everything in one process on SQLite, as `retrycontract up` does."""
    with tempfile.TemporaryDirectory(prefix="retrycontract-bench-") as folder:
        yield from _site(Service(Path(folder), dict(FLOOR), anew=True))


@contextmanager
def scaled() -> Iterator[Site]:
    """Run one web process and one Celery worker, which judges everything, on Redis and PostgreSQL."""
    with (
        tempfile.TemporaryDirectory(prefix="retrycontract-bench-") as folder,
        running_postgresql() as postgresql,
        running_redis() as redis,
    ):
        environment = FLOOR | {
            "RETRYCONTRACT_DATABASE_URL": postgresql.new_database(),
            "RETRYCONTRACT_REDIS_URL": redis.url,
            "RETRYCONTRACT_JUDGE": "worker",
        }
        servers = [server.process for server in (postgresql, redis) if server.process]
        service = ScaledService(Path(folder), environment, webs=1, application="benchmarks.floor_worker", anew=True)
        yield from _site(service, servers)


def _site(service: Service, servers: Sequence[subprocess.Popen[bytes]] = ()) -> Iterator[Site]:
    raise_open_files()
    service.start()
    try:
        service.manage("shell", "--verbosity", "0", "--command", TABLE)
        keys = service.new_keys(*(f"agent-{number}" for number in range(AGENTS)))
        for key in keys:
            assert AgentClient(service, key).register(TOOL, calls.BOOK_FLIGHT).status in (200, 201)
        yield Site(service, keys, beside=servers)
    finally:
        service.stop()


def raise_open_files() -> None:
    """Allow as many open connections as the system lets us; children inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
