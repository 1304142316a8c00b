"""Every keyword of JSON Schema: which errors a value gets, and in which words."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum, StrEnum
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import ErrorCode, Tool, ValueSanitizer
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.failure import Failure
from retrycontract.contract.checks.keywords import explain
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.explaining.listing import Explainer
from retrycontract.contract.tool import CompiledTool
from tests.contract.schema_findings import errors, findings, one

DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def told(schema: Any, value: Any, **options: Any) -> set[tuple[str, str]]:
    """The exact set of (pointer, code number)."""
    return {(error.field_path, error.error_code[-3:]) for error in errors(schema, value, **options)}


# In both drafts alike: schema, value, errors.
CASES: dict[str, tuple[Any, Any, set[tuple[str, str]]]] = {
    "nothing-wrong": ({"required": ["a"]}, {"a": 1}, set()),
    "required": ({"required": ["a", "b", "c"]}, {"b": 1}, {("/a", "001"), ("/c", "001")}),
    "required-within": ({"properties": {"x": {"required": ["a/b"]}}}, {"x": {}}, {("/x/a~1b", "001")}),
    "type": ({"properties": {"a": TEXT}}, {"a": 1}, {("/a", "002")}),
    "type-of-the-whole": ({"type": "object"}, [], {("", "002")}),
    "type-list": ({"type": ["string", "null"]}, 1.5, {("", "002")}),
    "type-integer": ({"items": {"type": "integer"}}, [1, 1.0, 1.5], {("/2", "002")}),
    "type-true-is-no-number": ({"type": "number"}, True, {("", "002")}),
    "enum": ({"properties": {"a": {"enum": ["x", 1, None]}}}, {"a": "y"}, {("/a", "008")}),
    "enum-of-none": ({"enum": [1]}, True, {("", "008")}),
    "const": ({"properties": {"a": {"const": {"b": 1}}}}, {"a": {"b": 2}}, {("/a", "008")}),
    "minLength": ({"minLength": 2}, "é", {("", "009")}),
    "maxLength": ({"maxLength": 2}, "éàü", {("", "009")}),
    "maxLength-counts-characters": ({"maxLength": 2}, "😀😀", set()),
    "pattern": ({"properties": {"a": {"pattern": "^a+$"}}}, {"a": "b"}, {("/a", "007")}),
    "format": ({"format": "date"}, "soon", {("", "010")}),
    "minimum": ({"minimum": 2}, 1, {("", "011")}),
    "maximum": ({"maximum": 2}, 3, {("", "011")}),
    "exclusiveMinimum": ({"exclusiveMinimum": 2}, 2, {("", "011")}),
    "exclusiveMaximum": ({"exclusiveMaximum": 2}, 2, {("", "011")}),
    "multipleOf": ({"multipleOf": 0.5}, 0.75, {("", "011")}),
    "minItems": ({"minItems": 2}, [1], {("", "006")}),
    "maxItems": ({"maxItems": 2}, [1, 2, 3], {("", "006")}),
    "uniqueItems": ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, 2, 1]}, {("/a", "012")}),
    "contains": ({"contains": TEXT}, [1, 2], {("", "003")}),
    "propertyNames": ({"propertyNames": {"maxLength": 2, "pattern": "^a"}}, {"abc": 1, "ab": 1, "bcd": 1},
                      {("/abc", "003"), ("/bcd", "003")}),
    "propertyNames-false": ({"propertyNames": False}, {"a": 1, "b": 2}, {("/a", "003"), ("/b", "003")}),
    "minProperties": ({"minProperties": 2}, {"a": 1}, {("", "015")}),
    "maxProperties": ({"properties": {"a": {"maxProperties": 0}}}, {"a": {"b": 1}}, {("/a", "015")}),
    "additionalProperties": ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1, "b": 1, "c": 1},
                             {("/b", "005"), ("/c", "005")}),
    "additionalProperties-schema": ({"additionalProperties": TEXT}, {"a": 1, "b": ""}, {("/a", "002")}),
    "additionalProperties-and-patterns": (
        {"patternProperties": {"^x-": TEXT}, "additionalProperties": False}, {"x-a": 1, "y": 1},
        {("/x-a", "002"), ("/y", "005")}),
    "additionalProperties-beside-properties": ({"allOf": [{"properties": {"a": {}}}, {"additionalProperties": False}]},
                                               {"a": 1, "b": 1}, {("/a", "005"), ("/b", "005")}),
    "patternProperties-false": ({"patternProperties": {"^x": False}}, {"x1": 1}, {("/x1", "015")}),
    "false": (False, {}, {("", "015")}),
    "false-member": ({"properties": {"a": False}}, {"a": 1}, {("/a", "015")}),
    "false-member-called-properties": ({"properties": {"properties": False}}, {"properties": 1},
                                       {("/properties", "015")}),
    "false-in-allOf": ({"allOf": [True, False]}, 1, {("", "015")}),
    "false-by-reference": ({"properties": {"a": {"$ref": "#/definitions/no"}}, "definitions": {"no": False}}, {"a": 1},
                           {("/a", "015")}),
    "false-items": ({"items": False}, [1, 2], {("/0", "005"), ("/1", "005")}),
    "not": ({"not": {"type": "integer"}}, 1, {("", "014")}),
    "not-required": ({"not": {"required": ["a", "b"]}}, {"a": 1, "b": 1}, {("", "014")}),
    "not-anything": ({"properties": {"a": {"not": {}}}}, {"a": 1}, {("/a", "014")}),
    "if-then": ({"if": {"properties": {"k": {"const": 1}}}, "then": {"required": ["b"]}}, {"k": 1}, {("/b", "013")}),
    "if-else": ({"if": {"required": ["k"]}, "then": True, "else": {"required": ["b"]}}, {}, {("/b", "013")}),
    "if-then-other-keyword": ({"if": {"required": ["k"]}, "then": {"properties": {"b": TEXT}}}, {"k": 1, "b": 1},
                              {("/b", "002")}),
    "if-then-false": ({"if": {"required": ["k"]}, "then": False}, {"k": 1}, {("", "015")}),
    "if-nothing-looked-at": ({"if": True, "then": {"required": ["b"]}}, {}, {("/b", "001")}),
    "then-is-a-field": ({"properties": {"then": {"required": ["b"]}}}, {"then": {}}, {("/then/b", "001")}),
    "allOf": ({"allOf": [{"required": ["a"]}, {"properties": {"b": TEXT}}]}, {"b": 1}, {("/a", "001"), ("/b", "002")}),
    "allOf-says-it-twice": ({"allOf": [{"required": ["a"]}, {"required": ["a"]}]}, {}, {("/a", "001")}),
    "oneOf-several": ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, {("", "014")}),
    "oneOf-several-of-another-type": (
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "a", {("", "002")}),
    "oneOf-several-in-allOf-of-null": (
        {"items": {"allOf": [{"type": "object"}, {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}]}}, [None],
        {("/0", "002")}),
    "oneOf-several-of-a-list-of-one": (
        {"type": "object", "properties": {"a": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        [{"a": 1, "b": 1}], {("", "002"), ("/0", "014"), ("/0/a", "002")}),
    "not-required-of-another-type": ({"type": "object", "not": {"required": ["a", "b"]}}, [], {("", "002")}),
    "oneOf-none": ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, {("", "015")}),
    "anyOf-none": ({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}, 3, {("", "015")}),
    "ref": ({"properties": {"a": {"$ref": "#/definitions/t"}}, "definitions": {"t": TEXT}}, {"a": 1}, {("/a", "002")}),
    "ref-to-itself": ({"properties": {"a": TEXT, "next": {"$ref": "#"}}}, {"next": {"next": {"a": 1}}},
                      {("/next/next/a", "002")}),
    "items": ({"items": {"required": ["a"]}}, [{}, {"a": 1}, {}], {("/0/a", "001"), ("/2/a", "001")}),
    "items-of-items": ({"items": {"items": TEXT}}, [[""], ["", 1]], {("/1/1", "002")}),
    "all-at-once": (
        {"required": ["a"], "properties": {"b": TEXT, "c": {"enum": [1]}, "d": {"maxItems": 0}}, "maxProperties": 1},
        {"b": 1, "c": 2, "d": [1]},
        {("/a", "001"), ("/b", "002"), ("/c", "008"), ("/d", "006"), ("", "015")}),
    "key-007": ({"properties": {"007": TEXT}}, {"007": 1}, {("/007", "002")}),
    "key-7-beside-007": ({"properties": {"7": TEXT, "007": TEXT}}, {"7": "", "007": 1}, {("/007", "002")}),
    "key-of-many-digits": ({"additionalProperties": TEXT}, {"9" * 5000: 1}, {("/" + "9" * 5000, "002")}),
    "key-with-slash": ({"properties": {"a/b": {"properties": {"c": TEXT}}}}, {"a/b": {"c": 1}}, {("/a~1b/c", "002")}),
    "key-tilde": ({"properties": {"~": TEXT}}, {"~": 1}, {("/~0", "002")}),
    "key-empty": ({"properties": {"": TEXT}}, {"": 1}, {("/", "002")}),
    "key-empty-within": ({"properties": {"": {"properties": {"": {"enum": [1]}}}}}, {"": {"": 2}}, {("//", "008")}),
    "key-empty-missing": ({"required": [""]}, {}, {("/", "001")}),
    "key-empty-unknown-within": ({"properties": {"": {"additionalProperties": False}}}, {"": {"": {"": 1}}},
                                 {("//", "005")}),
    "key-empty-unknown-by-pattern": (
        {"patternProperties": {"^$": {"additionalProperties": False}}}, {"": {"": {"": 1}}}, {("//", "005")}),
    "key-empty-unknown": ({"additionalProperties": False}, {"": 1, "0": 1}, {("/", "005"), ("/0", "005")}),
    "key-like-a-keyword": ({"properties": {"items": {"properties": {"type": TEXT}}}}, {"items": {"type": 1}},
                           {("/items/type", "002")}),
}  # fmt: skip


@pytest.mark.parametrize("draft", [{}, DRAFT_7], ids=["2020-12", "draft-7"])
@pytest.mark.parametrize("name", CASES)
def test_a_value_gets_exactly_these_errors(name: str, draft: dict[str, str]) -> None:
    schema, value, expected = CASES[name]
    assert told(schema if isinstance(schema, bool) else draft | schema, value) == expected
    assert findings(schema, value).is_valid is (not expected)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param({"contains": TEXT, "minContains": 2}, ["a", 1], {("", "003")}, id="minContains"),
        pytest.param({"contains": TEXT, "maxContains": 1}, ["a", "b"], {("", "003")}, id="maxContains"),
        pytest.param({"contains": TEXT, "minContains": 0}, [1], set(), id="minContains-zero"),
        pytest.param({"dependentRequired": {"a": ["b", "c"]}}, {"a": 1, "c": 1}, {("/b", "013")},
                     id="dependentRequired"),
        pytest.param(
            {"dependentSchemas": {"a": {"required": ["b"], "properties": {"c": TEXT}}}},
            {"a": 1, "c": 1},
            {("/b", "013"), ("/c", "002")},
            id="dependentSchemas",
        ),
        pytest.param({"dependentSchemas": {"a": False}}, {"a": 1}, {("/a", "015")}, id="dependentSchemas-false"),
        pytest.param({"prefixItems": [TEXT, NUMBER]}, [1, ""], {("/0", "002"), ("/1", "002")}, id="prefixItems"),
        pytest.param(
            {"prefixItems": [TEXT], "items": False}, ["", 1, 2], {("/1", "005"), ("/2", "005")}, id="items-after-prefix"
        ),
        pytest.param({"prefixItems": [False]}, [1], {("/0", "015")}, id="prefixItems-false"),
        pytest.param(
            {"prefixItems": [TEXT], "unevaluatedItems": False}, ["", 1, 2], {("/1", "005"), ("/2", "005")},
            id="unevaluatedItems",
        ),
        pytest.param(
            {"contains": TEXT, "unevaluatedItems": False}, [1, "a", {"b": 1, "a": 1.0}], {("/0", "005"), ("/2", "005")},
            id="unevaluatedItems-but-contained",
        ),
        pytest.param(
            {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
            {"a": 1, "b": 1, "": 1},
            {("/b", "005"), ("/", "005")},
            id="unevaluatedProperties",
        ),
        pytest.param(
            {"properties": {"a": {"unevaluatedProperties": TEXT}}}, {"a": {"b": 1}}, {("/a/b", "005")},
            id="unevaluatedProperties-schema",
        ),
        pytest.param({"$dynamicRef": "#t", "$defs": {"x": {"$dynamicAnchor": "t"} | TEXT}}, 1, {("", "002")},
                     id="dynamicRef"),
        pytest.param(DRAFT_7 | {"items": [TEXT], "additionalItems": False}, ["", 1], {("/1", "005")},
                     id="additionalItems"),
        pytest.param(DRAFT_7 | {"items": [TEXT], "additionalItems": NUMBER}, ["", ""], {("/1", "002")},
                     id="additionalItems-schema"),
        pytest.param(DRAFT_7 | {"dependencies": {"a": ["b"]}}, {"a": 1}, {("/b", "013")}, id="dependencies-names"),
        pytest.param(
            DRAFT_7 | {"dependencies": {"a": {"required": ["b"]}}}, {"a": 1}, {("/b", "013")}, id="dependencies-schema"
        ),
        pytest.param(DRAFT_7 | {"dependencies": {"a": False}}, {"a": 1}, {("/a", "015")}, id="dependencies-false"),
        pytest.param(DRAFT_7 | {"contentEncoding": "base64"}, "$", {("", "010")}, id="contentEncoding"),
        pytest.param(DRAFT_7 | {"contentMediaType": "application/json"}, "{", {("", "010")}, id="contentMediaType"),
        pytest.param(
            DRAFT_7 | {"contentMediaType": "application/json", "contentEncoding": "base64"}, "ew==", {("", "010")},
            id="contentMediaType-encoded",
        ),
        pytest.param(DRAFT_4 | {"minimum": 2, "exclusiveMinimum": True}, 2, {("", "011")}, id="draft-4-bound"),
    ],
)  # fmt: skip
def test_keywords_of_one_draft(schema: Any, value: Any, expected: set[tuple[str, str]]) -> None:
    assert told(schema, value) == expected


def test_the_table_shows_all_codes_that_a_schema_can_give() -> None:
    shown = {code for _, _, expected in CASES.values() for _, code in expected}
    assert shown == {f"{number:03}" for number in range(1, 16)} - {"004"}


@pytest.mark.parametrize(
    ("schema", "value", "message", "expected", "hint"),
    [
        ({"required": ["a"], "properties": {"a": TEXT}}, {}, "Required field 'a' is missing", "string", None),
        ({"properties": {"a": {"items": NUMBER}}}, {"a": [""]}, "Type mismatch: expected number, got string", "number",
         "send 'a/0' as number"),
        ({"type": ["string", "null"]}, 1.5, "Type mismatch: expected string or null, got number", "string or null",
         "send the arguments as string or null"),
        ({"properties": {"e": {"enum": ["utf-8", "ascii"]}}}, {"e": "uft8"}, "Invalid enum value 'uft8'",
         "one of: utf-8, ascii", "change 'e' to one of the allowed values (did you mean 'utf-8'?)"),
        ({"const": "on"}, 1, "Invalid enum value '1'", "on", "change the arguments to on"),
        ({"properties": {"a": {"maxLength": 3}}}, {"a": "long"}, "String length 4 exceeds maximum 3",
         "string with max length 3", "reduce 'a' length"),
        ({"properties": {"a": {"minLength": 3}}}, {"a": "a"}, "String length 1 is below minimum 3",
         "string with min length 3", "increase 'a' length"),
        ({"properties": {"a": {"maxItems": 1}}}, {"a": [1, 2]}, "Array length 2 exceeds maximum 1",
         "array with at most 1 item", "remove items from 'a'"),
        ({"properties": {"a": {"minItems": 1}}}, {"a": []}, "Array length 0 is below minimum 1",
         "array with at least 1 item", "add items to 'a'"),
        ({"pattern": "^a"}, "b", "Value doesn't match pattern: ^a", "string matching ^a", None),
        ({"format": "email"}, "b", "Invalid format: email", "string in format email, such as ana@example.com",
         "write the arguments in the format email, such as ana@example.com"),
        ({"properties": {"a": {"format": "date-time"}}}, {"a": "2026-11-23T10:00:00"},
         "Invalid format: date-time (the zone is missing: Z or +01:00 at the end)",
         "string in format date-time, such as 2026-01-31T12:00:00Z",
         "write 'a' in the format date-time, such as 2026-01-31T12:00:00Z"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, 9, "Value 9 is out of range: must be <= 5",
         "integer >= 1 and <= 5", "make the arguments <= 5"),
        ({"multipleOf": 3}, 4, "Value 4 is out of range: must be a multiple of 3", "number multiple of 3",
         "make the arguments a multiple of 3"),
        ({"uniqueItems": True}, [5, 1, 2, 1.0], "Items 1 and 3 are equal", "array without equal items",
         "remove the repeated items of the arguments"),
        ({"uniqueItems": True}, [0, {"b": 1, "a": [1.0]}, {"a": [1], "b": 1}], "Items 1 and 2 are equal",
         "array without equal items", "remove the repeated items of the arguments"),
        ({"uniqueItems": True}, [True, 1, 0, False, 1], "Items 1 and 4 are equal", "array without equal items",
         "remove the repeated items of the arguments"),
        ({"properties": {"path": {}}, "additionalProperties": False}, {"pth": 1}, "Unknown field 'pth'", None,
         "rename 'pth' to 'path'"),
        ({"properties": {"path": {}}, "additionalProperties": False}, {"path": 1, "pth": 1}, "Unknown field 'pth'",
         None, "rename 'pth' to 'path'"),
        ({"additionalProperties": False}, {"a": 1}, "Unknown field 'a'", None, None),
        ({"allOf": [{"properties": {"path": {}}}, {"additionalProperties": False}]}, {"path": 1},
         "Unknown field 'path'", "one of the fields path", None),
        ({"uniqueItems": True}, [0, 10**300, 1e300], "Items 0 and 1 are equal",
         "array without equal items", "remove the repeated items of the arguments"),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "Unknown field '1'", "array of 1 items",
         "remove the items after the first 1 of the arguments"),
        ({"contains": TEXT, "minContains": 2}, [1], "Value violates constraint: must contain at least 2 of: string",
         "array with at least 2 of: string", None),
        ({"contains": TEXT, "maxContains": 1}, ["", ""], "Value violates constraint: must contain at most 1 of: string",
         "array with at most 1 of: string", None),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, "Value violates constraint: the field name 'b' is not allowed",
         "field names: string matching ^a", "rename 'b'"),
        ({"minProperties": 2}, {"a": 1},
         "Object doesn't match the schema: it has 1 field, allowed are at least 2 fields",
         "object with at least 2 fields", "add fields to the arguments"),
        ({"dependentRequired": {"a": ["c"], "b": ["c"], "d": ["c"]}}, {"a": 1, "b": 1},
         "Field 'a' and 'b' requires 'c'", None, "send 'c' along with 'a' and 'b'"),
        ({"if": {"properties": {"k": {}}, "required": ["k", "l"]}, "then": {"required": ["b"]}}, {"k": 1, "l": 1},
         "Field 'k' and 'l' requires 'b'", None, "send 'b' along with 'k' and 'l'"),
        ({"not": {"required": ["a", "b"]}}, {"a": 1, "b": 1}, "'a' and 'b' cannot be used together",
         "not all of these together", "keep only one of 'a' and 'b'"),
        ({"not": {"required": ["a"]}}, {"a": 1}, "'a' and the schema's 'not' cannot be used together",
         "object without 'a'", "remove 'a'"),
        ({"not": {"type": "object", "required": ["a"]}}, {"a": 1},
         "'a' and the schema's 'not' cannot be used together", "object without 'a'", "remove 'a'"),
        ({"not": {"required": ["a"], "properties": {"a": {"const": 1}}}}, {"a": 1},
         "This value and the schema's 'not' cannot be used together", "anything but {a: 1}", "change the arguments"),
        ({"not": {"required": ["a", "b"]}}, 3, "This value and the schema's 'not' cannot be used together",
         "anything but {a: any value, b: any value}", "change the arguments"),
        ({"not": {"type": "integer"}}, 1, "This value and the schema's 'not' cannot be used together",
         "anything but integer", "change the arguments"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]}, {"a": 1, "b": 1},
         "'a' and 'b' cannot be used together", "exactly one of the alternatives", "keep only one of 'a' and 'b'"),
        ({"oneOf": [True, {"type": "integer"}]}, 1,
         "Several alternatives that this value matches cannot be used together", "exactly one of the alternatives",
         "make the arguments match exactly one alternative"),
        ({"properties": {"a": False}}, {"a": 1}, "Object doesn't match the schema: no value is allowed here", "nothing",
         "remove 'a'"),
        ({"dependentSchemas": {"a": False}}, {"a": 1},
         "Object doesn't match the schema: the field 'a' is not allowed here", None, "remove 'a'"),
    ],
    ids=str,
)  # fmt: skip
def test_an_error_says_what_is_wrong_what_was_expected_and_what_to_do(
    schema: Any, value: Any, message: str, expected: str | None, hint: str | None
) -> None:
    error = one(schema, value)
    assert (error.message, error.expected_value, error.hint) == (message, expected, hint)


def test_a_keyword_of_a_later_draft_is_a_generic_constraint() -> None:
    index = SchemaIndex({})
    failure = Failure(
        pointer="/a", value=1, schema={}, keyword="someday", place=index.root, resolve=index.resolve,
        sanitizer=ValueSanitizer(), marked=(), choices={},
    )  # fmt: skip
    (error,) = explain(failure, object())
    assert (error.error_code, error.message) == (ErrorCode.CONSTRAINT_VIOLATION, "Value violates constraint: someday")


def test_the_actual_value_is_shown_sanitised() -> None:
    schema = {"properties": {"a": {"maxLength": 3}, "password": {"maxLength": 3}, "b": {"x-sensitive": True} | NUMBER}}
    key = "AKIA" + "QWERTYUIOPASDFGH"
    value = {"a": "x" * 900, "password": "hunter2", "b": "h2"}
    shown = {e.field_path: e.actual_value for e in errors(schema, value)}
    assert key not in str(errors({"properties": {"c": {"maxLength": 3}}}, {"c": key}))
    assert shown["/a"].endswith("(truncated)")  # type: ignore[union-attr]
    assert "hunter2" not in str(shown)
    assert "h2" not in str(shown["/b"])


def test_a_secret_in_a_key_reaches_no_error() -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    for error in errors({"properties": {"a": {}}, "additionalProperties": False}, {key: 1}):
        assert key not in str(error)


@pytest.mark.parametrize(
    "value", [{"a": ("xx",)}, ({"b": "xx"},), StrEnum("Word", {"A": "xx"}).A, IntEnum("N", {"A": 3}).A]
)
def test_values_of_python_are_checked_as_their_json(value: Any) -> None:
    schema = {
        "maxLength": 1,
        "maximum": 2,
        "properties": {"a": {"items": {"maxLength": 1}}},
        "items": {"properties": {"b": {"maxLength": 1}}},
    }
    assert len(errors(schema, value)) == 1


class Contradiction:
    """An engine that refuses a value and gives no error for it."""

    def is_valid(self, _: Any) -> bool:
        return False

    def iter_errors(self, _: Any) -> list[Any]:
        return []


def test_a_refusal_without_a_reason_is_still_a_refusal() -> None:
    compiled = CompiledTool.of(Tool(name="t", input_schema={})).schema
    lister = replace(compiled.lister, explainer=Explainer(Contradiction()))
    broken = replace(compiled, validator=Contradiction(), lister=lister)
    (error,) = violations(broken, {}, strict=True, sanitizer=ValueSanitizer())
    assert (error.error_code, error.field_path) == (ErrorCode.OBJECT_SCHEMA_VIOLATION, "")


SCHEMAS = st.sampled_from([schema for schema, _, _ in CASES.values()])
VALUES = st.sampled_from([value for _, value, _ in CASES.values()]) | st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "abc"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "k", "007", "", "x-a"]), inner)
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_the_verdict_is_the_engines_for_any_value(schema: Any, value: Any) -> None:
    engine = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    assert findings(schema, value).is_valid is engine.is_valid(value)


@given(st.fixed_dictionaries({"name": st.text(max_size=3)}, optional={"size": st.none() | st.integers()}))
def test_what_fits_a_schema_has_no_errors(value: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 3},
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert errors(schema, value, strict=True) == ()


def test_fields_of_what_has_none_exclude_each_other_never() -> None:
    message = one({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, None).message
    assert message == "Several alternatives that this value matches cannot be used together"
