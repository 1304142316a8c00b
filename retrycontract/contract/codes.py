"""The fifteen error codes: name, title, message template and default hint stand in one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ErrorCode(StrEnum):
    """Name one class of contract violation; the value is what models, logs and metrics see."""

    REQUIRED_FIELD_MISSING = "VAL-001"
    TYPE_MISMATCH = "VAL-002"
    CONSTRAINT_VIOLATION = "VAL-003"
    INVALID_JSON_SYNTAX = "VAL-004"
    UNKNOWN_FIELD = "VAL-005"
    ARRAY_LENGTH_VIOLATION = "VAL-006"
    PATTERN_MISMATCH = "VAL-007"
    INVALID_ENUM_VALUE = "VAL-008"
    STRING_LENGTH_VIOLATION = "VAL-009"
    FORMAT_VIOLATION = "VAL-010"
    NUMBER_RANGE_VIOLATION = "VAL-011"
    UNIQUE_CONSTRAINT_VIOLATION = "VAL-012"
    DEPENDENCY_VIOLATION = "VAL-013"
    MUTUAL_EXCLUSIVITY_VIOLATION = "VAL-014"
    OBJECT_SCHEMA_VIOLATION = "VAL-015"

    @property
    def title(self) -> str:  # type: ignore[override]  # the catalogue's word; nobody title-cases a code
        """Say the code's name in the words of the catalogue, such as 'RequiredFieldMissing'."""
        return CATALOGUE[self].title

    @property
    def template(self) -> str:
        """Give the message template; placeholders stand in braces."""
        return CATALOGUE[self].template

    @property
    def hint(self) -> str:
        """Give the default correction hint; `{name}` stands for the field's name."""
        return CATALOGUE[self].hint


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """Describe one code: its title, its message template and its default hint."""

    title: str
    template: str
    hint: str


CATALOGUE: dict[ErrorCode, CodeEntry] = {
    ErrorCode.REQUIRED_FIELD_MISSING: CodeEntry(
        "RequiredFieldMissing", "Required field '{field}' is missing", "provide the missing '{name}' field"
    ),
    ErrorCode.TYPE_MISMATCH: CodeEntry(
        "TypeMismatch", "Type mismatch: expected {expected}, got {actual}", "correct the type of '{name}'"
    ),
    ErrorCode.CONSTRAINT_VIOLATION: CodeEntry(
        "ConstraintViolation",
        "Value violates constraint: {constraint}",
        "change '{name}' to meet its constraint",
    ),
    ErrorCode.INVALID_JSON_SYNTAX: CodeEntry(
        "InvalidJsonSyntax",
        "Invalid JSON: {parse_error}",
        "send one complete, valid JSON value and nothing else",
    ),
    ErrorCode.UNKNOWN_FIELD: CodeEntry("UnknownField", "Unknown field '{field}'", "remove '{name}'"),
    ErrorCode.ARRAY_LENGTH_VIOLATION: CodeEntry(
        "ArrayLengthViolation", "Array length {actual} {limit}", "change the number of items in '{name}'"
    ),
    ErrorCode.PATTERN_MISMATCH: CodeEntry(
        "PatternMismatch", "Value doesn't match pattern: {pattern}", "rewrite '{name}' to match its pattern"
    ),
    ErrorCode.INVALID_ENUM_VALUE: CodeEntry(
        "InvalidEnumValue", "Invalid enum value '{value}'", "change '{name}' to one of the allowed values"
    ),
    ErrorCode.STRING_LENGTH_VIOLATION: CodeEntry(
        "StringLengthViolation", "String length {actual} {limit}", "change the length of '{name}'"
    ),
    ErrorCode.FORMAT_VIOLATION: CodeEntry(
        "FormatViolation", "Invalid format: {format}", "correct the format of '{name}'"
    ),
    ErrorCode.NUMBER_RANGE_VIOLATION: CodeEntry(
        "NumberRangeViolation",
        "Value {actual} is out of range: {constraint}",
        "bring '{name}' into its range",
    ),
    ErrorCode.UNIQUE_CONSTRAINT_VIOLATION: CodeEntry(
        "UniqueConstraintViolation", "Items {i} and {j} are equal", "remove the repeated items of '{name}'"
    ),
    ErrorCode.DEPENDENCY_VIOLATION: CodeEntry(
        "DependencyViolation", "Field '{field}' requires '{needed}'", "send '{name}' along with the fields that need it"
    ),
    ErrorCode.MUTUAL_EXCLUSIVITY_VIOLATION: CodeEntry(
        "MutualExclusivityViolation",
        "{fields} cannot be used together",
        "keep only one of the alternatives in '{name}'",
    ),
    ErrorCode.OBJECT_SCHEMA_VIOLATION: CodeEntry(
        "ObjectSchemaViolation", "Object doesn't match the schema: {reason}", "correct '{name}' as a whole"
    ),
}
