"""Thousands of mistakes in one submission cost bounded work and leave the verdict as it is."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import pytest

from retrycontract import ErrorCode, ErrorSeverity, Tool, ValueSanitizer
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.keywords import MAX_ADVISED
from retrycontract.contract.checks.schema_engine import MAX_TOLD
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.tool import CompiledTool

# As many ways to slip twice in writing 'population', none of which a digit makes another word.
SLIPS = [f"po{one}pulati{other}on" for one in ascii_lowercase for other in ascii_lowercase][:300]
INTEGERS = {"properties": {"a": {"items": {"type": "integer"}}}}


def found(schema: dict[str, Any], value: Any, *, strict: bool = True) -> Findings:
    tool = CompiledTool.of(Tool(name="t", input_schema=schema, strict=strict))
    return examine(value, tool, ValueSanitizer(), tool_name="t")


def test_as_many_mistakes_as_are_listed_are_all_there() -> None:
    errors = found(INTEGERS, {"a": ["x"] * MAX_TOLD}).errors
    assert [error.field_path for error in errors] == [f"/a/{position}" for position in range(MAX_TOLD)]


def test_one_error_stands_for_those_that_are_not_listed() -> None:
    errors = found(INTEGERS, {"a": ["x"] * (MAX_TOLD + 1)}).errors
    assert len(errors) == MAX_TOLD + 1
    assert (errors[0].field_path, errors[0].error_code) == ("", ErrorCode.OBJECT_SCHEMA_VIOLATION)
    assert errors[0].message == (
        "Object doesn't match the schema: it has more than 1,000 mistakes, the others are not listed"
    )


def test_warnings_without_end_hide_no_error_and_are_none() -> None:
    lenient = {"properties": {"a": {"items": {"type": "integer", "x-severity": "warning"}}}}
    assert found(lenient, {"a": ["x"] * (2 * MAX_TOLD)}).is_valid
    one_error = {**lenient, "required": ["b"], "additionalProperties": True}
    assert not found(one_error, {"a": ["x"] * (2 * MAX_TOLD)}).is_valid
    late = {"properties": {"a": {"items": {"maxLength": 1, "x-severity": "info"}}}, "maxProperties": 0}
    assert not found(late, {"a": ["xx"] * (2 * MAX_TOLD)}).is_valid


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"additionalProperties": {"deprecated": True}}, {f"k{n}": 1 for n in range(MAX_TOLD + 2)}),
        ({"properties": {"a": {}}}, {f"k{n}": 1 for n in range(MAX_TOLD + 2)}),
        ({"items": {"type": "string", "x-severity": "warning"}}, [1] * (MAX_TOLD + 2)),
    ],
    ids=["deprecated fields", "unknown fields", "lenient items"],
)
def test_one_warning_stands_for_those_that_are_not_listed(schema: dict[str, Any], value: Any) -> None:
    findings = found(schema, value, strict=False)
    assert findings.is_valid
    assert len(findings.errors) == MAX_TOLD + 1
    assert "the others are not listed" in findings.errors[0].message


def test_numbers_too_large_to_be_carried_are_listed_as_far() -> None:
    errors = found({}, f'{{"a": [{", ".join(["1e999"] * (MAX_TOLD + 5))}]}}').errors
    assert len(errors) == MAX_TOLD + 1


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"population": {}}}, dict.fromkeys(SLIPS, 1)),
        ({"properties": {"population": {}}, "additionalProperties": False}, dict.fromkeys(SLIPS, 1)),
        ({"properties": {"a": {"items": {"properties": {"population": {}}}}}}, {"a": [{"popualtion": 1}] * 300}),
        ({"properties": {"a": {"items": {"enum": ["population"]}}}}, {"a": SLIPS}),
        ({"properties": {"a": {"items": {"enum": ["population", *range(90)]}}}}, {"a": SLIPS}),
    ],
    ids=["unknown fields", "refused fields", "unknown fields of items", "a choice", "a choice of many"],
)
def test_what_was_meant_is_sought_for_the_first_hundred(schema: dict[str, Any], value: Any) -> None:
    errors = found(schema, value).errors
    advised = [
        error
        for error in errors
        if "'population'" in (error.hint or "") and ("rename" in error.hint or "mean" in error.hint)
    ]
    assert len(errors) == 300
    assert len(advised) == MAX_ADVISED
    assert all(error.severity is ErrorSeverity.ERROR for error in errors)
