"""A service of many processes on a PostgreSQL and a Redis of its own, and what can go wrong with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from tests.conftest import require
from tests.serving.scaled import ScaledService
from tests.serving.servers import (
    NO_POSTGRESQL,
    NO_REDIS,
    PostgreSQL,
    Redis,
    postgresql_programs,
    redis_server,
    running_postgresql,
    running_redis,
)

KILLED_WITHIN = 120  # a hang guard: a killed process that waits for its disk ends when the disk answers


def still(process: subprocess.Popen[bytes] | None, seconds: float) -> None:
    """Cut a process off from everybody without ending it, as a network does that drops every packet."""
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)


class Faults:
    """What can go wrong with a service of two web processes and two workers."""

    def __init__(self, service: ScaledService, redis: Redis, postgresql: PostgreSQL) -> None:
        self.service, self.redis, self.postgresql = service, redis, postgresql
        self.random = Random(4242)

    def happen(self, kind: str) -> None:
        """Let one fault happen, and start again what it ended."""
        getattr(self, kind.replace(" ", "_"))()

    def worker(self) -> None:
        number = self.random.randrange(2)
        self.service.kill_worker(number)
        self.service.restart_worker(number)

    def both_workers(self) -> None:
        for number in (0, 1):
            self.service.kill_worker(number)
        for number in (0, 1):
            self.service.restart_worker(number)

    def child(self) -> None:
        parent = self.random.choice(self.service.worker_processes).pid
        found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout.split()
        for child in found[:1]:
            with suppress(ProcessLookupError):  # it may end by itself this moment
                os.kill(int(child), signal.SIGKILL)

    def web(self) -> None:
        number = self.random.randrange(2)
        self.service.web_processes[number].kill()
        self.service.web_processes[number].wait(KILLED_WITHIN)
        self.service.restart_web(number)

    def redis_(self) -> None:
        self.redis.stop(signal.SIGKILL)
        self.redis.start()

    def postgresql_(self) -> None:
        self.postgresql.stop(signal.SIGQUIT)
        self.postgresql.start()

    def redis_stands_still(self) -> None:
        still(self.redis.process, 4)

    def postgresql_stands_still(self) -> None:
        still(self.postgresql.process, 4)

    def worker_stands_still(self) -> None:
        process = self.random.choice(self.service.worker_processes)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(8)  # longer than a lease: another worker takes over what it holds
        os.killpg(process.pid, signal.SIGCONT)


@contextmanager
def scaled_out(folder: Path, *, webs: int = 2, workers: int = 2, **environment: str) -> Iterator[Faults]:
    """Run web processes and workers on servers of their own while the block runs; they are killed then."""
    require(redis_server(), NO_REDIS)
    require(postgresql_programs(), NO_POSTGRESQL)
    with running_redis() as redis, running_postgresql() as postgresql:
        of_servers = {"RETRYCONTRACT_DATABASE_URL": postgresql.new_database(), "RETRYCONTRACT_REDIS_URL": redis.url}
        settings = of_servers | {"RETRYCONTRACT_JUDGE": "worker"} | environment
        service = ScaledService(folder / "data", settings, webs=webs, workers=workers, anew=True)
        try:
            service.start()
            yield Faults(service, redis, postgresql)
        finally:
            service.stop(signal.SIGKILL)


def restart_in_turn(service: ScaledService) -> None:
    """Deploy: tell each process to end and start it again, one after the other."""
    for number in (0, 1):
        for process, restart in (
            (service.web_processes[number], service.restart_web),
            (service.worker_processes[number], service.restart_worker),
        ):
            process.send_signal(signal.SIGTERM)
            # uvicorn, once all is finished, ends itself by the signal that it was sent
            assert process.wait(KILLED_WITHIN) in (0, -signal.SIGTERM)
            restart(number)
