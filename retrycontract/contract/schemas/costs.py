"""Estimate what it costs to judge an output by a schema, without asking the engine, which nobody can interrupt.

The schema is followed through the value as composition does it: the subschemas that describe one place together are
weighed once, each as often as there are ways to it, and kept. What a subschema costs is the sum of its keywords, by the
type of the value, from the table below. Where an alternative that fits early would end the search, the
estimate is too high; it is meant to be seldom too low.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retrycontract.contract.json_types import Schema, count_nodes
from retrycontract.contract.schemas.document import read_document
from retrycontract.contract.schemas.expansion import UNEVALUATED_FACTOR
from retrycontract.contract.schemas.graph import UNEVALUATED, SchemaGraph, SchemaPlace
from retrycontract.contract.schemas.metaschema import draft_of
from retrycontract.contract.schemas.tool_lists import complete

# One name for each kind of step that the estimate counts. No program here measures these nanoseconds, so they are
# orders of magnitude. They decide what is judged at the door and what is reserved of an account; what they underrate
# elsewhere is still cut off in its child.
NANOSECONDS: Final[dict[str, float]] = {
    "check": 150_000,
    "refusal": 700_000,
    "node": 3_000,
    "name": 2_500,
    "character": 70,
    "visit": 15,
    "const-number": 190,
    "const-text": 15,
    "const-node": 250,
    "enum": 60,
    "pattern": 60,
    "pattern-character": 3,
    "format": 60,
    "format-character": 3,
    "unique-item": 120,
    "member": 60,
    "pattern-member": 70,
    "error": 60_000,
    "compile-node": 12_000,
    "compile-pattern-step": 3_000,
}


SECOND = 1_000_000_000  # nanoseconds
MAX_COMBINED = 1_000  # places of one schema that are weighed; names that a model makes up share one
MAX_WAYS = 20_000  # to subschemas that describe one place; admission allows half of it
MOST_EXPLAINED = 0.4 * SECOND  # the mistakes that are told, and the steps to find them, are bounded
SAMPLE = 64  # containers of a long list that are followed, where only about how much is asked
SILENT = ("not", "if", "contains")  # what fails below these is not told one by one
REPEATED = re.compile(r"\{\d*,?(\d+)\}")
NUMBERS = (int, float)


@dataclass(slots=True)
class Rate:
    """Hold what one visit of a place costs in nanoseconds, whatever the value is, and by its type and size."""

    fixed: float = 0
    number: float = 0
    text: float = 0
    container: float = 0
    character: float = 0
    item: float = 0
    member: float = 0
    told: float = 0  # mistakes that may have to be explained

    def add(self, schema: dict[str, Any], times: float, *, is_told: bool) -> None:
        """Add a subschema that applies so often."""
        cost = NANOSECONDS
        self.fixed += times * cost["visit"]
        self.told += times if is_told else 0
        if "const" in schema:
            self._add_constant(schema["const"], times)
        if isinstance(options := schema.get("enum"), list):
            self.fixed += times * cost["enum"]
            for option in options:
                if isinstance(option, dict | list):
                    self._add_constant(option, times)
        if "pattern" in schema:
            self.text += times * cost["pattern"]
            self.character += times * cost["pattern-character"]
        if "format" in schema:
            self.text += times * cost["format"]
            self.character += times * cost["format-character"]
        if schema.get("uniqueItems") is True:
            self.item += times * cost["unique-item"]
        named, patterns = schema.get("properties"), schema.get("patternProperties")
        self.container += times * cost["member"] * (len(named) if isinstance(named, dict) else 0)
        self.container += times * cost["member"] * len(schema.get("required") or ())
        self.member += times * cost["pattern-member"] * (len(patterns) if isinstance(patterns, dict) else 0)
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            self.member += times * cost["member"]

    def _add_constant(self, constant: Any, times: float) -> None:
        match constant:
            case bool() | None:
                return
            case int() | float():
                self.number += times * NANOSECONDS["const-number"]
            case str():
                self.text += times * NANOSECONDS["const-text"]
            case _:
                self.container += times * NANOSECONDS["const-node"] * count_nodes(constant)

    def scalar(self, value: Any) -> float:
        """Give the cost of one value without members."""
        if value.__class__ is str:
            return self.fixed + self.text + self.character * len(value)
        return self.fixed + (self.number if value.__class__ in NUMBERS else 0)


class Combined:
    """Weigh the subschemas that describe one place of a value together."""

    __slots__ = ("_items", "_members", "_named", "_names", "_prefix", "_weigher", "is_silent", "places", "rate")

    def __init__(self, weigher: Weigher, places: Counter[SchemaPlace], *, is_silent: bool) -> None:
        self._weigher, self.places, self.is_silent = weigher, places, is_silent
        self.rate = Rate()
        for place, times in places.items():
            self.rate.add(place.schema, times, is_told=not is_silent)
        self._named = {name for place in places for name in _mapping(place.schema, "properties")}
        self._prefix = max((len(_tuple(place.schema)) for place in places), default=0)
        self._members: dict[str | None, Combined] = {}
        self._items: dict[int, Combined] = {}
        self._names: Combined | None = None

    def member(self, name: str) -> Combined:
        """Give what judges a member; all names that the schema does not know share one."""
        key = name if name in self._named else None
        found = self._members.get(key)
        if found is None:
            below = self._below(("additionalProperties", "unevaluatedProperties", "patternProperties"))
            for place, times in self.places.items():
                for child in place.members.get("properties", ()):
                    if child.trail is not None and child.trail[1] == key:
                        below[child] += times
            found = self._members[key] = self._weigher.combine(below, is_silent=self.is_silent)
        return found

    @property
    def names(self) -> Combined | None:
        """Give what judges the names of the members, if anything does."""
        # Only where a value has members: a name has none, so that a schema that judges its own names ends there.
        if self._names is None and any("propertyNames" in place.members for place in self.places):
            self._names = self._weigher.combine(self._below(("propertyNames",)), is_silent=self.is_silent)
        return self._names

    def item(self, position: int) -> Combined:
        """Give what judges an item; those after the longest tuple share one."""
        key = min(position, self._prefix)
        found = self._items.get(key)
        if found is None:
            keywords = ("items", "additionalItems", "unevaluatedItems", "prefixItems", "contains")
            found = self._items[key] = self._weigher.combine(self._below(keywords), is_silent=self.is_silent)
        return found

    @property
    def prefix(self) -> int:
        """Count the items that have a schema of their own."""
        return self._prefix

    def _below(self, keywords: Sequence[str]) -> Counter[SchemaPlace]:
        below: Counter[SchemaPlace] = Counter()
        for place, times in self.places.items():
            for keyword in keywords:
                for child in place.members.get(keyword, ()):
                    below[child] += times
        return below


class TooManyError(Exception):
    """Raised for a schema that has more places than are weighed: whatever it judges is dear."""


class Weigher:
    """Make the combined places of one schema, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Combined] = {}

    def combine(self, starts: Counter[SchemaPlace], *, is_silent: bool) -> Combined:
        """Close some subschemas under all that applies to the same value, and weigh them together."""
        key = (is_silent, frozenset(starts.items()))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_COMBINED:
                raise TooManyError
            found = self._known[key] = Combined(self, _closed(starts), is_silent=is_silent)
        return found


