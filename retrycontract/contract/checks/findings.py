"""What a check found: the errors and, when the output could be read, its parsed value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrycontract.contract.errors import ErrorSeverity, ValidationError


@dataclass(frozen=True, slots=True)
class Findings:
    """Hold every error of one submission, sorted as they are told; `parsed` is None when it never parsed."""

    errors: tuple[ValidationError, ...]
    parsed: Any = None
    is_parsed: bool = False

    @property
    def is_valid(self) -> bool:
        """Tell whether nothing blocks execution: warnings and infos do not."""
        return not any(error.severity is ErrorSeverity.ERROR for error in self.errors)

    @property
    def warnings(self) -> tuple[ValidationError, ...]:
        """List what should be fixed but does not block."""
        return tuple(error for error in self.errors if error.severity is not ErrorSeverity.ERROR)
