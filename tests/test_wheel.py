"""The wheel, alone in an environment of its own: what somebody gets who installs the library."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent
# What the base install may bring along, with what those packages need themselves.
BASE_INSTALL: Final = {
    "attrs",
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

pytestmark = pytest.mark.skipif(
    not os.environ.get("CI"), reason="downloads packages into a new environment: runs where CI is set"
)


@dataclass(frozen=True, slots=True)
class Installed:
    wheel: Path
    python: Path
    elsewhere: Path  # a working directory without the sources

    def run(self, *arguments: str) -> str:
        return call(self.python, "-I", *arguments, cwd=self.elsewhere)


def call(*command: str | Path, cwd: Path) -> str:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    return run.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel from a copy (a build leaves files beside the sources) and install it with locked packages."""
    source, target, elsewhere = (tmp_path_factory.mktemp(name) for name in ("source", "target", "elsewhere"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("retrycontract", "dashboard", "worker", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    call(sys.executable, "-c", build, target, cwd=source)
    [wheel] = target.glob("*.whl")

    wanted = target / "wheel.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted.write_text(f"retrycontract @ {wheel.as_uri()} --hash=sha256:{digest}\n", encoding="utf-8")
    environment = target / "environment"
    call(BIN / "uv", "venv", "--python", sys.executable, environment, cwd=elsewhere)
    python = environment / "bin" / "python"
    pins = ("--require-hashes", "--requirements", wanted, "--constraints", ROOT / "requirements.lock")
    call(BIN / "uv", "pip", "install", "--python", python, *pins, cwd=elsewhere)
    return Installed(wheel, python, elsewhere)


def test_the_wheel_holds_the_whole_package_and_nothing_else(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "retrycontract").rglob("*.py")}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"retrycontract"}
    assert {name for name in names if name.endswith(".py")} == sources


def test_the_base_install_brings_no_server(installed: Installed) -> None:
    listed = "from importlib.metadata import distributions as d; print(*(found.name for found in d()))"
    names = {canonicalize_name(name) for name in installed.run("-c", listed).split()}
    assert "retrycontract" in names
    assert names - BASE_INSTALL == set()


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
