from __future__ import annotations

import string

import pytest

from retrycontract import ErrorCode

NAMES = {
    "VAL-001": ("RequiredFieldMissing", "Required field '{field}' is missing"),
    "VAL-002": ("TypeMismatch", "Type mismatch: expected {expected}, got {actual}"),
    "VAL-003": ("ConstraintViolation", "Value violates constraint: {constraint}"),
    "VAL-004": ("InvalidJsonSyntax", "Invalid JSON: {parse_error}"),
    "VAL-005": ("UnknownField", "Unknown field '{field}'"),
    "VAL-006": ("ArrayLengthViolation", "Array length {actual} {limit}"),
    "VAL-007": ("PatternMismatch", "Value doesn't match pattern: {pattern}"),
    "VAL-008": ("InvalidEnumValue", "Invalid enum value '{value}'"),
    "VAL-009": ("StringLengthViolation", "String length {actual} {limit}"),
    "VAL-010": ("FormatViolation", "Invalid format: {format}"),
    "VAL-011": ("NumberRangeViolation", "Value {actual} is out of range: {constraint}"),
    "VAL-012": ("UniqueConstraintViolation", "Items {i} and {j} are equal"),
    "VAL-013": ("DependencyViolation", "Field '{field}' requires '{needed}'"),
    "VAL-014": ("MutualExclusivityViolation", "{fields} cannot be used together"),
    "VAL-015": ("ObjectSchemaViolation", "Object doesn't match the schema: {reason}"),
}


def test_there_are_exactly_the_fifteen_codes() -> None:
    assert [code.value for code in ErrorCode] == list(NAMES)


@pytest.mark.parametrize("code", ErrorCode)
def test_title_and_template_are_those_of_the_catalogue(code: ErrorCode) -> None:
    assert (code.title, code.template) == NAMES[code.value]


@pytest.mark.parametrize("code", ErrorCode)
def test_a_default_hint_needs_the_name_of_the_field_at_most(code: ErrorCode) -> None:
    placeholders = {name for _, name, _, _ in string.Formatter().parse(code.hint) if name is not None}
    assert placeholders <= {"name"}
    assert code.hint
    assert not code.hint.endswith(".")
