"""Estimate what it costs to judge an output by a schema, without asking the engine, which nobody can interrupt.

The schema is followed through the value as composition does it: the subschemas that describe one place together are
weighed once, each as often as there are ways to it, and kept. What a subschema costs is the sum of its keywords, by the
type of the value. Where an alternative that fits early ends the search, the estimate is too high, which costs some
milliseconds of a child process; what is rated too low holds up the door.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from retrycontract.contract.json_types import Schema, count_nodes
from retrycontract.contract.schemas.cost_table import NANOSECONDS
from retrycontract.contract.schemas.document import read_document
from retrycontract.contract.schemas.expansion import UNEVALUATED_FACTOR
from retrycontract.contract.schemas.graph import UNEVALUATED, SchemaGraph, SchemaPlace
from retrycontract.contract.schemas.metaschema import draft_of
from retrycontract.contract.schemas.patterns import pattern_steps
from retrycontract.contract.schemas.tool_lists import complete

SECOND = 1_000_000_000  # nanoseconds
MAX_COMBINED = 1_000  # places of one schema that are weighed; names that a model makes up share one
MAX_WAYS = 20_000  # to subschemas that describe one place; admission allows half of it
MOST_EXPLAINED = 0.2 * SECOND  # the mistakes that are told, and the steps to find them, are bounded
MOST_MENDED = 100  # mistakes for which it is tried what would mend them; of more none is
# Members of a large container that are followed, where only about how much is asked, and of each of such a member.
SAMPLE, SAMPLE_OF_EACH = 60, 15
SILENT = ("not", "if")  # what fails below these is not told, and below `contains` not one by one
NUMBERS = (int, float)
MEMBERS = ("properties", "additionalProperties", "unevaluatedProperties", "patternProperties")
ITEMS = ("items", "additionalItems", "unevaluatedItems", "prefixItems", "contains")
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
INTERNATIONAL = ("idn-hostname", "idn-email")  # formats whose characters are looked up one by one
LARGEST = 2**63 - 1  # the engine holds larger numbers, and those with a fraction, as text, and compares them so
SIGNS = b"=:<&%@/+_\\\"'"  # what the search for secrets stops at; at digits and beyond ASCII it stops more shortly
DIGITS = b"0123456789"
LONGEST_WORD = 13  # characters of a text that is often like others in a list, such as a date or a name
SPOKEN = re.compile(r"(?:oken|ecret|word|key|phrase) is ")  # announces a secret, which is then looked for


@dataclass(slots=True)
class Rate:
    """Hold what one visit of a place costs in nanoseconds, whatever the value is, and by its type and size.

    `wide` is for a number that is large or has a fraction, and `wide_container` what a list or an object costs more
    that holds such numbers. Large ones in a list of unique items are compared each with each, at `pair`.
    """

    fixed: float = 0
    number: float = 0
    wide: float = 0
    text: float = 0
    container: float = 0
    wide_container: float = 0
    character: float = 0
    item: float = 0
    pair: float = 0
    member: float = 0
    told: float = 0  # mistakes that may have to be explained

    def add(self, schema: dict[str, Any], times: float, told: float) -> None:
        """Add a subschema that applies so often; as often as `told` its mistakes may have to be explained."""
        cost = NANOSECONDS
        self.fixed += times * cost["visit"]
        self.told += told
        if "const" in schema:
            self._add_constant(schema["const"], times)
        if isinstance(options := schema.get("enum"), list):
            self.fixed += times * cost["enum"]
            # Options of one type are looked up; others, and all for a wide number, are compared one by one.
            is_mixed = len({type(option) for option in options}) > 1
            for option in options:
                if isinstance(option, dict | list) or is_mixed or _is_wide(option):
                    self._add_constant(option, times)
                elif option.__class__ is int:
                    self.wide += times * cost["const-wide"]
        limits = [limit for keyword in LIMITS if (limit := schema.get(keyword)) is not None]
        self.wide += times * cost["limit-wide"] * len(limits)
        self.number += times * cost["limit-wide"] * sum(map(_is_wide, limits))
        if (divisor := schema.get("multipleOf")) is not None:
            self.number += times * cost["multiple-fraction" if _is_wide(divisor) else "multiple"]
            self.wide += times * cost["multiple-wide"]
        if "pattern" in schema:
            self.text += times * cost["pattern"]
            self.character += times * cost["pattern-character"]
        if "format" in schema:
            self.text += times * cost["format"]
            is_international = schema["format"] in INTERNATIONAL
            self.character += times * cost["format-idn-character" if is_international else "format-character"]
        if schema.get("uniqueItems") is True:
            self.item += times * cost["unique-item"]
            self.pair += times * cost["unique-pair"]
        named, patterns = schema.get("properties"), schema.get("patternProperties")
        self.container += times * cost["member"] * (len(named) if isinstance(named, dict) else 0)
        self.container += times * cost["member"] * len(schema.get("required") or ())
        self.member += times * cost["pattern-member"] * (len(patterns) if isinstance(patterns, dict) else 0)
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            self.member += times * cost["member"]

    def _add_constant(self, constant: Any, times: float) -> None:
        cost = NANOSECONDS
        match constant:
            case bool() | None:
                return
            case int() | float():
                self.number += times * cost["const-wide" if _is_wide(constant) else "const-number"]
                self.wide += times * cost["const-wide"]
            case str():
                self.text += times * cost["const-text"]
            case _:
                self.container += times * cost["const-node"] * count_nodes(constant)
                self.wide_container += times * cost["const-wide"] * count_nodes(constant)

    def scalar(self, value: Any) -> float:
        """Give the cost of one value without members."""
        if value.__class__ is str:
            return self.fixed + self.text + self.character * len(value)
        if value.__class__ in NUMBERS:
            return self.fixed + max(self.number, self.wide if _is_wide(value) else 0)
        return self.fixed

    def scalars(self, values: Sequence[Any], texts: int) -> float:
        """Give the cost of many values without members, each as the dearest of them; `texts` counts characters."""
        kinds = set(map(type, values))
        dearest = self.text if str in kinds else 0.0
        if kinds & set(NUMBERS):
            numbers = [value for value in values if value.__class__ in NUMBERS]
            is_wide = float in kinds or max(numbers) > LARGEST or min(numbers) < -LARGEST
            dearest = max(dearest, self.number, self.wide if is_wide else 0)
        return len(values) * (self.fixed + dearest) + self.character * texts


class Combined:
    """Weigh the subschemas that describe one place of a value together."""

    __slots__ = ("_has_names", "_items", "_members", "_named", "_names", "_weigher", "places", "prefix", "rate", "told")

    def __init__(self, weigher: Weigher, places: Counter[SchemaPlace], told: Counter[SchemaPlace]) -> None:
        self._weigher, self.places, self.told = weigher, places, told
        self.rate = Rate()
        for place, times in places.items():
            self.rate.add(place.schema, times, told[place])
        self._named = {name for place in places for name in _mapping(place.schema, "properties")}
        lists = ([place.schema.get(keyword) for keyword in ("prefixItems", "items")] for place in places)
        firsts = (next((each for each in pair if isinstance(each, list)), []) for pair in lists)
        self.prefix = max(map(len, firsts), default=0)  # items that have a schema of their own
        self._members: dict[str | None, Combined] = {}
        self._items: dict[int, Combined] = {}
        self._names: Combined | None = None
        self._has_names = any("propertyNames" in place.members for place in places)

    def member(self, name: str) -> Combined:
        """Give what judges a member; all names that the schema does not know share one."""
        key = name if name in self._named else None
        found = self._members.get(key)
        if found is None:
            found = self._members[key] = self._below(MEMBERS, named=key)
        return found

    @property
    def names(self) -> Combined | None:
        """Give what judges the names of the members, if anything does."""
        # Only where a value has members: a name has none, so that a schema that judges its own names ends there.
        if self._has_names and self._names is None:
            self._names = self._below(("propertyNames",))
        return self._names

    def item(self, position: int) -> Combined:
        """Give what judges an item; those after the longest tuple share one."""
        key = min(position, self.prefix)
        found = self._items.get(key)
        if found is None:
            found = self._items[key] = self._below(ITEMS)
        return found

    def _below(self, keywords: Sequence[str], *, named: str | None = None) -> Combined:
        below: Counter[SchemaPlace] = Counter()
        told: Counter[SchemaPlace] = Counter()
        for place, times in self.places.items():
            for keyword in keywords:
                for child in place.members.get(keyword, ()):
                    if keyword != "properties" or (child.trail is not None and child.trail[1] == named):
                        below[child] += times
                        told[child] += 0 if keyword == "contains" else self.told[place]
        return self._weigher.combine(below, told)


class TooManyError(Exception):
    """Raised for a schema that has more places than are weighed: whatever it judges is dear."""


class Weigher:
    """Make the combined places of one schema, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Combined] = {}

    def combine(self, starts: Counter[SchemaPlace], told: Counter[SchemaPlace]) -> Combined:
        """Close some subschemas under all that applies to the same value, and weigh them together."""
        key = (frozenset(starts.items()), frozenset(told.items()))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_COMBINED:
                raise TooManyError
            # Composition and references are followed; a subschema counts as often as there are ways to it.
            met, met_told, steps = Counter[SchemaPlace](), Counter[SchemaPlace](), 0
            pending = [(place, times, told[place]) for place, times in starts.items()]
            while pending:
                place, times, times_told = pending.pop()
                met[place] += times
                met_told[place] += times_told
                factor = UNEVALUATED_FACTOR if any(keyword in place.schema for keyword in UNEVALUATED) else 1
                for edge in place.in_place:
                    trail = edge.place.trail
                    is_silent = not edge.reference and trail is not None and trail[1] in SILENT
                    pending.append((edge.place, times * factor, 0 if is_silent else times_told * factor))
                steps += 1
                if steps > MAX_WAYS:
                    raise TooManyError
            found = self._known[key] = Combined(self, met, met_told)
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
            return cls(0, Combined(Weigher(), Counter(), Counter()), Weigher())
        # As admission does: the references of published schemas may lead nowhere without it.
        complete(document)
        graph, weigher = SchemaGraph(document, draft_of(document)), Weigher()
        try:
            root = weigher.combine(Counter({graph.places[0]: 1}), Counter({graph.places[0]: 1}))
        except TooManyError:
            root = None
        total = 0.0
        for place in graph.places:
            total += NANOSECONDS["compile-node"]
            patterns = [place.schema["pattern"]] if isinstance(place.schema.get("pattern"), str) else []
            patterns += _mapping(place.schema, "patternProperties")
            for pattern in patterns:
                total += NANOSECONDS["compile-pattern-step"] * pattern_steps(pattern)
        return cls(total, root, weigher)

    def estimate(self, value: Any, *, stop: float = float("inf"), samples: bool = False) -> Estimate:
        """Estimate what it takes to tell whether a value is valid, and to tell everything that may be wrong with it.

        Beyond `stop` nanoseconds it is no longer followed. With `samples` long lists are judged by a part of them,
        which is for sharing out, not for what must not take longer.
        """
        with suppress(TooManyError):  # places are combined while a value is followed
            if self._root is not None:
                return _estimate(self._root, value, stop, samples=samples)
        return Estimate(float("inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hold nanoseconds: until it is known whether a value is valid, and what telling its mistakes adds at most."""

    valid: float
    explaining: float

    @property
    def seconds(self) -> float:
        return (self.valid + self.explaining) / SECOND


def _estimate(root: Combined, value: Any, stop: float, *, samples: bool) -> Estimate:
    engine, told, python, characters = 0.0, 0.0, NANOSECONDS["check"], 0.0
    node = NANOSECONDS["node"]
    pending: list[tuple[Combined, Any, float]] = [(root, value, 1)]
    while pending and engine + python <= stop:
        here, item, times = pending.pop()
        rate, count = here.rate, len(item) if isinstance(item, dict | list | tuple) else 0
        engine += times * rate.fixed
        python += times * node
        told += times * rate.told
        if python + times * count * node > stop:
            python += times * count * node  # what each member takes at least: none of them need be seen
            break
        of_each = times  # how often each of the members counts that are followed
        most = SAMPLE if times == 1 else SAMPLE_OF_EACH
        if samples and count > most and not here.prefix:
            of_each, last = times * count / most, most * (count // most)
            steps = islice(item.items() if isinstance(item, dict) else item, 0, last, count // most)
            item = dict(steps) if isinstance(item, dict) else list(steps)
        if isinstance(item, dict):
            engine += times * (rate.container + rate.member * count)
            if rate.wide_container and _widest(item):
                engine += times * rate.wide_container
            for name, member in item.items():
                python += of_each * (NANOSECONDS["name"] + _reading(name, stop))
                if here.names is not None:
                    engine += of_each * here.names.rate.scalar(name)
                    told += of_each * here.names.rate.told
                below = here.member(name)
                if isinstance(member, dict | list | tuple):
                    pending.append((below, member, of_each))
                else:
                    is_text = member.__class__ is str
                    engine += of_each * below.rate.scalar(member)
                    told += of_each * below.rate.told
                    python += of_each * (_each((member,)) + _reading(member, stop) if is_text else node)
                    characters += of_each * len(member) if is_text else 0
        elif isinstance(item, list | tuple):
            engine += times * (rate.container + rate.item * count)
            if (rate.wide_container or rate.pair) and (widest := _widest(item)):
                engine += times * rate.wide_container
                if widest > LARGEST:
                    engine += times * rate.pair * count**2 * (widest.bit_length() / 64)
            pending.extend((here.item(at), item[at], of_each) for at in range(min(here.prefix, len(item))))
            rest = item[here.prefix :] if here.prefix else item
            if rest:
                below = here.item(here.prefix)
                containers = [each for each in rest if isinstance(each, dict | list | tuple)]
                scalars = [each for each in rest if not isinstance(each, dict | list | tuple)] if containers else rest
                if scalars:
                    texts = [each for each in scalars if each.__class__ is str]
                    text = "".join(texts)
                    engine += of_each * below.rate.scalars(scalars, len(text))
                    python += of_each * (len(scalars) * node + _each(texts) + _reading(text, stop))
                    told += of_each * len(scalars) * below.rate.told
                    characters += of_each * len(text)
                pending.extend((below, each, of_each) for each in containers)
        else:
            engine += times * (rate.scalar(item) - rate.fixed)
            python += times * (_reading(item, stop) if item.__class__ is str else 0)
    # What is refused is asked for a second time, for its mistakes, and the texts in them are looked through again.
    explaining = (
        NANOSECONDS["refusal"]
        + engine
        + 2 * NANOSECONDS["character"] * characters
        + min(told, MOST_MENDED) * NANOSECONDS["proposal"]
        + min(told * NANOSECONDS["error"], MOST_EXPLAINED)
    )
    return Estimate(engine + python, explaining)


def _each(texts: Iterable[str]) -> float:
    """Estimate what texts take beside their characters: one of several words is like none before it."""
    word, sentence = NANOSECONDS["text"], NANOSECONDS["sentence"]
    return sum(sentence if len(text) > LONGEST_WORD else word for text in texts)


def _reading(text: str, stop: float) -> float:
    """Estimate what it takes to search a text for secrets; one that takes more than `stop` is not looked into."""
    if (least := NANOSECONDS["character"] * len(text)) > stop:
        return least
    written, cost = text.encode("utf-8", "surrogatepass"), NANOSECONDS
    signs, digits = (len(written) - len(written.translate(None, kind)) for kind in (SIGNS, DIGITS))
    spoken = cost["spoken"] * len(SPOKEN.findall(text)) if " is " in text else 0
    marks = spoken + cost["sign"] * signs + cost["digit"] * digits + cost["far"] * (len(written) - len(text))
    return cost["character"] * len(text) + marks


def _is_wide(value: Any) -> bool:
    return value.__class__ is float or (value.__class__ is int and not -LARGEST <= value <= LARGEST)


def _widest(value: Any) -> int:
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


def _mapping(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}
