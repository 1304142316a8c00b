"""The wheel, alone in an environment of its own: what somebody gets who installs the library."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest
from packaging.utils import canonicalize_name

import retrycontract
from tests.serving.desk import Desk
from tests.serving.servers import free_port
from tests.serving.service import Service
from tests.serving.threads import eventually

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent
# What the base install may bring along, with what those packages need themselves.
BASE_INSTALL: Final = {
    "attrs",
    "click",
    "google-re2",
    "jsonschema",
    "jsonschema-rs",
    "jsonschema-specifications",
    "pyyaml",
    "referencing",
    "regex",
    "retrycontract",
    "rpds-py",
    "typing-extensions",
}
SERVER_PACKAGES: Final = ("django", "ninja", "celery", "redis", "pydantic", "uvicorn", "cryptography")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(
        not os.environ.get("CI"), reason="downloads packages into a new environment: runs where CI is set"
    ),
]


@dataclass(frozen=True, slots=True)
class Installed:
    python: Path
    elsewhere: Path  # a working directory without the sources

    def run(self, *arguments: str | Path, **environment: str) -> str:
        done = self.tried(*arguments, **environment)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def tried(self, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-I", *arguments], cwd=self.elsewhere, env=os.environ | environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    def packages(self) -> set[str]:
        listed = "from importlib.metadata import distributions as d; print(*(found.name for found in d()))"
        return {canonicalize_name(name) for name in self.run("-c", listed).split()}


def call(*command: str | Path, cwd: Path) -> None:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build library and service as they would be published."""
    target = tmp_path_factory.mktemp("built")
    call(sys.executable, ROOT / "packaging" / "build.py", target, cwd=target)
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    [found] = built.glob("retrycontract-*.whl")
    return found


def install(wheel: Path, folder: Path, lock: str, *, extra: str = "", beside: tuple[str, ...] = ()) -> Installed:
    """Install the wheel, locked packages and nothing else."""
    wanted = folder / "wheel.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted.write_text(f"retrycontract{extra} @ {wheel.as_uri()} --hash=sha256:{digest}\n" + "\n".join(beside))
    environment, elsewhere = folder / "environment", folder / "elsewhere"
    elsewhere.mkdir()
    call(BIN / "uv", "venv", "--python", sys.executable, environment, cwd=elsewhere)
    python = environment / "bin" / "python"
    pins = ("--require-hashes", "--requirements", wanted, "--constraints", ROOT / lock)
    call(BIN / "uv", "pip", "install", "--python", python, *pins, cwd=elsewhere)
    return Installed(python, elsewhere)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The base install."""
    return install(wheel, tmp_path_factory.mktemp("base"), "requirements.lock")


@pytest.fixture(scope="module")
def client(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What an agent installs whose tools are functions."""
    pydantic = (f"pydantic=={version('pydantic')}",)
    return install(wheel, tmp_path_factory.mktemp("client"), "requirements-dev.lock", extra="[client]", beside=pydantic)


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "retrycontract").rglob("*.py")}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"retrycontract"}
    assert {name for name in names if name.endswith(".py")} == sources


def test_the_base_install_brings_no_server(installed: Installed) -> None:
    assert "retrycontract" in installed.packages()
    assert installed.packages() - BASE_INSTALL == set()


def test_the_library_works_without_a_server(installed: Installed) -> None:
    look = (
        "import json, sys, retrycontract; retrycontract.RetryContract; "
        f"print(json.dumps([retrycontract.__file__, sorted(set({SERVER_PACKAGES!r}) & set(sys.modules))]))"
    )
    place, loaded = json.loads(installed.run("-c", look))
    assert Path(place).is_relative_to(installed.python.parent.parent)
    assert loaded == []


def test_the_command_of_the_library_explains_itself(installed: Installed) -> None:
    assert "usage" in installed.run("-m", "retrycontract", "--help").lower()


