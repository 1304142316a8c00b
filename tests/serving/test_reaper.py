"""A run that is cancelled leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving.reaper import MARK
from tests.serving.service import ROOT
from tests.serving.threads import eventually

pytestmark = [pytest.mark.processes, pytest.mark.soak]
# What a test may start: a service, servers that change their account or group, and a program with a child of its own.
RUN = """
import subprocess, sys, time
from pathlib import Path
from tests.serving import running, Service

def test_starts_everything_and_hangs(postgresql, redis, tmp_path):
    subprocess.Popen(["sh", "-c", "sleep 3000 & wait"])
    with running(Service(tmp_path / "data")):
        Path({started!r}).touch()
        time.sleep(3000)
"""
HANDED_ON = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "CI")


def processes_with(entry: str) -> list[str]:
    """List what runs and has this in its environment, by its command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if entry.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:80])
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize(
    ("how", "workers"),
    [
        pytest.param(signal.SIGTERM, [], id="SIGTERM alone"),
        pytest.param(signal.SIGKILL, [], id="SIGKILL alone"),
        pytest.param(signal.SIGTERM, ["-n", "1"], id="SIGTERM side by side"),
        pytest.param(signal.SIGKILL, ["-n", "1"], id="SIGKILL side by side"),
    ],
)
def test_a_run_that_is_ended_leaves_no_process(tmp_path: Path, how: signal.Signals, workers: list[str]) -> None:
    started, mark = tmp_path / "started", f"THIS_TEST={tmp_path}"
    path = tmp_path / "test_hangs.py"
    path.write_text(RUN.format(started=str(started)))
    own = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    name, _, value = mark.partition("=")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    with (tmp_path / "log").open("wb") as log:
        run = subprocess.Popen(
            [*command, "-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest", *workers, str(path)],
            cwd=ROOT, env=own | {name: value, "PYTHONPATH": str(ROOT)}, stdout=log, stderr=log,
        )  # fmt: skip
    eventually(lambda: started.exists() or run.poll() is not None, within=600)
    assert run.poll() is None, (tmp_path / "log").read_text()
    alive = processes_with(mark)
    assert len(alive) > 4  # the run, its shell and what it sleeps in, and the service
    assert all(any(program in name for name in alive) for program in ("redis-server", "postgres")), alive
    run.send_signal(how)
    run.wait(60)
    eventually(lambda: not processes_with(mark), within=60)
    assert MARK not in own
