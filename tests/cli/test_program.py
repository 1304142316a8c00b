from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from retrycontract import __version__
from retrycontract.cli.program import COMMANDS, program

ROOT: Final = Path(__file__).resolve().parents[2]


def run(*arguments: str, data: Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RETRYCONTRACT_")}
    kept.pop("DJANGO_SETTINGS_MODULE", None)
    given = {"RETRYCONTRACT_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "retrycontract", *arguments], cwd=cwd or data.parent, env=kept | given | environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


WRONG: Final = {
    "nothing-of-the-kind": (["chek"], "did you mean 'check'?"),
    "unknown-option": (["doctor", "--jsno"], "--json"),
    "up-port": (["up", "--port", "99999"], "1<=x<=65535"),
    "up-argument": (["up", "now"], "unexpected extra argument"),
    "doctor": (["doctor", "everything"], "unexpected extra argument"),
    "seed": (["seed", "--calls", "many"], "'many' is not a valid integer"),
    "seed-none": (["seed", "--calls", "0"], "at least one call"),
    "migrate": (["migrate", "0001"], "unexpected extra argument"),
    "backup": (["backup"], "Missing argument 'FILE'"),
    "restore": (["restore", "nowhere.sqlite3"], "nowhere.sqlite3"),
    "export": (["export"], "Missing argument 'FILE'"),
    "import": (["import", "nowhere.jsonl"], "nowhere.jsonl"),
    "rotate-keys": (["rotate-keys", "twist"], "'make', 'reseal', 'retire'"),
    "agent": (["agent", "creat"], "No such command 'creat'"),
    "agent-create": (["agent", "create", "planner", "--scopes", "rule"], "submit, read, tools"),
    "agent-name": (["agent", "create", "plan\nner"], "An agent's name"),
    "agent-revoke": (["agent", "revoke", "rc_00000000"], "no key begins with rc_00000000"),
    "operator": (["operator", "create", "ana", "--role", "king"], "'viewer', 'operator', 'admin'"),
    "check": (["check", "output.json"], "Missing option '--schema'"),
    "proxy": (["proxy"], "Missing option '--upstream'"),
    "proxy-upstream": (["proxy", "--upstream", "example.com"], "http:// or https:// and a host"),
    "proxy-listen": (["proxy", "--upstream", "http://127.0.0.1:9", "--listen", "here"], "--listen takes host:port"),
    "proxy-key": (["proxy", "--upstream", "http://127.0.0.1:9", "--url", "http://x"], "--url needs the agent's key"),
    "mcp": (["mcp"], "name the tools"),
    "mcp-gateway": (["mcp-gateway", "--", "no-such-command"], "there is no such command"),
    "mcp-gateway-empty": (["mcp-gateway"], "Missing argument"),
    "completion": (["completion", "tcsh"], "'bash', 'zsh', 'fish'"),
    "version": (["version", "please"], "unexpected extra argument"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "data"
    migrated = run("migrate", data=folder)
    assert migrated.returncode == 0, migrated.stderr
    return folder


@pytest.mark.parametrize(("arguments", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_one_line_and_exit_status_two(data: Path, arguments: list[str], reason: str) -> None:
    done = run(*arguments, data=data)
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith(f"retrycontract {__version__}:")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("retrycontract: ")
    assert reason in lines[0]
    assert done.stdout == ""


def test_every_command_is_tried_wrongly() -> None:
    assert {arguments[0] for arguments, _ in WRONG.values()} >= set(COMMANDS)


@pytest.mark.parametrize("command", ["doctor", "backup copy", "export all.jsonl", "agent list", "operator create ana"])
def test_a_database_that_is_not_migrated_says_what_to_do(tmp_path: Path, command: str) -> None:
    done = run(*command.split(), data=tmp_path / "data", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert re.search("migrat|no database yet", done.stderr + done.stdout)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"RETRYCONTRACT_LOG_LEVEL": "loud"}, "RETRYCONTRACT_LOG_LEVEL"),
        ({"RETRYCONTRACT_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}, "the database cannot be used"),
    ],
)
def test_settings_that_cannot_work_are_one_line(data: Path, environment: dict[str, str], reason: str) -> None:
    done = run("agent", "list", data=data, **environment)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert reason in done.stderr


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


def test_the_version_is_the_products(data: Path) -> None:
    assert run("version", data=data).stdout == f"{__version__}\n"
    assert run("--version", data=data).stdout == f"retrycontract, version {__version__}\n"
    assert json.loads(run("version", "--json", data=data).stdout)["retrycontract"] == __version__


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
