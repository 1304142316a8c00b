"""What changed between two attempts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.call.diagnosis import Change, ChangeKind, compare

ADDED, REMOVED, CHANGED = ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab/~", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)
CASES: list[tuple[Any, Any, list[Change]]] = [
    ({}, {}, []),
    (1, 1.0, []),
    (1, True, [Change("", CHANGED, 1, True)]),
    ([0], [False], [Change("/0", CHANGED, 0, False)]),
    ({"a": 1}, {"a": 2}, [Change("/a", CHANGED, 1, 2)]),
    ({"a": 1}, {}, [Change("/a", REMOVED, 1)]),
    ({}, {"a": None}, [Change("/a", ADDED)]),
    ({"a": 1}, {"b": 1}, [Change("/a", REMOVED, 1), Change("/b", ADDED, after=1)]),
    ({"a/b": {"~": 1}}, {"a/b": {"~": "1"}}, [Change("/a~1b/~0", CHANGED, 1, "1")]),
    ([1, 2, 3], [1, 2], [Change("/2", REMOVED, 3)]),
    ([1], [1, {"x": []}], [Change("/1", ADDED, after={"x": []})]),
    ({"a": {"b": 1}}, {"a": [1]}, [Change("/a", CHANGED, {"b": 1}, [1])]),
    ({"items": [{"sku": "x"}]}, {"items": [{"sku": "y"}]}, [Change("/items/0/sku", CHANGED, "x", "y")]),
    ("text", {"a": 1}, [Change("", CHANGED, "text", {"a": 1})]),
]


@pytest.mark.parametrize(("before", "after", "changes"), CASES)
def test_each_place_that_differs_is_named_with_both_values(before: Any, after: Any, changes: list[Change]) -> None:
    assert list(compare(before, after)) == changes


@given(JSON)
def test_nothing_changed_between_a_document_and_itself(document: Any) -> None:
    assert compare(document, document) == ()


@given(JSON, JSON)
def test_backwards_the_same_places_changed_with_their_sides_exchanged(before: Any, after: Any) -> None:
    there = {
        (change.pointer, change.kind, repr(change.before), repr(change.after)) for change in compare(before, after)
    }
    turned = {ADDED: REMOVED, REMOVED: ADDED, CHANGED: CHANGED}
    back = {(c.pointer, turned[c.kind], repr(c.after), repr(c.before)) for c in compare(after, before)}
    assert there == back
