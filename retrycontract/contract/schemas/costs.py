"""Estimate what it costs to judge an output by a schema, without asking the engine, which nobody can interrupt.

The schema is followed through the value as composition does it: the subschemas that describe one place together are
weighed once for each kind of value, each as often as there are ways to it, and kept. One that refuses the kind of the
value costs a look and nothing below it. Where an alternative that fits early ends the search, the estimate is too
high, which costs some milliseconds of a child process; what is rated too low holds up the door.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, KeysView, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any
from weakref import proxy

from retrycontract.contract.json_types import Schema, mapping
from retrycontract.contract.schemas.cost_table import NANOSECONDS
from retrycontract.contract.schemas.document import read_document
from retrycontract.contract.schemas.graph import UNEVALUATED, SchemaGraph, SchemaPlace
from retrycontract.contract.schemas.metaschema import draft_of
from retrycontract.contract.schemas.patterns import pattern_steps
from retrycontract.contract.schemas.rates import LARGEST, Misses, Rate, Ways, is_sure, kind_of, refuses, widest
from retrycontract.contract.schemas.reading_costs import Search, Texts, by_length, unsearched
from retrycontract.contract.schemas.telling_costs import MOST_WITHIN, Estimate, Readings, Telling
from retrycontract.contract.schemas.tool_lists import complete
from retrycontract.contract.schemas.verdicts import MOST_LOOKS, Looks, fits_plainly

MAX_COMBINED = 2_000  # places of one schema that are weighed by kind; names that a model makes up share one
MANY, FIRST = 50, 3  # members or items, of which it is worth while to look at so many
MAX_SHAPES = 30  # of values of one kind that are told apart at one place
MAX_WAYS = 20_000  # to subschemas that describe one place; admission allows half of it
UNEVALUATED_TIMES = 2.6  # the work beside `unevaluated…`, as measured; admission counts it three times
# Members of a large container that are followed, where only about how much is asked, and of each of such a member.
SAMPLE, SAMPLE_OF_EACH = 60, 15
OLD = ("4", "6")  # drafts that lack `const` or `if`
CONTAINERS = (dict, list, tuple)
MEMBERS = ("additionalProperties", "unevaluatedProperties", "patternProperties")
ITEMS = ("items", "additionalItems", "unevaluatedItems", "prefixItems", "contains")
NUMBERS = frozenset({int, float, bool, type(None)})  # a list of nothing else is passed by, not walked through
AllWays = Mapping[SchemaPlace, Ways]


class Judged:
    """Weigh the subschemas that describe one place of a value together, for values of one kind."""

    def __init__(self, weigher: Weigher, places: AllWays, kind: str, rate: Rate) -> None:
        self._weigher, self.places, self.rate = weigher, places, rate
        # Alternatives that soon end where a name is missing or the length is another.
        self.misses = Misses.of(kind, [place for place, ways in places.items() if not ways.sure])
        self.sought = [(place, child) for place in places for child in place.members.get("contains", ())]
        self.named: dict[Any, list[tuple[Ways, SchemaPlace]]] = {
            name: [] for place in places for name in mapping(place.schema, "properties")
        }
        self._onward: list[tuple[str, SchemaPlace, Ways, SchemaPlace]] = []
        for place, ways in places.items():
            for keyword, children in place.members.items():
                if keyword != "properties":
                    self._onward += [(keyword, place, ways, child) for child in children]
                    continue
                for child in children:
                    if child.trail is not None:
                        self.named[child.trail[1]].append((ways, child))
        lists = ([place.schema.get(keyword) for keyword in ("prefixItems", "items")] for place in places)
        firsts = (next((each for each in pair if isinstance(each, list)), []) for pair in lists)
        self.prefix = max(map(len, firsts), default=0)  # items that have a schema of their own
        self.members: dict[str | None, Combined] = {}
        self._items: dict[tuple[int, bool], Combined] = {}
        self._names: Combined | None = None
        self.has_names = any("propertyNames" in place.members for place in places)

    def member(self, name: str | None) -> Combined:
        """Give what judges a member of a name that the schema knows; None stands for all others."""
        found = self.members.get(name)
        if found is None:
            found = self.members[name] = self._below(MEMBERS, named=name)
        return found

    @property
    def names(self) -> Combined | None:
        """Give what judges the names of the members, if anything does."""
        # Only where a value has members: a name has none, so that a schema that judges its own names ends there.
        if self.has_names and self._names is None:
            self._names = self._below(("propertyNames",))
        return self._names

    def item(self, position: int, *, is_found: bool = False) -> Combined:
        """Give what judges an item; those after the longest tuple share one. What is found is no longer sought."""
        key = min(position, self.prefix), is_found
        found = self._items.get(key)
        if found is None:
            found = self._items[key] = self._below(ITEMS[:-1] if is_found else ITEMS)
        return found

    def groups(self, item: Any, looks: Looks) -> Iterator[tuple[Combined, Sequence[Any], bool]]:
        """Divide items, or the members that the schema does not name and the names, in such as are judged alike.

        The last of each tells whether the engine knows of a mistake before it comes to them.
        """
        if isinstance(item, dict):
            if self.names is not None:
                yield from _alike(self.names, list(item), looks)
            others = [name for name in item if name not in self.named]
            is_known = bool(others) and self._refuses(others[0], item[others[0]], looks)
            yield from _alike(self.member(None), [item[name] for name in others], looks, is_known=is_known)
            return
        for position in range(min(self.prefix, len(item))):
            yield self.item(position), (item[position],), False
        if rest := item[self.prefix :] if self.prefix else item:
            if len(rest) >= MANY and self.finds(rest[0], looks):
                yield self.item(self.prefix), rest[:1], False
                yield from _alike(self.item(self.prefix, is_found=True), rest[1:], looks)
            else:
                yield from _alike(self.item(self.prefix), rest, looks)

    def finds(self, value: Any, looks: Looks) -> bool:
        """Tell whether one item is known to be all that is sought in an array."""
        return bool(self.sought) and all(
            holder.schema.get("minContains", 1) == 1
            and holder.schema.keys().isdisjoint(("maxContains", "unevaluatedItems"))
            and looks.at(child, value) is True
            for holder, child in self.sought
        )

    def _refuses(self, name: str, value: Any, looks: Looks) -> bool:
        """Tell whether a member is known to be refused by a pattern that its name surely matches."""
        return any(
            keyword == "patternProperties" and ways.sure and child.trail is not None
            and fits_plainly(name, str(child.trail[1])) and looks.at(child, value) is False
            for keyword, _, ways, child in self._onward
        )  # fmt: skip

    def _below(self, keywords: Sequence[str], *, named: str | None = None) -> Combined:
        found = list(self.named.get(named, ()))
        for keyword, place, ways, child in self._onward:
            if keyword in keywords:
                judges_all = ways.sure and is_sure(keyword, place.schema, named)
                onward = Ways(ways.times) if keyword == "contains" else ways
                found.append((onward if judges_all else onward._replace(sure=0), child))
        below = dict[SchemaPlace, Ways]()
        for ways, child in found:
            below[child] = below[child].and_also(ways) if child in below else ways
        return self._weigher.combine(below)


class TooManyError(Exception):
    """Raised for a schema that has more places than are weighed: whatever it judges is dear."""


class Combined:
    """Hold the subschemas that describe one place, as they judge values of each kind."""

    __slots__ = ("_choosy", "_shapes", "_starts", "_weigher", "plain")

    def __init__(self, weigher: Weigher, starts: AllWays) -> None:
        self._weigher, self._starts = weigher, starts
        self.plain, self._choosy = dict[type, Judged](), dict[type, Judged]()  # by the class of the value
        self._shapes = dict[Any, Judged]()

    def of(self, value: Any) -> Judged:
        """Give what judges a value."""
        kind = value.__class__
        found = self.plain.get(kind) or self._choosy.get(kind)
        if found is None:
            found = self._weigher.close(self._starts, kind_of(value))
            (self._choosy if found.misses else self.plain)[kind] = found
        if (misses := found.misses) is None:
            return found
        key = kind, misses.shape(value)
        if key not in self._shapes and len(self._shapes) < MAX_SHAPES:
            self._shapes[key] = self._weigher.close(self._starts, kind_of(value), misses.by(value))
        return self._shapes.get(key, found)

    def names(self, value: dict[str, Any]) -> KeysView[str]:
        """Give the names that its subschemas know, also those which refuse this very object for a name."""
        self.of(value)
        kind = value.__class__
        return (self.plain.get(kind) or self._choosy[kind]).named.keys()

    def refuses(self, value: Any, looks: Looks) -> bool:
        """Tell whether a value is known to be refused, which ends all judging."""
        return any(ways.sure and looks.at(place, value) is False for place, ways in self._starts.items())


class Weigher:
    """Make the combined places of one schema, each once.

    They know it weakly: it holds them, and what is held in a circle is freed only while all threads stand still.
    """

    def __init__(self, *, is_modern: bool = True) -> None:
        self.is_modern = is_modern
        self._known: dict[Any, Combined] = {}
        self._closed = 0

    def combine(self, starts: AllWays) -> Combined:
        """Weigh some subschemas together."""
        key = frozenset(starts.items())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Combined(proxy(self), starts)
        return found

    def close(self, starts: AllWays, kind: str, missed: Container[SchemaPlace] = ()) -> Judged:
        """Follow composition and references from some subschemas; one counts as often as there are ways to it."""
        self._closed += 1
        if self._closed > MAX_COMBINED:
            raise TooManyError
        met, rate, steps = dict[SchemaPlace, Ways](), Rate(), 0
        refused = dict[SchemaPlace, bool]()
        pending = list(starts.items())
        while pending:
            place, ways = pending.pop()
            if place not in refused:
                schema = place.schema if self.is_modern else {"type": place.schema.get("type")}
                refused[place] = not place.only_refers and (place in missed or refuses(schema, kind))
            if refused[place]:
                rate.refuse(ways, is_missed=place in missed and bool(place.members))
            else:
                met[place] = met[place].and_also(ways) if place in met else ways
                factor = UNEVALUATED_TIMES if any(keyword in place.schema for keyword in UNEVALUATED) else 1
                keywords = {edge.keyword for edge in place.in_place}
                onward = {keyword: ways.through(keyword, factor) for keyword in keywords}
                pending.extend((edge.place, onward[edge.keyword]) for edge in place.in_place)
            steps += 1
            if steps > MAX_WAYS:
                raise TooManyError
        for place, ways in met.items():
            rate.add(place.schema, kind, ways.times)
            rate.add_mistakes(place.schema, kind, ways)
        return Judged(proxy(self), met, kind, rate)


@dataclass(slots=True)
class Weight:
    """Hold what judging by one schema costs; built once for each schema."""

    compiling: float  # nanoseconds, once in each process
    _weigher: Weigher
    _root: Combined
    _telling: Telling = field(default_factory=Telling)
    _looks: int = 0  # at subschemas, for what ends the search; none in old drafts, which lack keywords

    @classmethod
    def of(cls, schema: Schema) -> Weight:
        """Weigh a schema that was admitted."""
        document = read_document(schema)
        if isinstance(document, bool):
            return cls(0, weigher := Weigher(), weigher.combine({}))
        # As admission does: the references of published schemas may lead nowhere without it.
        complete(document)
        graph = SchemaGraph(document, draft_of(document))
        # What a keyword refuses must not depend on a draft that lacks it.
        is_modern = graph.draft.name not in OLD and not any("$schema" in place.schema for place in graph.places[1:])
        weigher = Weigher(is_modern=is_modern)
        total = 0.0
        for place in graph.places:
            total += NANOSECONDS["compile-node"]
            patterns = [place.schema["pattern"]] if isinstance(place.schema.get("pattern"), str) else []
            patterns += mapping(place.schema, "patternProperties")
            for pattern in patterns:
                total += NANOSECONDS["compile-pattern-step"] * pattern_steps(pattern)
        root = weigher.combine({graph.places[0]: Ways(1, 1, sure=1)})
        return cls(total, weigher, root, Telling.of(graph), MOST_LOOKS if is_modern else 0)

    def estimate(
        self, value: Any, *, search: Search = by_length, stop: float = float("inf"), samples: bool = False
    ) -> Estimate:
        """Estimate what it takes to tell whether a value is valid, and to tell everything that may be wrong with it.

        Parts of long texts are searched to tell what that takes. Beyond `stop` nanoseconds the value is no longer
        followed. With `samples` long lists are judged by a part of them, which is for sharing out, not for what must
        not take longer.
        """
        with suppress(TooManyError):  # places are combined while a value is followed
            return _estimate(self._root, value, search, stop, self._telling, Looks(self._looks), samples=samples)
        return Estimate(float("inf"), float("inf"))


def _estimate(
    root: Combined, value: Any, search: Search, stop: float, telling: Telling, looks: Looks, *, samples: bool
) -> Estimate:
    # What the engine does until it has found a mistake, and what it does beyond to find them all.
    engine, python, characters, nodes, copied = [0.0, 0.0], NANOSECONDS["check"], 0.0, 1.0, 0.0
    names = ("node", "leaf", "number", "name", "character", "known-text")
    container, leaf, number, named, character, texted = map(NANOSECONDS.__getitem__, names)
    searched, readings, visits = Texts(), Readings(), defaultdict[Rate, float](float)
    pending: list[tuple[Judged, Any, float, bool]] = [(root.of(value), value, 1, False)]
    if isinstance(value, CONTAINERS):
        readings.look(root, pending[0][0], value)
    while pending and engine[0] + python + character * characters <= stop:
        here, item, times, is_beyond = pending.pop()
        rate, is_object = here.rate, isinstance(item, dict)
        python += times * container
        visits[rate] += times
        if not isinstance(item, CONTAINERS):
            engine[is_beyond] += times * rate.scalar(item)
            if isinstance(item, str):
                characters += times * len(item)
                searched.add(item, times)
                if rate.mended:
                    readings.add(root, item)
            continue
        count = len(item)
        nodes += times * count
        # What each member takes at least, as far as the first one tells.
        least = number if not is_object and count and item[0].__class__ in NUMBERS else leaf
        if python + times * count * least > stop:
            python += times * count * least  # none of them need be seen
            break
        engine[is_beyond] += times * (rate.fixed + rate.member * count)
        if rate.missed is not None:
            visits[rate.missed] += times * count
        if (rate.wide or rate.pair) and (largest := widest(item)):
            engine[is_beyond] += times * rate.wide
            if largest > LARGEST:
                engine[is_beyond] += times * rate.pair * count**2 * (largest.bit_length() / 64)
        of_each = times  # how often each of the members counts that are followed
        most = SAMPLE if times == 1 else SAMPLE_OF_EACH
        if samples and count > most and not here.prefix:
            of_each, last = times * count / most, most * (count // most)
            steps = islice(item.items() if isinstance(item, dict) else item, 0, last, count // most)
            item = dict(steps) if is_object else list(steps)
        is_mixed = not is_object or here.has_names
        if is_object:
            python += of_each * named * len(item)
            for name, member in item.items():
                if name not in here.named:
                    searched.add_name(name, of_each)
                    is_mixed = True
                    continue
                combined = here.members.get(name) or here.member(name)
                below = combined.plain.get(member.__class__) or combined.of(member)
                if isinstance(member, CONTAINERS):
                    readings.look(combined, below, member)
                    pending.append((below, member, of_each, is_beyond))
                    continue
                python += of_each * leaf
                visits[below.rate] += of_each
                engine[is_beyond] += of_each * below.rate.scalar(member)
                if isinstance(member, str):
                    python += of_each * texted
                    characters += of_each * len(member)
                    searched.add(member, of_each)
                    if below.rate.mended:
                        readings.add(combined, member)
        if not is_mixed:
            continue
        of_leaf = leaf if is_object or not NUMBERS.issuperset(map(type, item)) else number
        for combined, some, is_later in here.groups(item, looks):
            below = combined.of(some[0])
            goes_beyond = is_beyond or is_later
            if isinstance(some[0], CONTAINERS):
                for each in some if len(some) <= MOST_WITHIN else ():
                    readings.look(combined, below, each)
                pending.extend((below, each, of_each, goes_beyond) for each in some)
                continue
            visits[below.rate] += of_each * len(some)
            copied += of_each * below.rate.copied(some)
            engine[goes_beyond] += of_each * below.rate.scalars(some)
            if combined is here.names:
                continue
            python += of_each * of_leaf * len(some)
            if isinstance(some[0], str):
                python += of_each * texted * len(some)
                characters += of_each * sum(map(len, some))
                searched.add_all(some, of_each)
                for text in some if below.rate.mended else ():
                    readings.add(combined, text)
    if pending or engine[0] + python + character * characters > stop:
        return Estimate(engine[0] + python + character * characters, float("inf"))
    explaining = telling.estimate(visits, engine[0] + engine[1], nodes) + copied * NANOSECONDS["copied-word"]
    again = telling.again()
    estimate = partial(_estimate, search=unsearched, stop=stop, telling=again, looks=looks, samples=samples)
    if within := readings.cost(estimate):
        explaining += within + again.estimate(visits, engine[0] + engine[1], nodes)  # all is judged anew
    return Estimate(engine[0] + python + searched.cost(search), explaining)


def _alike(
    combined: Combined, values: Sequence[Any], looks: Looks, *, is_known: bool = False
) -> Iterator[tuple[Combined, Sequence[Any], bool]]:
    """Divide values in such of one class; behind one that is refused the engine sees no other until it explains."""
    if not values:
        return
    seen = int(is_known)
    if not is_known and len(values) >= MANY:
        seen = next((at for at, value in enumerate(values[:FIRST], 1) if combined.refuses(value, looks)), 0)
    yield from ((combined, [value], False) for value in values[:seen])
    is_known, values = seen > 0, values[seen:]
    if len(classes := set(map(type, values))) == 1:
        yield combined, values, is_known
        return
    for each in classes:
        yield combined, [value for value in values if type(value) is each], is_known
