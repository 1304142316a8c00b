"""Which branch of a union the model meant, and what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.tool import CompiledTool

TEXT = {"type": "string"}
CIRCLE = {
    "type": "object",
    "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}, "unit": {"enum": ["mm", "cm"]}},
    "required": ["kind", "radius"],
}
SQUARE = {
    "type": "object",
    "properties": {"kind": {"const": "square"}, "side": {"type": "number"}, "unit": {"enum": ["mm", "cm"]}},
    "required": ["kind", "side"],
}
SHAPES = {"anyOf": [CIRCLE, SQUARE]}


def errors(schema: dict[str, Any], value: Any) -> list[ValidationError]:
    compiled = CompiledTool.of(Tool(name="t", input_schema=schema)).schema
    return violations(compiled, value, strict=False, sanitizer=ValueSanitizer())


def told(schema: dict[str, Any], value: Any) -> set[tuple[str, str]]:
    return {(error.field_path, error.error_code[-3:]) for error in errors(schema, value)}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("branches", "value", "expected"),
    [
        pytest.param([CIRCLE, SQUARE], {"kind": "square"}, {("/side", "001")}, id="discriminated-by-const"),
        pytest.param(
            [CIRCLE, SQUARE],
            {"kind": "circle", "radius": "1", "unit": "km"},
            {("/radius", "002"), ("/unit", "008")},
            id="another-enum-is-no-discriminator",
        ),
        pytest.param([CIRCLE, SQUARE], {"kind": "cirle", "radius": 1}, {("/kind", "008")}, id="kind-of-no-branch"),
        pytest.param([CIRCLE, SQUARE, {"type": "null"}], {"kind": "squrae"}, {("/kind", "008")}, id="beside-null"),
        pytest.param([CIRCLE, SQUARE], {"side": 1}, {("/kind", "001")}, id="no-kind-fewest-errors"),
        pytest.param([CIRCLE, SQUARE], {}, {("", "015")}, id="no-kind-and-no-best"),
        pytest.param([CIRCLE, SQUARE], 3, {("", "002")}, id="another-type"),
        pytest.param(
            [
                {"properties": {"op": {"enum": ["add", "put"]}}, "required": ["value"]},
                {"properties": {"op": {"enum": ["del"]}}, "required": ["at"]},
            ],
            {"op": "put"},
            {("/value", "001")},
            id="discriminated-by-enum",
        ),
        pytest.param(
            [
                {"properties": {"op": {"enum": ["add", "put"]}, "unit": {"enum": ["a", "b"]}}},
                {"properties": {"op": {"enum": ["del", "cut"]}, "unit": {"enum": ["c", "d"]}}},
            ],
            {"op": "add", "unit": "c"},
            {("", "015")},
            id="two-discriminators-that-disagree",
        ),
        pytest.param(
            [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/square"}],
            {"kind": "square"},
            {("/side", "001")},
            id="branches-by-reference",
        ),
        pytest.param(
            [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/square"}],
            {"kind": "triangle"},
            {("/kind", "008")},
            id="kind-of-no-branch-by-reference",
        ),
        pytest.param(
            [{"required": ["a", "b", "c"]}, {"required": ["d"]}], {"a": 1}, {("/d", "001")}, id="fewest-errors"
        ),
        pytest.param(
            [{"properties": {"a": {"properties": {"b": TEXT}}}}, {"properties": {"a": {"required": ["c"]}}}],
            {"a": {"b": 1}},
            {("/a/b", "002")},
            id="deepest-errors",
        ),
        pytest.param([{"type": "array", "items": TEXT}, {"type": "null"}], ["a", 1], {("/1", "002")}, id="or-null"),
        pytest.param(
            [{"type": "string", "minLength": 3}, {"type": "integer"}], "a", {("", "009")}, id="one-of-its-type"
        ),
        pytest.param([TEXT, {"type": ["integer", "null"]}], [], {("", "002")}, id="none-of-its-type"),
        pytest.param([{"minimum": 5}, {"multipleOf": 2}], 3, {("", "015")}, id="a-tie"),
        pytest.param([False, False], 3, {("", "015")}, id="no-branch-takes-anything"),
        pytest.param([False, {"required": ["a", "b"]}], {}, {("", "015")}, id="false-has-one-error"),
        pytest.param(
            [{"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]}, {"type": "integer", "maximum": 1}],
            "abc",
            {("", "009")},
            id="a-union-within",
        ),
        pytest.param(
            [{"prefixItems": [{"const": "a"}, TEXT]}, {"prefixItems": [{"const": "b"}, {"type": "null"}]}],
            ["b", 1],
            {("/1", "002")},
            id="fewest-errors-in-tuples",
        ),
        pytest.param(
            [{"oneOf": [CIRCLE, SQUARE]}, {"oneOf": [{"type": "array", "items": TEXT}, TEXT]}],
            {"kind": "square"},
            {("/side", "001")},
            id="unions-of-other-types-within",
        ),
        pytest.param(
            [{"oneOf": [CIRCLE, SQUARE]}, {"oneOf": [{"type": "array", "items": TEXT}, TEXT]}],
            3,
            {("", "002")},
            id="no-type-of-the-unions-within",
        ),
        pytest.param(
            [CIRCLE, {"type": "array", "items": CIRCLE}],
            [{"kind": "circle"}],
            {("/0/radius", "001")},
            id="array-or-object",
        ),
        pytest.param(
            [CIRCLE, {"type": "array", "items": CIRCLE}], {"kind": "circle"}, {("/radius", "001")}, id="object-or-array"
        ),
        pytest.param(
            [{"$ref": "#/$defs/circle"}, {"type": "null"}],
            {"kind": "circle"},
            {("/radius", "001")},
            id="reference-or-null",
        ),
        pytest.param(
            [{"$ref": "#/$defs/circle"}, {"type": "null"}], "circle", {("", "002")}, id="neither-reference-nor-null"
        ),
        pytest.param(
            [{"allOf": [{"$ref": "#/$defs/circle"}, {"required": ["at"]}]}, {"allOf": [{"$ref": "#/$defs/square"}]}],
            {"kind": "circle", "radius": 1},
            {("/at", "001")},
            id="composed-branches",
        ),
        pytest.param(
            [{"allOf": [{"$ref": "#/$defs/circle"}, {"required": ["at"]}]}, {"allOf": [{"$ref": "#/$defs/square"}]}],
            {"kind": "triangle"},
            {("/kind", "008")},
            id="kind-of-no-composed-branch",
        ),
        pytest.param([{"const": "auto"}, {"type": "integer", "minimum": 1}], 0, {("", "011")}, id="a-word-or-a-number"),
        pytest.param(
            [{"const": "auto"}, {"type": "integer", "minimum": 1}], "aut", {("", "008")}, id="a-number-or-a-word"
        ),
        pytest.param([{"enum": ["auto", None]}, {"type": "integer"}], [], {("", "002")}, id="neither-word-nor-number"),
        pytest.param(
            [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}], "c", {("", "008")}, id="titled-choices"
        ),
        pytest.param([{"const": 1.0}, {"type": "string"}], 2, {("", "008")}, id="whole-numbers-are-numbers"),
        pytest.param([{"type": "integer"}, {"type": "null"}], 1.5, {("", "002")}, id="a-fraction-is-no-integer"),
        pytest.param(
            [{"properties": {"7": {"const": "a"}, "": TEXT}}, {"properties": {"7": {"const": "b"}}, "required": ["y"]}],
            {"7": "b", "": 1},
            {("/y", "001")},
            id="digits-and-nothing-as-names",
        ),
        pytest.param(
            [
                {"properties": {"0": {"const": 1}}, "prefixItems": [{"const": "a"}]},
                {"properties": {"0": {"const": 2}}, "prefixItems": [{"const": "b"}]},
            ],
            ["0"],
            {("", "015")},
            id="a-position-is-no-name",
        ),
        pytest.param(
            [
                {"properties": {"0": {"enum": [1]}}, "items": {"enum": ["a"]}},
                {"properties": {"0": {"enum": [2]}}, "items": {"enum": ["b"]}},
            ],
            ["0", "b"],
            {("/0", "008")},
            id="items-of-a-choice-beside-a-digit-as-name",
        ),
    ],
)
def test_the_errors_are_those_of_the_branch_that_was_meant(
    keyword: str, branches: list[Any], value: Any, expected: set[tuple[str, str]]
) -> None:
    schema = {keyword: branches, "$defs": {"circle": CIRCLE, "square": SQUARE}}
    assert told(schema, value) == expected
    nested = {"properties": {"x": {keyword: branches}}, "$defs": {"circle": CIRCLE, "square": SQUARE}}
    assert told(nested, {"x": value}) == {(f"/x{pointer}", code) for pointer, code in expected}


def test_a_misspelt_kind_gets_all_kinds_and_the_nearest() -> None:
    (error,) = errors(SHAPES, {"kind": "cirle", "radius": 1})
    assert error.message == "Invalid enum value 'cirle'"
    assert error.expected_value == "one of: circle, square"
    assert error.hint == "change 'kind' to one of the allowed values (did you mean 'circle'?)"


def test_a_value_of_no_branchs_type_is_told_all_types() -> None:
    (error,) = errors({"properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}}}, {"a": 1.5})
    assert error.message == "Type mismatch: expected string or null, got number"
    assert error.expected_value == "string or null"
    assert error.hint == "send 'a' as string or null"
    assert error.keyword == "anyOf"


def test_without_a_best_branch_the_alternatives_are_described() -> None:
    (error,) = errors({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {})
    assert error.message == "Object doesn't match the schema: it matches none of its 2 alternatives"
    assert error.expected_value == "{a: any value} or {b: any value}"


def test_titled_choices_are_told_as_one_list() -> None:
    schema = {"oneOf": [{"const": "north", "title": "North"}, {"const": "south"}, {"enum": ["east", "west"]}]}
    (error,) = errors(schema, "nroth")
    assert error.expected_value == "one of: north, south, east, west"
    assert "did you mean 'north'?" in (error.hint or "")


def test_every_type_of_the_unions_within_is_told() -> None:
    (error,) = errors({"anyOf": [{"anyOf": [{"type": "null"}, {"const": "auto"}]}, {"type": "integer"}]}, [])
    assert error.message == "Type mismatch: expected null or string or integer, got array"


def test_a_union_under_a_member_without_a_name_is_read_alike() -> None:
    assert told({"properties": {"": SHAPES}}, {"": {"kind": "square"}}) == {("//side", "001")}


def test_a_branch_that_refers_in_circles_is_followed_a_few_steps_only() -> None:
    schema = {
        "anyOf": [{"$ref": "#/$defs/1"}, {"type": "object", "required": ["z"]}],
        "$defs": {str(number): {"$ref": f"#/$defs/{number + 1}"} for number in range(1, 9)} | {"9": CIRCLE},
    }
    assert told(schema, {"kind": "circle"}) == {("", "015")}
