"""The documentation site, built as `make docs` does: strictly, so that a link that leads nowhere fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
MADE: Final = ROOT / ".venv" / "docs" / ".made"  # by `make docs`
UV: Final = Path(sys.executable).parent / "uv"


def build(folder: Path) -> Path:
    """Build the site into a folder; beside it lies which Python built it."""
    lock = ROOT / "requirements-docs.lock"
    python = MADE.parent / "bin" / "python"
    if not (MADE.exists() and MADE.stat().st_mtime >= lock.stat().st_mtime):
        if not os.environ.get("CI"):
            pytest.skip("downloads packages into a new environment: runs where CI is set, or after `make docs`")
        python = folder / "environment" / "bin" / "python"
        for words in (
            ["venv", "--quiet", "--python", sys.executable, folder / "environment"],
            ["pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", lock],
        ):
            subprocess.run([UV, *words], check=True)
    (folder / "python").write_text(str(python))
    built = folder / "site"
    done = subprocess.run(
        [python, "-m", "mkdocs", "build", "--strict", "--site-dir", built], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return built
