"""What nothing has evaluated: what is declared is not told as unknown where its subschema fails for another mistake."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from retrycontract.contract.feedback.answer import examine_and_redact
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.contract.tool import CompiledTool, Tool

INT = {"type": "integer"}
CLOSED: dict[str, Any] = {"type": "object", "unevaluatedProperties": False}
N = {"properties": {"n": INT}}
KINDS: dict[str, Any] = {
    "oneOf": [
        {"properties": {"t": {"const": "a"}, "z": INT}, "required": ["t"]},
        {"properties": {"t": {"const": "b"}, "y": INT}, "required": ["t"]},
    ]
}
PERSON = {"$defs": {"person": {"properties": {"id": INT, "name": {"type": "string"}}}}}
WRONG, UNKNOWN, MISSING = "VAL-002", "VAL-005", "VAL-001"
# A schema, a value, and what is told of it.
TOLD = {
    "a field that is missing": (
        CLOSED | {"allOf": [{"properties": {"a": INT, "b": INT}, "required": ["b"]}]}, {"a": 1}, {("/b", MISSING)}
    ),
    "a field of another type": (CLOSED | {"allOf": [N]}, {"n": "5"}, {("/n", WRONG)}),
    "one that nobody declares beside it": (
        CLOSED | {"allOf": [N]}, {"n": "5", "m": 1}, {("/n", WRONG), ("/m", UNKNOWN)}
    ),
    "behind a reference": (
        CLOSED | PERSON | {"allOf": [{"$ref": "#/$defs/person"}, N]}, {"id": "x", "name": "n", "n": 1}, {("/id", WRONG)}
    ),
    "a reference beside it": (
        CLOSED | PERSON | {"$ref": "#/$defs/person"}, {"id": "x", "name": "n", "n": 1},
        {("/id", WRONG), ("/n", UNKNOWN)},
    ),
    "alternatives, one of which is meant": (CLOSED | KINDS, {"t": "a", "z": "x"}, {("/z", WRONG)}),
    "a field of the other alternative": (
        CLOSED | KINDS, {"t": "a", "z": "x", "y": 1}, {("/z", WRONG), ("/y", UNKNOWN)}
    ),
    "a field of the other alternative alone": (CLOSED | KINDS, {"t": "a", "z": 1, "y": 1}, {("/y", UNKNOWN)}),
    "several levels": (
        CLOSED | {"allOf": [{"allOf": [N], "required": ["q"]}]}, {"n": 5}, {("/q", MISSING)}
    ),
    "a condition": (
        CLOSED | {"if": {"required": ["k"]}, "then": {"properties": {"k": True, "v": INT}}}, {"k": 1, "v": "x"},
        {("/v", WRONG)},
    ),
    "within a list, one of its items": (
        {"items": CLOSED | {"allOf": [N]}}, [{"n": "5"}, {"n": 1}, {"n": 2, "m": 3}],
        {("/0/n", WRONG), ("/2/m", UNKNOWN)},
    ),
    "within an alternative": (
        {"properties": {"o": {"anyOf": [{"type": "null"}, CLOSED | {"allOf": [N]}]}}}, {"o": {"n": "5"}},
        {("/o/n", WRONG)},
    ),
    "items": (
        {"type": "array", "allOf": [{"prefixItems": [INT, INT]}], "unevaluatedItems": False}, [1, "x"], {("/1", WRONG)}
    ),
    "one that takes any name": (
        CLOSED | {"allOf": [N | {"additionalProperties": True}]}, {"n": "5", "m": 1}, {("/n", WRONG)}
    ),
    "names of a pattern": (
        CLOSED | {"allOf": [N | {"patternProperties": {"^x": INT}}]}, {"n": "5", "xy": 1, "yx": 1},
        {("/n", WRONG), ("/yx", UNKNOWN)},
    ),
    "below a member without a name": (
        {"properties": {"": CLOSED | {"allOf": [N]}}}, {"": {"n": "5", "m": 1}}, {("//n", WRONG), ("//m", UNKNOWN)}
    ),
    "another place": (
        {"properties": {"a": N, "b": CLOSED | {"allOf": [N]}}}, {"a": {"n": "x"}, "b": {"n": 1, "m": 1}},
        {("/a/n", WRONG), ("/b/m", UNKNOWN)},
    ),
}  # fmt: skip


def told(schema: Any, value: Any) -> set[tuple[str, str]]:
    tool = CompiledTool.of(Tool(name="t", input_schema=schema))
    found = examine_and_redact(value, tool, ValueSanitizer(), tool_name="t").findings
    return {(error.field_path, error.error_code) for error in found.errors}


@pytest.mark.parametrize("case", TOLD.values(), ids=TOLD)
def test_what_is_declared_is_not_unknown(case: tuple[Any, Any, set[tuple[str, str]]]) -> None:
    schema, value, expected = case
    assert told(schema, value) == expected


def made(random: Random, depth: int = 0) -> dict[str, Any]:
    """Make a schema of what may declare a member, or refuse it."""
    schema: dict[str, Any] = {}
    for _ in range(random.randint(1, 3)):
        match random.randrange(10 if depth < 3 else 4):
            case 0:
                schema["properties"] = {
                    name: random.choice([INT, True, {"const": 1}]) for name in random.sample("abcd", 2)
                }
            case 1:
                schema["required"] = random.sample("abcd", 1)
            case 2:
                schema["unevaluatedProperties"] = random.choice([False, INT])
            case 3:
                schema["patternProperties"] = {"^[ab]": INT}
            case 4:
                schema["if"], schema["then"] = made(random, depth + 1), made(random, depth + 1)
            case 5:
                schema["properties"] = {"e": made(random, depth + 1)}
            case 6:
                schema["dependentSchemas"] = {"a": made(random, depth + 1)}
            case _:
                parts = [made(random, depth + 1) for _ in range(2)]
                schema[random.choice(["allOf", "anyOf", "oneOf"])] = parts
    return schema


def test_whatever_is_refused_is_told() -> None:
    random, refused = Random(8), 0
    for _ in range(1_500):
        schema = made(random) | {"unevaluatedProperties": False}
        value = {name: random.choice([1, "x", {"a": 1, "b": "y"}]) for name in random.sample("abcde", 3)}
        try:
            tool = CompiledTool.of(Tool(name="t", input_schema=schema))
        except InvalidSchema:
            continue
        is_valid = tool.schema.validator.is_valid(value)
        refused += not is_valid
        assert bool(examine_and_redact(value, tool, ValueSanitizer(), tool_name="t").findings.is_valid) <= is_valid
    assert refused > 500


def test_what_is_too_much_to_look_at_is_told_as_such() -> None:
    fields = [{"properties": {f"p{number}": INT}} for number in range(900)]
    tool = CompiledTool.of(Tool(name="t", input_schema=CLOSED | {"allOf": fields}))
    value = {f"p{number}": "x" for number in range(40)}
    (error,) = examine_and_redact(value, tool, ValueSanitizer(), tool_name="t").findings.errors
    assert "too many mistakes to look at each" in error.message
