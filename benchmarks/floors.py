"""What the same work costs at least: the engine and f-strings, with nothing sanitised, ordered, bounded or counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import jsonschema_rs

from retrycontract.contract.codes import ErrorCode

CODES = {
    "Required": ErrorCode.REQUIRED_FIELD_MISSING,
    "Type": ErrorCode.TYPE_MISMATCH,
    "Pattern": ErrorCode.PATTERN_MISMATCH,
    "Enum": ErrorCode.INVALID_ENUM_VALUE,
}


def bare_text(schema: dict[str, Any]) -> Callable[[bytes], str]:
    """Parse, check, and write the engine's own message, value and pointer of each error."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)

    def feedback(arguments: bytes) -> str:
        bullets = [
            f"• {''.join(f'/{step}' for step in error.instance_path)} ({error.schema_path[-1]}): {error.message}"
            for error in validator.iter_errors(json.loads(arguments))
        ]
        return "Validation failed:\n\n" + "\n\n".join(bullets)

    return feedback


def same_parts(schema: dict[str, Any]) -> Callable[[bytes], str]:
    """Write by hand the parts that our text has: pointer, code, message, expected, actual, hint."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)

    def feedback(arguments: bytes) -> str:
        bullets, hints = [], []
        for error in validator.iter_errors(json.loads(arguments)):
            details: Any = error.kind
            kind, value = type(details).__name__, error.instance
            path = list(error.instance_path)
            where: Any = schema
            for step in error.schema_path[:-1]:
                where = where[step]
            if kind == "Required":
                path.append(details.property)
                expected = json.dumps(where["properties"][details.property])
            else:
                expected = json.dumps(where[error.schema_path[-1]])
            pointer = "".join(f"/{step}" for step in path)
            shown = json.dumps(value)
            code = CODES.get(kind, ErrorCode.OBJECT_SCHEMA_VIOLATION)
            bullets.append(
                f"• {pointer} ({code.value}): {code.title}\n"
                f"  Expected: {expected}\n  Actual: {shown if len(shown) < 100 else shown[:97] + '...'}"
            )
            hints.append(f"correct '{path[-1]}'")
        text = "\n\n".join(bullets)
        return f"Validation failed for tool 't' (attempt 1/3):\n\nErrors:\n{text}\n\nPlease {' and '.join(hints)}."

    return feedback


def bare_verdict(schema: dict[str, Any]) -> Callable[[bytes], bool]:
    """Parse and check by the engine that we use."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    return lambda arguments: validator.is_valid(json.loads(arguments))


def reference_verdict(schema: dict[str, Any]) -> Callable[[bytes], bool]:
    """Parse and check by the reference implementation."""
    validator = jsonschema.validators.validator_for(schema)(schema)
    return lambda arguments: bool(validator.is_valid(json.loads(arguments)))


def check_schema(schema: dict[str, Any]) -> None:
    """Check a schema against its metaschema, as every tool's registration has to."""
    jsonschema.validators.validator_for(schema).check_schema(schema)
