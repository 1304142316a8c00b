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

LOCK = ROOT / "examples" / "requirements.lock"
ENVIRONMENT = ROOT / "examples" / ".venv"


@pytest.fixture(scope="session")
def python() -> Path:
    """Install the frameworks, unless that was done from the same lock before, and give their Python."""
    found = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp, wanted = ENVIRONMENT / "installed", f"{sys.version}\n{LOCK.read_text(encoding='utf-8')}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return found
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    uv = Path(sys.executable).with_name("uv")
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, ENVIRONMENT],
        [uv, "pip", "install", "--quiet", "--python", found, "--require-hashes", "--requirement", LOCK],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        require(done.returncode == 0, f"cannot install {LOCK.name}: {done.stderr.strip()[-300:]}")
    stamp.write_text(wanted, encoding="utf-8")
    return found
