"""The drafts of JSON Schema that are understood, and what their metaschemas say of a schema, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import jsonschema_rs

from retrycontract.contract import pointers
from retrycontract.contract.json_types import Schema, type_name
from retrycontract.contract.schemas.document import InvalidSchema, SchemaFault, excerpt
from retrycontract.contract.schemas.engine_errors import EnginePaths


@dataclass(frozen=True, slots=True)
class Draft:
    """Hold one draft: its name, the address of its metaschema and the engine's validator for it."""

    name: str
    uri: str
    engine: type[jsonschema_rs.Validator]
    id_keyword: str = "$id"
    ref_hides_siblings: bool = False
    checks_content: bool = False  # since 2019-09 encodings and media types are notes; draft 4 has none


DRAFT_2020_12 = Draft("2020-12", "https://json-schema.org/draft/2020-12/schema", jsonschema_rs.Draft202012Validator)
DRAFT_2019_09 = Draft("2019-09", "https://json-schema.org/draft/2019-09/schema", jsonschema_rs.Draft201909Validator)
DRAFTS = (
    DRAFT_2020_12,
    DRAFT_2019_09,
    Draft("7", "http://json-schema.org/draft-07/schema", jsonschema_rs.Draft7Validator, "$id", True, True),
    Draft("6", "http://json-schema.org/draft-06/schema", jsonschema_rs.Draft6Validator, "$id", True, True),
    Draft("4", "http://json-schema.org/draft-04/schema", jsonschema_rs.Draft4Validator, "id", True),
)


def draft_of(schema: Schema) -> Draft:
    """Tell the draft that `$schema` names, 2020-12 without one; raises InvalidSchema for any other."""
    uri = schema.get("$schema", DRAFT_2020_12.uri) if isinstance(schema, dict) else DRAFT_2020_12.uri
    draft = _BY_ADDRESS.get(_address(uri)) if isinstance(uri, str) else None
    if draft is None:
        shown = f"'{excerpt(uri)}'" if isinstance(uri, str) else type_name(uri)
        known = ", ".join(each.name for each in DRAFTS)
        reason = f"{shown} is no known draft; use '{DRAFT_2020_12.uri}' or leave it out (known are {known})."
        raise InvalidSchema("/$schema", reason, SchemaFault.UNKNOWN_DRAFT)
    return draft


def _address(uri: str) -> str:
    """Drop what people vary: the scheme and an empty fragment."""
    return uri.removesuffix("#").removeprefix("https:").removeprefix("http:")


_BY_ADDRESS = {_address(draft.uri): draft for draft in DRAFTS}


MAX_FAULTS = 500  # looked at to choose one: thousands of faults of one kind cost time and tell no more


def check_metaschema(schema: Schema, draft: Draft, *, at: str = pointers.ROOT) -> None:
    """Check a schema against its draft; raises InvalidSchema at the first of the deepest faults.

    The engine does it in linear time. jsonschema's `check_schema` compares the items of a unique list pairwise,
    which hostile lists turn into seconds.
    """
    validator = _metaschema(draft)
    if validator.is_valid(schema):
        return
    positions: dict[int, dict[str, int]] = {}  # of the names in each object, counted once

    def position(path: list[str | int]) -> list[int]:
        found: list[int] = []
        place: Any = schema
        for step in path:
            if isinstance(step, int):
                found.append(step)
            else:
                if id(place) not in positions:
                    positions[id(place)] = {name: index for index, name in enumerate(place)}
                found.append(positions[id(place)][step])
            place = place[step]
        return found

    paths, faults = EnginePaths(schema), _deepest(islice(validator.iter_errors(schema), MAX_FAULTS))
    # The one that stands first in the document.
    path, fault = min(((paths.true_path(fault), fault) for fault in faults), key=lambda item: position(item[0]))
    reason = _reason(fault, path[-1] if path else "", draft)
    raise InvalidSchema(at + pointers.from_tokens(path), reason, SchemaFault.METASCHEMA)


@cache
def _metaschema(draft: Draft) -> jsonschema_rs.Validator:
    document: Any = {"$ref": draft.uri}  # the engine carries them
    if draft.name == "4":  # of this one it leaves out that `enum` must not be empty
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # carries no type hints

        document = REGISTRY.contents(draft.uri)
    return draft.engine(document, offline=True, validate_formats=False)


def _deepest(errors: Any) -> Iterator[Any]:
    """Yield the errors that say most: of a union, those that lie deeper inside than the union itself."""
    for error in errors:
        depth = len(error.instance_path)
        inner = [each for each in _deepest(_branches(error.kind)) if len(each.instance_path) > depth]
        yield from inner or [error]


def _branches(kind: Any) -> list[Any]:
    return [each for branch in getattr(kind, "context", ()) for each in branch]


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
    kinds = [each.kind for each in _branches(kind)] or [kind]
    if all(each.name == "type" for each in kinds):  # of type alone: the types that would do are listed
        wanted = " or ".join(_a(name) for name in sorted({name for each in kinds for name in each.types}))
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


def _a(name: str) -> str:
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
