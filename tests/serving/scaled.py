"""The service scaled out: web processes and Celery workers of their own, on PostgreSQL and Redis."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.serving.servers import free_port, is_listened_to, wait_for_port
from tests.serving.service import ROOT, START_SECONDS, Answer, Service, first_data
from tests.serving.threads import eventually


@dataclass
class ScaledService(Service):
    """Start, stop and kill the processes; requests go to the web processes in turn."""

    webs: int = 2
    workers: int = 1
    application: str = "worker"  # whose tasks the workers do
    web_processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    worker_processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    _turns: count[int] = field(default_factory=count)

    def start(self) -> None:
        """Migrate, make an operator, and start every process."""
        shutil.copytree(first_data() / "static", self.data_dir / "static", dirs_exist_ok=True)
        self.command("migrate", "--verbosity", "0")
        for number in range(self.workers):
            self.worker_processes.append(self._start_worker(number))
        for _ in range(self.webs):
            self._start_web()
        self.operator_password = self.new_operator("operator", "operator")
        for port, process in zip(self.ports, self.web_processes, strict=True):
            wait_for_port(port, process, within=START_SECONDS)
        deadline = time.monotonic() + START_SECONDS
        sweeps = self.environment.get("RETRYCONTRACT_SWEEP_SECONDS") != "0"
        while sweeps and super().send("GET", "/readyz").body["workers"] < self.workers:
            assert time.monotonic() < deadline, self.log
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop every process; returns the worst exit status."""
        self.close_console()
        processes = self.web_processes + self.worker_processes
        for process in processes:
            if process.poll() is None:
                process.send_signal(how)
        return max(abs(process.wait(60)) for process in processes)

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its children, at once."""
        process = self.worker_processes[number]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)

    def restart_worker(self, number: int) -> None:
        """Start a worker again that was killed."""
        self.worker_processes[number] = self._start_worker(number)

    def add_worker(self) -> None:
        """Start one more worker."""
        self.worker_processes.append(self._start_worker(len(self.worker_processes)))

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send one request to the next web process."""
        self.port = self.ports[next(self._turns) % len(self.ports)]
        return super().send(method, path, body, **options)

    def run_code(self, code: str) -> None:
        """Run Python code with the service's settings."""
        environment = self._environ() | {"DJANGO_SETTINGS_MODULE": "retrycontract.settings"}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)

    def restart_web(self, number: int) -> None:
        """Start a web process again that was killed, on its port."""
        # One that was forked ends a moment after what stood for it.
        eventually(lambda: not is_listened_to(self.ports[number]), within=START_SECONDS)
        process = self.web_processes[number] = self._new_web(self.ports[number])
        wait_for_port(self.ports[number], process, within=START_SECONDS)

    def _start_web(self) -> None:
        port = free_port()
        self.web_processes.append(self._new_web(port))
        self.ports.append(port)
        self.port = self.ports[0]

    def _new_web(self, port: int) -> subprocess.Popen[bytes]:
        return self._start(*self._python("-m", "retrycontract", "web", "--port", str(port)))

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "celery",
            "-A",
            self.application,
            "worker",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
        ]
        command += ["--concurrency", "1", "--loglevel", "WARNING", "--hostname", f"worker{number}@test"]
        return self._start(*command)

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.data_dir / "service.log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environ() | {"REMAP_SIGTERM": "SIGQUIT"},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
