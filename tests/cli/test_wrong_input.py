"""Every command with every foreseeable mistake: one line that says what to do, its exit status, never a traceback.

The commands and their parameters are read from the program itself, so that a new one is tried as well.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click
import pytest

from retrycontract.cli.program import program
from retrycontract.config.service_settings import PREFIX
from tests.sampling import sampled
from tests.serving.servers import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
NOBODY: Final = 65534
FAILS, WRONG_USE = 1, 2
# Words with which a command is rightly used; FILE stands for a file of the case's own.
WORDS: Final = {
    "up": f"--no-demo --port {free_port()}",
    "web": "",
    "worker": "",
    "doctor": "",
    "seed": "--calls 1",
    "migrate": "",
    "collectstatic": "",
    "rebuild-metrics": "",
    "backup": "NEW",
    "restore": "FILE",
    "export": "NEW",
    "import": "FILE",
    "rotate-keys": "make",
    "agent create": "planner",
    "agent list": "",
    "agent revoke": "rc_00000000",
    "operator create": "ana",
    "operator free": "ana",
    "check": "--schema FILE FILE",
    "proxy": "--upstream http://127.0.0.1:9",
    "mcp": "--tools FILE",
    "mcp-gateway": "-- no-such-command",
    "hook": "--url http://127.0.0.1:9",
    "completion": "bash",
    "version": "",
}
NO_SERVER: Final = {"backup": "Connection refused", "restore": "no dump of PostgreSQL"}  # their own programs say it
# These do not look into the database before they serve, and tell of one that is away when they are asked (/readyz).
STARTS_ANYWAY: Final = {"collectstatic", "web", "worker"}
ALONE: Final = {"check", "proxy", "mcp", "mcp-gateway", "hook", "completion", "version"}  # these need no service
# A process that is ready forks for each case: to start one for each takes ten times as long. `fresh` ones have loaded
# packages only, and read their own settings; the others have read those of a good service.
RUNNER: Final = """
import ctypes, json, os, signal, sys, traceback
import cryptography.fernet, django, jsonschema_rs, mcp, psycopg, pydantic, structlog, uvicorn
import retrycontract.in_process, retrycontract.config.service_settings, whitenoise.storage
if sys.argv[1] != "fresh":
    django.setup()
