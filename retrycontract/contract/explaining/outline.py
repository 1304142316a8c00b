"""List the names that are missing without the engine, whose every error holds a copy of the whole object.

Six hundred names that are missing beside a megabyte of values would be six hundred copies of that megabyte. So the
engine that explains is given the schema without the `required` of its plain objects: those that nothing but
`properties` and `items` lead to. Which names these miss is looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.graph import REFERENCES

DEFINITIONS = ("#/$defs/", "#/definitions/")  # a reference elsewhere may lead to a plain object, too


@dataclass(frozen=True, slots=True)
class Required:
    """Say which name is missing, as the engine does."""

    property: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Report a missing name in the form of the engine's errors."""

    kind: Required
    instance: dict[str, Any]
    instance_path: list[str | int]
    evaluation_path: list[str | int]

    @property
    def schema_path(self) -> list[str | int]:
        """Give the keyword's place, which no reference led to."""
        return self.evaluation_path


@dataclass(frozen=True, slots=True)
class Outline:
    """Hold what a plain object or array asks for, and what the values within it ask for."""

    path: tuple[str | int, ...]
    required: tuple[str, ...] = ()
    members: tuple[tuple[str, Outline], ...] = ()
    items: Outline | None = None

    @property
    def asks(self) -> bool:
        """Tell whether anything can be missing here."""
        return bool(self.required or self.members or self.items)

    def missing(self, value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Missing]:
        """Yield what is missing in a value; no deeper than the schema, however deep the value is."""
        if isinstance(value, dict):
            for name in self.required:
                if name not in value:
                    yield Missing(Required(name), value, list(path), [*self.path, "required"])
            for name, outline in self.members:
                if name in value:
                    yield from outline.missing(value[name], (*path, name))
        elif isinstance(value, list | tuple) and self.items:
            for position, item in enumerate(value):
                yield from self.items.missing(item, (*path, position))


NOTHING = Outline(())


def split(schema: Schema) -> tuple[Schema, Outline]:
    """Divide a schema in one without the `required` of plain objects, and their outline; the schema stays as it is."""
    return _split(schema, ()) if _refers_to_definitions_only(schema) else (schema, NOTHING)


def _split(schema: Any, path: tuple[str | int, ...]) -> tuple[Any, Outline]:
    # Beside a reference older drafts ignore everything else.
    if not isinstance(schema, dict) or any(keyword in schema for keyword in REFERENCES):
        return schema, Outline(path)
    rest, members, items = dict(schema), [], None
    if isinstance(properties := schema.get("properties"), dict):
        halves = {name: _split(member, (*path, "properties", name)) for name, member in properties.items()}
        rest["properties"] = {name: half for name, (half, _) in halves.items()}
        members = [(name, outline) for name, (_, outline) in halves.items() if outline.asks]
    if isinstance(schema.get("items"), dict):
        rest["items"], below = _split(schema["items"], (*path, "items"))
        items = below if below.asks else None
    required = tuple(rest.pop("required")) if isinstance(schema.get("required"), list) else ()
    return rest, Outline(path, required, tuple(members), items)


def _refers_to_definitions_only(schema: Any) -> bool:
    """Tell whether no reference, and no name for one, can lead to what `properties` and `items` lead to."""
    pending, root = [schema], schema
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            targets = [node[keyword] for keyword in REFERENCES if isinstance(node.get(keyword), str)]
            named = node is not root and any(isinstance(node.get(keyword), str) for keyword in ("$id", "id"))
            if named or not all(target.startswith(DEFINITIONS) for target in targets):
                return False
            pending.extend(node.values())
    return True
