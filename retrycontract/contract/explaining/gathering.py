"""Have the engine say once what it would say of each name and of each part: its errors hold copies of the whole object.

In the schema that explains, `propertyNames`, `required` and `dependentRequired` of many names are appended to `allOf`
as a condition whose `else` is false: it judges the same and fails as one error for each object. Which names that one is
about is found out here. So does an `enum` of many options, all of which the engine would copy into each error, and so
do compositions, whose parts are asked one by one. In the schema that explains large values, what judges each member
alone does so, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

from retrycontract.contract.explaining.parts import (
    MEMBERWISE,
    NAME,
    TABLES,
    UNIONS,
    Members,
    Parts,
    StepBudget,
    Steps,
    compositions,
    may_divide,
    moved_place,
    take_rules,
)
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.admission import InvalidSchema, PartCompiler, compile_names
from retrycontract.contract.schemas.engine_errors import (
    EngineError,
    Kind,
    Path,
    missing,
    no_alternative,
    not_among,
)
from retrycontract.contract.schemas.graph import subschemas
from retrycontract.contract.schemas.metaschema import draft_of

Way = tuple[str, Steps, Callable[[Schema], Schema]]

FEW = 4  # names that stay with the engine: so many copies are soon made
FEW_OPTIONS = 50
WITHOUT_CONDITIONS = ("4", "6")
TUPLES = {"2020-12": "prefixItems"}  # the keyword for items one by one, which was `items` before
# The keyword that fails, the steps to what it is about, and the schema that fails by it. An error of `not` carries the
# schema, of `else` nothing.
WAY: Way = "else", ("if",), lambda rule: {"if": rule, "else": False}
OLD_WAY: Way = "not", ("not", "not"), lambda rule: {"not": {"not": rule}}
MOVED_BY = {fails: 2 + len(inside) for fails, inside, _ in (WAY, OLD_WAY)}  # steps that a condition puts into a path


@dataclass(frozen=True, slots=True)
class Rule:
    """Hold one gathered keyword: where it stands, and the names that it asks for beside which other (or none).

    For `propertyNames` the validator refuses them; for `enum` there are the options, for a composition its parts, and
    for what judges each member alone the members.
    """

    keyword: str
    place: Steps
    asked: tuple[tuple[str | None, list[str]], ...] = ()
    validator: Any = None
    options: Kind | None = None
    parts: Parts | None = None
    members: Members | None = None

    def refused(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield the engine's errors of each name in an object of its own, of which copies are cheap."""
        # `propertyNames` looks at names alone, so null stands for every value: no copy of the values is made.
        if self.validator.is_valid(dict.fromkeys(names)):
            return
        if len(names) == 1:
            yield from self.validator.iter_errors({names[0]: None})
            return
        # In halves, so that a few wrong names among thousands are found in few steps.
        half = len(names) // 2
        yield from self.refused(names[:half])
        yield from self.refused(names[half:])

    def faults(self, value: Any) -> Iterator[Kind]:
        """Yield what is allowed instead, or what is asked for and not there."""
        if self.options is not None:
            yield self.options
        for beside, names in self.asked:
            if beside is None or beside in value:
                yield from (missing(name) for name in names if name not in value)


class Gathering:
    """Take the gathered errors of one schema apart."""

    def __init__(self, rules: Mapping[Steps, Rule]) -> None:
        self._rules = rules
        self.compositions = sum(rule.parts is not None and rule.keyword not in TABLES for rule in rules.values())
        # Where what was moved into a condition begins, and how many steps longer the way is.
        self._moved = {at[:-1]: MOVED_BY[str(at[-1])] for at in rules}

    def apart(self, error: EngineError, budget: StepBudget) -> Iterator[EngineError]:
        """Yield the errors that one stands for; itself where it stands for nothing else."""
        if self._rules and tuple(error.schema_path) in self._rules:
            for each in self._held(error, budget):
                yield from self.apart(each, budget)
        elif (read := error.read) is not None:
            yield error._replace(read=lambda raw: (each for found in read(raw) for each in self.apart(found, budget)))
        else:
            yield error

    def _held(self, error: EngineError, budget: StepBudget) -> Iterator[EngineError]:
        """Yield the errors that a gathered one was made of; they may be gathered, too."""
        rule, value = self._rules[tuple(error.schema_path)], error.value
        # The last three steps of the way are the condition's own: `allOf`, its number, and the keyword that failed.
        way = error.evaluation_path[:-3]
        if rule.members is not None:
            for each in rule.members.errors(value, budget):
                yield each.placed(self._place(error, way))
            return
        told = EngineError(
            error.kind, value, error.instance_path, [*rule.place, rule.keyword], [*way, rule.keyword], error.where
        )
        if rule.keyword == "propertyNames":
            for refused in budget.over(rule.refused(list(value))):
                yield told._replace(
                    kind=refused.kind, schema_path=refused.schema_path, evaluation_path=refused.evaluation_path
                )
        elif rule.parts is None:
            for kind in rule.faults(value):
                yield told._replace(kind=kind)
        else:
            parts = (
                map(methodcaller("placed", self._place(error, [*way, *steps])), errors)
                for steps, errors in rule.parts.errors(value, budget)
            )
            if rule.keyword not in UNIONS:
                for part in parts:
                    yield from part
                return
            alternatives = [[each for found in part for each in self.apart(found, budget)] for part in parts]
            yield told._replace(kind=no_alternative(rule.keyword, alternatives))

    def _place(self, error: EngineError, way: Path) -> Callable[[EngineError], EngineError]:
        """Give what makes of an error about a part, below a name of its own, one about what the gathered error is."""
        return lambda each: EngineError(
            each.kind,
            each.value,
            [*error.instance_path, *each.instance_path[1:]],
            self._original(each.schema_path),
            [*way, *each.evaluation_path[each.evaluation_path.index("$ref", 2) + 1 :]],
            [*error.where, *each.where[1:]],
        )

    def _original(self, path: Path) -> Path:
        """Give the way in the schema as it was before keywords were moved into conditions."""
        if tuple(path) in self._rules:
            return path
        found, position = Path(), 0
        while position < len(path):
            further = self._moved.get(tuple(path[: position + 2]), 0)
            if not further:
                found.append(path[position])
            position += further or 1
        return found


