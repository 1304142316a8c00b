"""Of a large value the engine is asked stretch by stretch: what is told of it is what the engine would tell of all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from retrycontract.contract.checks.schema_engine import MAX_TOLD, violations
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.explaining.listing import MANY_WRITTEN, NOTHING, Explainer
from retrycontract.contract.explaining.parts import NAME, STRETCH, MemberRule, Members, StepBudget, StepsSpentError
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledSchema, CompiledTool, Tool

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
ROW = {"properties": {"n": {"type": "integer"}, "tags": {"items": {"type": "string"}}}, "required": ["n"]}
LONG: list[Any] = [{"n": number if number % 1_000 else "?", "tags": ["x"]} for number in range(MANY_WRITTEN)]
LONG[777] = {"tags": ["x", 1]}
WIDE = {f"k{number}": row for number, row in enumerate(LONG)}
LARGE: dict[str, tuple[dict[str, Any], Any]] = {
    "items": ({"items": ROW}, LONG),
    "items after others": ({"prefixItems": [{"required": ["z"]}, {}], "items": ROW}, LONG),
    "items after others in draft 7": ({"$schema": DRAFT_7, "items": [{}, ROW], "additionalItems": ROW}, LONG),
    "items that draft 7 knows no others of": ({"$schema": DRAFT_7, "prefixItems": [True], "items": ROW}, LONG),
    "items of items": ({"items": {"items": ROW}}, [LONG[:900]] * 30),
    "members": ({"properties": {"k0": {}}, "additionalProperties": ROW}, WIDE),
    "members of a pattern": ({"patternProperties": {"000$": ROW, "[07]{2}": {"minProperties": 3}}}, WIDE),
    "members with digits for names": ({"additionalProperties": ROW}, {str(n): row for n, row in enumerate(LONG)}),
    "items of a branch": ({"anyOf": [{"items": ROW}, {"type": "null"}]}, LONG),
    "items behind a reference": ({"items": {"$ref": "#/$defs/r"}, "$defs": {"r": {"items": ROW}}}, [LONG]),
    "items that are referred to": ({"items": ROW, "properties": {"a": {"$ref": "#/items"}}}, LONG),
}  # fmt: skip


def compiled(schema: dict[str, Any]) -> CompiledSchema:
    return CompiledTool.of(Tool(name="t", input_schema=schema)).schema


def told(schema: CompiledSchema, value: Any) -> list[ValidationError]:
    found = violations(schema, value, strict=False, sanitizer=ValueSanitizer())
    return sorted(found, key=lambda error: (error.field_path, error.keyword, error.message))


@pytest.mark.parametrize(("schema", "value"), LARGE.values(), ids=list(LARGE))
def test_what_is_wrong_with_a_large_value_is_told_as_the_engine_tells_it(schema: dict[str, Any], value: Any) -> None:
    whole = Explainer(compiled(schema).validator)
    plain = compiled(schema)
    by_the_engine = replace(plain, lister=replace(plain.lister, explainer_of_large=lambda: whole, outline=NOTHING))
    errors = told(compiled(schema), value)
    assert 5 < len(errors) < MAX_TOLD
    assert errors == told(by_the_engine, value)


def test_the_engine_writes_one_error_of_a_large_value_however_many_items_are_wrong() -> None:
    schema = compiled({"properties": {"a": {"items": ROW}}})
    assert len(list(schema.lister.explainer_of_large().validator.iter_errors({"a": [{"n": "?"}] * MANY_WRITTEN}))) == 1


class Counting:
    """A validator that counts how many values it wrote the errors of."""

    def __init__(self, validator: Any) -> None:
        self._validator, self.items = validator, 0

    def is_valid(self, value: Any) -> bool:
        return bool(self._validator.is_valid(value))

    def iter_errors(self, value: dict[str, Any]) -> Any:
        self.items += len(value[NAME])
        return self._validator.iter_errors(value)


def test_no_more_is_asked_than_is_read() -> None:
    engine = Counting(compiled({"properties": {NAME: {"items": {"type": "string"}}}}).validator)
    errors = Members(lambda: engine, MemberRule("items", {})).errors([1] * 100 * STRETCH, StepBudget(steps=50))
    with pytest.raises(StepsSpentError):
        list(errors)
    assert engine.items <= STRETCH
