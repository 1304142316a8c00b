"""Take a schema in as a JSON document: plain, small, shallow, and a copy that nobody else can change."""

from __future__ import annotations

import json
import math
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.invalid_schema import InvalidSchema, SchemaFault

MAX_BYTES = 128 * 1024  # the largest of 1,458 published tools has 15 kB
MAX_DEPTH = 64  # containers inside one another; published tools stay below 20
MAX_NODES = 5_000  # values of any kind; published tools stay below 1,000
MAX_INTEGER_BITS = 1_024  # what a double can hold: RFC 8259 promises no more between systems

Trail = tuple["Trail", str | int] | None  # a path that costs one cell per step; None is the root


def read_document(schema: object) -> Schema:
    """Copy a schema as plain JSON; raises InvalidSchema when it is none, or too large to be handled safely."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        reason = f"A schema is an object, true or false, not {_describe(schema)}."
        raise InvalidSchema("", reason, SchemaFault.NOT_A_SCHEMA)
    try:
        _inspect(schema)
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except InvalidSchema:
        raise
    except Exception as error:  # subclasses of dict and list run code of their own here
        raise InvalidSchema("", "Give the schema as plain JSON values.", SchemaFault.NOT_JSON) from error
    if len(text.encode()) > MAX_BYTES:
        raise _too_large()
    document: dict[str, Any] = json.loads(text)
    return document


def pointer_of(trail: Trail) -> str:
    """Write a trail as a JSON Pointer."""
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return pointers.from_tokens(reversed(steps))


def _inspect(schema: dict[Any, Any]) -> None:
    """Visit every value, level by level: no recursion, and nothing is visited beyond the limits."""
    level: list[tuple[Trail, Any]] = [(None, schema)]
    nodes, characters = 1, 0
    for _ in range(MAX_DEPTH):
        below: list[tuple[Trail, Any]] = []
        for trail, container in level:
            nodes += len(container)
            if nodes > MAX_NODES:
                reason = f"A schema has at most {MAX_NODES:,} values; split it, or shorten its lists."
                raise InvalidSchema(pointer_of(trail), reason, SchemaFault.TOO_MANY_NODES)
            for step, value in _members(container, trail):
                characters += len(step) if isinstance(step, str) else 0
                if isinstance(value, str):
                    characters += len(value)
                if characters > MAX_BYTES:
                    raise _too_large()
                if isinstance(value, dict | list):
                    below.append(((trail, step), value))
                else:
                    _inspect_scalar(value, (trail, step))
        if not below:
            return
        level = below
    reason = f"A schema nests at most {MAX_DEPTH} levels deep; flatten it, or move parts to `$defs`."
    raise InvalidSchema(pointer_of(level[0][0]), reason, SchemaFault.TOO_DEEP)


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
