"""A program that is forked behaves as one that is started."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.serving.forked import forked
from tests.serving.threads import eventually

pytestmark = pytest.mark.processes

LOOK = """
import json, os, sys
print(json.dumps([sys.argv[1:], os.environ.get("COLOUR"), os.getcwd(), sys.stdin.read()]))
print("beside", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
HANGS = """
import pathlib, os, sys, time
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(3000)
"""


def test_words_environment_folder_and_files_reach_it_and_its_status_comes_back(tmp_path: Path) -> None:
    (tmp_path / "look.py").write_text(LOOK)
    done = subprocess.run(
        forked(str(tmp_path / "look.py"), "7", "größe"), cwd=tmp_path, env={"COLOUR": "blue"}, input="said", text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.stdout == f'[["7", "gr\\u00f6\\u00dfe"], "blue", "{tmp_path}", "said"]\n'
    assert (done.stderr, done.returncode) == ("beside\n", 7)


def test_words_of_a_command_line_are_run_too(tmp_path: Path) -> None:
    done = subprocess.run(
        forked("-c", LOOK, "7"), cwd=tmp_path, env={}, input="", text=True, capture_output=True, check=False
    )
    assert (done.stdout, done.returncode) == (f'[["7"], null, "{tmp_path}", ""]\n', 7)


def test_what_raises_says_so_and_fails(tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text("1 / 0")
    done = subprocess.run(forked(str(tmp_path / "raises.py")), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    started = tmp_path / "started"
    with subprocess.Popen(forked(str(tmp_path / "hangs.py"), str(started))) as process:
        eventually(lambda: started.exists() and started.read_text())
        program = int(started.read_text())
        process.send_signal(how)
        assert process.wait(60) == -how
    eventually(lambda: has_ended(program))


def has_ended(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False
