"""Leave out what is unevaluated only because what declares it is refused for another mistake.

The engine takes back what a subschema has evaluated where the subschema fails: with one wrong field of an `allOf`
beside `unevaluatedProperties: false` all of its fields would be unknown, and the model be asked to remove them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from retrycontract.contract.checks.composition import CONDITIONS, SchemaIndex, holder_of, lookup
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.engine_errors import EngineError, Kind, options_of, unevaluated

REST = (Kind.UnevaluatedProperties, Kind.UnevaluatedItems)
OF_ANY_NAME = ("additionalProperties", "unevaluatedProperties")
OF_ITEMS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")
Steps = tuple[str | int, ...]


def settled(errors: list[EngineError], index: SchemaIndex) -> list[EngineError]:
    """Leave out of some errors about one value what will be settled with the others of them."""
    if not any(isinstance(error.kind, REST) for error in errors):
        return errors
    refused = _refused_beside(errors)
    return [each for error in errors for each in _without(error, refused.get(_place(error), {}), index)]


def _place(error: EngineError) -> tuple[Steps, Steps]:
    """Tell which schema, as it was reached, judges which value."""
    return tuple(error.evaluation_path[:-1]), tuple(error.where)


def _refused_beside(errors: list[EngineError]) -> dict[tuple[Steps, Steps], dict[Steps, EngineError]]:
    """Find by place what stands beside `unevaluated…` there and is refused: the keyword and its member."""
    depths = defaultdict[Steps, set[int]](set)
    for error in errors:
        if isinstance(error.kind, REST):
            depths[tuple(error.evaluation_path[:-1])].add(len(error.where))
    found = defaultdict[tuple[Steps, Steps], dict[Steps, EngineError]](dict)
    for error in errors:
        if not isinstance(error.kind, REST):
            path, where = tuple(error.evaluation_path), tuple(error.where)
            for end in range(len(path)):
                for depth in depths.get(path[:end], ()):
                    found[path[:end], where[:depth]].setdefault(path[end : end + 2], error)
    return found


def _without(error: EngineError, refused: dict[Steps, EngineError], index: SchemaIndex) -> Iterator[EngineError]:
    holder = holder_of(index.schema, list(error.schema_path[:-1]), str(error.schema_path[-1]))
    if not isinstance(error.kind, REST) or not refused or not isinstance(holder, dict):
        yield error
        return
    parts = [part for steps, other in refused.items() for part in _parts(holder, steps, other, index)]
    place = index.place(parts)
    if isinstance(error.kind, Kind.UnevaluatedItems):
        if not any(keyword in schema for schema in place.schemas for keyword in OF_ITEMS):
            yield error
    elif not any(keyword in schema for schema in place.schemas for keyword in OF_ANY_NAME):
        names = [str(name) for name in error.kind.unexpected]
        if left := [name for name in names if not place.declares(name)]:
            yield error if left == names else error._replace(kind=unevaluated(left))


def _parts(holder: dict[str, Any], steps: Steps, error: EngineError, index: SchemaIndex) -> Iterable[Schema]:
    """Give the subschemas for the same value that are refused, of alternatives those that may be meant."""
    keyword, member = str(steps[0]), steps[1] if len(steps) > 1 else None
    held = holder.get(keyword)
    match keyword:
        case "anyOf" | "oneOf" if isinstance(held, list):
            depth, branches = len(error.instance_path), error.alternatives()
            others = [
                any(options_of(each.kind) and len(each.instance_path) == depth + 1 for each in branch)
                for branch in branches
            ]
            may_be_told = len(others) == len(held) and not all(others)
            return [part for at, part in enumerate(held) if not (may_be_told and others[at])]
        case "$ref" | "$dynamicRef" | "$recursiveRef" if isinstance(held, str):
            target = index.resolve(held)
            return [] if target is None else [target]
        case "allOf" | "dependentSchemas" | "dependencies":
            part = lookup(held, [] if member is None else [member])
            return [part] if isinstance(part, dict) else []
        case _ if keyword in CONDITIONS and isinstance(held, dict):
            return [held]
    return []
