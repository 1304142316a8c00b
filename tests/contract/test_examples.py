"""Samples of schemas: they conform, or it is said why there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.examples import example_of
from retrycontract.contract.schemas.patterns import text_for
from retrycontract.contract.tool import CompiledTool, Tool

if TYPE_CHECKING:
    from tests.conftest import Corpus


def compiled(schema: Any) -> CompiledTool:
    return CompiledTool.of(Tool(name="t", input_schema=schema))


CASES: list[tuple[Any, Any]] = [
    ({"const": {"a": 1}}, {"a": 1}),
    ({"enum": ["b", "a"]}, "b"),
    ({"type": ["null", "integer"]}, 1),
    ({"type": "null"}, None),
    ({"type": "boolean"}, True),
    ({"type": "string"}, "text"),
    ({"type": "string", "minLength": 6}, "textxx"),
    ({"type": "string", "maxLength": 2}, "te"),
    ({"type": "string", "format": "date"}, "2026-01-31"),
    ({"type": "string", "pattern": "^[A-Z]{3}-\\d+$"}, "AAA-0"),
    ({"type": "string", "pattern": "^a+$", "minLength": 3}, "aaa"),
    ({"type": "integer", "minimum": 3}, 3),
    ({"type": "integer", "exclusiveMinimum": 3}, 4),
    ({"type": "integer", "maximum": -3}, -3),
    ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
    ({"type": "number", "minimum": 7, "multipleOf": 5}, 10),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}, 4),
    ({"type": "array", "items": {"type": "string"}}, ["text"]),
    ({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True}, [1, 2, 3]),
    ({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}, ["text", "text2"]),
    ({"type": "array", "prefixItems": [{"const": 1}, {"const": "a"}], "items": False}, [1, "a"]),
    ({"type": "array", "contains": {"const": 5}, "minItems": 2, "items": {"type": "integer"}}, [5, 1]),
    ({"type": "array", "maxItems": 0, "items": {"type": "string"}}, []),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {}}, "required": ["a"]}, {"a": None}),
    ({"properties": {"a": {"description": "An a.", "type": "integer"}}}, {"a": 1}),
    ({"properties": {"a": {"description": "An a.", "deprecated": True}}}, {}),
    ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"key1": 1}),
    ({"required": ["x-1"], "patternProperties": {"^x-": {"const": "x"}}, "type": "object"}, {"x-1": "x"}),
    ({"required": ["a"], "properties": {"a": {"default": 7}}}, {"a": 7}),
    ({"required": ["a"], "properties": {"a": {"type": "string", "default": None}}}, {"a": "text"}),
    ({"required": ["a"], "properties": {"a": {"type": "string", "default": 7}}}, {"a": "text"}),
    ({"type": "integer", "examples": ["no", 42]}, 42),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text"),
    ({"anyOf": [False, {"type": "integer"}]}, 1),
    ({"oneOf": [{"type": "number"}, {"type": "integer"}, {"const": "a"}]}, "a"),
    ({"allOf": [{"minimum": 3}, {"type": "integer", "minimum": 5}]}, 5),
    ({"allOf": [{"required": ["a"]}, {"properties": {"a": {"const": 1}}}]}, {"a": 1}),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, 1),
    ({"type": "object", "properties": {"next": {"$ref": "#", "description": "…"}, "v": {"const": 1}},
      "required": ["v"]}, {"v": 1, "next": {"v": 1, "next": {"v": 1, "next": {"v": 1, "next": {
          "v": 1, "next": {"v": 1}}}}}}),
    (True, "text"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "sample"), CASES, ids=lambda case: json.dumps(case)[:60])
def test_a_sample_has_what_is_required_and_what_is_described(schema: Any, sample: Any) -> None:
    found = example_of(compiled(schema))
    assert (found.value, found.problem) == (sample, "")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (False, "no sample can be written"),
        ({"type": "string", "pattern": "^\\p{Lu}{4,}(?i)x$"}, "no sample can be written"),
        ({"required": ["a"], "properties": {"a": {"$ref": "#"}}, "type": "object"}, "no sample can be written"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "wrong at (root): Value 5 is out of range"),
        ({"type": "object", "properties": {"a": {"type": "array", "enum": ["x"]}}, "required": ["a"]}, "wrong at /a:"),
        ({"not": {}}, "wrong at (root)"),
        ({"type": "string", "minLength": 10**9}, "no sample can be written"),
        ({"type": "string", "pattern": "^a+$", "minLength": 10**9}, "no sample can be written"),
        ({"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "string", "minLength": 10**9}},
         "no sample can be written"),
        ({"type": "number", "minimum": 1, "multipleOf": 1e-310}, "no sample can be written"),
        ({"type": "integer", "minimum": 2**1024 - 1}, "no sample can be written"),
        ({"type": "number", "exclusiveMinimum": 1.7e308, "exclusiveMaximum": 1.75e308, "multipleOf": 1e308},
         "no sample can be written"),
    ],
    ids=str,
)  # fmt: skip
def test_where_there_is_no_sample_it_is_said_why(schema: Any, problem: str) -> None:
    found = example_of(compiled(schema))
    assert not found.conforms
    assert problem in found.problem


def test_a_schema_that_unfolds_without_end_is_given_up_in_bounded_time() -> None:
    branches = {f"b{number}": {"$ref": "#/$defs/n", "description": "…"} for number in range(30)}
    wide = {"$defs": {"n": {"type": "object", "properties": branches}}, "$ref": "#/$defs/n"}
    assert example_of(compiled(wide)).conforms
    assert not example_of(compiled(wide | {"minProperties": 10**9})).conforms
    assert not example_of(compiled({"type": "array", "minItems": 10**9})).conforms


@pytest.mark.parametrize(
    "pattern",
    [
        "^abc$", "^[a-z]+$", "^[^a-z]+$", r"^\d{3}-\d{2,4}$", "^(GET|POST)$", "^(?:a|b)?c$", r"^\w+@\w+\.com$",
        r"^#[0-9a-fA-F]{6}$", "^v?[0-9]+(\\.[0-9]+)*$", "a.c", r"^\/.*", r"^(?P<year>\d{4})$", "^a{0,3}b+?$", r"^\x41$",
        "^[]a]$", "^[a-]$", r"^[\d-]+$", "",
    ],
)  # fmt: skip
def test_a_simple_pattern_is_written(pattern: str) -> None:
    text = text_for(pattern)
    assert text is not None
    assert re2.search(pattern, text)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<=a)b", r"(a)\1", r"\p{L}", "[a", "(a", "a{x}", "a{99999}", "a)"])
def test_a_pattern_that_is_not_simple_is_left_alone(pattern: str) -> None:
    assert text_for(pattern) is None


@given(st.text())
def test_no_pattern_makes_it_raise(pattern: str) -> None:
    assert isinstance(text_for(pattern), str | None)


@pytest.mark.corpus
def test_published_tools_get_a_sample_that_conforms(corpus: Corpus) -> None:
    none, sanitizer = {}, ValueSanitizer()
    rows = corpus("real_tools")
    for row in rows:
        tool = compiled(row["schema"])
        found = example_of(tool)
        if found.conforms:
            assert check_arguments(json.dumps(found.value), tool, sanitizer).is_valid, row["id"]
        else:
            none[row["id"]] = found.problem
    print(f"{len(rows) - len(none)} of {len(rows)} tools get a sample; not:", none)
    assert len(none) <= len(rows) // 100
