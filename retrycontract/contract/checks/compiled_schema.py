"""Hold an admitted schema ready to judge and to explain: values of few members as a whole, large ones by and by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.explaining.explanations import Explanations
from retrycontract.contract.explaining.gathering import Gathering, gather
from retrycontract.contract.explaining.outline import NOTHING, Outline, split
from retrycontract.contract.explaining.parts import OutOfPatienceError, count_compositions
from retrycontract.contract.json_types import Schema, has_at_most
from retrycontract.contract.schemas.admission import Admission, InvalidSchema, compile_schema

MAX_WRITTEN = 100_000  # errors that the engine may have to write before it tells the first: some 5 µs and 1 kB each
MANY_WRITTEN = 5_000  # of more than so many it is asked for a few at a time, which takes longer when there are few


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


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """Hold an admitted schema, ready to judge: the engine's validator and the index of its places."""

    schema: Schema
    validator: Any
    index: SchemaIndex
    max_depth: int
    explainer: Explainer
    explainer_of_large: Callable[[], Explainer]
    outline: Outline = NOTHING
    width: int = 1
    explanations: Explanations = field(default_factory=Explanations)

    @classmethod
    def of(cls, schema: Schema, admission: Admission) -> CompiledSchema:
        """Index a schema that was admitted; values that nest too deep to be cheap are refused."""
        rest, outline = split(schema)
        return cls(
            schema,
            admission.validator,
            SchemaIndex(schema),
            admission.cheap_depth,
            Explainer.of(rest, schema),
            # Compiled when the first large value comes: it is a second schema in memory,
            # which smaller values never need.
            cache(partial(Explainer.of, rest, schema, by_member=True)),
            outline,
            admission.width,
        )

    def visits(self, values: int) -> int:
        """Tell how often a submission of so many values may be held against a subschema."""
        return values * self.width

    def explainer_for(self, value: Any) -> Explainer:
        """Choose what lists the errors of a value.

        Raises OutOfPatienceError where the engine could have more to say than there is room for.
        """
        # A value may fail against as many subschemas as the schema is wide, and the engine writes an error for each.
        if has_at_most(MANY_WRITTEN // self.width, value):
            return self.explainer
        explainer = self.explainer_of_large()
        # Where every part is asked alone, `Patience` bounds the work; else the engine writes all
        # errors before the first is read.
        if not explainer.is_divided and not has_at_most(MAX_WRITTEN // self.width, value):
            raise OutOfPatienceError
        return explainer
