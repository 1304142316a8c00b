"""Build both distributions, library and service, as wheel and source archive: `build.py FOLDER`.

Each is built from a staged copy: a build leaves files beside its sources, and the service's packages lie beside the
library's in this repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


def stage_library(folder: Path) -> None:
    """Copy what the library's distribution is built from."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "retrycontract", folder / "retrycontract", ignore=LEFT_OUT)


def stage_server(folder: Path) -> None:
    """Copy what the service's distribution is built from; the demo agent goes where `up` finds it without a clone."""
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / "packaging" / "server" / name, folder)
    shutil.copy(ROOT / "LICENSE", folder)
    for name in ("dashboard", "worker"):
        shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
    shutil.copy(ROOT / "examples" / "agent.py", folder / "worker" / "demo_agent.py")


def build(target: Path) -> None:
    """Build wheel and source archive of both into `target`, with the setuptools of this environment."""
    uv = Path(sys.executable).parent / "uv"
    for stage in (stage_library, stage_server):
        with tempfile.TemporaryDirectory() as folder:
            stage(Path(folder))
            command = [uv, "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", target]
            subprocess.run([*command, folder], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve())