def test_what_needs_an_extra_names_it(installed: Installed) -> None:
    done = installed.tried("-c", "import retrycontract.client")
    assert done.stderr.splitlines()[-1] == 'ImportError: the client needs httpx2: pip install "retrycontract[client]"'
    for command in (("mcp-gateway", "--", "cat"), ("mcp", "--url", "http://127.0.0.1:9")):
        done = installed.tried("-m", "retrycontract", *command)
        assert (done.returncode, done.stderr) == (
            2, 'retrycontract: this needs the package mcp: pip install "retrycontract[mcp]"\n'
        )  # fmt: skip
    done = installed.tried("-m", "retrycontract", "proxy", "--upstream", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr == 'retrycontract: this needs httpx2 and uvicorn: pip install "retrycontract[proxy]"\n'


def test_the_client_brings_one_http_package_and_no_server(client: Installed) -> None:
    assert "httpx2" in client.packages()
    assert client.packages().isdisjoint({"django", "django-ninja", "celery", "redis", "uvicorn", "cryptography", "mcp"})


def test_the_agent_of_the_readme_is_helped_and_finishes(client: Installed, service: Service) -> None:
    access = {"RETRYCONTRACT_URL": service.url, "RETRYCONTRACT_API_KEY": service.new_key("wheel")}
    desk = Desk(service)
    desk.log_in()
    others = calls_on(desk)
    with ThreadPoolExecutor(1) as agents:
        agent = agents.submit(client.run, ROOT / "examples" / "client_agent.py", **access)
        eventually(lambda: agent.done() or calls_on(desk) - others, within=60)
        assert not agent.done(), agent.result()
        [call_id] = calls_on(desk) - others
        desk.answer(call_id, text="Use IATA codes; cabin is 'business'.")
        assert agent.result(60) == "The flight from ZRH to LHR is booked in business.\n"


def calls_on(desk: Desk) -> set[str]:
    return set(re.findall(r"/calls/([\w-]+)/", desk.get("/?q=book_flight")))


def test_with_its_extra_the_command_speaks_mcp(wheel: Path, tmp_path: Path) -> None:
    speaking = install(wheel, tmp_path, "requirements-dev.lock", extra="[mcp]")
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "read_file", "inputSchema": {"type": "object"}}]))
    assert speaking.packages().isdisjoint({"django", "django-ninja", "celery", "redis"})
    assert speaking.run("-m", "retrycontract", "mcp", "--tools", tools) == "", "nobody asked, and it left in good order"


# The suite's own settings must not reach what is installed.
ALONE: Final = {name: value for name, value in os.environ.items() if not name.startswith(("RETRYCONTRACT_", "DJANGO_"))}


