"""Names for the shapes of JSON and JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    pending, seen = [value], 0
    while pending and seen <= nodes:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
    return seen <= nodes


def count_nodes(value: Any) -> int:
    """Count the values that a value holds, itself included."""
    pending, seen = [value], 0
    while pending:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
    return seen
