"""The map from requirements to tests is complete, and its tests are real."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.mutations import MUTATIONS

ROOT: Final = Path(__file__).resolve().parent.parent
DOCUMENT: Final = ROOT / "docs" / "requirements.md"
ROW: Final = re.compile(r"^\| ((?:FR|NFR|S)-\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEST: Final = re.compile(r"`((?:\w+/)*test_\w+)::(test_\w+)`")
NOT_YET: Final = re.compile(r"not yet: .+ will show it")
ROWS: Final = ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
EXPECTED: Final = [
    *(f"FR-{number:03}" for number in range(1, 67)),
    *(f"NFR-{number:03}" for number in range(1, 21)),
    *(f"S-{number}" for number in range(1, 7)),
]


@cache
def known_tests() -> dict[str, set[str]]:
    """Names of test functions by the file that they stand in, below tests/ and without its suffix."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT / "tests").with_suffix("").as_posix()
        found[name] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return found


def files_named(module: str) -> list[str]:
    """Give the files that a name of the document can mean."""
    return [name for name in known_tests() if f"/{name}".endswith(f"/{module}")]


def shows(module: str, test: str) -> bool:
    """Tell whether a name means one file, and that file has the test."""
    files = files_named(module)
    return len(files) == 1 and test in known_tests()[files[0]]


def test_every_requirement_and_every_scenario_is_listed_once_and_in_order() -> None:
    assert [number for number, _, _ in ROWS] == EXPECTED


@pytest.mark.parametrize(("number", "shown_by"), [(number, shown_by) for number, _, shown_by in ROWS])
def test_a_requirement_is_shown_by_tests_or_says_what_is_missing(number: str, shown_by: str) -> None:
    if NOT_YET.fullmatch(shown_by):
        return
    assert re.sub(TEST, "", shown_by).strip(", ") == "", f"{number} has something that is no test"
    assert [name for name in TEST.findall(shown_by) if not shows(*name)] == [], number


def test_scenarios_are_all_shown() -> None:
    assert [number for number, _, shown_by in ROWS if number.startswith("S-") and NOT_YET.fullmatch(shown_by)] == []


def test_a_test_that_does_not_exist_would_be_found() -> None:
    assert shows("test_requirements", "test_scenarios_are_all_shown")
    assert not shows("test_requirements", "test_nobody_wrote_this")
    assert not shows("test_no_such_module", "test_scenarios_are_all_shown")


def test_a_name_that_several_files_bear_says_nothing_without_its_folder() -> None:
    assert len(files_named("test_matching")) > 1
    assert not shows("test_matching", "test_an_attempt_continues_the_call")
    assert shows("usecases/test_matching", "test_an_attempt_continues_the_call")
    assert not shows("contract/test_matching", "test_an_attempt_continues_the_call")


def test_every_change_that_the_soak_makes_names_one_place() -> None:
    """Else nobody would learn until the soak that a line has moved."""
    texts = {each.file: (ROOT / "retrycontract" / each.file).read_text(encoding="utf-8") for each in MUTATIONS}
    assert [each for each in MUTATIONS if texts[each.file].count(each.old) != 1] == []
