"""What the metaschemas say of a schema, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import jsonschema_rs
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # carries no type hints

from retrycontract.contract import pointers
from retrycontract.contract.json_types import Schema, type_name
from retrycontract.contract.schemas.drafts import Draft
from retrycontract.contract.schemas.engine_paths import EnginePaths
from retrycontract.contract.schemas.invalid_schema import InvalidSchema, SchemaFault, excerpt

MAX_FAULTS = 500  # looked at to choose one: thousands of faults of one kind cost time and tell no more


def check_metaschema(schema: Schema, draft: Draft, *, at: str = pointers.ROOT) -> None:
    """Check a schema against its draft; raises InvalidSchema at the first of the deepest faults.

    The engine does it in linear time. jsonschema's `check_schema` compares the items of a unique list pairwise,
    which hostile lists turn into seconds.
    """
    validator = _metaschema(draft)
    if validator.is_valid(schema):
        return
    path, fault = _first(schema, _deepest(islice(validator.iter_errors(schema), MAX_FAULTS)))
    reason = _reason(fault, path[-1] if path else "", draft)
    raise InvalidSchema(at + pointers.from_tokens(path), reason, SchemaFault.METASCHEMA)


@cache
def _metaschema(draft: Draft) -> jsonschema_rs.Validator:
    return draft.engine(REGISTRY.contents(draft.uri), offline=True, validate_formats=False)


def _deepest(errors: Any) -> Iterator[Any]:
    """Yield the errors that say most: of a union, those that lie deeper inside than the union itself."""
    for error in errors:
        depth = len(error.instance_path)
        inner = [each for each in _deepest(_branches(error.kind)) if len(each.instance_path) > depth]
        yield from inner or [error]


def _branches(kind: Any) -> list[Any]:
    return [each for branch in getattr(kind, "context", ()) for each in branch]


def _first(schema: Any, faults: Iterable[Any]) -> tuple[list[str | int], Any]:
    """Choose the fault that stands first in the document, and give its path."""
    positions: dict[int, dict[str, int]] = {}  # of the names in each object, counted once

    def position(path: list[str | int]) -> list[int]:
        found, place = [], schema
        for step in path:
            if isinstance(step, int):
                found.append(step)
            else:
                if id(place) not in positions:
                    positions[id(place)] = {name: index for index, name in enumerate(place)}
                found.append(positions[id(place)][step])
            place = place[step]
        return found

    paths = EnginePaths(schema)
    located = ((paths.true_path(fault), fault) for fault in faults)
    return min(located, key=lambda item: position(item[0]))


def _reason(fault: Any, name: str | int, draft: Draft) -> str:
    """Say what the metaschema wants here; values of the schema are quoted in short only."""
    kind, value = fault.kind, fault.instance
    if name in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        return f"`{name}` is a number, the bound itself; only draft 4 wrote true beside the other bound."
    if name == "required" and isinstance(value, bool):
        return "`required` is a list of names; put it on the object that holds the field, not on the field."
    if name == "type" and kind.name == "anyOf":
        shown = f"'{excerpt(value)}'" if isinstance(value, str) else _a(type_name(value))
        return f"{shown} is not a type; use {_TYPES}, or a list of different ones."
    subject = f"Item {name}" if isinstance(name, int) else f"`{excerpt(name)}`" if name else "The schema"
    wanted = _wanted(kind)
    if wanted:
        return f"{subject} must be {wanted}, not {_a(type_name(value))}."
    clause = _CLAUSES.get(kind.name)
    return f"{subject} {clause(kind, draft) if clause else f'breaks a rule of draft {draft.name}'}."


_TYPES = "array, boolean, integer, null, number, object or string"
_CLAUSES: dict[str, Callable[[Any, Draft], str]] = {
    "minimum": lambda kind, _: f"must be at least {kind.limit}",
    "exclusiveMinimum": lambda kind, _: f"must be greater than {kind.limit}",
    "minItems": lambda _kind, _: "must not be empty",
    "uniqueItems": lambda _kind, _: "must not name anything twice",
    "required": lambda kind, draft: f"lacks `{kind.property}`, which draft {draft.name} asks for here",
    "pattern": lambda _, draft: f"has not the form that draft {draft.name} asks for",
}


def _wanted(kind: Any) -> str:
    """List the types that would do, for a fault of type alone."""
    kinds = [each.kind for each in _branches(kind)] or [kind]
    if any(each.name != "type" for each in kinds):
        return ""
    return " or ".join(_a(name) for name in sorted({name for each in kinds for name in each.types}))


def _a(name: str) -> str:
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
