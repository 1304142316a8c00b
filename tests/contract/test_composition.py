"""Strict mode: which fields are unknown once everything that describes a place is taken together."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import ErrorSeverity, Tool, ValueSanitizer
from retrycontract.contract.checks.composition import (
    MAX_CLOSURE,
    SchemaIndex,
    place_of,
    unknown_fields,
)
from retrycontract.contract.checks.sensitive_places import sensitive_pointers
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.tool import CompiledTool

A, B = {"properties": {"a": {}}}, {"properties": {"b": {}}}
OBJECT = {"type": "object"}


def unknown(schema: Any, value: Any) -> set[str]:
    return {f"{pointer}/{key}" for pointer, _, keys, _ in unknown_fields(SchemaIndex(schema), value) for key in keys}


CASES: dict[str, tuple[Any, Any, set[str]]] = {
    "declares-properties": (A, {"a": 1, "x": 1, "y": 1}, {"/x", "/y"}),
    "declares-none": (OBJECT, {"x": 1}, set()),
    "empty-properties": ({"properties": {}}, {"x": 1}, {"/x"}),
    "no-object": (A, [1], set()),
    "explicit-true": (A | {"additionalProperties": True}, {"x": 1}, set()),
    "explicit-schema": (A | {"additionalProperties": OBJECT}, {"x": {"y": 1}}, set()),
    "explicit-false-is-the-engines": (A | {"additionalProperties": False}, {"x": 1}, set()),
    "unevaluated": (A | {"unevaluatedProperties": False}, {"x": 1}, set()),
    "within": ({"properties": {"a": A}}, {"a": {"a": 1, "x": 1}}, {"/a/x"}),
    "within-items": ({"properties": {"a": {"items": A}}}, {"a": [{"a": 1}, {"x": 1}]}, {"/a/1/x"}),
    "within-additional": ({"additionalProperties": A}, {"k": {"x": 1}}, {"/k/x"}),
    "within-unevaluated": ({"unevaluatedProperties": A}, {"k": {"x": 1}}, {"/k/x"}),
    "free-form-member": ({"properties": {"meta": OBJECT}}, {"meta": {"x": {"y": 1}}}, set()),
    "member-without-schema": ({"properties": {"a": True}}, {"a": {"x": 1}}, set()),
    "allOf": ({"allOf": [A, B]}, {"a": 1, "b": 1, "x": 1}, {"/x"}),
    "allOf-and-own": (A | {"allOf": [B]}, {"a": 1, "b": 1, "x": 1}, {"/x"}),
    "allOf-with-an-opener": ({"allOf": [A, {"additionalProperties": True}]}, {"x": 1}, set()),
    "allOf-free-form-stays-closed": ({"allOf": [A, OBJECT]}, {"x": 1}, {"/x"}),
    "anyOf": ({"anyOf": [A, B]}, {"a": 1, "b": 1, "x": 1}, {"/x"}),
    "anyOf-beside-properties": (A | {"anyOf": [{"required": ["b"]}, B]}, {"a": 1, "b": 1, "x": 1}, {"/x"}),
    "anyOf-with-free-form": ({"anyOf": [A, OBJECT]}, {"x": 1}, set()),
    "anyOf-with-free-form-by-list": ({"anyOf": [A, {"type": ["object", "null"]}]}, {"x": 1}, set()),
    "anyOf-with-null": ({"anyOf": [A, {"type": "null"}]}, {"x": 1}, {"/x"}),
    "oneOf-within": ({"properties": {"o": {"oneOf": [A, B]}}}, {"o": {"b": 1, "x": 1}}, {"/o/x"}),
    "oneOf-of-unions": ({"oneOf": [{"type": "object", "anyOf": [A]}, B]}, {"a": 1, "x": 1}, {"/x"}),
    "ref": ({"$ref": "#/$defs/a", "$defs": {"a": A}}, {"a": 1, "x": 1}, {"/x"}),
    "ref-beside-properties": (B | {"$ref": "#/$defs/a", "$defs": {"a": A}}, {"a": 1, "b": 1, "x": 1}, {"/x"}),
    "ref-escaped": ({"$ref": "#/$defs/a~1%7Bb%7D", "$defs": {"a/{b}": A}}, {"x": 1}, {"/x"}),
    "ref-anchor": ({"$ref": "#a", "$defs": {"a": {"$anchor": "a"} | A}}, {"a": 1, "x": 1}, {"/x"}),
    "ref-id": ({"$ref": "urn:a", "$defs": {"a": {"$id": "urn:a"} | A}}, {"a": 1, "x": 1}, {"/x"}),
    "ref-dynamic": ({"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a"} | A}}, {"x": 1}, {"/x"}),
    "ref-to-nothing": ({"$ref": "#/$defs/none"} | A, {"a": 1, "x": 1}, {"/x"}),
    "ref-through-an-item": ({"$ref": "#/allOf/1", "allOf": [True, A]}, {"x": 1}, {"/x"}),
    "ref-through-a-scalar": ({"$ref": "#/title/0", "title": "t"} | A, {"x": 1}, {"/x"}),
    "ref-beyond-the-items": ({"$ref": "#/allOf/7", "allOf": [A]}, {"x": 1}, {"/x"}),
    "recursion": ({"properties": {"next": {"$ref": "#"}}}, {"next": {"next": {"x": 1}}}, {"/next/next/x"}),
    "recursion-in-place": ({"allOf": [{"$ref": "#"}, A]}, {"a": 1, "x": 1}, {"/x"}),
    "patterns": (A | {"patternProperties": {"^x-": OBJECT}}, {"a": 1, "x-1": {"y": 1}, "y": 1}, {"/y"}),
    "patterns-alone-close-nothing": ({"patternProperties": {"^x-": {}}}, {"y": 1}, set()),
    "patterns-within": ({"patternProperties": {"^x": A}}, {"x1": {"a": 1, "y": 1}}, {"/x1/y"}),
    "pattern-that-cannot-be-read": (A | {"patternProperties": {"(?<!a)b": A}}, {"x": {"y": 1}}, {"/x/y"}),
    "tuple": ({"prefixItems": [A, B], "items": {}}, [{"x": 1}, {"b": 1, "y": 1}, {"z": 1}], {"/0/x", "/1/y"}),
    "tuple-and-the-rest": ({"prefixItems": [{}], "items": A}, [{"x": 1}, {"x": 1}, {"a": 1}], {"/1/x"}),
    "tuple-of-draft-7": ({"items": [A], "additionalItems": B}, [{"x": 1}, {"b": 1}, {"y": 1}], {"/0/x", "/2/y"}),
    "tuple-closed": ({"prefixItems": [A], "items": False}, [{"a": 1}, {"x": 1}], set()),
    "tuple-without-rest": ({"prefixItems": [A]}, [{"a": 1}, {"x": 1}], set()),
    "python-tuple": ({"items": A}, ({"a": 1}, {"x": 1}), {"/1/x"}),
    "required-is-known": (A | {"required": ["a", "b"]}, {"a": 1, "b": 1, "x": 1}, {"/x"}),
    "dependent-names-are-known": (
        A | {"dependentRequired": {"b": ["c"]}, "dependentSchemas": {"d": {"properties": {"e": {}}}}},
        dict.fromkeys("abcdex", 1), {"/x"}),
    "dependencies-are-known": (
        A | {"dependencies": {"b": ["c"], "d": {"properties": {"e": {}}}}}, dict.fromkeys("abcdex", 1), {"/x"}),
    "if-then-else-declare": (
        A | {"if": {"properties": {"k": {"const": 1}}}, "then": B, "else": {"properties": {"c": {}}}},
        {"a": 1, "k": 1, "b": 1, "c": 1, "x": 1}, {"/x"}),
    "conditions-alone-close-nothing": (
        {"if": {"properties": {"k": {"const": 1}}}, "then": {"$ref": "#/$defs/b"}, "$defs": {"b": B}},
        {"k": 1, "x": 1}, set()),
    "conditions-of-a-branch-close-nothing": ({"if": {"anyOf": [A]}, "then": {"allOf": [B]}}, {"x": 1}, set()),
    "keys-of-digits": ({"properties": {"007": A}}, {"007": {"a": 1, "7": 1}, "7": 1}, {"/007/7", "/7"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_no_subschema_of_a_place_declares_is_unknown(name: str) -> None:
    schema, value, expected = CASES[name]
    assert unknown(schema, value) == expected


@pytest.mark.parametrize(("strict", "severity"), [(True, ErrorSeverity.ERROR), (False, ErrorSeverity.WARNING)])
def test_strict_mode_decides_whether_an_unknown_field_is_an_error(strict: bool, severity: ErrorSeverity) -> None:
    tool = CompiledTool.of(Tool(name="t", input_schema={"properties": {"path": {}}}, strict=strict))
    found = check_arguments({"pth": 1, "path": 1}, tool, ValueSanitizer())
    (error,) = found.errors
    assert (error.field_path, error.error_code, error.severity) == ("/pth", "VAL-005", severity)
    assert error.hint == "rename 'pth' to 'path'"
    assert found.is_valid is not strict


def test_an_unknown_field_that_the_engine_refuses_too_is_told_once() -> None:
    schema = {"allOf": [A | {"additionalProperties": False}], "properties": {"a": {}}}
    tool = CompiledTool.of(Tool(name="t", input_schema=schema))
    assert [error.field_path for error in check_arguments({"x": 1}, tool, ValueSanitizer()).errors] == ["/x"]


def test_what_a_model_invents_fills_no_memory() -> None:
    index = SchemaIndex({"additionalProperties": A})
    for number in range(100):
        assert unknown_fields(index, {f"k{number}": {"x": 1}})
        place_of(index, [f"k{number}"])
    assert index.root._children == {}
    assert len(index._places) == 2


def test_long_arrays_share_one_place() -> None:
    index = SchemaIndex({"prefixItems": [A], "items": B})
    assert place_of(index, [5]) is place_of(index, [9000])
    assert place_of(index, [0]) is not place_of(index, [5])


def test_a_place_is_described_by_a_bounded_number_of_subschemas() -> None:
    index = SchemaIndex({"allOf": [{"properties": {f"k{number}": {}}} for number in range(2 * MAX_CLOSURE)]})
    assert len(index.root.schemas) == MAX_CLOSURE


@pytest.mark.parametrize(
    ("schema", "value", "marked"),
    [
        pytest.param({"properties": {"a": {"writeOnly": True}}}, {"a": 1, "b": 1}, {"/a"}, id="writeOnly"),
        pytest.param({"properties": {"a": {"x-sensitive": True}}}, {"a": {"b": 1}}, {"/a"}, id="x-sensitive"),
        pytest.param({"items": {"format": "password"}}, ["x", "y"], {"/0", "/1"}, id="format-password"),
        pytest.param({"properties": {"a": {"writeOnly": False}}}, {"a": 1}, set(), id="not-marked"),
        pytest.param(
            {"properties": {"a": {"$ref": "#/$defs/k"}}, "$defs": {"k": {"writeOnly": True}}},
            {"a": 1},
            {"/a"},
            id="ref",
        ),
        pytest.param(
            {"properties": {"o": {"anyOf": [{"properties": {"k": {"x-sensitive": True}}}, {"type": "null"}]}}},
            {"o": {"k": "v", "l": 1}},
            {"/o/k"},
            id="branch",
        ),
        pytest.param({"writeOnly": True}, "secret", {""}, id="whole"),
        pytest.param({"properties": {"a/b": {"writeOnly": True}}}, {"a/b": 1}, {"/a~1b"}, id="escaped"),
    ],
)
def test_the_schema_marks_what_is_secret(schema: Any, value: Any, marked: set[str]) -> None:
    assert sensitive_pointers(SchemaIndex(schema), value) == marked
