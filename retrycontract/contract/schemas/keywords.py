"""Where a JSON Schema holds subschemas, and which of them apply to the same place of the instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# One table for all drafts: a keyword that a draft lacks is harmless to look into.
MAPS = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)  # fmt: skip
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})  # `items` was a list up to 2019-09
SINGLE = frozenset(
    {
        "not", "if", "then", "else", "items", "contains", "additionalItems", "unevaluatedItems",
        "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
    }
)  # fmt: skip
IN_PLACE = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)  # fmt: skip
# Definitions apply only where something refers to them, and no engine asserts contentSchema.
INERT = frozenset({"$defs", "definitions", "contentSchema"})
UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[str, str | int | None, dict[str, Any]]]:
    """Yield keyword, member (name, index or None) and subschema; boolean subschemas hold nothing and are left out."""
    for keyword, value in schema.items():
        if isinstance(value, dict):
            if keyword in MAPS:
                for name, child in value.items():
                    if isinstance(child, dict):
                        yield keyword, name, child
            elif keyword in SINGLE:
                yield keyword, None, value
        elif isinstance(value, list) and keyword in LISTS:
            for index, child in enumerate(value):
                if isinstance(child, dict):
                    yield keyword, index, child
