"""Take a schema in as a JSON document that is plain, small and shallow, and say what is wrong with one that is not."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.json_types import Schema

EXCERPT = 40  # characters of a schema that a message may quote
MAX_REASON = 200  # characters of what a reader of JSON says, which may quote a key
POINTER_SHOWN = 200  # keys may be as long as the schema; the message stays readable


class SchemaFault(StrEnum):
    """Name one kind of fault; the value is stable, programs may branch on it."""

    NOT_A_SCHEMA = "not-a-schema"
    NOT_JSON = "not-json"
    TOO_LARGE = "too-large"
    TOO_DEEP = "too-deep"
    TOO_MANY_NODES = "too-many-nodes"
    MISSPELT = "misspelt"
    UNKNOWN_DRAFT = "unknown-draft"
    METASCHEMA = "metaschema"
    PATTERN = "pattern"
    REMOTE_REF = "remote-ref"
    UNRESOLVED_REF = "unresolved-ref"
    REF_CYCLE = "ref-cycle"
    EXPANSION = "expansion"
    UNCOMPILABLE = "uncompilable"


class InvalidSchema(WrongInputError):  # noqa: N818 - public name; it says what is wrong with what
    """Raised at registration for a schema that cannot be used: the developer's mistake, never the model's.

    `pointer` is the JSON Pointer to the fault inside the schema, `reason` a sentence that says what is wrong and
    what to do, `code` one of SchemaFault.
    """

    def __init__(self, pointer: str, reason: str, code: SchemaFault) -> None:
        # All three are arguments of the exception, so that it survives pickling.
        super().__init__(pointer, reason, code)
        self.pointer, self.reason, self.code = pointer, reason, code

    def __str__(self) -> str:
        return told_at(self.pointer, self.reason)


class DearSchema(InvalidSchema):
    """Raised for a schema that may be used only where its work can be cut off: in a child process."""


@dataclass(frozen=True, slots=True)
class SchemaWarning:
    """Hold what a developer should know of an admitted schema: where, and a sentence."""

    pointer: str
    reason: str

    def __str__(self) -> str:
        return told_at(self.pointer, self.reason)


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """Shorten a text of a schema to a printable excerpt without secrets."""
    from retrycontract.contract.schemas.excerpts import (
        printable,  # with what redacts it would double the client's import
    )

    return printable(text, limit)


def shown_place(pointer: str) -> str:
    """Write a place of a schema, shortened and without secrets: a name may be one, or a pattern that holds one."""
    from retrycontract.contract.schemas.excerpts import printable_place

    return printable_place(pointer, POINTER_SHOWN)


def told_at(pointer: str, reason: str) -> str:
    """Write a place and what is said of it."""
    return f"{shown_place(pointer) or '(root)'}: {reason}"


MAX_BYTES = 128 * 1024  # the largest of 1,458 published tools has 15 kB
MAX_DEPTH = 64  # containers inside one another; published tools stay below 20
MAX_NODES = 5_000  # values of any kind; published tools stay below 1,000
MAX_DATA = 65_536  # values that are no schemas, in lists of what is allowed, where a child process judges
DATA = ("enum", "const", "default", "examples")
NAMING = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
MAX_INTEGER_BITS = 1_024  # what a double can hold: RFC 8259 promises no more between systems

Trail = tuple["Trail", str | int] | None  # a path that costs one cell per step; None is the root


def read_document(schema: object, *, is_bounded: bool = True) -> Schema:
    """Copy a schema as plain JSON; raises InvalidSchema when it is none, or too large to be handled safely.

    Raises DearSchema for long lists of allowed values, unless the work that they cause `is_bounded`.
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        reason = f"A schema is an object, true or false, not {_describe(schema)}."
        raise InvalidSchema("", reason, SchemaFault.NOT_A_SCHEMA)
    # Inspected before it is written: `json.dumps` recurses, and would write a schema of any size.
    try:
        _inspect(schema, MAX_DATA if is_bounded else MAX_NODES)
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except InvalidSchema:
        raise
    except Exception as error:  # subclasses of dict and list run code of their own here
        raise InvalidSchema("", "Give the schema as plain JSON values.", SchemaFault.NOT_JSON) from error
    if len(text.encode()) > MAX_BYTES:
        raise _too_large()
    # Read back, so that it is a tree of our own: the caller may change theirs later, and Python may share parts of it.
    document: dict[str, Any] = json.loads(text)
    return document


