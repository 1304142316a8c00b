from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import IO, Final

import pytest

from retrycontract import __version__
from retrycontract.cli.program import COMMANDS, program
from retrycontract.cli.program import _foreseen as foreseen
from retrycontract.contract.configuration import ConfigurationError
from retrycontract.contract.errors import WrongInputError
from tests.serving.forked import forked
from tests.serving.service import first_data

ROOT: Final = Path(__file__).resolve().parents[2]


DATA: Final = {"encryption_key", "retrycontract.sqlite3", "secret_key", "service.lock"}


def run(
    *arguments: str,
    data: Path,
    cwd: Path | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.PIPE,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RETRYCONTRACT_")}
    kept.pop("DJANGO_SETTINGS_MODULE", None)
    given = {"RETRYCONTRACT_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        forked("-m", "retrycontract", *arguments), cwd=cwd or data.parent, env=kept | given | environment,
        stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "data"
    shutil.copytree(first_data(), folder)
    run("agent", "list", data=folder)  # which makes the keys
    return folder


def test_keys_go_to_standard_output_alone_and_words_to_the_terminal(data: Path) -> None:
    made = run("agent", "create", "planner", data=data)
    assert re.fullmatch(r"rc_[0-9a-f]{8}_[\w-]{43}\n", made.stdout)
    assert "planner" in made.stderr
    assert made.stdout.strip() not in made.stderr
    listed = json.loads(run("agent", "list", "--json", data=data).stdout)
    [key] = [row for row in listed if row["agent"] == "planner"]
    assert made.stdout.startswith(key["key"])
    assert key["state"] != "revoked"
    assert "revoked" in run("agent", "revoke", key["key"], data=data).stdout
    [key] = [row for row in json.loads(run("agent", "list", "--json", data=data).stdout) if row["agent"] == "planner"]
    assert key["state"] == "revoked"


def test_an_operator_gets_a_password_and_a_second_one_of_that_name_is_refused(data: Path) -> None:
    made = json.loads(run("operator", "create", "ana", "--role", "viewer", "--json", data=data).stdout)
    assert (made["operator"], made["role"], len(made["password"])) == ("ana", "viewer", 16)
    again = run("operator", "create", "ana", data=data)
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("words", ["agent create unseen", "operator create unseen", "operator create unseen --json"])
@pytest.mark.parametrize("out", ["/dev/full", "a pipe that nobody reads"])
def test_what_could_not_be_shown_was_not_made(data: Path, words: str, out: str) -> None:
    if out == "/dev/full":
        stdout = os.open(out, os.O_WRONLY)
    else:
        read, stdout = os.pipe()
        os.close(read)
    failed = run(*words.split(), data=data, stdout=stdout)
    os.close(stdout)
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1), failed.stderr
    assert "nothing was made" in failed.stderr
    assert "unseen" not in run("agent", "list", data=data).stdout
    with closing(sqlite3.connect(data / "retrycontract.sqlite3")) as database:
        assert database.execute("SELECT username FROM auth_user WHERE username = 'unseen'").fetchall() == []


def test_the_version_is_the_products(data: Path) -> None:
    assert run("version", data=data).stdout == f"{__version__}\n"
    assert run("--version", data=data).stdout == f"retrycontract, version {__version__}\n"
    assert json.loads(run("version", "--json", data=data).stdout)["retrycontract"] == __version__


@pytest.mark.parametrize(("out", "back"), [("export -", "import -"), ("backup -", "restore - --yes")])
def test_data_goes_through_a_pipe_and_words_beside_it(data: Path, tmp_path: Path, out: str, back: str) -> None:
    run("agent", "create", "piped", data=data)
    there = tmp_path / "there"
    keys = {}
    for name, file in (("SECRET_KEY", "secret_key"), ("ENCRYPTION_KEYS", "encryption_key")):
        keys[f"RETRYCONTRACT_{name}"] = (data / file).read_text()
    shutil.copytree(first_data(), there)
    with (tmp_path / "pipe").open("w+b") as pipe:
        written = run(*out.split(), data=data, stdout=pipe)
        assert (written.returncode, len(written.stderr.splitlines())) == (0, 1), written.stderr
        pipe.seek(0)
        taken = run(*back.split(), data=there, stdin=pipe, **keys)
    assert taken.returncode == 0, taken.stderr
    agents = json.loads(run("agent", "list", "--json", data=there, **keys).stdout)
    assert "piped" in {agent["agent"] for agent in agents}
    left = {path.name for path in data.iterdir()} - DATA - {path.name for path in first_data().iterdir()}
    assert all(name.startswith("retrycontract.sqlite3-") for name in left), "nothing but SQLite's log is left behind"


def test_what_is_cut_off_is_not_taken_in(data: Path, tmp_path: Path) -> None:
    shutil.copytree(first_data(), tmp_path / "there")
    (tmp_path / "half").write_text(run("export", "-", data=data).stdout[:-200])
    with (tmp_path / "half").open("rb") as pipe:
        taken = run("import", "-", data=tmp_path / "there", stdin=pipe)
    assert (taken.returncode, len(taken.stderr.splitlines())) == (2, 1)
    assert "cut off" in taken.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_the_commands(data: Path, shell: str) -> None:
    assert "_RETRYCONTRACT_COMPLETE" in run("completion", shell, data=data).stdout


def test_help_names_every_command_and_loads_no_framework(data: Path) -> None:
    look = (
        "import sys; from retrycontract.cli.program import main; main(['--help']); "
        "sys.exit(bool({'django', 'mcp', 'uvicorn', 'jsonschema_rs'} & set(sys.modules)) and 9)"
    )
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=False)
    assert [line.split()[0] for line in done.stdout.split("Commands:\n")[1].splitlines()] == list(COMMANDS)
    assert "..." not in done.stdout.split("Commands:\n")[1], "a summary is cut off"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_in_a_few_lines(name: str) -> None:
    command = program.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert command.help
    assert len(command.help.splitlines()) <= 12


def test_only_what_was_foreseen_becomes_one_line() -> None:
    assert foreseen(WrongInputError("--wait takes\nseconds")) == "--wait takes seconds"
    assert foreseen(ConfigurationError("config.yml", "mode", "must be observe")) == "config.yml: mode: must be observe"
    for mistake_of_ours in (ValueError("invalid literal for int()"), KeyError("kind"), TypeError("unhashable")):
        assert foreseen(mistake_of_ours) is None, "it would lose its traceback"
