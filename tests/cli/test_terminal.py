"""What a person sees at a terminal, and a program in a pipe; Ctrl-C at any moment."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.serving.servers import PostgreSQL, Redis, free_port, is_alive
from tests.serving.service import first_data

ROOT: Final = Path(__file__).resolve().parents[2]
LONG: Final = 180  # seconds, a hang guard


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "retrycontract", *words]


def alone(data: Path, **more: str) -> dict[str, str]:
    """The environment without what the suite sets."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RETRYCONTRACT_", "DJANGO_"))}
    given = {f"RETRYCONTRACT_{name}": value for name, value in more.items()}
    return kept | {"PYTHONPATH": str(ROOT), "RETRYCONTRACT_DATA_DIR": str(data)} | given


def at_a_terminal(data: Path, *words: str, until: str) -> tuple[str, int]:
    """Run a command at a terminal, press Ctrl-C when it says a word, and give all that it said and its exit status."""
    pid, terminal = pty.fork()
    if not pid:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it, and so would its children
        os.chdir(data.parent)
        os.execve(sys.executable, command(*words), alone(data))
    said, is_told, deadline = b"", False, time.monotonic() + LONG
    os.set_blocking(terminal, False)
    while time.monotonic() < deadline:
        try:
            chunk = os.read(terminal, 65_536)
        except BlockingIOError:
            time.sleep(0.02)
            continue
        except OSError:  # the other end is closed
            break
        said += chunk
        if not is_told and until.encode() in said:
            os.write(terminal, b"\x03")
            is_told = True
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    return said.decode(errors="replace").replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


MOMENTS: Final = ("starting", "Migrating", "Gathering", "is ready", "waits for a person")


@pytest.mark.parametrize(
    "moment",
    [pytest.param(each, marks=[] if each == "Migrating" else [pytest.mark.soak]) for each in MOMENTS],
)
def test_ctrl_c_ends_it_in_good_order_at_any_moment(tmp_path: Path, moment: str) -> None:
    said, status = at_a_terminal(tmp_path / "data", "up", "--port", str(free_port()), until=moment)
    assert moment in said
    assert "Traceback" not in said
    assert status in (0, 130, -signal.SIGINT), said  # a shell says 130 of the last, too
    assert said.startswith("retrycontract ")
    if moment == MOMENTS[-1]:
        look_at_a_first_start(said)


# Who is started in the background inherits that Ctrl-C is ignored.
HEARS: Final = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
LOST: Final = """
import os, signal, sys, time
class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
class Input:
    buffer = property(lambda self: self)
    def read(self):
        Dropped()  # whose finalizer is where Ctrl-C is met
        time.sleep(60)
        return b"{}"
sys.stdin = Input()
from retrycontract.__main__ import main
sys.exit(main())
"""


@pytest.mark.processes
def test_ctrl_c_is_not_lost_where_nothing_can_be_raised(tmp_path: Path) -> None:
    (tmp_path / "S.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-c", HEARS + LOST, "check", "--schema", "S.json", "-"], cwd=tmp_path, env=alone(tmp_path),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\n")


@pytest.mark.processes
def test_ctrl_c_before_the_first_words_shows_no_imports(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    started = [sys.executable, "-c", f"{HEARS}from retrycontract.__main__ import main; main()", "version"]
    environment = alone(tmp_path) | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(started, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def look_at_a_first_start(said: str) -> None:
    """Each slow step has a line, each attempt one of the log, and what a person needs comes last."""
    log = [line for line in said.splitlines() if re.match(r"\d\d:\d\d:\d\d  ", line)]
    assert [re.sub(r"\d+", "N", line.split("  ")[2]) for line in log[:2]] == [
        "Migrating a new database: N steps",
        "Gathering the files of the pages",
    ]
    for number in (1, 2, 3):
        assert len([line for line in log if f"(attempt {number}/3)" in line]) == 1
    assert not [line for line in log if "POST" in line], "each has its line already"
    spoken = [line for line in said.splitlines() if "Validation failed for tool" in line]
    assert spoken
    assert all("demo agent │" in line for line in spoken)
    last = said[said.rindex("waits for a person") - 400 :]
    assert "retrycontract is ready   http://127.0.0.1:" in last
    assert re.search(r"password +\S{16}\n", last)


def test_the_first_words_come_before_the_framework(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command("migrate")[1:]], cwd=tmp_path, env=alone(tmp_path / "data"),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    before = done.stderr.partition("migrating the database")[0]
    assert re.search(r"\|\s+click\b", before)
    assert "django" not in before


@contextmanager
def in_a_pipe(folder: Path, *words: str, **settings: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], str]]]:
    with (folder / "err").open("w+") as err:
        process = subprocess.Popen(
            command(*words), cwd=folder, env=alone(folder / "data", **settings), stdout=subprocess.DEVNULL, stderr=err,
            text=True,
        )  # fmt: skip
        try:
            yield process, (folder / "err").read_text
        finally:
            process.kill()
            process.wait()


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not happened():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("up", "--no-demo"), id="up"),
        pytest.param(("web", "--workers", "2"), id="web", marks=pytest.mark.soak),
    ],
)
def test_every_line_in_a_pipe_is_json_without_colours(tmp_path: Path, words: tuple[str, ...]) -> None:
    port = free_port()
    shutil.copytree(first_data(), tmp_path / "data")
    with in_a_pipe(tmp_path, *words, "--port", str(port)) as (process, said):
        wait_for(process, lambda: is_alive(port))
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) in (0, -signal.SIGTERM)
        held_to_json(said())


@pytest.mark.soak
@pytest.mark.services
def test_every_line_of_a_worker_is_json_too(tmp_path: Path, redis: Redis, postgresql: PostgreSQL) -> None:
    settings = {"DATABASE_URL": postgresql.new_database(), "REDIS_URL": redis.new_database()}
    given = alone(tmp_path / "data", **settings)
    subprocess.run(command("migrate"), cwd=tmp_path, env=given, capture_output=True, check=True)
    with in_a_pipe(tmp_path, "worker", "--concurrency", "1", **settings) as (process, said):
        looks = [sys.executable, "-m", "worker.alive"]
        wait_for(process, lambda: not subprocess.run(looks, cwd=ROOT, env=given, check=False).returncode)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 0
        held_to_json(said())


def held_to_json(said: str) -> None:
    lines = said.splitlines()
    assert lines
    for line in lines:
        assert {"time", "level", "logger", "message"} <= json.loads(line).keys(), line
    assert "\\u001b" not in said
    assert "\x1b" not in said
