"""Hold an admitted schema ready to judge and to explain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.explaining.explanations import Explanations
from retrycontract.contract.explaining.listing import ErrorLister
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.admission import Admission


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """Hold an admitted schema, ready to judge: the engine's validator and the index of its places."""

    schema: Schema
    validator: Any
    index: SchemaIndex
    max_depth: int
    lister: ErrorLister
    explanations: Explanations = field(default_factory=Explanations)

    @classmethod
    def of(cls, schema: Schema, admission: Admission) -> CompiledSchema:
        """Index a schema that was admitted; values that nest too deep to be cheap are refused."""
        lister = ErrorLister.of(schema, admission.width)
        return cls(schema, admission.validator, SchemaIndex(schema), admission.cheap_depth, lister)

    def visits(self, values: int) -> int:
        """Tell how often a submission of so many values may be held against a subschema."""
        return values * self.lister.width
