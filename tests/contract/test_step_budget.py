"""Compositions cost a bounded number of steps, however many values they refuse, and the verdict stays right."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import ErrorCode, ErrorSeverity, Tool, ValueSanitizer
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.explaining.parts import MAX_STEPS, StepBudget, StepsSpentError
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.tool import CompiledTool

KINDS = [{"properties": {"kind": {"const": f"k{n}"}, "x": {"type": "integer"}}, "required": ["x"]} for n in range(100)]
CHOICES = [{"const": f"n{n}", "maxLength": 0} for n in range(500)]
NESTED = {"anyOf": [{"anyOf": [{"anyOf": [{"type": "integer"}, {"minProperties": 2}] * 3}] * 5}] * 5}
STRINGS = {"properties": {"a": {"items": {"type": "string"}}}}
MANY = 400  # items
HOSTILE: dict[str, tuple[dict[str, Any], Any]] = {
    "a union of many kinds": ({"anyOf": KINDS}, {"kind": "k7"}),
    "a union of many kinds, none meant": ({"oneOf": KINDS}, {"kind": "m"}),
    "a union of many choices": ({"anyOf": CHOICES}, "m"),
    "unions inside unions": (NESTED, {"x": 1}),
    "allOf of many": ({"allOf": [{"type": "string"}] * 500}, 1),
    "unions behind a reference": ({"$ref": "#/$defs/x"}, {"kind": "m"}),
    "patterns that all match": (
        {"patternProperties": {f"^k|{n}": {"type": "string"} for n in range(100)}},
        {"k": 1},
    ),
    "dependent schemas": (
        {"dependentSchemas": {f"n{n}": {"minProperties": 30} for n in range(20)}},
        {f"n{n}": 1 for n in range(20)},
    ),
}  # fmt: skip


def found(schema: dict[str, Any], value: Any) -> Findings:
    tool = CompiledTool.of(Tool(name="t", input_schema=schema, strict=False))
    return examine(value, tool, ValueSanitizer(), tool_name="t")


def of_items(schema: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"a": {"items": schema}}, "$defs": {"x": {"oneOf": KINDS}}}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_composition_refuses_thousands_of_times_is_told_as_far_as_the_budget_goes(name: str) -> None:
    schema, item = HOSTILE[name]
    errors = found(of_items(schema), {"a": [item] * MANY}).errors
    assert (errors[0].field_path, errors[0].error_code) == ("", ErrorCode.OBJECT_SCHEMA_VIOLATION)
    assert errors[0].message.endswith(" not listed")
    assert 1 < len(errors) <= MAX_STEPS
    assert {error.field_path.split("/")[1] for error in errors[1:]} == {"a"}


@pytest.mark.parametrize("name", HOSTILE)
def test_one_that_is_refused_is_told_whole(name: str) -> None:
    schema, item = HOSTILE[name]
    findings = found(of_items(schema), {"a": [item]})
    assert not findings.is_valid
    assert all("not listed" not in error.message for error in findings.errors)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_told_is_the_same_each_time(name: str) -> None:
    schema, item = HOSTILE[name]
    tool = CompiledTool.of(Tool(name="t", input_schema=of_items(schema), strict=False))
    first, second = (examine({"a": [item] * MANY}, tool, ValueSanitizer(), tool_name="t") for _ in range(2))
    assert first.errors == second.errors


def test_a_large_value_that_each_part_refuses_is_not_read_for_each() -> None:
    errors = found({"allOf": [STRINGS] * 100}, {"a": [1] * 20_000}).errors
    assert 1 < len(errors) < MAX_STEPS


def test_only_the_first_mistake_of_many_stays_unread_of_a_value_that_is_mostly_right() -> None:
    items = [{"kind": "k7", "x": 1}] * MANY
    errors = found(of_items({"anyOf": KINDS}), {"a": [*items, {"kind": "k7", "x": "1"}]}).errors
    assert [error.field_path for error in errors] == [f"/a/{MANY}/x"]


@pytest.mark.parametrize(
    "around",
    [
        {"unevaluatedProperties": False},
        {"$dynamicRef": "#x", "$defs": {"y": {"$dynamicAnchor": "x"}}},
        {"properties": {"a": {"items": {"$ref": "#/allOf/0"}}}},
        {"properties": {"7": {"anyOf": [True]}}},
    ],
    ids=["unevaluated", "dynamic", "referred to", "a name of digits"],
)
def test_where_parts_cannot_be_asked_alone_the_verdict_is_all_there_is_to_tell_of_much(around: dict[str, Any]) -> None:
    schema = {"allOf": [{"properties": {"a": {"items": {"allOf": [{"type": "string"}] * 300}}}}], **around}
    assert "VAL-002" in [error.error_code for error in found(schema, {"a": [1]}).errors]
    assert found(schema, {"a": ["x"] * MANY}).is_valid
    (error,) = found(schema, {"a": [1] * MANY}).errors
    assert error.message.endswith("what else is wrong is not listed")


def test_warnings_do_not_make_a_value_valid_that_was_not_read_to_its_end() -> None:
    lenient = {"items": {"anyOf": KINDS, "x-severity": "warning"}}
    findings = found({"properties": {"a": lenient}}, {"a": [{"kind": "m"}] * MANY})
    assert not findings.is_valid
    assert findings.errors[0].severity is ErrorSeverity.ERROR


def test_the_budget_ends_after_its_steps() -> None:
    budget = StepBudget(3)
    assert list(budget.over("ab")) == ["a", "b"]
    budget.spend()
    with pytest.raises(StepsSpentError):
        budget.spend()
