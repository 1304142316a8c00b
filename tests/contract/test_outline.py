"""Missing names are listed without the engine, and are those that it would list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.explaining.listing import NOTHING, Explainer, split
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledSchema, CompiledTool, Tool

ASKS = {"type": "object", "required": ["a", "b"]}
NESTED = {
    "properties": {"list": {"items": ASKS}, "one": ASKS | {"properties": {"b": ASKS}}, "other": {"type": "string"}},
    "required": ["one", "b/c"],
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
SCHEMAS: list[dict[str, Any]] = [
    ASKS,
    NESTED,
    {"properties": {"a": {"$ref": "#/$defs/x"}, "b": ASKS}, "$defs": {"x": ASKS}},
    {"properties": {"a": ASKS, "b": {"$ref": "#/properties/a"}}, "required": ["c"]},
    {"properties": {"a": ASKS, "b": {"not": {"$ref": "#/properties/a"}}}},
    {"properties": {"a": ASKS, "b": {"not": {"$ref": "#here"}}}, "$anchor": "here", "required": ["b"]},
    {"$schema": DRAFT_7, "properties": {"a": {"$ref": "#/definitions/x", "required": ["c"]}}, "definitions": {"x": {}}},
    {"$schema": DRAFT_7, "properties": {"list": {"items": [ASKS]}}, "required": ["a"]},
    {"anyOf": [ASKS, {"required": ["c"]}], "required": ["list"]},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "required": ["c"]},
    {"dependentRequired": {"a": ["b"]}, "properties": {"b": {"not": ASKS}}, "required": []},
    {"properties": {"7": ASKS, "": ASKS}, "required": ["007", ""]},
    {"properties": {"a": {"required": ["b"], "type": "string"}}, "required": ["a"]},
]
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | st.sampled_from(["", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c", "list", "one", "other", "7", "007", ""]), inner, max_size=5)
    ),
    max_leaves=12,
)


def compiled(schema: Any) -> CompiledSchema:
    return CompiledTool.of(Tool(name="t", input_schema=schema)).schema


def told(schema: CompiledSchema, value: Any) -> set[tuple[str, str, str]]:
    found = violations(schema, value, strict=True, sanitizer=ValueSanitizer())
    return {(error.field_path, error.keyword, error.message) for error in found}


@given(st.sampled_from(SCHEMAS), VALUES)
@example(SCHEMAS[-2], {"": {}, "7": {}})
def test_an_outline_changes_nothing_of_what_is_told(schema: dict[str, Any], value: Any) -> None:
    with_outline = compiled(schema)
    without = replace(with_outline.lister, explainer=Explainer(with_outline.validator), outline=NOTHING)
    assert told(with_outline, value) == told(replace(with_outline, lister=without), value)


@given(VALUES)
def test_the_reference_implementation_misses_the_same_names(value: Any) -> None:
    expected = {
        (*error.absolute_path, name)
        for error in jsonschema.Draft202012Validator(NESTED).iter_errors(value)
        if error.validator == "required"
        for name in error.validator_value
        if name not in error.instance
    }
    assert {(*each.instance_path, each.kind.property) for each in split(NESTED)[1].missing(value)} == expected


def test_the_engine_is_not_asked_for_the_names_of_plain_objects() -> None:
    schema = {"properties": {"big": {}} | {f"n{number}": {} for number in range(600)}}
    schema["required"] = list(schema["properties"])  # type: ignore[assignment]
    value = {"big": [0] * 100_000}
    ready = compiled(schema)
    assert list(ready.lister.explainer.validator.iter_errors(value)) == []
    assert len(told(ready, value)) == 600


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_the_schema_itself_stays_as_it_is(schema: dict[str, Any]) -> None:
    before = repr(schema)
    split(schema)
    assert repr(schema) == before
