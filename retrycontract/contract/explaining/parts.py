"""Ask the engine about one part of a value or a composition at a time: asked for all, it writes every error first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

from retrycontract.contract.json_types import Schema, count_nodes, has_at_most
from retrycontract.contract.schemas.engine_errors import EngineError, EnginePaths
from retrycontract.contract.schemas.graph import REFERENCES, UNEVALUATED

MAX_STEPS = 10_000  # of some 10 µs: an error of a union's branch, read and compared


class StepsSpentError(Exception):
    """Raised within a check that has used up its steps; it ends with what is known by then."""


class StepBudget:
    """Count the steps of one check down."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps
        self._known = set[object]()

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises StepsSpentError when there are no more."""
        self._left -= steps
        if self._left < 0:
            raise StepsSpentError

    def spend_once(self, steps: int, what: object) -> None:
        """Take steps for what is dear the first time in a check, whatever was kept of it from another one."""
        if what not in self._known:
            self._known.add(what)
            self.spend(steps)

    def over(self, errors: Iterable[Any]) -> Iterator[Any]:
        """Yield what takes a step each."""
        for error in errors:
            self.spend()
            yield error


STRETCH = 2_000  # values that are handed over at once, if no single member holds more
MOST_BEFORE = 50  # items with schemas of their own: they come along with every stretch of those that follow
NAME = "stretch"
MEMBERWISE = ("items", "additionalItems", "patternProperties", "additionalProperties")
Build = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class MemberRule:
    """Hold a keyword that judges each member alone, in a schema that does nothing else.

    It has nothing to say of the items `before`; each of its `patterns` may refuse the same member.
    """

    keyword: str
    schema: dict[str, Schema]
    before: int = 0
    patterns: int = 1


class Members:
    """Hold the schema of a rule, compiled when it is first asked."""

    def __init__(self, compile_schema: Callable[[], Any], rule: MemberRule) -> None:
        self._compile, self._before = compile_schema, rule.before
        self._room = STRETCH // rule.patterns
        self._validator: Any = None

    def errors(self, value: Any, budget: StepBudget) -> Iterator[EngineError]:
        """Yield the errors of the members, located below a name of its own."""
        if self._validator is None:
            self._validator = self._compile()
        if isinstance(value, dict):
            build: Build = dict
            members: Sequence[Any] = list(value.items())
        else:
            before, members = value[: self._before], value[self._before :]
            build = lambda some: [*before, *some]  # noqa: E731 - one of two ways to put members together
        for stretch, start in self._refused(members, 0, build):
            paths = EnginePaths({NAME: stretch})
            errors = map(paths.read, budget.over(self._validator.iter_errors({NAME: stretch})))
            if start and not isinstance(value, dict):
                errors = map(methodcaller("placed", partial(_behind, start)), errors)
            yield from errors

    def _refused(self, members: Sequence[Any], start: int, build: Build) -> Iterator[tuple[Any, int]]:
        """Yield what is refused, in halves of halves until they are small, and how many members stand before it."""
        stretch = build(members)
        if self._validator.is_valid({NAME: stretch}):
            return
        if len(members) < 2 or has_at_most(self._room, members):
            yield stretch, start
            return
        half = len(members) // 2
        yield from self._refused(members[:half], start, build)
        yield from self._refused(members[half:], start + half, build)


def _behind(members: int, error: EngineError) -> EngineError:
    """Give an error about a stretch of an array as one about the whole, which has so many members before it."""
    where, seen = error.where, error.instance_path
    return error._replace(
        where=[where[0], int(where[1]) + members, *where[2:]],
        instance_path=[seen[0], int(seen[1]) + members, *seen[2:]],
    )


def take_rules(holder: dict[str, Any], *, tuples: str) -> Iterator[MemberRule]:
    """Take from a schema what judges each member alone; `tuples` is the keyword whose list is of items one by one."""
    named, patterns = holder.get("properties", {}), holder.get("patternProperties", {})
    if patterns:
        # The patterns stay, with nothing to say: `additionalProperties` still has to pass
        # over the names that they match.
        holder["patternProperties"] = {pattern: {} for pattern in patterns}
        yield MemberRule("patternProperties", {"patternProperties": patterns}, patterns=len(patterns))
    if isinstance(holder.get("additionalProperties"), dict):
        known: dict[str, Any] = {
            "properties": {name: {} for name in named},
            "patternProperties": {name: {} for name in patterns},
        }
        yield MemberRule("additionalProperties", known | {"additionalProperties": holder.pop("additionalProperties")})
    before = holder.get(tuples)
    first = before if isinstance(before, list) else []
    keyword = "additionalItems" if first and tuples == "items" else "items"
    if (isinstance(holder.get(keyword), dict) or holder.get(keyword) is False) and len(first) <= MOST_BEFORE:
        passed: dict[str, Any] = {tuples: [{}] * len(first)} if first else {}
        yield MemberRule(keyword, passed | {keyword: holder.pop(keyword)}, before=len(first))


UNIONS = ("anyOf", "oneOf")
LISTS = ("allOf", *UNIONS)
TABLES = ("patternProperties", "dependentSchemas", "dependencies")
FEW_MEMBERS = 4  # of a table that stays with the engine
COMPILING = 100  # steps that the parts of a composition take once
NODES_A_STEP = 50  # of a value that the engine is handed
# What these mean depends on the way that led there, or on what fits beside them.
DEPENDENT = ("$dynamicRef", "$recursiveRef", *UNEVALUATED)
Steps = tuple[str | int, ...]
Compile = Callable[[Mapping[str, tuple[Steps, Sequence[str]]]], Any]


class Parts:
    """Hold the parts of one composition, compiled when they are first asked."""

    def __init__(self, compile_parts: Compile, place: Steps, held: Any) -> None:
        keyword = str(place[-1])
        self._steps = [(keyword, step) for step in (held if keyword in TABLES else range(len(held)))]
        self._names = [f"part {number}" for number in range(len(held))]
        self._compile, self._place = compile_parts, place
        self._validator: Any = None

    def errors(self, value: Any, budget: StepBudget) -> Iterator[tuple[Steps, Iterator[EngineError]]]:
        """Yield of each part the steps to it and its errors, located below a name of the part's own."""
        # Spent even where another check has compiled them: what is told must not depend on what was asked before.
        budget.spend_once(COMPILING, self)
        if self._validator is None:
            parts = {}
            for name, (keyword, step) in zip(self._names, self._steps, strict=True):
                parts[name] = (*self._place, step), ((keyword, str(step)) if keyword in TABLES else ())
            self._validator = self._compile(parts)
        paths = EnginePaths(dict.fromkeys(self._names, value))
        cost = 1 + count_nodes(value) // NODES_A_STEP
        for name, steps in zip(self._names, self._steps, strict=True):
            budget.spend(cost)
            errors = self._validator.iter_errors({name: value})
            yield steps, map(paths.read, budget.over(errors))


