"""Advise the model in a few words how to correct an error, from what the error itself says."""

from __future__ import annotations

from retrycontract.contract import pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.near_misses import did_you_mean
from retrycontract.contract.sanitizer import elide_middle, visible

MAX_NAME = 80  # characters of a field's name
MAX_EXPECTED = 120  # characters of what was expected; the bullet has more of it


def advise(error: ValidationError) -> str:
    """Give the error's own hint, else the one of its code, filled with what the error says."""
    if error.hint:
        return error.hint.rstrip(".")
    advice = _advice(error)
    if not error.field_path:
        return advice.replace("'{name}'", "the whole value")
    return advice.replace("{name}", elide_middle(visible(pointers.label(error.field_path)), MAX_NAME))


def _advice(error: ValidationError) -> str:
    expected = elide_middle(error.expected_value or "", MAX_EXPECTED)
    match error.error_code:
        case ErrorCode.STRING_LENGTH_VIOLATION | ErrorCode.ARRAY_LENGTH_VIOLATION if "exceeds" in error.message:
            return "reduce '{name}' length"
        case ErrorCode.STRING_LENGTH_VIOLATION | ErrorCode.ARRAY_LENGTH_VIOLATION if "below" in error.message:
            return "increase '{name}' length"
        case ErrorCode.TYPE_MISMATCH | ErrorCode.FORMAT_VIOLATION if expected:
            return f"send '{{name}}' as {expected}"
        case ErrorCode.INVALID_ENUM_VALUE:
            options = (error.expected_value or "").removeprefix("one of: ").split(", ")
            guess = did_you_mean((error.actual_value or "").strip('"'), options)
            return error.error_code.hint + (f" (did you mean '{guess}'?)" if guess else "")
    return error.error_code.hint
