"""The tests that are named for a requirement fail when the source breaks it; in a copy, of course."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations import MUTATIONS, Mutation
from tests.test_requirements import ROOT, ROWS, TEST, files_named

COPIED = ("retrycontract", "dashboard", "worker", "tests", "docs", "benchmarks", "manage.py", "pyproject.toml")
pytestmark = pytest.mark.soak


def named_tests(requirement: str) -> list[str]:
    """Give the tests of a requirement as pytest takes them."""
    shown_by = next(shown for number, _, shown in ROWS if number == requirement)
    return [f"tests/{files_named(module)[0]}.py::{test}" for module, test in TEST.findall(shown_by)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", ".venv*"))
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


def outcome(copy: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not browser", *tests]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy)}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.requirement}-{mutation.file}")
def test_a_change_that_breaks_a_requirement_fails_its_tests(copy: Path, mutation: Mutation) -> None:
    path = copy / "retrycontract" / mutation.file
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1, "the change names one place"
    path.write_text(source.replace(mutation.old, mutation.new), encoding="utf-8")
    done = outcome(copy, named_tests(mutation.requirement))
    assert done.returncode == 1, done.stdout[-2_000:] + done.stderr[-2_000:]  # 1: tests failed; more: they did not run


def test_what_is_not_changed_passes(copy: Path) -> None:
    """The control: a copy as such breaks none of these tests."""
    tests = sorted({test for mutation in MUTATIONS for test in named_tests(mutation.requirement)})
    done = outcome(copy, tests)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
