"""What an error says whatever the value was: worded once for each place of the schema, then only filled in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import type_name
from retrycontract.contract.sanitizer import ValueSanitizer

MAX_KEPT = 1_000  # of one schema; nothing that a model makes up gets in, but references may loop
# The kinds whose message and hint say nothing of the value but its type.
STEADY = frozenset({"Required", "Type", "Pattern", "Format"})

Path = list[str | int]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold an error as it was worded first, and the tokens of its pointer, None for an index."""

    error: ValidationError
    tokens: tuple[str | None, ...]

    def told(self, path: Path, actual: str | None) -> ValidationError:
        """Tell the error of another value at the same place of the schema."""
        error = self.error
        return ValidationError(
            error.error_code,
            self._pointer(path) if None in self.tokens else error.field_path,
            error.message,
            error.severity,
            error.expected_value,
            actual,
            error.keyword,
            error.hint,
        )

    def _pointer(self, path: Path) -> str:
        steps = zip_longest(self.tokens, path)
        return "".join([f"/{step if token is None else token}" for token, step in steps])


class Explanations:
    """Keep the explanations of one schema; names that only a model knows never get in."""

    def __init__(self) -> None:
        self._kept: dict[Key, Explanation] = {}

    def find(self, key: Key) -> Explanation | None:
        """Give what was kept for the key, if anything."""
        return self._kept.get(key)

    def keep(self, key: Key, error: ValidationError, path: Path, index: SchemaIndex, sanitizer: ValueSanitizer) -> None:
        """Keep an error as the explanation of its place, unless its words name an index or what is not declared."""
        if len(self._kept) >= MAX_KEPT or "/" in pointers.label(error.field_path) or not _declares(index, path):
            return
        tokens = [None if isinstance(step, int) else pointers.escape(sanitizer.redact_name(step)) for step in path]
        named = pointers.tokens(error.field_path)[len(path) :]  # the missing name itself
        self._kept[key] = Explanation(error, (*tokens, *map(pointers.escape, named)))


def key_of(error: Any, kind: str, path: Path, value: Any, *, redacts: bool) -> Key | None:
    """Name all that a steady error depends on: its keyword, how one comes to it, the place, the value's type."""
    way = error.evaluation_path
    if kind not in STEADY or (kind == "Required" and way[-1] != "required"):
        return None
    detail = error.kind.property if kind == "Required" else type_name(value)
    return kind, detail, redacts, *way, *[None if step.__class__ is int else step for step in path]


def _declares(index: SchemaIndex, path: Path) -> bool:
    place = index.root
    for step in path:
        if isinstance(step, str) and step not in place.declared:
            return False
        place = place.child(step)
    return True