def gather(schema: Schema, whole: Schema, *, by_member: bool = False) -> tuple[Schema, Gathering]:
    """Divide a schema in one that fails once for many names and parts, and what tells them; both stay as they are.

    `whole` is what references lead into: the schema itself may already lack what others look after. `by_member` it
    fails once for many members, too, which is worth while for large values.
    """
    gathered, rules = json.loads(json.dumps(schema)), dict[Steps, Rule]()  # what Python shares is two places here
    draft = draft_of(whole).name
    fails, inside, failing = OLD_WAY if draft in WITHOUT_CONDITIONS else WAY
    composes, moved = may_divide(whole), dict[Steps, Steps]()
    by_member = by_member and may_divide(whole, MEMBERWISE)
    compile_parts = PartCompiler(gathered)
    tables = [table for table in TABLES if not (by_member and table in MEMBERWISE)]
    for place, holder in _places(gathered):
        here = moved[place] = moved_place(place, moved)
        for keyword, held in list(compositions(holder, tables)) if composes else ():
            condition = (*here, "allOf", len(holder.setdefault("allOf", [])))
            moved[*place, keyword] = (*condition, *inside, keyword)
            parts = Parts(compile_parts, moved[*place, keyword], held)
            rules[*condition, fails] = Rule(keyword, place, parts=parts)
            holder["allOf"].append(failing({keyword: held}))
        for each in list(take_rules(holder, tuples=TUPLES.get(draft, "items"))) if by_member else ():
            condition = (*here, "allOf", len(holder.setdefault("allOf", [])))
            moved[*place, each.keyword] = (*condition, *inside, each.keyword)
            compile_stretch = partial(compile_parts, {NAME: ((*condition, *inside), ())})
            rules[*condition, fails] = Rule(each.keyword, place, members=Members(compile_stretch, each))
            holder["allOf"].append(failing(each.schema))
        for rule in list(_rules(holder, place, whole)):
            rules[*here, "allOf", len(holder.setdefault("allOf", [])), fails] = rule
            holder["allOf"].append(failing({rule.keyword: holder.pop(rule.keyword)}))
    return (gathered if rules else schema), Gathering(rules)


def _places(schema: Schema) -> list[tuple[Steps, dict[str, Any]]]:
    """List the subschemas that the engine's paths lead to without doubt; none where a part has its own address."""
    found: list[tuple[Steps, dict[str, Any]]] = [((), schema)] if isinstance(schema, dict) else []
    for place, holder in found:  # which grows on the way
        if place and any(isinstance(holder.get(keyword), str) for keyword in ("$id", "id")):
            return []
        for keyword, member, child in subschemas(holder):
            # Of names the engine drops the empty one, and takes digits for a number.
            is_plain = not isinstance(member, str) or (member != "" and not member.removeprefix("+").isdigit())
            if keyword != "propertyNames" and is_plain:
                found.append(((*place, keyword) if member is None else (*place, keyword, member), child))
    return found


def _rules(holder: dict[str, Any], place: Steps, whole: Schema) -> Iterator[Rule]:
    if isinstance(holder.get("propertyNames"), dict):
        with suppress(InvalidSchema):  # what leads elsewhere by an address of its own stays with the engine
            yield Rule("propertyNames", place, validator=compile_names(whole, [*place, "propertyNames"]))
    if isinstance(names := holder.get("required"), list) and len(names) > FEW:
        yield Rule("required", place, ((None, names),))
    if isinstance(options := holder.get("enum"), list) and len(options) > FEW_OPTIONS:
        yield Rule("enum", place, options=not_among(options))
    table = holder.get("dependentRequired")
    if isinstance(table, dict) and sum(map(len, table.values())) > FEW:
        yield Rule("dependentRequired", place, tuple(table.items()))
