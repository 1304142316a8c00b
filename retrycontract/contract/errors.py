"""One violation of a contract, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self

from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.patches import Operation

MAX_PLUGIN_ERRORS = 100  # of one check of the developer's: more would fill the feedback with one check's opinion


class WrongInputError(ValueError):
    """Raised for what a person, a file or a variable gave that cannot be used; its words say what is expected.

    The program prints them as one line. Any other ValueError is a mistake of ours, and keeps its traceback.
    """


class ErrorSeverity(IntEnum):
    """Say how bad an error is; the order matters, it sorts. Only ERROR blocks execution."""

    INFO = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class ValidationError:
    """Hold one violation: code, JSON Pointer, message and severity; `actual_value` is sanitised.

    `field_path` is an RFC 6901 pointer, `""` the whole document. For a missing field it names the missing
    field, for an unknown one the unknown field. `keyword` is the JSON Schema keyword that failed, empty where
    none did, and `hint` is advice of this very error that replaces the code's default hint. `patch` proposes the
    JSON Patch (RFC 6902) that would mend a near miss; nobody applies it unasked.
    """

    error_code: ErrorCode
    field_path: str
    message: str
    severity: ErrorSeverity = ErrorSeverity.ERROR
    expected_value: str | None = None
    actual_value: str | None = None
    keyword: str = ""
    hint: str | None = None
    patch: tuple[Operation, ...] = field(default=(), hash=False)  # operations are dicts

    def to_json(self) -> dict[str, Any]:
        """Serialise to plain JSON values, without loss."""
        return {
            "error_code": self.error_code.value,
            "field_path": self.field_path,
            "message": self.message,
            "severity": self.severity.name.lower(),
            "expected_value": self.expected_value,
            "actual_value": self.actual_value,
            "keyword": self.keyword,
            "hint": self.hint,
            "patch": list(self.patch),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read back what `to_json` wrote; raises KeyError or ValueError on anything else."""
        return cls(
            error_code=ErrorCode(data["error_code"]),
            field_path=data["field_path"],
            message=data["message"],
            severity=ErrorSeverity[data["severity"].upper()],
            # What an earlier version stored may lack these fields.
            expected_value=data.get("expected_value"),
            actual_value=data.get("actual_value"),
            keyword=data.get("keyword", ""),
            hint=data.get("hint"),
            patch=tuple(data.get("patch", ())),
        )


def whole_errors(errors: Iterable[Any] | None) -> list[ValidationError]:
    """Take what somebody hands in for errors: None is none of them, a text is a message, and missing parts are empty.

    Raises TypeError for anything else: a list that silently lost an error would tell the model that less is wrong.
    """
    found: list[ValidationError] = []
    for place, error in enumerate(errors or ()):
        if isinstance(error, str):
            found.append(ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", error))
        elif isinstance(error, ValidationError):
            is_whole = None not in (error.error_code, error.field_path, error.message, error.severity, error.keyword)
            found.append(error if is_whole else ValidationError(
                error.error_code or ErrorCode.OBJECT_SCHEMA_VIOLATION, error.field_path or "", error.message or "",
                ErrorSeverity.ERROR if error.severity is None else error.severity,
                error.expected_value, error.actual_value, error.keyword or "", error.hint, error.patch,
            ))  # fmt: skip
        elif error is not None:
            given = type(error).__name__
            raise TypeError(f"errors[{place}] is a {given}: give a ValidationError, or its message as text")
    return found
