"""Every guarantee names its tests and what breaks without it, and these tests are real."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.test_requirements import TEST, shows

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "guarantees.md"
ROW: Final = re.compile(r"^\| (G-\d+) \| (.+?) \| (.*?) ?\| (.+) \| (.+) \|$", re.MULTILINE)
ROWS: Final = ROW.findall(DOCUMENT.read_text(encoding="utf-8"))


def missing(cell: str) -> list[str]:
    return [f"{module}::{test}" for module, test in TEST.findall(cell) if not shows(module, test)]


def test_guarantees_are_numbered_in_order() -> None:
    assert ROWS
    assert [number for number, *_ in ROWS] == [f"G-{number:02}" for number in range(1, len(ROWS) + 1)]
    assert len(ROWS) == DOCUMENT.read_text(encoding="utf-8").count("| G-"), "a row is not read"


@pytest.mark.parametrize(("number", "shown_by", "control"), [(row[0], row[3], row[4]) for row in ROWS])
def test_a_guarantee_is_shown_by_tests_and_each_has_a_control(number: str, shown_by: str, control: str) -> None:
    assert re.sub(TEST, "", shown_by).strip(", ") == "", f"{number} has something that is no test"
    assert missing(shown_by + control) == [], number
    what, _, tests = control.partition(": ")
    assert what
    assert TEST.findall(tests), f"{number} has no negative control"
    assert not set(TEST.findall(shown_by)) & set(TEST.findall(tests)), f"{number} is its own control"


def test_a_test_that_does_not_exist_would_be_found() -> None:
    assert missing("`test_guarantees::test_nobody_wrote_this`") == ["test_guarantees::test_nobody_wrote_this"]