def compositions(holder: dict[str, Any], tables: Sequence[str] = TABLES) -> Iterator[tuple[str, Any]]:
    """Take from a schema the keywords whose parts are asked one by one, and what each of them holds."""
    for keyword in LISTS:
        if isinstance(held := holder.get(keyword), list) and held:
            del holder[keyword]
            if keyword == "allOf":
                holder[keyword] = [{}] * len(held)  # no path of what comes after is that of a part
            yield keyword, held
    for keyword in tables:
        table = holder.get(keyword)
        if isinstance(table, dict) and len(table) > FEW_MEMBERS:
            held = {name: part for name, part in table.items() if not isinstance(part, list)}
            # Names that match a pattern stay known, and what is asked for beside a name stays asked for.
            rest = {name: {} if name in held else part for name, part in table.items()}
            holder[keyword] = rest
            yield keyword, held


def count_compositions(schema: Schema) -> int:
    """Count the lists of parts in a schema, wherever they stand."""
    return sum(isinstance(node.get(keyword), list) for node in _nodes(schema) for keyword in LISTS)


def may_divide(schema: Schema, keywords: Sequence[str] = (*LISTS, *TABLES)) -> bool:
    """Tell whether what these keywords hold can be asked alone, and nothing refers into it."""
    for node in _nodes(schema):
        targets = [node[keyword] for keyword in REFERENCES if isinstance(node.get(keyword), str)]
        leads_into = any(f"/{keyword}/" in f"{target}/" for target in targets for keyword in keywords)
        if leads_into or any(keyword in node for keyword in DEPENDENT):
            return False
    return True


def _nodes(schema: Schema) -> Iterator[dict[str, Any]]:
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def moved_place(place: Steps, moved: Mapping[Steps, Steps]) -> Steps:
    """Give where a place stands now, from where what holds it stands."""
    if not place:
        return ()
    if place in moved:
        return moved[place]
    if place[:-1] in moved:
        return (*moved[place[:-1]], place[-1])
    return (*moved[place[:-2]], *place[-2:])
