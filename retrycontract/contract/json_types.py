"""Names for the shapes of JSON and JSON Schema, and how large values are counted and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

HOLDERS: Final = (dict, list, tuple)
SIZED: Final = (dict, list, tuple, str)
PIECE: Final = 1_000  # values that are written at once, in about 0.1 ms
LONG: Final = 100_000  # characters of a text that are written at once
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


def is_of_a_type(value: Any, types: Collection[str]) -> bool:
    """Tell whether a value is of one of the types, as JSON Schema means it: an integer is a number, and so is 1.0."""
    name = type_name(value)
    is_whole = name == "number" and value.is_integer()
    return name in types or (name == "integer" and "number" in types) or (is_whole and "integer" in types)


def mapping(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """Give the object of a name, such as that of `properties`; an empty one where something else stands there."""
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def sequence(holder: dict[str, Any], name: str) -> list[Any]:
    """Give the array of a name, such as that of `required`; an empty one where something else stands there."""
    found = holder.get(name)
    return found if isinstance(found, list) else []


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
    yield 1
    for holders in holders_by_level(value):
        yield sum(map(len, holders))


def holders_by_level(value: Any) -> Iterator[list[Any]]:
    """Yield the objects and arrays at each depth, before those below are looked for."""
    # Level by level, because a comprehension looks at a value in a third of the time that a stack takes.
    holders = [value] if isinstance(value, HOLDERS) else []
    while holders:
        yield holders
        below = (holder.values() if isinstance(holder, dict) else holder for holder in holders)
        holders = [each for members in below for each in members if isinstance(each, HOLDERS)]


def write_json(value: Any, **options: Any) -> str:
    """Write JSON as `json.dumps` does, which keeps every other thread waiting until all is written; this does not.

    `options` are those of `json.dumps`, but for `indent`.
    """
    return "".join(_written(value, options)) if _takes_long(value) else json.dumps(value, **options)


def _written(value: Any, options: dict[str, Any]) -> Iterator[str]:
    """Yield the pieces of what takes long to write."""
    if isinstance(value, str):
        yield '"'
        for at in range(0, len(value), LONG):
            yield json.dumps(value[at : at + LONG], **options)[1:-1]
        yield '"'
    elif not isinstance(value, dict):
        yield from _enclosed("[", list(value), list, options)
    elif all(isinstance(name, str) for name in value):
        members = sorted(value.items()) if options.get("sort_keys") else list(value.items())
        yield from _enclosed("{", members, dict, options)
    else:
        yield json.dumps(value, **options)  # other names become texts there, and may be the same


def _enclosed(begin: str, members: list[Any], holder: type[Any], options: dict[str, Any]) -> Iterator[str]:
    between = begin
    for at in range(0, len(members), MEMBERS):
        for part in _parts(members[at : at + MEMBERS], holder):
            yield between
            between, after_name = options.get("separators") or (", ", ": ")
            if not _takes_long(part):
                yield json.dumps(part, **options)[1:-1]
            elif holder is list:
                yield from _written(part[0], options)
            else:
                ((name, each),) = part.items()
                yield from _written(name, options) if _takes_long(name) else [json.dumps(name, **options)]
                yield after_name
                yield from _written(each, options) if _takes_long(each) else [json.dumps(each, **options)]
    yield "]" if holder is list else "}"


def _parts(members: list[Any], holder: type[Any]) -> Iterator[Any]:
    """Yield holders of what is written at once, and of single members that take long."""
    whole = holder(members)
    if len(members) == 1 or not _takes_long(whole):
        yield whole
        return
    half = len(members) // 2
    yield from _parts(members[:half], holder)
    yield from _parts(members[half:], holder)


def _takes_long(value: Any) -> bool:
    """Tell whether a value holds a long text or name, or more than `PIECE` values; looks no further than that."""
    seen, sized = 0, [value] if isinstance(value, SIZED) else []
    while sized:
        if max(map(len, sized)) > LONG:
            return True
        objects = [each for each in sized if isinstance(each, dict)]
        lists = [each for each in sized if isinstance(each, list | tuple)]
        seen += sum(map(len, objects)) + sum(map(len, lists))
        if seen > PIECE or any(len(str(name)) > LONG for each in objects for name in each):
            return True
        sized = [each for holder in objects for each in holder.values() if isinstance(each, SIZED)]
        sized += [each for holder in lists for each in holder if isinstance(each, SIZED)]
    return False


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