for line in sys.stdin:
    case = json.loads(line)
    if (child := os.fork()) == 0:
        signal.alarm(120)  # what serves instead of refusing must not hold up the rest
        os.environ.update(case["environment"])
        os.chdir(case["folder"])
        for number, name in ((0, os.devnull), (1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        if os.getuid() == 0:  # without the powers of root, that may write everywhere
            ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
        sys.argv = ["retrycontract", *case["words"]]
        from retrycontract.cli.program import main
        status = 1
        try:
            status = main(case["words"])
        except SystemExit as ended:
            status = ended.code
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)  # to end in good order would take longer than the case
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Case:
    words: list[str]
    reason: str  # what the line says
    status: int = WRONG_USE
    environment: dict[str, str] = field(default_factory=dict)
    file: bytes | None = b""  # what FILE holds; None: it is not there
    data: str = "whole"  # how the data folder is

    @property
    def is_fresh(self) -> bool:
        """Whether the settings are what is wrong."""
        return bool(self.environment) or self.data in {"closed", "file"} or "--data-dir" in self.words


def leaves() -> dict[str, click.Command]:
    found = {}
    for name in program.list_commands(click.Context(program)):
        command = program.get_command(click.Context(program), name)
        assert command is not None
        below = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {inner}".strip(): leaf for inner, leaf in below.items()}
    return found


def usage() -> Iterator[tuple[str, Case]]:
    """What is told without looking further than the words."""
    for name, command in leaves().items():
        first, rest = name.split(), WORDS[name].split()
        for parameter in command.params:
            option, wrong = parameter.opts[0], wrong_value(parameter.type)
            if parameter.required:
                yield f"{name} without {parameter.name}", Case(first, "Missing")
            if wrong and isinstance(parameter, click.Option):
                yield f"{name} {option} {wrong}", Case([*first, option, wrong], option)
            elif wrong:
                yield f"{name} {wrong}", Case([*first, wrong], wrong)
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                yield f"{name} {option} empty", Case([*first, option, ""], f"{option} is empty")
                yield f"{name} {option} last", Case([*first, option], option)
            for odd in odd_numbers(parameter.type):
                yield f"{name} {option} {odd}", Case([*first, option, odd], option)
        if command.params and command.params[-1].nargs == -1:
            continue  # whatever follows is somebody else's
        yield f"{name} and more", Case([*first, *rest, "more"], "unexpected extra argument")
        yield f"{name} --unheard-of", Case([*first, *rest, "--unheard-of"], "--unheard-of")
    for group in sorted({name.split()[0] for name in leaves() if " " in name}):
        yield f"{group} alone", Case([group], "Missing command")
        yield f"{group} of another kind", Case([group, "unheard-of"], "unheard-of")


def wrong_value(kind: click.ParamType) -> str:
    """A word that the type refuses."""
    return "many" if isinstance(kind, click.Choice | type(click.INT) | type(click.FLOAT)) else ""


def odd_numbers(kind: click.ParamType) -> tuple[str, ...]:
    """Give numbers that no option takes: below its range, above every range, and none at all."""
    if isinstance(kind, type(click.FLOAT)):
        return "-1", "nan", "inf", "1e999"
    return ("-1",) if isinstance(kind, click.IntRange) else ()


def surroundings() -> Iterator[tuple[str, Case]]:
    """What is wrong around the service, for each command that needs it."""
    for name in sorted(leaves()):
        words = [*name.split(), *WORDS[name].split()]
        yield (
            f"{name}, misspelt",
            Case(words, "did you mean RETRYCONTRACT_HTTPS", environment={f"{PREFIX}HTPS": "true"}),
        )
        if name in ALONE:
            continue
        looks = name == "doctor"
        told = {"status": FAILS} if looks else {}
        yield f"{name}, setting", Case(words, "RETRYCONTRACT_LOG_LEVEL", environment={f"{PREFIX}LOG_LEVEL": "loud"})
        yield f"{name}, a file for a folder", Case(words, "good", data="file")
        yield f"{name}, another's folder", Case(words, "good", data="closed")
        if name in STARTS_ANYWAY:
            continue
        yield (
            f"{name}, no server",
            Case(
                words,
                "It does not answer" if looks else NO_SERVER.get(name, "the database cannot be used"),
                environment={f"{PREFIX}DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"},
                **told,
            ),
        )
        yield f"{name}, broken database", Case(words, "database", data="broken", **told)
        if name not in {"up", "migrate", "restore"}:
            yield f"{name}, not migrated", Case(words, "migrat", data="not migrated", **told)
            yield f"{name}, no data", Case(words, "there is no service's data in /", data="new")


NO_TEXT: Final = "\udcff\udcfe"  # what Python makes of bytes that are no UTF-8

# What a command alone can tell, said by hand: words, what FILE holds, and what the line says.
BY_HAND: Final = {
    "two variables misspelt": Case(
        ["check", "--schema", "FILE", "FILE"],
        "RETRYCONTRACT_FOO is no setting: docs/settings.md lists them all; RETRY",
        environment={f"{PREFIX}MAX_ATEMPTS": "5", f"{PREFIX}FOO": "1"},
    ),
    "no such command": Case(["chek"], "did you mean 'check'?"),
    "misspelt option": Case(["doctor", "--jsno"], "--json"),
    "port out of range": Case(["up", "--port", "99999"], "1<=x<=65535"),
    "every address by mistake": Case(["up", "--host", " "], "--host is empty"),
    "two lines for a name": Case(["up", "--host", "a\nb"], "cannot be used"),
    "no text for a name": Case(["web", "--host", NO_TEXT], "no name of a host"),
    "no address of this machine": Case(["up", "--host", "192.0.2.1"], "choose another with --host"),
    "an address in brackets": Case(["up", "--host", "[2001:db8::1]"], "retrycontract: 2001:db8::1:8000 cannot be used"),
    "our first word with an s": Case(
        ["doctor"], "did you mean RETRYCONTRACT_DEBUG", environment={"RETRYCONTRACTS_DEBUG": "1"}
    ),
    "no name of a machine": Case(["up", "--host", "no such host"], "cannot be used"),
    "data folder below a file": Case(["up", "--data-dir", "FILE/data"], "cannot be written (Not a directory)"),
    "data folder that is a file": Case(["up", "--data-dir", "FILE"], "cannot be written (File exists)"),
    "no calls": Case(["seed", "--calls", "0"], "--calls"),
    "more calls than a disk holds": Case(["seed", "--calls", "9" * 30], "--calls"),
    "more days than there were": Case(["seed", "--days", "9" * 30], "--days"),
    "more wait than there are": Case(["seed", "--calls", "1", "--waiting", "2"], "name fewer with --waiting"),
    "backup to no text": Case(["backup", NO_TEXT], "not text in UTF-8"),
    "backup over a file": Case(["backup", "FILE"], "exists already"),
    "backup into no folder": Case(["backup", "none/copy"], "none/copy cannot be written: No such file"),
    "backup below a file": Case(["backup", "FILE/copy"], "FILE/copy cannot be written: Not a directory"),
    "export over a file": Case(["export", "FILE"], "exists already"),
    "export into no folder": Case(["export", "none/all"], "none/all cannot be written: No such file"),
    "export below a file": Case(["export", "FILE/all"], "FILE/all cannot be written: Not a directory"),
    "restore nothing": Case(["restore", "FILE"], "FILE", file=None),
    "restore a folder": Case(["restore", "."], ". "),
    "restore an empty file": Case(["restore", "FILE"], "FILE"),
    "restore something else": Case(["restore", "FILE"], "FILE", file=b"%PDF-1.7"),
    "import nothing": Case(["import", "FILE"], "FILE cannot be read: No such file", file=None),
    "import a folder": Case(["import", "."], ". cannot be read: Is a directory"),
    "import an empty file": Case(["import", "FILE"], "line 1"),
    "import something else": Case(["import", "FILE"], "line 1", file=b"\xff\xfe%PDF"),
    "an operator without a name": Case(["operator", "create", ""], "The name is empty"),
    "a host that nobody knows": Case(["up", "--host", "nohost.invalid"], "choose another with --host"),
    "import what is cut off": Case(["import", "FILE"], "line 1", file=b'{"format": "retrycontract-export"'),
    "one key only": Case(["rotate-keys", "reseal"], "'rotate-keys make'"),
    "no scope": Case(
        ["agent", "create", "planner", "--scopes", "rule"], "retrycontract: --scopes: name some of submit, read, tools"
    ),
    "no duration": Case(["agent", "create", "planner", "--expires-after", "soon"], "30m"),
    "no time at all": Case(["agent", "create", "p", "--expires-after", "0d"], "retrycontract: --expires-after: "),
    "no name of an agent": Case(["agent", "create", "plan\nner"], "An agent's name"),
    "blank name of an agent": Case(["agent", "create", " "], "An agent's name"),
    "blank namespace": Case(["agent", "create", "planner", "--namespace", " "], "An agent's name"),
    "every scope by mistake": Case(["agent", "create", "planner", "--scopes", "--"], "--scopes needs a value"),
    "for ever by mistake": Case(["agent", "create", "p", "--expires-after", "--"], "--expires-after needs a value"),
    "since ever by mistake": Case(["rebuild-metrics", "--since", "--"], "--since needs a value"),
    "empty name of an agent": Case(["agent", "create", ""], "An agent's name"),
    "no such key": Case(["agent", "revoke", "rc_00000000"], "no key begins with rc_00000000"),
    "no text for a key": Case(["agent", "revoke", NO_TEXT], "not text in UTF-8"),
    "no text for an operator": Case(["operator", "free", NO_TEXT], "not text in UTF-8"),
    "no key at all": Case(["agent", "revoke", ""], "no key begins with"),
    "no name of an operator": Case(["operator", "create", "a\nb"], "username"),
    "a worker without Redis": Case(["worker"], "RETRYCONTRACT_REDIS_URL is empty"),
    "web on no address of this machine": Case(["web", "--host", "192.0.2.1"], "cannot be used"),
    "no such operator": Case(["operator", "free", "ana"], "There is no operator ana"),
    "no date": Case(["rebuild-metrics", "--since", "yesterday"], "retrycontract: --since: 'yesterday' is no date"),
    "schema is not there": Case(["check", "--schema", "none", "FILE"], "none: No such file"),
    "schema is no JSON": Case(["check", "--schema", "FILE", "FILE"], "FILE is not JSON", file=b"{"),
    "output is a folder": Case(["check", "--schema", "FILE", "."], ".: Is a directory", file=b"{}"),
    "upstream is no address": Case(["proxy", "--upstream", "example.com"], "http:// or https:// and a host"),
    "nowhere to listen": Case(["proxy", "--upstream", "http://127.0.0.1:9", "--listen", "here"], "host:port"),
    "no address to listen at": Case(
        ["proxy", "--upstream", "http://127.0.0.1:9", "--listen", "192.0.2.1:80"], "--listen"
    ),
    "no key for the proxy": Case(
        ["proxy", "--upstream", "http://127.0.0.1:9", "--url", "http://127.0.0.1:9"], "RETRYCONTRACT_API_KEY"
    ),
    "no key for the hook": Case(["hook", "--url", "http://127.0.0.1:9"], "RETRYCONTRACT_API_KEY"),
    "no address for the hook": Case(["hook", "--url", "file:///etc/passwd"], "http://"),
    "no tools": Case(["mcp"], "name the tools"),
    "tools are not there": Case(["mcp", "--tools", "none"], "none"),
    "tools are no JSON": Case(["mcp", "--tools", "FILE"], "FILE", file=b"["),
    "tools are none": Case(["mcp", "--tools", "FILE"], "FILE", file=b"3"),
    "extractions are no JSON": Case(["mcp", "--extractions", "FILE"], "FILE", file=b"["),
    "no key for the service": Case(["mcp", "--url", "http://127.0.0.1:9"], "RETRYCONTRACT_API_KEY"),
    "no configuration": Case(["mcp", "--config", "none", "--tools", "FILE"], "none", file=b"[]"),
    "too many attempts": Case(["mcp", "--max-attempts", "99", "--tools", "FILE"], "1 to 10", file=b"[]"),
    "no server behind the gateway": Case(["mcp-gateway", "--", "no-such-command"], "there is no such command"),
}


def all_cases() -> dict[str, Case]:
    return dict(usage()) | dict(surroundings()) | BY_HAND


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str


class Tried:
    """Try cases, each in a copy of a process that is ready: one is made for each kind of case."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home, self.stack, self.runners = home, stack, dict[str, subprocess.Popen[str]]()
        self.good = home / "good"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        self.environment = kept | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "retrycontract.settings"}
        migrated = self.environment | {f"{PREFIX}DATA_DIR": str(self.good)}
        subprocess.run([sys.executable, "-m", "retrycontract", "migrate"], env=migrated, check=True)

    def said(self, case: Case, folder: Path) -> Said:
        kind = "fresh" if case.is_fresh else "ready"
        if kind not in self.runners:
            environment = self.environment | {f"{PREFIX}DATA_DIR": "good"}
            self.runners[kind] = self.stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", RUNNER, kind], cwd=self.home, env=environment, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
        runner = self.runners[kind]
        assert runner.stdin
        assert runner.stdout
        prepare(folder, case, self.good)
        told = {"folder": str(folder), "words": case.words, "environment": case.environment}
        print(json.dumps(told), file=runner.stdin, flush=True)
        status = int(runner.stdout.readline())
        return Said(status, (folder / "out").read_text(), (folder / "err").read_text())


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    with ExitStack() as stack:
        yield Tried(tmp_path_factory.mktemp("wrong"), stack)


def prepare(folder: Path, case: Case, good: Path) -> None:
    """Lay out what a case finds: FILE, and its data folder `good`, which may be anything but that."""
    folder.mkdir()
    data = folder / "good"
    if case.file is not None:
        (folder / "FILE").write_bytes(case.file)
    if case.data == "file":
        data.touch()
    elif case.data == "new":
        data.mkdir(mode=0o700)
    else:
        shutil.copytree(good, data)
    if case.data == "not migrated":
        for file in data.glob("retrycontract.sqlite3*"):
            file.unlink()
        (data / "retrycontract.sqlite3").touch(mode=0o600)
    if case.data == "broken":
        (data / "retrycontract.sqlite3").write_bytes(b"no database" * 1000)
    if case.data == "closed":
        data.chmod(0)
        if os.getuid() == 0:
            os.chown(data, NOBODY, NOBODY)


@pytest.mark.parametrize("case", sampled(all_cases(), one_in=24))
def test_a_mistake_is_one_line_and_an_exit_status(tried: Tried, tmp_path: Path, case: Case) -> None:
    told = tried.said(case, tmp_path / "tried")
    assert told.status == case.status, told.err[-500:]
    lines = [line for line in told.err.splitlines() if not line.startswith('{"message": "retrycontract ')]
    if case.status == FAILS:  # the doctor's findings are what it was asked for
        assert (lines, "FAIL" in told.out) == ([], True)
        assert case.reason in told.out
        return
    assert len(lines) == 1, told.err[-500:]
    assert lines[0].startswith("retrycontract: ")
    assert case.reason in lines[0]
    assert told.out == ""
    assert case.data != "new" or not list((tmp_path / "tried" / "good").iterdir()), "whoever only looks makes nothing"


def test_every_command_has_words_with_which_it_is_rightly_used() -> None:
    assert set(WORDS) == set(leaves())
    assert set(WORDS) >= ALONE
