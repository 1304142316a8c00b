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
