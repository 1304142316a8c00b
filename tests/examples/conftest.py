"""What the recipes' tests share: an environment with the frameworks, which the project's own must not hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import require
from tests.serving.service import ROOT

EXAMPLES = ROOT / "examples"
PACKAGE = ROOT / "clients" / "typescript"
needs_node = [pytest.mark.processes, pytest.mark.soak]
built = [*needs_node, pytest.mark.usefixtures("node")]


@pytest.fixture(scope="session")
def python() -> Path:
    """Give the Python that has the frameworks."""
    return installed(EXAMPLES / ".venv", EXAMPLES / "requirements.lock")


@pytest.fixture(scope="session")
def litellms_python() -> Path:
    """Give the Python that has LiteLLM, which wants another `openai` than the frameworks."""
    return installed(EXAMPLES / ".venv-litellm", EXAMPLES / "litellm.lock")


def installed(environment: Path, lock: Path) -> Path:
    """Make an environment of a lock file, unless that was done from the same one before, and give its Python."""
    found = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp, wanted = environment / "installed", f"{sys.version}\n{lock.read_text(encoding='utf-8')}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return found
    shutil.rmtree(environment, ignore_errors=True)
    uv = Path(sys.executable).with_name("uv")
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, environment],
        [uv, "pip", "install", "--quiet", "--python", found, "--require-hashes", "--requirement", lock],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        require(done.returncode == 0, f"cannot install {lock.name}: {done.stderr.strip()[-300:]}")
    stamp.write_text(wanted, encoding="utf-8")
    return found


def npm(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *words], cwd=PACKAGE, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture(scope="session")
def node() -> Path:
    """Build the package and give Node; a machine without it is no reason to fail: the product needs none."""
    found = shutil.which("node")
    if not (found and shutil.which("npm")):
        pytest.skip("Node and npm are not on this machine")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, version.strip().lstrip("v").split(".")[:2])) < (20, 3):
        pytest.skip(f"Node {version.strip()} is older than 20.3")
    stamp, wanted = PACKAGE / "node_modules" / "installed", (PACKAGE / "package-lock.json").read_text(encoding="utf-8")
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
        done = npm("ci")
        if done.returncode:
            pytest.skip(f"the package's tools cannot be installed: {done.stderr.strip()[-300:]}")
        stamp.write_text(wanted, encoding="utf-8")
    built = npm("run", "build")
    assert built.returncode == 0, built.stdout
    return Path(found)


def told_by(node: Path, story: str, told: Any, url: str, **environment: str) -> Any:
    """Have the client tell a story of whatever stands at an address."""
    kept = os.environ | {"RETRYCONTRACT_URL": url, "RETRYCONTRACT_API_KEY": "rc_1_key"}
    command = [node, PACKAGE / "test" / "stories.mjs", story]
    done = subprocess.run(
        command,
        input=json.dumps(told),
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
