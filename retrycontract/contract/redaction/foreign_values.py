"""Turn what JSON has no word for into text, without calling code of the value's class."""

from __future__ import annotations

from typing import Any

_JSON_KINDS = frozenset({str, int, float, bool, dict, list, type(None)})
_CONTAINERS = (dict, list, tuple, set, frozenset)
# Python refuses to print whole numbers of more than 4,300 digits.
MOST_BITS = 10_000


def as_json(value: Any) -> Any:
    """Give a value that JSON knows, or a container, as it is, and anything else as text."""
    kind = type(value)
    if kind in _JSON_KINDS or issubclass(kind, (*_CONTAINERS, int, float)):
        return value
    return plain_text(value)


def items_of(value: Any) -> list[Any]:
    """List the items of a list, tuple or set as its base class gives them."""
    kind = type(value)
    base: Any = next(base for base in (list, tuple, set, frozenset) if issubclass(kind, base))
    return list(base.__iter__(value))


def plain_text(value: Any) -> str:
    """Write a key or a value as text; what is neither text, bytes nor a number only by its class's name."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if issubclass(kind, int):
        number = int.__add__(value, 0)
        return str(number) if number.bit_length() < MOST_BITS else f"<{kind.__name__}>"
    if issubclass(kind, float):
        return float.__repr__(value)
    return f"<{kind.__name__}>"