def pointer_of(trail: Trail) -> str:
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return pointers.from_tokens(reversed(steps))


def _inspect(schema: dict[Any, Any], most_data: int) -> None:
    """Visit every value, level by level: no recursion, and nothing is visited beyond the limits."""
    level: list[tuple[Trail, Any, bool]] = [(None, schema, False)]
    nodes, data, characters = 1, 0, 0
    for _ in range(MAX_DEPTH):
        below: list[tuple[Trail, Any, bool]] = []
        for trail, container, is_data in level:
            nodes += 0 if is_data else len(container)
            data += len(container) if is_data else 0
            if nodes > MAX_NODES or data > MAX_DATA:
                raise too_many_values(trail)
            if nodes + data > most_data:
                raise too_many_values(trail, DearSchema)
            for step, value in _members(container, trail):
                characters += len(step) if isinstance(step, str) else 0
                if isinstance(value, str):
                    characters += len(value)
                if characters > MAX_BYTES:
                    raise _too_large()
                if isinstance(value, dict | list):
                    # A keyword's value may be data; a member of `properties` may have the same name.
                    holds_data = step in DATA and (trail is None or trail[1] not in NAMING)
                    below.append(((trail, step), value, is_data or holds_data))
                else:
                    _inspect_scalar(value, (trail, step))
        if not below:
            return
        level = below
    reason = f"A schema nests at most {MAX_DEPTH} levels deep; flatten it, or move parts to `$defs`."
    raise InvalidSchema(pointer_of(level[0][0]), reason, SchemaFault.TOO_DEEP)


def too_many_values(trail: Trail, fault: type[InvalidSchema] = InvalidSchema) -> InvalidSchema:
    """Give the fault of a schema with more values than one may have, or than are cheap to judge by."""
    reason = f"A schema has at most {MAX_NODES:,} values; split it, or shorten its lists."
    if fault is not DearSchema:
        reason = f"A schema has at most {MAX_NODES:,} values, and {MAX_DATA:,} in its lists of allowed ones; split it."
    return fault(pointer_of(trail), reason, SchemaFault.TOO_MANY_NODES)


def _members(container: Any, trail: Trail) -> list[tuple[str | int, Any]]:
    if isinstance(container, list):
        return list(enumerate(container))
    members: list[tuple[Any, Any]] = list(dict.items(container))
    for key, _ in members:
        if not isinstance(key, str):
            reason = f"Names in a schema are strings; one here is {_describe(key)}."
            raise InvalidSchema(pointer_of(trail), reason, SchemaFault.NOT_JSON)
        # The pointer names the object: a pointer that holds half a character could not be sent on.
        _inspect_text(key, trail)
    return members


def _inspect_scalar(value: object, trail: Trail) -> None:
    if isinstance(value, str):
        _inspect_text(value, trail)
    elif value is None or isinstance(value, bool):
        return
    elif isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise InvalidSchema(pointer_of(trail), "This number is too large.", SchemaFault.NOT_JSON)
    elif isinstance(value, float):
        if not math.isfinite(value):
            reason = "NaN and Infinity are not JSON; give a finite number, or leave the bound out."
            raise InvalidSchema(pointer_of(trail), reason, SchemaFault.NOT_JSON)
    else:
        reason = f"A schema holds JSON values only, not {_describe(value)}; use a list, text, number or null."
        raise InvalidSchema(pointer_of(trail), reason, SchemaFault.NOT_JSON)


def _inspect_text(text: str, trail: Trail) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            reason = "This text holds half of a surrogate pair, which no UTF-8 text can carry; remove it."
            raise InvalidSchema(pointer_of(trail), reason, SchemaFault.NOT_JSON) from error


def _describe(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return "a text (parse it first)"
        case list():
            return "a list"
        case int() | float():
            return "a number"
        case type():
            return "a class (give its JSON Schema)"
        case _:
            return f"a Python {type(value).__name__[:40]}"


def _too_large() -> InvalidSchema:
    reason = f"A schema has at most {MAX_BYTES // 1024} kB as JSON; shorten its descriptions, or split it."
    return InvalidSchema("", reason, SchemaFault.TOO_LARGE)
