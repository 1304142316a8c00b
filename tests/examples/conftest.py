"""What the recipes' tests share: an environment with the frameworks, which the project's own must not hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require
from tests.serving.service import ROOT

EXAMPLES = ROOT / "examples"


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
