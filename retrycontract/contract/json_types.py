"""Names for the shapes of JSON and JSON Schema, and how large values are counted and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

HOLDERS: Final = (dict, list, tuple)
PIECE: Final = 1_000  # values that are written at once, in about 0.1 ms
MEMBERS: Final = 100  # of one holder that are written at once, where each may have as many
STORED: Final[dict[str, Any]] = {"ensure_ascii": True, "allow_nan": False, "separators": (",", ":")}
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


def write_json(value: Any, **options: Any) -> str:
    """Write JSON as `json.dumps` does, which keeps every other thread waiting until all is written; this does not.

    `options` are those of `json.dumps`, but for `indent`.
    """
    if not isinstance(value, HOLDERS) or has_at_most(PIECE, value):
        return json.dumps(value, **options)
    if isinstance(value, dict) and not all(type(name) is str for name in value):
        return json.dumps(value, **options)  # other names become texts there, and may be the same
    between, after_name = options.get("separators") or (", ", ": ")
    written, waiting = list[str](), list[Any]()

    def write_waiting() -> None:
        if waiting:
            written.append(json.dumps(dict(waiting) if isinstance(value, dict) else waiting, **options)[1:-1])
            waiting.clear()

    if isinstance(value, dict):
        members: list[Any] = sorted(value.items()) if options.get("sort_keys") else list(value.items())
    else:
        members = list(value)
    for member in members:
        name, each = member if isinstance(value, dict) else ("", member)
        if isinstance(each, HOLDERS) and not has_at_most(PIECE, each):
            write_waiting()
            label = json.dumps(name, **options) + after_name if isinstance(value, dict) else ""
            written.append(label + write_json(each, **options))
            continue
        waiting.append(member)
        if len(waiting) >= MEMBERS:
            write_waiting()
    write_waiting()
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}{between.join(written)}{end}"


def text_of(output: Any) -> str:
    """Write an output as one text, the same for the same value."""
    if isinstance(output, str):
        return output
    return write_json(output, sort_keys=True, separators=(",", ":"), default=str)


@dataclass(frozen=True, slots=True)
class WrittenJSON:
    """Hold a JSON value as its text, for who only passes it on: while it is read, every other thread waits."""

    text: str

    def read(self) -> Any:
        """Read the value."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class WrittenOutput(WrittenJSON):
    """Hold what may be kept of an output, as it is stored; `comparable` is `text_of` the output as it came."""

    is_redacted: bool
    comparable: bytes


class WrittenList(list[Any]):
    """Hold a list with its text, as it is stored: of a thousand errors that takes 4 ms, which belong to no transaction.

    Nobody may change it.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.text = write_json(list(self), **STORED)


def read_written(value: Any) -> Any:
    """Read what is held as text; another value is given as it is."""
    return value.read() if isinstance(value, WrittenJSON) else value
