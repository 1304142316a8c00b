"""What lowers an error, what only warns, and the drafts that say so."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.tool import CompiledTool

TEXT, SHORT = {"type": "string"}, {"minLength": 3}
LOW = {"x-severity": "warning"}
DEFINITIONS = {"$defs": {"o": {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}, "short": SHORT}}


def errors(schema: dict[str, Any], value: Any, *, strict: bool = False) -> list[ValidationError]:
    compiled = CompiledTool.of(Tool(name="t", input_schema=schema)).schema
    return violations(compiled, value, strict=strict, sanitizer=ValueSanitizer())


def told(schema: dict[str, Any], value: Any) -> set[tuple[str, str, str]]:
    return {(error.field_path, error.keyword, error.severity.name) for error in errors(schema, value)}


@pytest.mark.parametrize(
    ("holder", "value", "expected"),
    [
        pytest.param({"anyOf": [TEXT, {"type": "null"}]}, 1, ("", "anyOf", "WARNING"), id="union-of-types"),
        pytest.param(
            {"anyOf": [{"$ref": "#/$defs/o"}, {"type": "null"}]}, {}, ("/x", "required", "WARNING"), id="union"),
        pytest.param(
            {"oneOf": [{"$ref": "#/$defs/o"}, {"type": "null"}]}, {"x": 1}, ("/x", "type", "WARNING"),
            id="below-the-branch-that-was-meant"),
        pytest.param({"$ref": "#/$defs/o"}, {}, ("/x", "required", "WARNING"), id="reference"),
        pytest.param({"$ref": "#/$defs/o"}, {"x": 1}, ("/x", "type", "ERROR"), id="not-what-lies-below"),
        pytest.param({"properties": {"x": TEXT}}, {"x": 1}, ("/x", "type", "ERROR"), id="not-a-member"),
        pytest.param({"allOf": [SHORT]}, "a", ("", "minLength", "WARNING"), id="composition"),
        pytest.param({"allOf": [{"$ref": "#/$defs/short"}]}, "a", ("", "minLength", "WARNING"), id="both"),
        pytest.param({"allOf": [SHORT | {"x-severity": "error"}]}, "a", ("", "minLength", "ERROR"), id="nearest"),
        pytest.param({"if": True, "then": SHORT}, "a", ("", "minLength", "WARNING"), id="condition"),
        pytest.param({"if": False, "else": SHORT}, "a", ("", "minLength", "WARNING"), id="other-condition"),
        pytest.param(
            {"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, ("/b", "required", "WARNING"), id="dependent"),
        pytest.param({"not": TEXT}, "a", ("", "not", "WARNING"), id="not"),
        pytest.param({"contains": TEXT}, [1], ("", "contains", "WARNING"), id="contains"),
        pytest.param({"items": TEXT}, [1], ("/0", "type", "ERROR"), id="not-an-item"),
    ],
)  # fmt: skip
def test_a_holders_severity_covers_all_that_is_said_of_its_own_place(
    holder: dict[str, Any], value: Any, expected: tuple[str, str, str]
) -> None:
    pointer, keyword, severity = expected
    assert told({"properties": {"a": holder | LOW}, **DEFINITIONS}, {"a": value}) == {
        (f"/a{pointer}", keyword, severity)
    }


def test_a_branch_may_be_lower_than_its_union() -> None:
    schema = {"anyOf": [TEXT, {"required": ["x"], "type": "object", "x-severity": "info"}]}
    assert told(schema, {}) == {("/x", "required", "INFO")}
    assert told(schema | LOW, {}) == {("/x", "required", "INFO")}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param({"items": {"deprecated": True}}, [1, 2], {"/0", "/1"}, id="items"),
        pytest.param({"prefixItems": [{}, {"deprecated": True}]}, [1, 2, 3], {"/1"}, id="one-of-a-tuple"),
        pytest.param(
            {"items": {"$ref": "#/$defs/d"}, "$defs": {"d": {"deprecated": True}}}, [1], {"/0"}, id="reference"
        ),
        pytest.param({"items": {"properties": {"x": {"deprecated": True}}}}, [{}, {"x": 1}], {"/1/x"}, id="in-items"),
        pytest.param({"properties": {"": {"deprecated": True}}}, {"": 1}, {"/"}, id="nameless"),
        pytest.param({"properties": {"~a/b": {"deprecated": True}}}, {"~a/b": 1}, {"/~0a~1b"}, id="escaped"),
        pytest.param({"properties": {"007": {"deprecated": True}, "7": {}}}, {"007": 1, "7": 1}, {"/007"}, id="digits"),
        pytest.param(
            {
                "anyOf": [
                    {"properties": {"k": {"const": 1}, "x": {"deprecated": True}}},
                    {"properties": {"k": {"const": 2}}},
                ]
            },
            {"k": 2, "x": 1},
            set(),
            id="in-a-branch-that-was-not-taken",
        ),
        pytest.param(
            {
                "anyOf": [
                    {"properties": {"k": {"const": 1}, "x": {"deprecated": True}}},
                    {"properties": {"k": {"const": 2}}},
                ]
            },
            {"k": 1, "x": 1},
            {"/x"},
            id="in-the-branch-that-was-taken",
        ),
        pytest.param(
            {"allOf": [{"properties": {"a": {"deprecated": True}}}], "properties": {"a": {"deprecated": True}}},
            {"a": 1},
            {"/a"},
            id="once",
        ),
        pytest.param({"properties": {"a": {"deprecated": False}}}, {"a": 1}, set(), id="not-deprecated"),
    ],
)
def test_what_is_deprecated_warns_where_it_is_used(schema: dict[str, Any], value: Any, expected: set[str]) -> None:
    assert told(schema, value) == {(pointer, "deprecated", "WARNING") for pointer in expected}
    assert len(errors(schema, value)) == len(expected)


def test_of_a_large_value_every_place_that_may_be_deprecated_is_told() -> None:
    branches = [{"properties": {"k": {"const": k}, "x": {"deprecated": k == 1}}} for k in (1, 2)]
    schema = {"properties": {"list": {"type": "array"}}, "oneOf": branches, "required": ["k"]}
    small, large = ({"k": 2, "x": 1, "list": [0] * size} for size in (400, 600))
    assert told(schema, small) == set()
    assert told(schema, large) == {("/x", "deprecated", "WARNING")}  # to ask the engine would cost too much


def test_a_wrong_value_is_told_of_what_is_deprecated_too() -> None:
    schema = {"properties": {"a": {"deprecated": True, "type": "string"}, "b": TEXT}}
    assert told(schema, {"a": "", "b": 1}) == {("/a", "deprecated", "WARNING"), ("/b", "type", "ERROR")}


DRAFTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "7": "http://json-schema.org/draft-07/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "4": "http://json-schema.org/draft-04/schema#",
}
# What a draft asserts that its neighbours do not: the schema, a value that only those drafts refuse, and where.
ASSERTED: dict[str, tuple[dict[str, Any], Any, str, set[str]]] = {
    "prefixItems": ({"prefixItems": [TEXT]}, [1], "/0", {"2020-12"}),
    "items-list": ({"items": [TEXT]}, [1], "/0", {"2019-09", "7", "6", "4"}),
    "additionalItems": ({"items": [{}], "additionalItems": False}, [1, 2], "/1", {"2019-09", "7", "6", "4"}),
    "unevaluatedProperties": ({"unevaluatedProperties": False}, {"a": 1}, "/a", {"2020-12", "2019-09"}),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "/b", {"2020-12", "2019-09"}),
    "if-then": ({"if": True, "then": SHORT}, "a", "", {"2020-12", "2019-09", "7"}),
    "const": ({"const": 1}, 2, "", {"2020-12", "2019-09", "7", "6"}),
    "exclusiveMinimum": ({"exclusiveMinimum": 1}, 1, "", {"2020-12", "2019-09", "7", "6"}),
    "exclusiveMinimum-of-4": ({"minimum": 1, "exclusiveMinimum": True}, 1, "", {"4"}),
    "format": ({"format": "email"}, "a", "", set(DRAFTS)),
    "beside-a-reference": (
        {"properties": {"a": {"$ref": "#/$defs/t", "minLength": 3}}, "$defs": {"t": TEXT}}, {"a": "a"}, "/a",
        {"2020-12", "2019-09"}),
}  # fmt: skip
REFUSED = {
    "items-list": {"2020-12"},
    "additionalItems": {"2020-12"},
    "exclusiveMinimum": {"4"},
    "exclusiveMinimum-of-4": set(DRAFTS) - {"4"},
}


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", ASSERTED)
def test_a_draft_asserts_what_its_schema_keyword_says(name: str, draft: str) -> None:
    schema, value, pointer, drafts = ASSERTED[name]
    if draft in REFUSED.get(name, ()):
        with pytest.raises(InvalidSchema):
            errors({"$schema": DRAFTS[draft]} | schema, value)
        return
    found = errors({"$schema": DRAFTS[draft]} | schema, value)
    assert [error.field_path for error in found] == ([pointer] if draft in drafts else [])
