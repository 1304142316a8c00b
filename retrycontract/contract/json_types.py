"""Names for the shapes of JSON and JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

HOLDERS: Final = (dict, list, tuple)
Schema = dict[str, Any] | bool
Resolve = Callable[[str], Schema | None]


def type_name(value: Any) -> str:
    """Name the JSON type of a parsed value, in JSON Schema's words."""
    match value:
        case None:
            return "null"
        # Before `int`, of which `bool` is a subclass.
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def has_at_most(nodes: int, value: Any) -> bool:
    """Tell whether a value holds no more than so many values, itself included; looks no further than that."""
    seen = 0
    for level in _levels(value):
        seen += level
        if seen > nodes:
            return False
    return True


def count_nodes(value: Any) -> int:
    """Count the values that a value holds, itself included."""
    return sum(_levels(value))


def _levels(value: Any) -> Iterator[int]:
    """Yield how many values stand at each depth, before they are looked at."""
    # Level by level, because a comprehension looks at a value in a third of the time that a stack takes.
    yield 1
    holders = [value] if isinstance(value, HOLDERS) else []
    while holders:
        yield sum(map(len, holders))
        below = (holder.values() if isinstance(holder, dict) else holder for holder in holders)
        holders = [each for members in below for each in members if isinstance(each, HOLDERS)]
