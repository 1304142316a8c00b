from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract import pointers

# The examples of RFC 6901, section 5.
DOCUMENT = {
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8
}  # fmt: skip
EXAMPLES = {
    "": DOCUMENT, "/foo": ["bar", "baz"], "/foo/0": "bar", "/": 0, "/a~1b": 1, "/c%d": 2, "/e^f": 3, "/g|h": 4,
    "/i\\j": 5, '/k"l': 6, "/ ": 7, "/m~0n": 8,
}  # fmt: skip


@pytest.mark.parametrize(("pointer", "value"), EXAMPLES.items())
def test_the_examples_of_the_rfc_resolve(pointer: str, value: Any) -> None:
    assert pointers.resolve(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer",
    [
        "/nothing", "/foo/2", "/foo/-1", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/ 1", "/foo/1_0", "/foo/x",
        "/foo/0/x", "/ /x", "/foo/" + "9" * 5000, "/foo/²", "/foo/١",
    ],
)  # fmt: skip
def test_what_is_not_there_is_a_lookup_error_that_names_the_pointer(pointer: str) -> None:
    with pytest.raises(LookupError, match="nothing is at"):
        pointers.resolve(DOCUMENT, pointer)


@given(st.lists(st.text(max_size=6), max_size=4))
def test_tokens_gives_back_what_from_tokens_joined(names: list[str]) -> None:
    assert list(pointers.tokens(pointers.from_tokens(names))) == names


@pytest.mark.parametrize(
    ("pointer", "parent", "last", "label"),
    [
        pytest.param("", "", "", "", id="whole"),
        pytest.param("/", "", "", "", id="empty-name"),
        pytest.param("/a", "", "a", "a", id="member"),
        pytest.param("/a/b~1c", "/a", "b/c", "b/c", id="escaped"),
        pytest.param("/tags/0", "/tags", "0", "tags/0", id="item"),
        pytest.param("/a/b/0/12", "/a/b/0", "12", "b/0/12", id="item-of-item"),
        pytest.param("/0", "", "0", "0", id="item-of-the-whole"),
    ],
)
def test_a_pointer_has_a_parent_a_last_token_and_a_label(pointer: str, parent: str, last: str, label: str) -> None:
    assert pointers.parent(pointer) == parent
    assert pointers.last(pointer) == last
    assert pointers.label(pointer) == label


def test_integers_are_indices_and_names_are_escaped() -> None:
    assert pointers.join("/a", 0, "b/c", "~") == "/a/0/b~1c/~0"


def test_pointers_sort_by_token_with_indices_by_number() -> None:
    expected = ["", "/a", "/a/b", "/a-b", "/b", "/items/2", "/items/10", "/items/10/a", "/items/x"]
    shuffled = random.Random(1).sample(expected, len(expected))
    assert sorted(shuffled, key=pointers.sort_key) == expected


def test_a_number_of_thousands_of_digits_sorts_as_a_name() -> None:
    long = "/" + "9" * 5000
    assert sorted([long, "/1"], key=pointers.sort_key) == ["/1", long]


def test_a_pattern_has_a_star_for_every_index() -> None:
    assert pointers.pattern("/items/0/tags/12/a1") == "/items/*/tags/*/a1"
    assert pointers.pattern("") == ""
