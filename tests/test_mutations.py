"""The tests that are named for a requirement fail when the source breaks it; in a copy, of course."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mutations import MUTATIONS, Mutation
from tests.serving.service import SHARED_BY
from tests.test_requirements import ROOT, ROWS, TEST, files_named

if TYPE_CHECKING:
    from collections.abc import Iterator

COPIED = ("retrycontract", "dashboard", "worker", "tests", "docs", "benchmarks", "manage.py", "pyproject.toml")
# Without those that no named test asks for: loading them takes longer than most of these tests.
PLUGINS = ("no:cacheprovider", "pytest_django.plugin", "pytest_timeout", "xdist.plugin")
pytestmark = pytest.mark.soak


def named_tests(requirement: str) -> list[str]:
    """Give the tests of a requirement as pytest takes them, those first that start no service."""
    shown_by = next(shown for number, _, shown in ROWS if number == requirement)
    named = [f"tests/{files_named(module)[0]}.py::{test}" for module, test in TEST.findall(shown_by)]
    return sorted(named, key=lambda test: "/contract/" not in test)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".venv*"))
        else:
            shutil.copy(source, folder / name)
    return folder


@contextmanager
def changed(copy: Path, mutation: Mutation) -> Iterator[None]:
    """Make a change for as long as the block runs."""
    path = copy / "retrycontract" / mutation.file
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1, "the change names one place"
    path.write_text(source.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(source, encoding="utf-8")


def outcome(copy: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "-x", "-q", *plugins, "-m", "not browser", *tests]
    environment = {name: value for name, value in os.environ.items() if name != SHARED_BY} | {
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.requirement}-{mutation.file}")
def test_a_change_that_breaks_a_requirement_fails_its_tests(copy: Path, mutation: Mutation) -> None:
    with changed(copy, mutation):
        done = outcome(copy, named_tests(mutation.requirement))
    assert done.returncode == 1, done.stdout[-2_000:] + done.stderr[-2_000:]  # 1: tests failed; more: they did not run


def test_what_is_not_changed_passes(copy: Path) -> None:
    """The control: a copy as such breaks none of these tests."""
    tests = sorted({test for mutation in MUTATIONS for test in named_tests(mutation.requirement)})
    done = outcome(copy, tests)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
