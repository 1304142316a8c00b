"""Web and worker start beside a database that cannot be used yet: each says why, once, and works when it can."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.cli.test_program import run
from tests.serving import running
from tests.serving.scaled import ScaledService
from tests.serving.servers import PASSWORD, PostgreSQL, Redis, free_port, wait_for_port
from tests.serving.service import START_SECONDS, AgentClient, first_data
from tests.serving.threads import eventually

pytestmark = [pytest.mark.services]
NOBODY = "rc_12345678_" + "a" * 32


class Waiting(ScaledService):
    """Start processes by the commands that operators use, and migrate nothing."""

    def start(self) -> None:
        shutil.copytree(first_data() / "static", self.data_dir / "static", dirs_exist_ok=True)
        for number in range(self.workers):
            self.worker_processes.append(self._start_worker(number))
        self._start_web()
        wait_for_port(self.port, self.web_processes[0], within=START_SECONDS)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]

    def errors(self) -> list[str]:
        return [line["message"] for line in self.lines() if line["level"] in ("error", "critical")]

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:  # noqa: ARG002 - of one kind
        return self._start(sys.executable, "-m", "retrycontract", "worker", "--concurrency", "1")


def settings_of(database: str, redis: Redis) -> dict[str, str]:
    return {
        "RETRYCONTRACT_DATABASE_URL": database,
        "RETRYCONTRACT_REDIS_URL": redis.new_database(),
        "RETRYCONTRACT_JUDGE": "worker",
        "RETRYCONTRACT_SWEEP_SECONDS": "1",
    }


def test_processes_that_start_before_the_migration_say_so_once_and_then_work(
    postgresql: PostgreSQL, redis: Redis, tmp_path: Path
) -> None:
    environment = settings_of(postgresql.new_database(), redis)
    with running(Waiting(tmp_path / "data", environment, webs=1, workers=1, anew=True)) as service:
        assert isinstance(service, Waiting)
        eventually(lambda: len(service.errors()) == 2, within=START_SECONDS)
        ready = service.send("GET", "/readyz")
        assert (ready.status, ready.body["database"]) == (503, "cannot be used")
        assert "run 'retrycontract migrate'" in ready.body["reason"]
        for _ in range(3):
            body = {"tool": "count", "tool_call_id": "early", "arguments": {"n": 1}}
            refused = AgentClient(service, NOBODY).send("POST", "/calls", body)
            assert (refused.status, refused.body["code"]) == (503, "database-unavailable")
            assert service.send("GET", "/login/").status == 503
        assert service.errors() == ["The database takes no writes: " + ready.body["reason"]] * 2
        assert [line for line in service.lines() if "exception" in line] == []
        service.command("migrate", "--verbosity", "0")
        eventually(lambda: service.send("GET", "/readyz").body["status"] == "ready", within=START_SECONDS)
        agent = AgentClient(service, service.new_key("early"))
        assert agent.register("count", {"properties": {"n": {"type": "integer"}}}).status == 201
        assert agent.submit("count", "now", {"n": 1})["status"] == "valid"
        assert len(service.errors()) == 2


# What is wrong with the address, and the reason that is told for it.
WRONG = {
    "another password": (f":{PASSWORD}@", ":hunter2hunter2@", "it refuses the user or the password"),
    "another user": ("//retrycontract:", "//nobody_known:", "it refuses the user or the password"),
    "no such database": ("/service_", "/nosuchdb_", "it does not exist"),
}


@pytest.mark.parametrize(("right", "wrong", "told"), WRONG.values(), ids=list(WRONG))
def test_an_address_that_is_wrong_is_told_as_what_it_is(
    postgresql: PostgreSQL, redis: Redis, tmp_path: Path, right: str, wrong: str, told: str
) -> None:
    environment = settings_of(postgresql.new_database().replace(right, wrong), redis)
    with running(Waiting(tmp_path / "data", environment, webs=1, workers=0)) as service:
        assert isinstance(service, Waiting)
        eventually(lambda: service.errors(), within=START_SECONDS)
        ready = service.send("GET", "/readyz")
        assert ready.status == 503
        assert ready.body["reason"].startswith(told)
        assert service.send("GET", "/login/").status == 503
        assert service.errors() == ["The database takes no writes: " + ready.body["reason"]]
        for secret in (PASSWORD, "hunter2", "nobody_known", "127.0.0.1"):
            assert secret not in ready.text
        assert PASSWORD not in service.log


def test_a_process_with_other_keys_than_the_first_one_does_not_start(
    postgresql: PostgreSQL, redis: Redis, tmp_path: Path
) -> None:
    environment = settings_of(postgresql.new_database(), redis)
    ours, others = (Fernet.generate_key().decode() for _ in range(2))
    assert run("migrate", data=tmp_path, **environment).returncode == 0
    ours_alone = environment | {"RETRYCONTRACT_ENCRYPTION_KEYS": ours}
    with running(Waiting(tmp_path / "data", ours_alone, webs=1, workers=0)) as service:
        assert service.send("GET", "/livez").status == 200
        environment["RETRYCONTRACT_ENCRYPTION_KEYS"] = others
        for words in (["worker"], ["web", "--port", str(free_port())]):
            done = run(*words, data=tmp_path / "data", **environment)
            assert done.returncode == 2
            assert "RETRYCONTRACT_ENCRYPTION_KEYS" in done.stderr.splitlines()[-1]
            assert others not in done.stderr
        assert (
            "these encryption keys do not open" in run("doctor", data=tmp_path / "data", **environment).stdout.lower()
        )


def test_a_command_says_that_a_database_does_not_exist(postgresql: PostgreSQL, tmp_path: Path) -> None:
    done = run("migrate", data=tmp_path, RETRYCONTRACT_DATABASE_URL=postgresql.url("nosuchdb"))
    assert done.returncode == 2
    assert "the database nosuchdb does not exist: create it" in done.stderr
