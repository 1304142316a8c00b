"""What is wrong around a command is one line: a taken port, a closed stream, a full disk, a folder that is gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg
import pytest

from retrycontract.config.service_settings import PREFIX
from tests.cli.test_wrong_input import ROOT, WRONG_USE
from tests.serving.servers import PostgreSQL, free_port
from tests.test_image import can_enter

pytestmark = pytest.mark.soak


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "retrycontract", "up", "--port", port], cwd=tmp_path, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), f"{PREFIX}DATA_DIR": str(tmp_path / "data")}, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (WRONG_USE, "")
    assert "choose another with --port" in done.stderr.splitlines()[-1]


ODD_STREAMS: Final = {
    "version >&-": "retrycontract: standard output is closed: send it to /dev/null if nobody reads it.\n",
    "version > /dev/full": "retrycontract: what it says cannot be written: No space left on device\n",
    "check --schema S.json - <&-": "",
    "import - <&-": "retrycontract: there is no service's data in /",
    "agent list": "retrycontract: there is no service's data in /",
    "agent list 2>&-": "",
}


@pytest.mark.processes
@pytest.mark.parametrize("words", ODD_STREAMS)
def test_a_stream_that_is_closed_or_full_is_one_line(tmp_path: Path, words: str) -> None:
    (tmp_path / "S.json").write_text("{}")
    done = in_a_shell(f"{sys.executable} -m retrycontract {words}", tmp_path)
    expected = ODD_STREAMS[words]
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(expected)
    assert len(done.stderr.splitlines()) == bool(expected)
    assert done.returncode == (1 if words.startswith("check") else WRONG_USE)
    assert not (tmp_path / "data").exists(), "whoever only looks makes nothing"


@pytest.mark.processes
@pytest.mark.skipif(not can_enter(), reason="needs root, and leave to make mounts of its own")
@pytest.mark.parametrize("words", ["up --port PORT", "migrate"])
def test_a_disk_without_room_is_one_line(tmp_path: Path, words: str) -> None:
    """Not even the first table fits."""
    (tmp_path / "data").mkdir()
    run = f"{sys.executable} -m retrycontract {words.replace('PORT', str(free_port()))}"
    done = in_a_shell(f"unshare -m sh -c 'mount -t tmpfs -o size=16k tmpfs data && exec {run}'", tmp_path)
    lines = [line for line in done.stderr.splitlines() if not line.startswith('{"')]
    assert (done.returncode, len(lines), done.stdout) == (WRONG_USE, 1, ""), done.stderr[-500:]
    assert "room" in lines[0]


@pytest.mark.services
@pytest.mark.parametrize("words", ["up --port PORT", "migrate"])
def test_a_database_that_its_user_may_not_fill_is_one_line(tmp_path: Path, postgresql: PostgreSQL, words: str) -> None:
    """Since PostgreSQL 15 whoever is not the owner may make no table, unless that was granted."""
    url = urlsplit(postgresql.new_database())
    with psycopg.connect(url.geturl(), autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS guest")
        owner.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    place = url.netloc.rpartition("@")[2]
    given = url._replace(netloc=f"guest:guest@{place}").geturl()
    done = in_a_shell(
        f"{PREFIX}DATABASE_URL='{given}' {sys.executable} -m retrycontract {words.replace('PORT', str(free_port()))}",
        tmp_path,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith('{"')]
    assert (done.returncode, len(lines), done.stdout) == (WRONG_USE, 1, ""), done.stderr[-500:]
    assert "permission denied for schema public" in lines[0]
    assert "grant" in lines[0]


@pytest.mark.processes
def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    done = in_a_shell(f"mkdir gone; cd gone; rmdir ../gone; {sys.executable} -m retrycontract doctor", tmp_path)
    assert (done.returncode, done.stderr) == (
        WRONG_USE, "retrycontract: the folder that it was started in is gone\n"
    )  # fmt: skip


def in_a_shell(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    kept |= {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "retrycontract.settings"}
    kept |= {f"{PREFIX}DATA_DIR": str(folder / "data")}
    return subprocess.run(["sh", "-c", words], cwd=folder, env=kept, capture_output=True, text=True, check=False)
