"""What an agent changed between two attempts: by place, with both values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from retrycontract.contract import pointers


class ChangeKind(StrEnum):
    """Name what happened to a place."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """Hold one place that differs; what is not there on one side is None on it, and `kind` says so."""

    pointer: str
    kind: ChangeKind
    before: Any = None
    after: Any = None


def compare(before: Any, after: Any) -> tuple[Change, ...]:
    """List the places where two JSON documents differ, the deepest that tell it, in the order of the documents.

    Items of arrays are compared by position.
    """
    return tuple(_compare(before, after, pointers.ROOT))


def _compare(before: Any, after: Any, pointer: str) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(before, after, pointer)
    elif not _is_same(before, after):
        yield Change(pointer, ChangeKind.CHANGED, before, after)


def _members(before: dict[str, Any], after: dict[str, Any], pointer: str) -> Iterator[Change]:
    for key, value in before.items():
        place = pointers.join(pointer, key)
        if key in after:
            yield from _compare(value, after[key], place)
        else:
            yield Change(place, ChangeKind.REMOVED, before=value)
    for key in after:
        if key not in before:
            yield Change(pointers.join(pointer, key), ChangeKind.ADDED, after=after[key])


def _items(before: list[Any], after: list[Any], pointer: str) -> Iterator[Change]:
    shared = min(len(before), len(after))
    for index in range(shared):
        yield from _compare(before[index], after[index], pointers.join(pointer, index))
    for index in range(shared, len(before)):
        yield Change(pointers.join(pointer, index), ChangeKind.REMOVED, before=before[index])
    for index in range(shared, len(after)):
        yield Change(pointers.join(pointer, index), ChangeKind.ADDED, after=after[index])


def _is_same(before: Any, after: Any) -> bool:
    """Compare as JSON does: true is not 1, and 1 is 1.0."""
    return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)
