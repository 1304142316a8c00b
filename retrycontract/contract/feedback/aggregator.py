"""Bring many errors into the order and the number that a model can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrycontract.contract import pointers
from retrycontract.contract.errors import ValidationError, whole_errors


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Hold one error and how many like it stand at other items of the same arrays."""

    error: ValidationError
    like: int = 0

    @property
    def pattern(self) -> str:
        """Give the pointer with every index as `*`: '/items/*/sku'."""
        return pointers.pattern(self.error.field_path)


class ErrorAggregator:
    """Deduplicate, sort and limit errors; the rest is counted, not lost."""

    def __init__(self, max_errors: int = 10) -> None:
        self._max_errors = max_errors

    def aggregate(self, errors: Iterable[ValidationError] | None) -> tuple[ValidationError, ...]:
        """Return at most `max_errors` errors, worst first, then by pointer; none for None."""
        return tuple(group.error for group in self.group(errors)[0])

    def group(self, errors: Iterable[ValidationError] | None) -> tuple[tuple[ErrorGroup, ...], int]:
        """Return the groups to show and how many groups are left out.

        Like errors over array items are folded into one group only when there are too many to show.
        """
        ordered = in_order(whole_errors(errors))
        fits = len(ordered) <= self._max_errors
        groups = tuple(ErrorGroup(error) for error in ordered) if fits else fold(ordered)
        return groups[: self._max_errors], max(0, len(groups) - self._max_errors)


def in_order(errors: Iterable[ValidationError]) -> tuple[ValidationError, ...]:
    """Drop repetitions (same pointer, code and keyword) and sort: severity first, then pointer.

    The first of them stays, unless a later one is worse: a warning must not hide an error.
    """
    unique: dict[tuple[str, str, str], ValidationError] = {}
    for error in errors:
        key = (error.field_path, error.error_code, error.keyword)
        if key not in unique or error.severity > unique[key].severity:
            unique[key] = error
    if len(unique) < 2:
        return tuple(unique.values())
    return tuple(sorted(unique.values(), key=_sort_key))


def fold(errors: Sequence[ValidationError]) -> tuple[ErrorGroup, ...]:
    """Keep the first of the errors that differ in array indices only, and count the others."""
    counts: dict[tuple[str, str, str], int] = {}
    first: dict[tuple[str, str, str], ValidationError] = {}
    for error in errors:
        key = (pointers.pattern(error.field_path), error.error_code, error.keyword)
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, error)
    return tuple(ErrorGroup(error, like=counts[key] - 1) for key, error in first.items())


def _sort_key(error: ValidationError) -> tuple[int, tuple[tuple[int, int, str], ...], str]:
    return -error.severity, pointers.sort_key(error.field_path), error.error_code
