"""The lines of a JSON text on which its values stand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.shared.json_lines import line_at, lines_of
from retrycontract.contract import pointers

TEXT = """{
  "a": 1, "b~/": [
    true,
    {"c": "x\\"{[,:", "c2":
       null}
  ],
  "empty": {}, "last": [[], 2]
}"""


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("", 1),
        ("/a", 2),
        ("/b~0~1", 2),
        ("/b~0~1/0", 3),
        ("/b~0~1/1", 4),
        ("/b~0~1/1/c", 4),
        ("/b~0~1/1/c2", 4),
        ("/empty", 7),
        ("/last/0", 7),
        ("/last/1", 7),
        ("/b~0~1/1/missing", 4),  # what is missing is missing from its container
        ("/nowhere/at/all", 1),
    ],
)
def test_every_value_has_the_line_on_which_it_begins(pointer: str, line: int) -> None:
    assert line_at(lines_of(TEXT), pointer) == line


@pytest.mark.parametrize("text", ["7", '"a"', "\n\n[]", " null "])
def test_a_value_alone_is_the_root(text: str) -> None:
    assert lines_of(text) == {"": text.count("\n") + 1}


def places(value: Any, pointer: str = "") -> list[str]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [pointer, *(place for name, item in members for place in places(item, pointers.join(pointer, name)))]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_every_value_of_any_document_is_found_in_order(value: Any, indent: int | None) -> None:
    lines = lines_of(json.dumps(value, indent=indent))
    assert list(lines) == places(value)
    assert list(lines.values()) == sorted(lines.values())
