"""How a tool takes the data of an extraction: under one name, with the data's own schema where that can stand there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrycontract.contract.json_types import Schema

DATA = "data"
SHARED = ("$defs", "definitions")  # where a schema keeps what it refers to
FREE: Schema = {"description": "The data, by the JSON Schema that the task gives."}


def data_input(schema: Schema) -> dict[str, Any]:
    """Write the schema of a tool's arguments that takes the data."""
    within, shared = _embedded(schema)
    return {"type": "object", "properties": {DATA: within}, "required": [DATA], **shared}


def _embedded(schema: Schema) -> tuple[Schema, dict[str, Any]]:
    """Split what a schema keeps for reference off: references begin at the document's root, which is another one now.

    A schema that refers to anything else, or has an identity of its own, is told in words instead.
    """
    if not isinstance(schema, dict):
        return schema, {}
    if not all(_travels(key, value) for key, value in _members(schema)):
        return FREE, {}
    shared = {name: schema[name] for name in SHARED if name in schema}
    # `$schema` belongs to the root of a document, which the data's schema no longer is.
    return {name: value for name, value in schema.items() if name not in (*SHARED, "$schema")}, shared


def _travels(key: str, value: Any) -> bool:
    if key == "$ref":
        return isinstance(value, str) and value.startswith(tuple(f"#/{name}/" for name in SHARED))
    return key not in ("$id", "$dynamicRef", "$recursiveRef")


def _members(schema: Any) -> Iterator[tuple[str, Any]]:
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield from item.items()
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
