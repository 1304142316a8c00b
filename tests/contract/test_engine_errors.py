"""The engine reads names of digits as numbers and drops the empty name: its paths are spelled as the document does."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from retrycontract.contract.schemas.engine_errors import EnginePaths

# Whatever is no container and not the word "right" is wrong, wherever it stands.
ALL_WRONG = {
    "type": ["object", "array", "string"],
    "pattern": "^right$",
    "additionalProperties": {"$ref": "#"},
    "items": {"$ref": "#"},
}


def wrong_places(document: Any) -> set[tuple[str | int, ...]]:
    paths = EnginePaths(document)
    errors = jsonschema_rs.Draft202012Validator(ALL_WRONG).iter_errors(document)
    return {tuple(paths.true_path(error)) for error in errors}


@pytest.mark.parametrize(
    ("document", "places"),
    [
        pytest.param({"a": [1]}, {("a", 0)}, id="plain"),
        pytest.param({"7": 1}, {("7",)}, id="digits"),
        pytest.param({"007": 1, "7": "right"}, {("007",)}, id="zeros"),
        pytest.param({"007": 1, "7": 2, "+7": 3}, {("007",), ("7",), ("+7",)}, id="many-spellings"),
        pytest.param({"0": 1, "00": "right", "": "right"}, {("0",)}, id="nothing-but-zeros"),
        pytest.param({"": 1}, {("",)}, id="nameless"),
        pytest.param({"": {"": [1, "right"]}}, {("", "", 0)}, id="nameless-within-nameless"),
        pytest.param({"": "right", "a": {"": 1}}, {("a", "")}, id="nameless-beside-a-scalar"),
        pytest.param({"": {"a": 1}, "a": "right"}, {("", "a")}, id="the-value-tells"),
        pytest.param({"": ["right"], "0": 1}, {("0",)}, id="a-number-or-an-index"),
        pytest.param({"": [1, 2], "1": "right"}, {("", 0), ("", 1)}, id="an-index-or-a-number"),
        pytest.param({"7": {"": {"8": 1}}, "07": {"8": "right"}}, {("7", "", "8")}, id="through-both"),
        pytest.param({"a": {"07": ({"": 1},)}}, {("a", "07", 0, "")}, id="through-a-tuple"),
        pytest.param({"": 1, "a": 2}, {("",), ("a",)}, id="dropped-beside-kept"),
        pytest.param([{"": index} for index in range(50)], {(index, "") for index in range(50)}, id="in-items"),
    ],
)
def test_a_path_is_spelled_as_the_document_does(document: Any, places: set[tuple[str | int, ...]]) -> None:
    assert wrong_places(document) == places
