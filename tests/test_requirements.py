"""The map from requirements to tests is complete, and its tests are real."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENT: Final = ROOT / "docs" / "requirements.md"
ROW: Final = re.compile(r"^\| ((?:FR|NFR|S)-\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEST: Final = re.compile(r"`(test_\w+)::(test_\w+)`")
NOT_YET: Final = re.compile(r"not yet: .+ will show it")
MEASURED: Final = re.compile(r"measured by `make bench`: `(.+)`")
RESULTS: Final = ROOT / "benchmarks" / "RESULTS.md"
ROWS: Final = ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
EXPECTED: Final = [
    *(f"FR-{number:03}" for number in range(1, 67)),
    *(f"NFR-{number:03}" for number in range(1, 21)),
    *(f"S-{number}" for number in range(1, 7)),
]


@cache
def known_tests() -> dict[str, set[str]]:
    """Names of test functions by the name of their file, whatever its folder."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[path.stem] |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return found


def test_every_requirement_and_every_scenario_is_listed_once_and_in_order() -> None:
    assert [number for number, _, _ in ROWS] == EXPECTED


@pytest.mark.parametrize(("number", "shown_by"), [(number, shown_by) for number, _, shown_by in ROWS])
def test_a_requirement_is_shown_by_tests_or_says_what_is_missing(number: str, shown_by: str) -> None:
    if NOT_YET.fullmatch(shown_by):
        return
    if measured := MEASURED.fullmatch(shown_by):
        assert f"\n| {measured[1]} | " in RESULTS.read_text(encoding="utf-8"), number
        return
    assert re.sub(TEST, "", shown_by).strip(", ") == "", f"{number} has something that is no test"
    missing = [f"{module}::{test}" for module, test in TEST.findall(shown_by) if test not in known_tests()[module]]
    assert missing == [], number


def test_scenarios_are_all_shown() -> None:
    assert [number for number, _, shown_by in ROWS if number.startswith("S-") and NOT_YET.fullmatch(shown_by)] == []


def test_a_test_that_does_not_exist_would_be_found() -> None:
    known = known_tests()
    assert "test_scenarios_are_all_shown" in known["test_requirements"]
    assert "test_nobody_wrote_this" not in known["test_requirements"]
    assert known["test_no_such_module"] == set()
