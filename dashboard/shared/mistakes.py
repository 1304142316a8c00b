"""Errors as a person wants to see them: alike ones together, each kind with what stood in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from retrycontract.contract import pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ErrorSeverity, ValidationError

SHOWN_VALUES: Final = 4  # of a spread: more is a table, not a line
NOTHING: Final = "missing"
# What VAL-015 stands for where no schema was violated: its own title would mislead a person.
TITLES: Final = {
    "tool": "No such tool",  # keywords of errors
    "callback": "Refused by the agent’s own check",
    "plugin": "Refused by a check of this tool",
    "checker": "Could not be checked",
}
Kind = tuple[ErrorCode, str]


@dataclass(frozen=True, slots=True)
class MistakePattern:
    """Hold errors of one code at places that differ in indexes only, of one attempt or of several."""

    pattern: str
    errors: tuple[ValidationError, ...]
    attempts: int = 1  # how many of those looked at made it

    @property
    def first(self) -> ValidationError:
        return self.errors[0]

    @property
    def kind(self) -> Kind:
        """Name what its errors have in common."""
        return self.first.error_code, self.pattern

    @property
    def number(self) -> int:
        return len(self.errors)

    @property
    def is_blocking(self) -> bool:
        """Tell whether it keeps the output from being used."""
        return self.first.severity is ErrorSeverity.ERROR

    @property
    def title(self) -> str:
        return title_of(self.first)

    @property
    def _counted(self) -> list[tuple[str, int]]:
        return Counter(filter(None, map(value_of, self.errors))).most_common()

    @property
    def values(self) -> list[tuple[str, int]]:
        """Give what stood in the place, the most frequent first: each with how often."""
        return self._counted[:SHOWN_VALUES]

    @property
    def hidden_values(self) -> int:
        """Count the different values that are not among them."""
        return max(len(self._counted) - SHOWN_VALUES, 0)


def title_of(error: ValidationError) -> str:
    """Name an error for a person: by its code, unless that means something else here."""
    is_of_schema = error.error_code is not ErrorCode.OBJECT_SCHEMA_VIOLATION
    return error.error_code.title if is_of_schema else TITLES.get(error.keyword, error.error_code.title)


def code_title(code: str) -> str:
    """Name a code that was counted; empty for one that this release does not know."""
    return ErrorCode(code).title if code in list(ErrorCode) else ""


def value_of(error: ValidationError) -> str:
    """Say what stood in the place of an error; nothing where the whole output is wrong, such as that of no tool."""
    is_missing = error.error_code is ErrorCode.REQUIRED_FIELD_MISSING
    return error.actual_value or (NOTHING if is_missing else "")


def kinds_of(errors: Iterable[ValidationError]) -> set[Kind]:
    """Name the mistakes of an attempt, each once."""
    return {(error.error_code, pointers.pattern(error.field_path)) for error in errors}


def by_pattern(errors: Iterable[ValidationError]) -> tuple[MistakePattern, ...]:
    """Put the errors of one attempt together that are alike, the worst first, else in their order."""
    return patterns_of([tuple(errors)])


def patterns_of(attempts: Sequence[Sequence[ValidationError]]) -> tuple[MistakePattern, ...]:
    """Put the errors of several attempts together that are alike, those that most of them made first."""
    alike: dict[Kind, list[ValidationError]] = {}
    made: Counter[Kind] = Counter()
    for errors in attempts:
        made.update(kinds_of(errors))
        for error in errors:
            alike.setdefault((error.error_code, pointers.pattern(error.field_path)), []).append(error)
    found = [MistakePattern(kind[1], tuple(errors), made[kind]) for kind, errors in alike.items()]
    return tuple(sorted(found, key=lambda one: (-one.first.severity, _says_nothing(one.first), -one.attempts)))


def _says_nothing(error: ValidationError) -> bool:
    """Tell that there are more mistakes than are listed, which says of none what is wrong, from what does."""
    return error.error_code is ErrorCode.OBJECT_SCHEMA_VIOLATION and not error.field_path and not error.keyword
