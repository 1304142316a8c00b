"""Estimate what it takes to tell the mistakes of an output, which is bounded in several ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.outputs.encoded import MAX_ENCODED, decoded
from retrycontract.contract.outputs.wrappers import unwrap
from retrycontract.contract.schemas.cost_table import NANOSECONDS
from retrycontract.contract.schemas.document import Trail
from retrycontract.contract.schemas.expansion import width_of
from retrycontract.contract.schemas.graph import SchemaGraph, SchemaPlace
from retrycontract.contract.schemas.rates import Rate

SECOND = 1_000_000_000  # nanoseconds
# As the checks bound them; tests hold these to the bounds there.
MOST_TOLD = 1_001  # mistakes of one output
MOST_STEPS = 10_000  # alternatives and their mistakes, looked at one by one
STEPS_OF_EACH = 2  # an alternative, and at least one mistake of it
COMPILING = 100  # steps that the parts of a composition take once
MOST_MENDED = 100  # mistakes for which it is tried what would mend them; of more none is
MOST_WRITTEN = 100_000  # mistakes that the engine may have to write at once: else none is told
MOST_ENCODED, MOST_WITHIN = 100_000, 1_000  # characters of texts that may hold JSON, and nodes of what they hold
MOST_TRIED = 1_000  # mistakes that are told anew to try what would mend others
ENCODES = ("[", "{", '"')
LISTS = ("anyOf", "oneOf", "allOf")
DIVIDED = (*LISTS, "patternProperties", "dependentSchemas", "dependencies")
DEPENDENT = frozenset({"$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"})


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hold nanoseconds: until it is known whether a value is valid, and what telling its mistakes adds at most."""

    valid: float
    explaining: float

    @property
    def seconds(self) -> float:
        return (self.valid + self.explaining) / SECOND


