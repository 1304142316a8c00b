"""What one visit of the subschemas of a place costs, by the kind of the value that they meet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from retrycontract.contract.json_types import count_nodes, mapping
from retrycontract.contract.schemas.cost_table import NANOSECONDS
from retrycontract.contract.schemas.graph import SchemaPlace

KINDS: dict[type, str] = {
    dict: "object", list: "array", tuple: "array", str: "string", int: "number", float: "number", bool: "boolean",
    type(None): "null",
}  # fmt: skip
NUMBERS = (int, float)
LENGTHS, TEXT_LENGTHS = ("minItems", "maxItems"), ("minLength", "maxLength")
MISSED = {"object": ("required",), "array": LENGTHS, "string": TEXT_LENGTHS}
FURTHER = ("pattern", "format", "uniqueItems")  # what takes longer than to look at the length
MAX_NAMES = 30  # that are looked for in each object, to tell which alternatives soon end
SILENT = ("not", "if")  # what fails below these is not told, and below `contains` not one by one
UNIONS = ("anyOf", "oneOf")  # of which one mistake is told, whatever the alternatives say
COMPOSITIONS = (*UNIONS, "allOf")  # whose parts are asked one by one
OTHERS = ("additionalProperties", "unevaluatedProperties")
# What has nothing against a value of a kind that `type` takes; `false` below it is told as well, but seldom.
HARMLESS = frozenset(
    {
        "type", "title", "description", "default", "examples", "properties", "$defs", "definitions", "$ref", "$schema",
        "allOf",
    }
)  # fmt: skip
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
INTERNATIONAL = ("idn-hostname", "idn-email")  # formats whose characters are looked up one by one
WORD = 128  # bits of a number up to which its length costs little
MOST_COPIED = 10_000  # mistakes of alternatives into which a number is written
LARGEST = 2**63 - 1  # the engine holds larger numbers, and those with a fraction, as text, and compares them so


def kind_of(value: Any) -> str:
    """Give the kind of a value; developers may derive classes of their own."""
    return next((KINDS[base] for base in type(value).__mro__ if base in KINDS), "null")


def refuses(schema: dict[str, Any], kind: str) -> bool:
    """Tell whether a subschema refuses every value of a kind before it looks at anything else."""
    if (named := schema.get("type")) is not None:
        names = [named] if isinstance(named, str) else named
        if kind not in names and not (kind == "number" and "integer" in names):
            return True
    if "const" in schema and kind_of(schema["const"]) != kind:
        return True
    options = schema.get("enum")
    return isinstance(options, list) and all(kind_of(option) != kind for option in options)


class Ways(NamedTuple):
    """Count the ways to a place: all, those of which mistakes are told, and those tried for a mistake of a union.

    By those that are `sure` no valid value goes that the place refuses.
    """

    times: float = 0
    told: float = 0
    tried: float = 0
    placed: float = 0  # as tried, each as often as unions stand around it
    sure: float = 0

    def and_also(self, more: Ways) -> Ways:
        """Add more ways to the same place."""
        return Ways(
            self.times + more.times,
            self.told + more.told,
            self.tried + more.tried,
            self.placed + more.placed,
            self.sure + more.sure,
        )

    def through(self, keyword: str, factor: float) -> Ways:
        """Give the ways on to what a keyword holds for the same value."""
        if keyword in SILENT:
            return Ways(self.times * factor)
        told = 0 if keyword in UNIONS else self.told
        tried, placed = self.tried, self.placed
        if keyword in COMPOSITIONS:
            tried += self.told
            placed += tried
        sure = self.sure if keyword in ("", "allOf") else 0
        return Ways(self.times * factor, told * factor, tried * factor, placed * factor, sure)


@dataclass(frozen=True, slots=True)
class Misses:
    """Hold subschemas that soon refuse a value for its length, or for a name that it lacks, and else look further."""

    places: tuple[SchemaPlace, ...]
    lengths: tuple[float, ...]  # from which on others refuse a list or a text
    names: frozenset[str]

    @classmethod
    def of(cls, kind: str, places: Iterable[SchemaPlace]) -> Misses | None:
        """Find those of some subschemas, if there are any, as they judge values of a kind."""
        keywords = MISSED.get(kind, ())
        some = tuple(place for place in places if not place.only_refers
                     and not place.schema.keys().isdisjoint(keywords)
                     and (place.members or place.in_place or not place.schema.keys().isdisjoint(FURTHER)))  # fmt: skip
        if kind == "object":
            names = frozenset(name for place in some for name in place.schema["required"])
            return cls(some, (), names) if 0 < len(names) <= MAX_NAMES else None
        bounds = {place.schema.get(keyword, 0) + at for place in some for at, keyword in enumerate(keywords)}
        return cls(some, tuple(sorted(bounds)), frozenset()) if some else None

    def shape(self, value: Any) -> Any:
        """Give what tells values apart of which others are refused."""
        return self.names.difference(value) if self.names else bisect_right(self.lengths, len(value))

    def by(self, value: Any) -> Collection[SchemaPlace]:
        """List what refuses a value."""
        if self.names:
            return {place for place in self.places if any(name not in value for name in place.schema["required"])}
        least, most = LENGTHS if isinstance(value, list | tuple) else TEXT_LENGTHS
        size, most_of_all = len(value), float("inf")
        return {place for place in self.places
                if not place.schema.get(least, 0) <= size <= place.schema.get(most, most_of_all)}  # fmt: skip


@dataclass(slots=True, eq=False)
class Rate:
    """Hold what one visit costs in nanoseconds, whatever the value of a kind is, and by its size.

    `wide` is what a number costs more that is large or has a fraction, of the usual length, and a list or an object
    that holds such; `narrow` is for all other numbers. Large ones in a list of unique items are compared each with
    each, at `pair`.
    """

    fixed: float = 0
    narrow: float = 0
    wide: float = 0
    character: float = 0
    member: float = 0  # of each member of an object, or item of an array
    pair: float = 0
    told: float = 0  # mistakes that may have to be explained
    tried: float = 0  # alternatives that are asked one by one for that
    placed: float = 0  # as tried, each as often as unions stand around it
    compositions: float = 0  # whose parts these are
    mended: float = 0  # mistakes for which a patch may be sought
    sure: float = 0  # mistakes that there are for certain
    missed: Rate | None = None  # what each member may add to the mistakes of alternatives that end before they see it

    def refuse(self, ways: Ways, *, is_missed: bool = False) -> None:
        """Add a subschema that refuses the kind at once, and so ends the search below it.

        One `is_missed` refuses a value for its length or a name: of its members it is told all the same what is wrong.
        """
        self.fixed += ways.times * NANOSECONDS["mismatch"]
        self.told += ways.told
        self.mended += ways.told
        self.add_tried(ways)
        self.sure += bool(ways.sure)
        if is_missed:
            self.missed = self.missed or Rate()
            self.missed.add_tried(ways)

    def add_tried(self, ways: Ways) -> None:
        """Add what may be tried for a mistake of a union."""
        self.tried += ways.tried
        self.placed += ways.placed

    def add_mistakes(self, schema: dict[str, Any], kind: str, ways: Ways) -> None:
        """Add what a subschema that does not refuse the kind at once may have against a value."""
        self.add_tried(ways)
        if ways.told or ways.tried:
            self.compositions += sum(keyword in schema for keyword in COMPOSITIONS)
        if ways.told and not (schema.keys() <= HARMLESS):
            missing = len(schema.get("required") or ()) if kind == "object" else 0
            self.told += ways.told * max(1, missing)
            is_choice = kind == "string" and ("enum" in schema or "const" in schema)
            if missing or is_choice or False in (schema.get(keyword) for keyword in OTHERS):
                self.mended += ways.told * max(1, missing)

    def add(self, schema: dict[str, Any], kind: str, times: float) -> None:
        """Add a subschema that applies so often to a value of a kind that it does not refuse at once."""
        cost = NANOSECONDS
        self.fixed += times * cost["visit"]
        if "const" in schema:
            self._add_constant(schema["const"], times)
        if isinstance(options := schema.get("enum"), list):
            self._add_options(options, kind, times)
        match kind:
            case "number":
                limits = [limit for keyword in LIMITS if (limit := schema.get(keyword)) is not None]
                large = cost["limit-wide"] * sum(map(is_wide, limits))
                self.narrow += times * large
                self.wide += times * cost["limit-wide"] * len(limits)
                if (divisor := schema.get("multipleOf")) is not None:
                    if divisor.__class__ is float:
                        self.narrow += times * cost["multiple-fraction"]
                        self.wide += times * cost["multiple-wide"]
                    else:  # by a whole number the longest is divided as soon as any
                        self.fixed += times * cost["multiple-large" if divisor > LARGEST else "multiple"]
            case "string":
                if "pattern" in schema:
                    self.fixed += times * cost["pattern"]
                    self.character += times * cost["pattern-character"]
                if "format" in schema:
                    self.fixed += times * cost["format"]
                    is_international = schema["format"] in INTERNATIONAL
                    self.character += times * cost["format-idn-character" if is_international else "format-character"]
            case "array" if schema.get("uniqueItems") is True:
                self.member += times * cost["unique-item"]
                self.pair += times * cost["unique-pair"]
            case "object":
                named, patterns = schema.get("properties"), schema.get("patternProperties")
                self.fixed += times * cost["member"] * (len(named) if isinstance(named, dict) else 0)
                self.fixed += times * cost["member"] * len(schema.get("required") or ())
                self.member += times * cost["pattern-member"] * (len(patterns) if isinstance(patterns, dict) else 0)
                if "additionalProperties" in schema or "unevaluatedProperties" in schema:
                    self.member += times * cost["member"]

    def _add_options(self, options: list[Any], kind: str, times: float) -> None:
        cost = NANOSECONDS
        self.fixed += times * cost["enum"]
        # Options of one type are looked up; others, and all for a wide number, are compared one by one.
        is_mixed = len({type(option) for option in options}) > 1
        for option in options:
            if kind_of(option) == kind:
                if isinstance(option, dict | list) or is_mixed or is_wide(option):
                    self._add_constant(option, times)
                elif option.__class__ is int:
                    self.wide += times * cost["const-wide"]

    def _add_constant(self, constant: Any, times: float) -> None:
        cost = NANOSECONDS
        match constant:
            case bool() | None:
                return
            case int() | float():
                self.narrow += times * cost["const-wide" if is_wide(constant) else "const-number"]
                self.wide += times * cost["const-wide"]
            case str():
                self.fixed += times * cost["const-text"]
            case _:
                self.fixed += times * cost["const-node"] * count_nodes(constant)
                self.wide += times * cost["const-wide"] * count_nodes(constant)

    def scalar(self, value: Any) -> float:
        """Give the cost of one value without members."""
        if not (self.wide or self.character):
            return self.fixed
        if value.__class__ is str:
            return self.fixed + self.character * len(value)
        return self.fixed + (self.wide * _words(value) if is_wide(value) else self.narrow)

    def copied(self, values: Sequence[Any]) -> float:
        """Count the words of large numbers that are written into mistakes, told or not, as the first of many tells."""
        first = values[0]
        if first.__class__ is not int or not is_wide(first):
            return 0
        return _words(first) * len(values) * (self.told + min(self.tried, MOST_COPIED / len(values)))

    def scalars(self, values: Sequence[Any]) -> float:
        """Give the cost of many values of one kind without members: each wide number by its length."""
        if not (self.wide or self.character):
            return len(values) * self.fixed
        if str in (kinds := set(map(type, values))):
            return len(values) * self.fixed + self.character * sum(map(len, values))
        if kinds.isdisjoint(NUMBERS):
            return len(values) * self.fixed
        if float in kinds or max(values) > LARGEST or min(values) < -LARGEST:
            return sum(map(self.scalar, values))
        return len(values) * (self.fixed + self.narrow)


def is_wide(value: Any) -> bool:
    """Tell a number that the engine holds as text."""
    return value.__class__ is float or (value.__class__ is int and not -LARGEST <= value <= LARGEST)


def _words(value: float) -> float:
    """Give how much more a large number takes than one of the length that is usual."""
    whole = 0 if value.__class__ is float and not isfinite(value) else int(value)
    return max(1, whole.bit_length() / WORD)


def widest(value: Any) -> int:
    """Give the largest of the wide numbers in a value, 1 where they have fractions only, and 0 where there is none."""
    found, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif item.__class__ is int:
            found = max(found, abs(item) if not -LARGEST <= item <= LARGEST else 0)
        elif item.__class__ is float:
            found = max(found, 1)
    return found


def is_sure(keyword: str, schema: dict[str, Any], named: str | None) -> bool:
    """Tell whether a keyword judges every member or item that it is weighed for."""
    match keyword:
        case "additionalProperties":
            return "patternProperties" not in schema and named not in mapping(schema, "properties")
        case "items":
            return isinstance(schema.get("items"), dict) and "prefixItems" not in schema
    return keyword == "propertyNames"
