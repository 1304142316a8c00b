"""How much checking a schema can cause: loops, chains and what multiplies along composition and references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from retrycontract.contract import pointers
from retrycontract.contract.schemas.document import DearSchema, InvalidSchema, SchemaFault
from retrycontract.contract.schemas.graph import UNEVALUATED, Edge, SchemaGraph, SchemaPlace

MAX_EXPANSION = 10_000  # subschemas that one value may be held against
# The engine recurses once per step; on recursive schemas times the depth of the value (100): 64 steps fit the
# usual stack of 8 MB, 128 end the process.
MAX_CHAIN = 32
# `unevaluated…` looks at everything beside it again: nested ones measured 2.6 times the work per level.
UNEVALUATED_FACTOR = 3
MAX_INSTANCE_DEPTH = 100
# Places looked at, level by level, to find the depth that is cheap; a large schema gets a smaller one, since finding it
# took seconds.
MAX_LOOKS = 10_000
LEAST_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Expansion:
    """Hold the depth to which values are cheap to check, and how many subschemas one value may be held against.

    `dear` is the fault for which the schema may be used only where its work can be cut off.
    """

    cheap_depth: int = MAX_INSTANCE_DEPTH
    width: int = 1
    dear: DearSchema | None = None


def check_expansion(graph: SchemaGraph) -> Expansion:
    """Check that composition and references stay bounded, and give what work they may cause.

    Raises InvalidSchema for a loop that never descends into the value and a chain that is too long; an expansion that
    is too large is `dear`. A value that nests deeper than what is cheap can be held against more than
    MAX_EXPANSION subschemas on one path, because recursion re-enters the same member on several branches: check
    such a value under a time limit.
    """
    order = _inside_out(graph.places)
    size: dict[SchemaPlace, int] = {}
    chain: dict[SchemaPlace, int] = {}
    dear: DearSchema | None = None
    for place in order:
        size[place] = 1 + _factor(place) * sum(size[edge.place] for edge in place.in_place)
        chain[place] = 1 + max((chain[edge.place] for edge in place.in_place), default=0)
        if size[place] > MAX_EXPANSION and dear is None:
            reason = (
                f"anyOf, oneOf, allOf and references expand to more than {MAX_EXPANSION:,} subschemas for one value;"
                " nest fewer of them."
            )
            dear = DearSchema(place.pointer, reason, SchemaFault.EXPANSION)
        # Without references a chain is no longer than the schema is deep, which is bounded already.
        if graph.has_references and chain[place] > MAX_CHAIN:
            reason = f"More than {MAX_CHAIN} references and compositions lead on from here; shorten the chain."
            raise InvalidSchema(place.pointer, reason, SchemaFault.TOO_DEEP)
    # Of a dear one no depth is cheap: what bounds it is the time that it may take.
    is_even = dear is not None or not graph.has_references
    depth = MAX_INSTANCE_DEPTH if is_even else _cheap_depth(order, graph.places[0], size)
    return Expansion(depth, max(size.values()), dear)


def width_of(graph: SchemaGraph) -> int:
    """Count how many subschemas one value may be held against; the schema was admitted."""
    size: dict[SchemaPlace, int] = {}
    for place in _inside_out(graph.places):
        size[place] = 1 + _factor(place) * sum(size[edge.place] for edge in place.in_place)
    return max(size.values())


def _inside_out(places: Iterable[SchemaPlace]) -> list[SchemaPlace]:
    """Order places so that each comes after what it applies to the same value; raises InvalidSchema for a loop."""
    order: list[SchemaPlace] = []
    done: set[SchemaPlace] = set()
    for start in places:
        if start in done:
            continue
        path: list[tuple[Edge, Iterator[Edge]]] = [(Edge(start), iter(start.in_place))]
        open_now = {start}
        while path:
            edge = next(path[-1][1], None)
            if edge is None:
                place = path.pop()[0].place
                open_now.discard(place)
                done.add(place)
                order.append(place)
            elif edge.place in open_now:
                # Point at the last reference of the loop: without one, no schema comes back to itself.
                steps = [*(step for step, _ in path), edge]
                last = max(index for index, step in enumerate(steps) if step.reference)
                pointer = pointers.join(steps[last - 1].place.pointer, steps[last].reference)
                reason = (
                    "This reference leads back to itself without descending into the value; refer from a property or"
                    " items."
                )
                raise InvalidSchema(pointer, reason, SchemaFault.REF_CYCLE)
            elif edge.place not in done:
                open_now.add(edge.place)
                path.append((edge, iter(edge.place.in_place)))
    return order


def _factor(place: SchemaPlace) -> int:
    return UNEVALUATED_FACTOR if any(keyword in place.schema for keyword in UNEVALUATED) else 1


MAX_NAMES = 2_000  # of members, counted at every place that looks at them; where there are more, all are one


class Below(NamedTuple):
    """Hold how many subschemas members meet: each by its name, of other names, items and the names themselves."""

    named: dict[str, int]
    others: int
    items: int
    names: int

    def plus(self, more: Below, times: int) -> Below:
        """Add what meets the same members, so many times."""
        named = {
            name: self.named.get(name, self.others) + times * more.named.get(name, more.others)
            for name in self.named.keys() | more.named.keys()
        }
        return Below(
            named,
            self.others + times * more.others,
            self.items + times * more.items,
            self.names + times * more.names,
        )

    @property
    def most(self) -> int:
        """Give what the busiest member meets."""
        return max(self.others, self.items, self.names, *self.named.values())


def _below(place: SchemaPlace, met: dict[SchemaPlace, int], *, tells_names: bool) -> Below:
    """Read off what a place alone has its members held against, when each place below meets so many."""

    def at(*keywords: str) -> list[int]:
        return [met[each] for keyword in keywords for each in place.members.get(keyword, ())]

    # Any name may fit every pattern; of the other keywords one alone looks at a member.
    patterns = sum(at("patternProperties"))
    others = max(at("additionalProperties", "unevaluatedProperties"), default=0)
    declared = {str(each.trail[1]): met[each] for each in place.members.get("properties", ()) if each.trail}
    if not tells_names:
        declared, others = {}, max(others, *declared.values(), 0)
    items = max(at("prefixItems", "items", "additionalItems", "unevaluatedItems"), default=0) + sum(at("contains"))
    named = {name: most + patterns for name, most in declared.items()}
    return Below(named, others + patterns, items, max(at("propertyNames"), default=0))


def _cheap_depth(order: list[SchemaPlace], root: SchemaPlace, size: Mapping[SchemaPlace, int]) -> int:
    """Count, depth by depth, the most subschemas that one path into a value can meet.

    Branches that look into different members share no path: a filter of `and`, `or` and `not` costs no more the
    deeper it nests, whereas two branches that look into one member double with every level.
    """
    looked_at: dict[SchemaPlace, int] = {}
    for place in order:
        looked_at[place] = len(place.members.get("properties", ())) + sum(looked_at[e.place] for e in place.in_place)
    tells_names = sum(looked_at.values()) <= MAX_NAMES
    # Most places lead nowhere, and are looked at once.
    leading = [place for place in order if place.members or place.in_place]
    ends = {place: size[place] for place in order if not (place.members or place.in_place)}

    def below_each(met: dict[SchemaPlace, int]) -> dict[SchemaPlace, Below]:
        below = dict[SchemaPlace, Below]()
        for place in leading:
            found = _below(place, met, tells_names=tells_names)
            for edge in place.in_place:
                if edge.place in below:
                    found = found.plus(below[edge.place], _factor(place))
            below[place] = found
        return below

    # Where one subschema alone looks into each member, each level adds no more than it holds, however large it is.
    is_single = all(found.most <= 1 for found in below_each(dict.fromkeys(order, 1)).values())
    if is_single and (MAX_INSTANCE_DEPTH + 1) * max(size.values()) <= MAX_EXPANSION:
        return MAX_INSTANCE_DEPTH
    met = dict.fromkeys(order, 0)
    deepest = min(MAX_INSTANCE_DEPTH, max(LEAST_DEPTH, MAX_LOOKS // len(order)))
    for depth in range(deepest + 1):
        # Capped: where recursion takes several ways, the numbers multiply with every level.
        below, before = below_each(met), met
        met = ends | {place: min(size[place] + below[place].most, MAX_EXPANSION + 1) for place in leading}
        if met[root] > MAX_EXPANSION:
            return max(depth - 1, 0)
        # What does not grow from one level to the next never will.
        if met == before:
            return MAX_INSTANCE_DEPTH
    return deepest