@dataclass(slots=True)
class Weight:
    """Hold what judging by one schema costs; built once for each schema."""

    compiling: float  # nanoseconds, once in each process
    _root: Combined | None
    _weigher: Weigher = field(repr=False)

    @classmethod
    def of(cls, schema: Schema) -> Weight:
        """Weigh a schema that was admitted."""
        document = read_document(schema)
        if isinstance(document, bool):
            return cls(0, Combined(Weigher(), Counter(), is_silent=False), Weigher())
        complete(document)
        graph, weigher = SchemaGraph(document, draft_of(document)), Weigher()
        try:
            root = weigher.combine(Counter({graph.places[0]: 1}), is_silent=False)
        except TooManyError:
            root = None
        total = 0.0
        for place in graph.places:
            total += NANOSECONDS["compile-node"]
            patterns = [place.schema["pattern"]] if isinstance(place.schema.get("pattern"), str) else []
            patterns += _mapping(place.schema, "patternProperties")
            for pattern in patterns:
                steps = len(pattern)
                for count in REPEATED.findall(pattern):
                    steps += len(pattern) * min(int(count), 1_000) // 4
                total += NANOSECONDS["compile-pattern-step"] * steps
        return cls(total, root, weigher)

    def estimate(self, value: Any, *, stop: float = float("inf"), samples: bool = False) -> Estimate:
        """Estimate what it takes to tell whether a value is valid, and to tell everything that may be wrong with it.

        Beyond `stop` nanoseconds it is no longer followed. With `samples` long lists are judged by a part of them,
        which is for sharing out, not for what must not take longer.
        """
        if self._root is None:
            return Estimate(float("inf"), float("inf"))
        try:
            return _estimate(self._root, value, stop, samples=samples)
        except TooManyError:
            return Estimate(float("inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hold nanoseconds: until it is known whether a value is valid, and what telling its mistakes adds at most."""

    valid: float
    explaining: float

    @property
    def seconds(self) -> float:
        """Give the whole, in seconds."""
        return (self.valid + self.explaining) / SECOND


def _estimate(root: Combined, value: Any, stop: float, *, samples: bool) -> Estimate:
    engine, told, python = 0.0, 0.0, NANOSECONDS["check"]
    node, character = NANOSECONDS["node"], NANOSECONDS["character"]
    pending: list[tuple[Combined, Any, float]] = [(root, value, 1)]
    while pending and engine + python <= stop:
        here, item, times = pending.pop()
        rate = here.rate
        python += times * node
        told += times * rate.told
        if isinstance(item, dict):
            engine += times * (rate.fixed + rate.container + rate.member * len(item))
            for name, member in item.items():
                python += times * (NANOSECONDS["name"] + character * len(name))
                if here.names is not None:
                    engine += times * here.names.rate.scalar(name)
                    told += times * here.names.rate.told
                below = here.member(name)
                if isinstance(member, dict | list | tuple):
                    pending.append((below, member, times))
                else:
                    engine += times * below.rate.scalar(member)
                    told += times * below.rate.told
                    python += times * (node + (character * len(member) if member.__class__ is str else 0))
        elif isinstance(item, list | tuple):
            engine += times * (rate.fixed + rate.container + rate.item * len(item))
            pending.extend((here.item(at), item[at], times) for at in range(min(here.prefix, len(item))))
            rest = item[here.prefix :] if here.prefix else item
            if rest:
                below = here.item(here.prefix)
                containers = [each for each in rest if isinstance(each, dict | list | tuple)]
                scalars = len(rest) - len(containers)
                if scalars:
                    kinds = set(map(type, rest))
                    texts = sum(map(len, filter(_is_text, rest))) if str in kinds else 0
                    number, text = below.rate.number, below.rate.text
                    dearest = max(number if kinds & set(NUMBERS) else 0, text if str in kinds else 0)
                    engine += times * (scalars * (below.rate.fixed + dearest) + below.rate.character * texts)
                    python += times * (scalars * node + character * texts)
                    told += times * scalars * below.rate.told
                if samples and len(containers) > SAMPLE:
                    followed = containers[:: len(containers) // SAMPLE]
                    factor = times * len(containers) / len(followed)
                    pending.extend((below, each, factor) for each in followed)
                else:
                    pending.extend((below, each, times) for each in containers)
        else:
            engine += times * rate.scalar(item)
            python += times * character * (len(item) if item.__class__ is str else 0)
    # What is refused is asked for a second time, for its mistakes.
    explaining = NANOSECONDS["refusal"] + engine + min(told * NANOSECONDS["error"], MOST_EXPLAINED)
    return Estimate(engine + python, explaining)


def _is_text(value: Any) -> bool:
    return value.__class__ is str


def _closed(starts: Counter[SchemaPlace]) -> Counter[SchemaPlace]:
    """Follow composition and references; a subschema counts as often as there are ways to it."""
    found: Counter[SchemaPlace] = Counter()
    pending = list(starts.items())
    steps = 0
    while pending:
        place, times = pending.pop()
        found[place] += times
        factor = UNEVALUATED_FACTOR if any(keyword in place.schema for keyword in UNEVALUATED) else 1
        pending.extend((edge.place, times * factor) for edge in place.in_place)
        steps += 1
        if steps > MAX_WAYS:
            raise TooManyError
    return found


def _mapping(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


def _tuple(schema: dict[str, Any]) -> list[Any]:
    for keyword in ("prefixItems", "items"):
        if isinstance(found := schema.get(keyword), list):
            return found
    return []
