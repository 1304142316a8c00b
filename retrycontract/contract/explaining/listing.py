"""List what the engine finds wrong with a value; its errors of a large one are split here, since it copies values.

An error holds a copy of what it is about: six hundred names that are missing beside a megabyte of values would be six
hundred copies of that megabyte. So the schema that the engine explains by lacks the `required` of its plain objects,
which are those that nothing but `properties` and `items` lead to, and what they miss is looked up. What else fails
many times over is gathered (`gathering`), and large values are asked about by and by (`parts`). When the engine can
bound its errors, `ErrorLister.errors` is its `iter_errors`, and the rest of this package goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from retrycontract.contract.explaining.gathering import Gathering, gather
from retrycontract.contract.explaining.parts import StepBudget, StepsSpentError, count_compositions
from retrycontract.contract.json_types import Schema, has_at_most
from retrycontract.contract.schemas import engine_errors
from retrycontract.contract.schemas.admission import InvalidSchema, compile_schema
from retrycontract.contract.schemas.engine_errors import EngineError, EnginePaths
from retrycontract.contract.schemas.graph import REFERENCES

MAX_WRITTEN = 100_000  # errors that the engine may have to write before it tells the first: some 5 µs and 1 kB each
MANY_WRITTEN = 5_000  # of more than so many it is asked for a few at a time, which takes longer when there are few
DEFINITIONS = ("#/$defs/", "#/definitions/")  # a reference elsewhere may lead to a plain object, too


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

    def missing(self, value: Any, path: tuple[str | int, ...] = ()) -> Iterator[EngineError]:
        """Yield what is missing in a value; no deeper than the schema, however deep the value is."""
        if isinstance(value, dict):
            for name in self.required:
                if name not in value:
                    where, way = list(path), [*self.path, "required"]
                    yield EngineError(engine_errors.missing(name), value, where, way, way, where)
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


@dataclass(frozen=True, slots=True)
class Explainer:
    """Hold what lists the engine's errors, and what takes those apart that stand for several."""

    validator: Any
    gathering: Gathering = field(default_factory=lambda: Gathering({}))
    is_divided: bool = True  # whether the parts of every composition are asked one by one

    @classmethod
    def of(cls, rest: Schema, whole: Schema, *, by_member: bool = False) -> Explainer:
        """Compile what lists the errors that are not looked up here."""
        gathered, gathering = gather(rest, whole, by_member=by_member)
        count = count_compositions(whole)
        try:
            return cls(compile_schema(gathered), gathering, is_divided=gathering.compositions == count)
        except InvalidSchema:  # a reference leads into what was gathered
            return cls(compile_schema(rest), is_divided=count == 0)

    def errors(self, value: Any, budget: StepBudget) -> Iterator[EngineError]:
        """Yield the engine's errors about a value, each of which stands for itself alone."""
        for error in map(EnginePaths(value).read, self.validator.iter_errors(value)):
            yield from self.gathering.apart(error, budget)


@dataclass(frozen=True, slots=True)
class ErrorLister:
    """List what is wrong with values by one schema, which is `width` subschemas wide."""

    explainer: Explainer
    explainer_of_large: Callable[[], Explainer]
    outline: Outline = NOTHING
    width: int = 1

    @classmethod
    def of(cls, schema: Schema, width: int) -> ErrorLister:
        """Compile what lists the errors of a schema."""
        rest, outline = split(schema)
        # Compiled when the first large value comes: it is a second schema in memory, which smaller values never need.
        of_large = cache(partial(Explainer.of, rest, schema, by_member=True))
        return cls(Explainer.of(rest, schema), of_large, outline, width)

    def errors(self, value: Any, budget: StepBudget) -> Iterator[EngineError]:
        """Yield one error for each thing that is wrong; raises StepsSpentError where that is too much to look at."""
        explainer = self.explainer
        # A value may fail against as many subschemas as the schema is wide, and the engine writes an error for each.
        if not has_at_most(MANY_WRITTEN // self.width, value):
            explainer = self.explainer_of_large()
            # Where every part is asked alone, `StepBudget` bounds the work; else the engine writes all errors before
            # the first is read.
            if not explainer.is_divided and not has_at_most(MAX_WRITTEN // self.width, value):
                raise StepsSpentError
        yield from self.outline.missing(value)
        yield from explainer.errors(value, budget)
