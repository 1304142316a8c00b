"""Tell of some values at once whether a subschema takes them: what it refuses first ends the engine's search.

No verdict, None, stands for all that takes longer to find out, or that drafts and engines read in several ways.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.schemas.graph import SchemaPlace
from retrycontract.contract.schemas.rates import kind_of, refuses

Verdict = bool | None
MOST_LOOKS = 1_500  # subschemas that are looked at for one value, in all; some take a microsecond each
MOST_COMPARED = 50  # values in a constant
# These say nothing of a value, or stand beside what is looked at with them.
SILENT = frozenset(
    {
        "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$defs",
        "definitions", "$schema", "type", "then", "else",
    }
)  # fmt: skip
PLAIN_START = re.compile(r"\^([A-Za-z0-9_ -]+)(?![?*{A-Za-z0-9_ -])")
BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool], Callable[[Any], Any]]] = {
    "minimum": ("number", operator.ge, lambda value: value),
    "maximum": ("number", operator.le, lambda value: value),
    "exclusiveMinimum": ("number", operator.gt, lambda value: value),
    "exclusiveMaximum": ("number", operator.lt, lambda value: value),
    "minLength": ("string", operator.ge, len),
    "maxLength": ("string", operator.le, len),
    "minItems": ("array", operator.ge, len),
    "maxItems": ("array", operator.le, len),
    "minProperties": ("object", operator.ge, len),
    "maxProperties": ("object", operator.le, len),
}


class Looks:
    """Judge values by the subschemas of a graph, as long as there are looks left."""

    def __init__(self, most: int = MOST_LOOKS) -> None:
        self._left = most

    def at(self, place: SchemaPlace, value: Any) -> Verdict:
        """Tell whether a subschema takes a value, if that is soon told."""
        self._left -= 1
        if self._left < 0:
            return None
        schema, kind = place.schema, kind_of(value)
        if place.only_refers:
            return _all([self.at(edge.place, value) for edge in place.in_place] or [None])
        if refuses(schema, kind):
            return False
        # 1.0 is an integer.
        verdict: Verdict = None if value.__class__ is float and "type" in schema else True
        for keyword, held in schema.items():
            if keyword not in SILENT:
                found = self._by(keyword, held, place, value, kind)
                if found is False:
                    return False
                verdict = None if found is None else verdict
        return verdict

    def _by(self, keyword: str, held: Any, place: SchemaPlace, value: Any, kind: str) -> Verdict:
        if keyword in BOUNDS:
            of_kind, compare, measure = BOUNDS[keyword]
            is_number = isinstance(held, int | float) and not isinstance(held, bool)
            return True if kind != of_kind else compare(measure(value), held) if is_number else None
        match keyword:
            case "const":
                return _equals(value, held, kind)
            case "enum" if isinstance(held, list):
                self._left -= len(held)
                return _any([_equals(value, option, kind) for option in held if kind_of(option) == kind])
            case "required" if isinstance(held, list):
                return kind != "object" or all(name in value for name in held)
            case "properties" if isinstance(held, dict) and kind == "object":
                return self._members(held, place, value)
            case "properties" if kind != "object":
                return True
            case "items" if kind != "array":
                return True
            case "pattern" if kind == "string":
                return False if (start := _start(held)) and not value.startswith(start) else None
            case "multipleOf" if kind == "number":
                # Python and the engine divide fractions differently, but all are left over from what is smaller.
                is_left = 0 < abs(value) < held or (value.__class__ is held.__class__ is int and value % held)
                return False if is_left else None
            case "pattern" | "format" if kind != "string":
                return True
            case "allOf":
                return _all(self._parts(keyword, held, place, value))
            case "anyOf":
                return _any(self._parts(keyword, held, place, value))
            case "oneOf":
                verdicts = self._parts(keyword, held, place, value)
                return None if sum(each is not False for each in verdicts) > 1 else _any(verdicts)
            case "not":
                return _not(_all(self._parts(keyword, [held], place, value)))
            case "if":
                fits = _all(self._parts(keyword, [held], place, value))
                branch = "then" if fits else "else"
                chosen = self._parts(branch, [place.schema.get(branch)], place, value)
                return None if fits is None else _all(chosen)
            case "$ref":
                targets = [edge.place for edge in place.in_place if edge.reference == keyword]
                return self.at(targets[0], value) if targets else None
        return None

    def _parts(self, keyword: str, held: Any, place: SchemaPlace, value: Any) -> list[Verdict]:
        """Judge by each of the subschemas that a keyword holds for the same value."""
        told = [part for part in held if isinstance(part, bool)]
        return told + [self.at(edge.place, value) for edge in place.in_place if edge.keyword == keyword]

    def _members(self, held: dict[str, Any], place: SchemaPlace, value: dict[str, Any]) -> Verdict:
        if any(isinstance(part, bool) and not part and name in value for name, part in held.items()):
            return False
        below = [(each.trail[1], each) for each in place.members.get("properties", ()) if each.trail is not None]
        return _all([self.at(each, value[name]) for name, each in below if name in value])


def fits_plainly(text: str, pattern: str) -> bool:
    """Tell whether a text begins with what is all of a pattern."""
    found = PLAIN_START.fullmatch(pattern)
    return found is not None and text.startswith(found[1])


def _start(pattern: str) -> str:
    """Give what every text begins with that a pattern matches, as far as it is plain to see."""
    found = PLAIN_START.match(pattern)
    return found[1] if found and "|" not in pattern else ""


def _equals(value: Any, constant: Any, kind: str) -> Verdict:
    if kind_of(constant) != kind:
        return False
    if kind in ("array", "object"):
        # To Python true is 1, also within lists and objects: only what it takes for different is.
        return False if has_at_most(MOST_COMPARED, constant) and value != constant else None
    return bool(value == constant)


def _not(verdict: Verdict) -> Verdict:
    return None if verdict is None else not verdict


def _all(verdicts: list[Verdict]) -> Verdict:
    return False if False in verdicts else None if None in verdicts else True


def _any(verdicts: list[Verdict]) -> Verdict:
    return True if True in verdicts else None if None in verdicts else False
