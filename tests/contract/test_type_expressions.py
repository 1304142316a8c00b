from __future__ import annotations

from typing import Any

import pytest
import regex

from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.schemas.type_expressions import MAX_LENGTH, describe, describe_options

SKU = {"type": "object", "properties": {"qty": {"type": "integer", "minimum": 1}, "sku": {"type": "string"}}}

ITEMS = "array of {qty?: integer >= 1, sku?: string} with at least 1 item"


@pytest.mark.parametrize(
    ("schema", "expression"),
    [
        (True, "any value"),
        (False, "nothing"),
        ({}, "any value"),
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "string", "maxLength": 1048576}, "string with max length 1048576"),
        ({"type": "string", "format": "date", "minLength": 2}, "string in format date with min length 2"),
        ({"pattern": "^a+$"}, "string matching ^a+$"),
        ({"type": "string", "pattern": "a" * 100}, f"string matching {'a' * 59}…"),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, "integer >= 1 and < 9"),
        ({"minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True}, "number > 0 and < 9"),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": False, "exclusiveMaximum": True}, "integer >= 0"),
        ({"multipleOf": 0.5}, "number multiple of 0.5"),
        ({"type": "number", "minimum": True}, "number"),
        ({"enum": ["a", "", None, 1]}, 'one of: a, "", null, 1'),
        ({"const": "é"}, '"é"'),
        ({"type": "array"}, "array"),
        ({"items": {"type": "string"}}, "array of string"),
        ({"type": "array", "items": SKU, "minItems": 1}, ITEMS),
        ({"type": "array", "maxItems": 2, "minItems": 1}, "array with at least 1 and at most 2 items"),
        (SKU | {"required": ["sku"]}, "{sku: string, qty?: integer >= 1}"),
        ({"type": "object"}, "object"),
        ({"required": ["a", "b"]}, "{a: any value, b: any value}"),
        ({"properties": {"a": {"properties": {"b": {"properties": {"c": {}}}}}}}, "{a?: {b?: object}}"),
        ({"properties": {name: {"type": "null"} for name in "abcdefgh"}},
         "{a?: null, b?: null, c?: null, d?: null, e?: null, f?: null, …}"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "string or null"),
        ({"oneOf": [{"const": n} for n in range(9)]}, "0 or 1 or 2 or 3 or 4 or 5 or … (9 alternatives)"),
        ({"anyOf": [{"required": ["a"]}], "properties": {"a": {"type": "string"}}}, "{a?: string}"),
        ({"$ref": "#/$defs/name"}, "string"),
        ({"$ref": "#/$defs/none"}, "any value"),
    ],
)  # fmt: skip
def test_a_schema_is_described_in_few_words(schema: Any, expression: str) -> None:
    index = SchemaIndex({"$defs": {"name": {"type": "string"}}})
    assert describe(schema, index.resolve) == expression


def test_without_references_a_reference_says_nothing() -> None:
    assert describe({"$ref": "#/$defs/name"}) == "any value"


def test_a_recursive_schema_ends() -> None:
    tree: dict[str, Any] = {
        "type": "object",
        "properties": {"child": {"$ref": "#"}, "children": {"items": {"$ref": "#"}}},
    }
    assert describe(tree, SchemaIndex(tree).resolve) == (
        "{child?: {child?: object, children?: array of object}, children?: array of object}"
    )
    endless = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "null"}]}
    assert describe(endless, SchemaIndex(endless).resolve).startswith("object or null")


def test_a_reference_is_no_level_of_its_own() -> None:
    item = {"properties": {"sku": {"type": "string"}}, "required": ["sku"]}
    index = SchemaIndex({"$defs": {"item": item}})
    assert describe({"type": "array", "items": {"$ref": "#/$defs/item"}}, index.resolve) == "array of {sku: string}"


def test_a_union_that_refers_to_itself_many_times_is_described_quickly() -> None:
    union: dict[str, Any] = {"anyOf": [{"$ref": "#"} for _ in range(1000)]}
    assert len(describe(union, SchemaIndex(union).resolve)) <= MAX_LENGTH


def test_an_expression_has_a_bound_and_whole_characters() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    text = describe({"enum": [family * 50]})
    assert len(text) <= MAX_LENGTH
    assert text.startswith("one of: ")
    assert text.endswith("…")
    assert set(regex.findall(r"\X", text[8:-1])) <= {family, "…"}


def test_many_options_are_cut_and_counted() -> None:
    assert describe_options(["a" * 50, "b" * 50, "c" * 50]) == f"{'a' * 50}, {'b' * 50}, … (3 values)"
    assert describe_options(["a" * 500]).endswith("…")
