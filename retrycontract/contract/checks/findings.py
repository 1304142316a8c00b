"""What a check found: the errors and, when the output could be read, its parsed value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrycontract.contract.errors import ErrorSeverity, ValidationError


@dataclass(frozen=True, slots=True)
class Findings:
    """Hold every error of one submission, sorted as they are told; `parsed` is None when it never parsed.

    `faults` says, for the log, which of the developer's own checks failed, and where.
    """

    errors: tuple[ValidationError, ...]
    parsed: Any = None
    is_parsed: bool = False
    faults: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Tell whether nothing blocks execution: warnings and infos do not."""
        return not self.errors or not any(map(blocks, self.errors))

    @property
    def warnings(self) -> tuple[ValidationError, ...]:
        """List what should be fixed but does not block."""
        return tuple(error for error in self.errors if not blocks(error))


def blocks(error: ValidationError) -> bool:
    """Tell whether an error keeps the output from being used."""
    return error.severity is ErrorSeverity.ERROR