@dataclass(frozen=True, slots=True)
class Telling:
    """Hold how mistakes by one schema are told: `most_nodes` of a value, where the engine has to write all at once."""

    most_nodes: float = float("inf")
    is_divided: bool = True
    refusal: float = NANOSECONDS["refusal"]
    most_told: int = MOST_TOLD
    is_mended: bool = True  # where it is sought what would mend mistakes

    def again(self) -> Telling:
        """Give how mistakes are told that show once a text is read as the JSON that it holds."""
        return replace(self, refusal=0, most_told=MOST_MENDED, is_mended=False)

    @classmethod
    def of(cls, graph: SchemaGraph) -> Telling:
        """Find out whether the parts of every composition can be asked one by one."""
        composes = [place for place in graph.places if not place.schema.keys().isdisjoint(LISTS)]
        depends = any(not DEPENDENT.isdisjoint(place.schema) or _leads_into(place) for place in graph.places)
        if composes and (depends or any(_is_of_names(place.trail) for place in composes)):
            return cls(MOST_WRITTEN // width_of(graph), is_divided=False)
        return cls()

    def estimate(self, visits: Mapping[Rate, float], engine: float, nodes: float) -> float:
        """Estimate what is refused for a second time, for its mistakes, from how often each rate applied."""
        cost = NANOSECONDS
        if nodes > self.most_nodes:
            return self.refusal
        told = tried = placed = mended = sure = left = 0.0
        for rate, times in visits.items():
            told += times * rate.told
            mended += times * rate.mended
            sure += times * min(1, rate.sure)  # of what two places refuse, one mistake may be told
            if rate.tried:
                tried += times * rate.tried
                placed += times * rate.placed
                left = max(left, _steps_left(rate))
        trials = (
            min(min(mended, MOST_MENDED) ** 2 * cost["trial"], cost["trials"])
            if self.is_mended and sure <= MOST_MENDED
            else 0
        )
        known = self.refusal + engine + trials + min(told, self.most_told) * cost["error"]
        if not self.is_divided:
            return known + min(tried, MOST_WRITTEN) * cost["written"]
        return known + min(STEPS_OF_EACH, left / tried) * placed * cost["step"] if tried else known


class Readings:
    """Gather what may stand for another value, such as a text that holds JSON: the checks look there for more mistakes.

    What judges a place is asked `of` a value, and for the `names` that it knows.
    """

    __slots__ = ("_held", "_left", "_looked")

    def __init__(self) -> None:
        self._left, self._looked, self._held = MOST_ENCODED, 0, list[tuple[Any, Any]]()

    def add(self, combined: Any, text: str) -> None:
        """Add a text that is refused: it may hold JSON, or be the one item of a list."""
        if len(text) <= self._left and ((is_json := text.lstrip()[:1] in ENCODES) or _takes_list(combined)):
            self._left -= len(text)
            self._held.append((combined, text if is_json else [text]))

    def look(self, combined: Any, judged: Any, value: Any) -> None:
        """Add what a list or object stands for, if it is a list of one, one item of a list, or a wrapper.

        `judged` is what judges this very value at its place.
        """
        is_plain = not judged.rate.mended and (not isinstance(value, dict) or value.keys() <= judged.named.keys())
        if is_plain or self._looked > MOST_WITHIN:  # most are
            return
        self._looked += 1
        if (found := _fitted(combined, value)) is not value:
            self._held.append((combined, found))
            return
        names = combined.names(value) if isinstance(value, dict) else frozenset()
        is_open = bool(names) and not value.keys() <= names
        if is_open and (wrapped := unwrap(value, names, read=partial(decoded, most=MOST_ENCODED))):
            self._held.append((combined, wrapped.content))

    def cost(self, judge: Callable[[Any, Any], Estimate]) -> float:
        """Estimate what it takes to tell what is wrong within, and to try whether what they hold is all that was meant.

        `judge` estimates a value for a place.
        """
        count, told, tried = len(self._held), 0.0, 0.0
        for combined, sent in self._held if count <= MOST_MENDED else ():
            held = decoded(sent, MOST_ENCODED) if isinstance(sent, str) else sent
            if isinstance(sent, str) and not isinstance(held, dict | list):
                continue
            estimate, is_told = judge(combined, _fitted(combined, held)), has_at_most(MOST_WITHIN, held)
            each = estimate.valid + (estimate.explaining if is_told else 0)
            told += each if is_told else 0
            tried += each if not isinstance(sent, str) or len(sent) <= MAX_ENCODED else 0
        return told + tried * min(1, MOST_TRIED / count**2) if count else 0


def _fitted(combined: Any, value: Any) -> Any:
    """Give the one item of a list where no list may stand, and a list of what may be its item."""
    if not combined.of(value).rate.mended:
        return value
    if isinstance(value, list):
        is_one = len(value) == 1 and not combined.of(value[0]).rate.mended
        return value[0] if is_one else value
    return [value] if _takes_list(combined) else value


def _takes_list(combined: Any) -> bool:
    return not combined.of([]).rate.mended


def _steps_left(rate: Rate) -> float:
    """Give how many steps of a check can go to alternatives, of which those of each composition are compiled first."""
    compiling, first = COMPILING * rate.compositions, STEPS_OF_EACH * rate.tried
    return MOST_STEPS - compiling if compiling + first < MOST_STEPS else MOST_STEPS * first / (compiling + first)


def _is_of_names(trail: Trail) -> bool:
    while trail is not None:
        trail, step = trail
        if step == "propertyNames":
            return True
    return False


def _leads_into(place: SchemaPlace) -> bool:
    """Tell whether a reference leads to a part, or an address of its own hides where the parts are."""
    has_address = place.trail is not None and any(
        isinstance(place.schema.get(keyword), str) for keyword in ("$id", "id")
    )
    return has_address or any(f"/{keyword}/" in f"{place.schema.get('$ref')}/" for keyword in DIVIDED)
