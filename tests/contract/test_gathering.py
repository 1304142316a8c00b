"""What the engine is asked once for many names is told as if it had been asked for each."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.explaining.gathering import gather
from retrycontract.contract.explaining.listing import NOTHING, Explainer
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledSchema, CompiledTool, Tool

SHORT = {"propertyNames": {"maxLength": 1, "x-hint": "one letter"}}
MANY = {"required": ["a", "b", "c", "d", "long"], "x-severity": "warning"}
DEPENDENT = {"dependentRequired": {"a": ["b", "c", "d"], "list": ["a", "long"]}}
CHOICE = {"enum": [*range(5, 60), "x1", {"a": 1}]}
TYPED = {"type": ["string", "null"], "minLength": 1, "x-hint": "a text"}
TABLE = {
    "a": TYPED,
    "b": MANY,
    "list": SHORT,
    "long": {"anyOf": [TYPED, MANY]},
    "x": {"items": TYPED},
    "z": {"not": {}},
}
DRAFT = "http://json-schema.org/draft-{}/schema#"
SCHEMAS: list[dict[str, Any]] = [
    SHORT,
    MANY,
    DEPENDENT,
    SHORT | MANY | DEPENDENT | {"allOf": [{"minProperties": 1}], "not": {"maxProperties": 0}},
    {"properties": {"a": SHORT, "list": {"items": MANY | SHORT}}, "unevaluatedProperties": False},
    {"allOf": [MANY], "additionalProperties": {"propertyNames": {"pattern": "^[ab]$", "maxLength": 0}}},
    {"anyOf": [MANY | {"properties": {"x": {}}}, SHORT | {"required": ["z"]}]},
    {"oneOf": [MANY, DEPENDENT | {"required": ["z"]}]},
    {"if": SHORT, "then": MANY, "else": DEPENDENT},
    {"dependentSchemas": {"a": MANY, "list": SHORT}},
    {"$ref": "#/$defs/x", "$defs": {"x": SHORT | MANY | {"properties": {"a": {"$ref": "#/$defs/x"}}}}},
    {"propertyNames": {"$ref": "#/$defs/odd name%/n"}, "$defs": {"odd name%": {"n": {"enum": ["a", "b"]}}}},
    {"propertyNames": {"anyOf": [{"const": "a"}, {"$anchor": "here", "const": "b"}]}},
    {"$id": "https://example.org/s", "propertyNames": {"$ref": "#/$defs/n"}, "$defs": {"n": {"maxLength": 1}}},
    {"properties": {"a": {"$ref": "#/propertyNames"}}, "propertyNames": {"maxLength": 1}},
    {"properties": {"": SHORT, "7": MANY, "007": DEPENDENT}},
    {"$defs": {"x": SHORT | {"$id": "https://example.org/x"}}, "$ref": "https://example.org/x"},
    {"$schema": DRAFT.format("07"), "items": {"$ref": "#/definitions/x"} | SHORT, "definitions": {"x": MANY}},
    {"additionalProperties": {"anyOf": [CHOICE, {"type": "object"}]}, "properties": {"a": CHOICE}, "required": ["a"]},
    {"anyOf": [{"oneOf": [TYPED, {"items": SHORT, "minItems": 1}]}, {"allOf": [MANY, {"items": {"anyOf": [MANY]}}]}]},
    {"items": {"oneOf": [TYPED, {"required": ["a"]}, {"properties": {"a": {"anyOf": [CHOICE, TYPED]}}}]}},
    {"additionalProperties": {"$ref": "#/$defs/x"}, "$defs": {"x": {"anyOf": [{"allOf": [TYPED]}, {"items": True}]}}},
    {"properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}, False]}}, "$defs": {"x": {"anyOf": [TYPED], "maximum": 3}}},
    {"dependentSchemas": TABLE, "properties": {"list": {"items": {"dependentSchemas": TABLE}}}},
    {"patternProperties": TABLE, "properties": {"a": {"patternProperties": TABLE, "additionalProperties": False}}},
    {"allOf": [{"properties": {"a": True}}, {"anyOf": [MANY, TYPED]}], "unevaluatedProperties": False},
    {"allOf": [{"if": MANY, "else": False}, {"not": {"not": {"type": "null"}}}]},
    {"anyOf": [{"type": "null"}], "properties": {"a": {"$ref": "#/anyOf/0"}}},
    {"properties": {"7": {"anyOf": [TYPED]}, "": {"anyOf": [TYPED]}, "a": {"anyOf": [{"items": {"minimum": 9}}]}}},
    {"$id": "https://example.org/s", "anyOf": [{"$ref": "#/$defs/n"}, TYPED], "$defs": {"n": {"oneOf": [TYPED, MANY]}}},
    {"$schema": DRAFT.format("07"), "dependencies": TABLE | {"a": ["b", "c"]}, "allOf": [{"anyOf": [TYPED]}]},
    {"$schema": DRAFT.format("04"), "items": {"anyOf": [TYPED, {"allOf": [MANY]}]}, "oneOf": [MANY, TYPED]},
    {"prefixItems": [TYPED, {}], "items": {"items": {"prefixItems": [False, TYPED], "items": False}}},
    {"$schema": DRAFT.format("07"), "items": [TYPED, {"additionalItems": False, "items": TYPED}]},
    {"$schema": DRAFT.format("07"), "items": [TYPED, {}], "additionalItems": MANY},
    {"$schema": DRAFT.format("04"), "items": {"items": [{}], "additionalItems": False}},
    {"properties": {"a": {}}, "patternProperties": {"^l": MANY, "o": TYPED}, "additionalProperties": {"items": TYPED}},
    {"patternProperties": {"^l": {"type": "null"}}, "additionalProperties": False, "maxProperties": 1},
    {"items": {"$ref": "#/properties/a/items"}, "properties": {"a": {"items": TYPED}}, "uniqueItems": True},
    {"$schema": DRAFT.format("06")} | SHORT | MANY,
    {"$schema": DRAFT.format("04")} | SHORT | MANY,
]  # fmt: skip
NAMES = st.sampled_from(["a", "b", "c", "d", "list", "long", "x", "z", "7", "007", ""])
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=7),
    max_leaves=15,
)


def compiled(schema: Any) -> CompiledSchema:
    return CompiledTool.of(Tool(name="t", input_schema=schema)).schema


def told(schema: CompiledSchema, value: Any) -> list[ValidationError]:
    found = violations(schema, value, strict=True, sanitizer=ValueSanitizer())
    return sorted(found, key=lambda error: (error.field_path, error.keyword, error.message))


def by_the_engine(schema: CompiledSchema) -> CompiledSchema:
    return replace(schema, lister=replace(schema.lister, explainer=Explainer(schema.validator), outline=NOTHING))


def as_if_large(schema: CompiledSchema) -> CompiledSchema:
    return replace(schema, lister=replace(schema.lister, explainer=schema.lister.explainer_of_large()))


@given(st.sampled_from(SCHEMAS), VALUES)
@example(SCHEMAS[3], {"a": 1, "list": []})
@example(SCHEMAS[6], {"long": 1})
@example(SCHEMAS[10], {"a": {"long": {}}})
@example(SCHEMAS[11], {"long": {}, "list": 0})
@example(SCHEMAS[13], {"long": {}, "list": 0})
@example(SCHEMAS[15], {"": {"long": 1}, "7": {"a": 1}})
@example(SCHEMAS[16], {"long": 1})
@example(SCHEMAS[17], [{"long": 1}])
@example(SCHEMAS[18], {"a": "x", "list": "x", "z": {}})
def test_what_is_gathered_is_told_as_the_engine_tells_it_name_by_name(schema: dict[str, Any], value: Any) -> None:
    assume(not (isinstance(value, dict) and {"7", "007"} <= value.keys()))  # one path to the engine
    ours = compiled(schema)
    assert told(ours, value) == told(by_the_engine(compiled(schema)), value)
    assert told(as_if_large(compiled(schema)), value) == told(ours, value)


@pytest.mark.parametrize(
    "rule",
    [
        {"propertyNames": {"maxLength": 1}},
        {"required": [f"name {number}" for number in range(200)]},
        {"dependentRequired": {"long 1": [f"name {number}" for number in range(200)]}},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "around",
    [
        lambda rule: {"$ref": "#/$defs/x", "$defs": {"x": rule}},
        lambda rule: {"allOf": [rule]},
        lambda rule: {"dependentSchemas": {"long 1": rule}},
    ],
    ids=["reference", "allOf", "dependentSchemas"],
)
def test_the_engine_copies_an_object_once_however_many_of_its_names_are_wrong(rule: Any, around: Any) -> None:
    schema = compiled(around(rule))
    value = {f"long {number}": number for number in range(200)}
    assert len(list(schema.lister.explainer.validator.iter_errors(value))) == 1
    assert len(told(schema, value)) == 200


@pytest.mark.parametrize("value", [{"7": 1}, {"7": {"a": {}}}, {"7": [1]}, {"": {"7": {"a": {}}}}], ids=str)
def test_a_union_that_stays_with_the_engine_within_one_that_does_not_is_told_alike(value: Any) -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}, {"properties": {"a": MANY}}]}
    schema = {"anyOf": [{"properties": {"7": union, "": {"properties": {"7": union}}}}]}
    assert told(compiled(schema), value) == told(by_the_engine(compiled(schema)), value)
    assert told(as_if_large(compiled(schema)), value) == told(by_the_engine(compiled(schema)), value)


def test_a_schema_stays_as_it_is_when_its_rules_are_gathered() -> None:
    before = json.dumps(SCHEMAS)
    for schema in SCHEMAS:
        gather(schema, schema)
    assert json.dumps(SCHEMAS) == before
