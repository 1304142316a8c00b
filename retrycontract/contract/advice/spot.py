"""The place that an error names: what stands there and around it, and the one value that the schema leaves for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import InstancePlace, SchemaIndex
from retrycontract.contract.outputs.encoded import ABSENT
from retrycontract.contract.patches import Operation, Patch
from retrycontract.contract.redaction.previews import elide_middle, visible
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

MAX_NAME = 80  # characters of a field's name in a hint


@dataclass(frozen=True, slots=True)
class Step:
    """Hold one place on the way to the failing one: its pointer, its value and what the schema says of it."""

    pointer: str
    value: Any
    place: InstancePlace

    def child(self, token: str) -> Step | None:
        """Give the place of a member or an item; its value is ABSENT for a member that is not there."""
        if isinstance(self.value, dict):
            value = self.value.get(token, ABSENT)
            return Step(pointers.join(self.pointer, token), value, self.place.child(token))
        index = pointers.index_of(token)
        if isinstance(self.value, list) and index is not None and index < len(self.value):
            return Step(f"{self.pointer}/{index}", self.value[index], self.place.child(index))
        return None

    @property
    def undeclared(self) -> list[str]:
        """List the keys of an object that the schema does not know, whether or not it lets them pass."""
        return [key for key in self.value if not self.place.declares(key)] if isinstance(self.value, dict) else []

    def lacks(self, name: str) -> bool:
        """Tell an object in which the name is still free."""
        return isinstance(self.value, dict) and name not in self.value


@dataclass(frozen=True, slots=True)
class Proposal:
    """Hold what would mend a mistake, and how to say it; without `words` the error's own hint says it already.

    `shown` is a value that the words end in, where it is short and no secret. What `is_guess` is said alone: to apply
    it is for whoever knows. What `is_plain` was meant, even where the value is wrong in itself.
    """

    patch: Patch
    words: str | None = None
    shown: Any = ABSENT
    is_guess: bool = False
    is_plain: bool = True


@dataclass(frozen=True, slots=True)
class Spot:
    """Hold the steps from the whole document to the failing place."""

    steps: tuple[Step, ...]
    sanitizer: ValueSanitizer
    called: str = ""  # the tool's name

    @classmethod
    def find(
        cls, document: Any, index: SchemaIndex, pointer: str, sanitizer: ValueSanitizer, called: str = ""
    ) -> Spot | None:
        """Follow a pointer through document and schema; None when it leads nowhere, as a redacted one does."""
        steps = [Step(pointers.ROOT, document, index.root)]
        for token in pointers.tokens(pointer):
            step = steps[-1].child(token)
            if step is None:
                return None
            steps.append(step)
        return cls(tuple(steps), sanitizer, called)

    @property
    def here(self) -> Step:
        """Give the failing place itself."""
        return self.steps[-1]

    @property
    def container(self) -> Step | None:
        """Give the object or array that the failing place stands in; None for the whole document."""
        return self.steps[-2] if len(self.steps) > 1 else None

    @property
    def outer(self) -> Step | None:
        """Give what the container stands in."""
        return self.steps[-3] if len(self.steps) > 2 else None

    @property
    def key(self) -> str:
        """Give the failing place's own name."""
        return pointers.last(self.here.pointer)

    @property
    def wanted(self) -> frozenset[str]:
        """Name the types that the schemas of the failing place ask for, all of them taken together."""
        return self.here.place.types

    def subject(self, step: Step) -> str:
        """Name a place in a hint; the whole document has no name of its own."""
        return f"'{self.name(pointers.label(step.pointer))}'" if step.pointer else "the arguments"

    def name(self, token: str) -> str:
        """Show a field's name: sanitised, bounded, one line."""
        return elide_middle(visible(self.sanitizer.redact_name(token)), MAX_NAME)

    def pointer(self, pointer: str) -> str:
        """Show a pointer: sanitised, bounded, one line."""
        return elide_middle(visible(self.sanitizer.redact_pointer(pointer)), MAX_NAME)


def moved(source: str, path: str) -> Operation:
    """Write the operation that carries a value elsewhere without naming it."""
    return {"op": "move", "from": source, "path": path}


def replaced(path: str, value: Any) -> Operation:
    """Write the operation that puts another value in the same place."""
    return {"op": "replace", "path": path, "value": value}


def added(path: str, value: Any) -> Operation:
    """Write the operation that gives a field that is missing."""
    return {"op": "add", "path": path, "value": value}


def sole_answer(place: InstancePlace) -> Any:
    """Give the only value that is allowed, else the default; ABSENT where one would guess."""
    fixed = _only(place.options)
    if fixed is not ABSENT:
        return fixed
    default = _only(schema["default"] for schema in place.schemas if "default" in schema)
    if default is not ABSENT:
        return default
    for kind, bound, only in EMPTY:
        if place.types == {kind} and (not bound or any(schema.get(bound) == 0 for schema in place.schemas)):
            return only
    return ABSENT


# Of which type there is one value alone, or one where the bound is 0.
EMPTY: tuple[tuple[str, str, Any], ...] = (
    ("null", "", None), ("array", "maxItems", []), ("object", "maxProperties", {}), ("string", "maxLength", ""),
)  # fmt: skip


def _only(values: Iterable[Any]) -> Any:
    # By their JSON: values may be objects or lists, and as keys of a dict 1, 1.0 and true would be one.
    distinct = {json.dumps(value, sort_keys=True): value for value in values}
    return next(iter(distinct.values())) if len(distinct) == 1 else ABSENT