@contextmanager
def ready(command: list[str | Path], folder: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Start a service in an empty folder; give its address and its further lines. Ctrl-C ends it in good order."""
    folder.mkdir()
    port = str(free_port())
    with subprocess.Popen([*command, "--port", port], cwd=folder, env=ALONE, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        try:
            said = iter(up.stdout.readline, "")
            assert any("retrycontract is ready" in line for line in said)
            yield f"http://127.0.0.1:{port}", said
        finally:
            up.send_signal(signal.SIGINT)
            up.stdout.read()
    assert up.returncode == 0


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def test_the_service_of_the_built_files_serves_desk_api_and_worker_in_an_empty_folder(
    built: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    program = serving(tmp_path / "environment", built)
    is_installed = time.monotonic()
    with ready([program, "up"], tmp_path / "empty") as (url, said):
        took = f"{is_installed - began:.1f} s to install, {time.monotonic() - is_installed:.1f} s until it is ready"
        packed = sum(wheel.stat().st_size for wheel in built.glob("*.whl"))
        held = f"{packed:,} bytes of wheels, {size(tmp_path / 'environment'):,} installed"
        record_property("figure", f"pip: {took}; {held}, {size(tmp_path / 'empty'):,} in its folder")
        login = urllib.request.urlopen(f"{url}/login/").read().decode()
        sheet = re.search(r'href="(/static/[^"]+\.css)"', login)
        assert sheet is not None
        assert urllib.request.urlopen(url + sheet[1]).status == 200
        key = subprocess.run(
            [program, "agent", "create", "wheel"],
            cwd=tmp_path / "empty", env=ALONE, capture_output=True, text=True, check=True,
        )  # fmt: skip
        headers = {"Authorization": f"Bearer {key.stdout.strip()}", "Content-Type": "application/json"}
        body = json.dumps({"kind": "tool_call", "tool": "none", "tool_call_id": "c1", "arguments": {}}).encode()
        answer = json.load(urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1/calls", body, headers)))
        assert answer["status"] == "retry"
        assert any("Validation failed for tool 'book_flight'" in line for line in said), "the demo agent is not there"


def serving(environment: Path, built: Path, *more: str) -> Path:
    """Install the service of the built files, and give its program."""
    if not environment.exists():
        call(BIN / "uv", "venv", "--python", sys.executable, environment, cwd=built)
    pins = ("--find-links", built, "--constraints", ROOT / "requirements.lock")
    python = environment / "bin" / "python"
    call(BIN / "uv", "pip", "install", "--python", python, *pins, *more, "retrycontract[server]", cwd=built)
    return environment / "bin" / "retrycontract"


def next_release(folder: Path) -> Path:
    """Build the same sources under the next version."""
    sources, target = folder / "sources", folder / "next"
    left_out = shutil.ignore_patterns("__pycache__")
    for name in ("retrycontract", "dashboard", "worker", "packaging", "examples"):
        shutil.copytree(ROOT / name, sources / name, ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    for name in ("pyproject.toml", "packaging/server/pyproject.toml", "retrycontract/__init__.py"):
        text = (sources / name).read_text()
        assert retrycontract.__version__ in text
        (sources / name).write_text(text.replace(retrycontract.__version__, NEXT))
    call(sys.executable, sources / "packaging" / "build.py", target, cwd=folder)
    return target


NEXT: Final = "0.1.999"


def test_an_upgrade_from_one_wheel_to_the_next_keeps_the_data(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()

    def said(program: Path, *words: str) -> str:
        done = subprocess.run([program, *words], cwd=folder, env=ALONE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    program = serving(tmp_path / "environment", built)
    said(program, "migrate")
    key = said(program, "agent", "create", "planner")
    assert said(program, "version") == f"{retrycontract.__version__}\n"
    assert serving(tmp_path / "environment", next_release(tmp_path), "--upgrade") == program
    assert said(program, "version") == f"{NEXT}\n"
    said(program, "migrate")
    said(program, "collectstatic")
    [agent] = json.loads(said(program, "agent", "list", "--json"))
    assert (agent["agent"], key.startswith(agent["key"])) == ("planner", True)
    assert json.loads(said(program, "version", "--json"))["retrycontract"] == NEXT
    findings = json.loads(said(program, "doctor", "--json"))
    assert [
        found for found in findings if found["name"] in {"migrations", "history", "keys"} and found["level"] != "ok"
    ] == []


def test_uvs_tool_runner_runs_it_without_an_environment(
    built: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    pins = ("--find-links", built, "--constraints", ROOT / "requirements.lock")
    runner: list[str | Path] = [BIN / "uvx", "--python", sys.executable, *pins, "--from", "retrycontract[server]"]
    began = time.monotonic()
    with ready([*runner, "retrycontract", "up"], tmp_path / "empty") as (url, _):
        took = time.monotonic() - began
        assert urllib.request.urlopen(f"{url}/readyz").status == 200
        done = subprocess.run(
            [*runner, "retrycontract", "doctor"], cwd=tmp_path / "empty", env=ALONE, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    where = subprocess.run(
        [*runner, "python", "-c", "import sys; print(sys.prefix)"],
        env=ALONE,
        capture_output=True,
        text=True,
        check=True,
    )
    held = size(Path(where.stdout.strip()))
    assert held > 0
    record_property("figure", f"uv's tool runner: {took:.1f} s until it is ready; {held:,} bytes installed")


def test_both_distributions_have_one_version() -> None:
    projects = [
        tomllib.loads((ROOT / place).read_text())["project"]
        for place in ("pyproject.toml", "packaging/server/pyproject.toml")
    ]
    [version_of_both] = {project["version"] for project in projects}
    assert projects[1]["dependencies"] == [f"retrycontract[service]=={version_of_both}"]
    assert projects[0]["optional-dependencies"]["server"] == [f"retrycontract-server=={version_of_both}"]
    assert retrycontract.__version__ == version_of_both
