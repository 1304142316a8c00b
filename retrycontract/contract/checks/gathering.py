"""Have the engine say once what it would say of each name: every one of its errors holds a copy of the whole object.

In the schema that explains, `propertyNames`, `required` and `dependentRequired` of many names are appended to `allOf`
as a condition whose `else` is false: it judges the same and fails as one error for each object. Which names that one is
about is found out here. So does an `enum` of many options, all of which the engine would copy into each error.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.admission import InvalidSchema, compile_names
from retrycontract.contract.checks.outline import Required
from retrycontract.contract.json_types import Schema
from retrycontract.contract.schemas.drafts import draft_of
from retrycontract.contract.schemas.keywords import subschemas

FEW = 4  # names that stay with the engine: so many copies are soon made
FEW_OPTIONS = 50
WITHOUT_CONDITIONS = ("4", "6")
# The keyword that fails, and the schema that fails by it. An error of `not` carries the schema, of `else` nothing.
WAY = "else", lambda rule: {"if": rule, "else": False}
OLD_WAY = "not", lambda rule: {"not": {"not": rule}}
Path = list[str | int]
Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Report one name in the form of the engine's errors; `where` is the true path of the value."""

    kind: Any
    instance: Any
    instance_path: Path
    schema_path: Path
    evaluation_path: Path
    where: Path


@dataclass(frozen=True, slots=True)
class Enum:
    """Say what is allowed, as the engine does."""

    options: list[Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """Hold one gathered keyword: where it stands, and the names that it asks for beside which other (or none).

    For `propertyNames` the validator refuses them; for `enum` there are the options.
    """

    keyword: str
    place: Steps
    asked: tuple[tuple[str | None, list[str]], ...] = ()
    validator: Any = None
    options: Enum | None = None

    def refused(self, value: dict[str, Any]) -> Iterator[Any]:
        """Yield the engine's errors of each name in an object of its own, of which copies are cheap."""
        for name in value:
            yield from self.validator.iter_errors({name: None})

    def faults(self, value: Any) -> Iterator[Enum | Required]:
        """Yield what is allowed instead, or what is asked for and not there."""
        if self.options is not None:
            yield self.options
        for beside, names in self.asked:
            if beside is None or beside in value:
                yield from (Required(name) for name in names if name not in value)


class Gathering:
    """Take the gathered errors of one schema apart."""

    def __init__(self, rules: dict[Steps, Rule]) -> None:
        self._rules = rules

    def holds(self, error: Any) -> bool:
        """Tell an error that stands for one of each name."""
        return bool(self._rules) and tuple(error.schema_path) in self._rules

    def apart(self, error: Any, value: Any, where: Path) -> Iterator[Named]:
        """Yield an error for each name; `value` is what the gathered one is about, at `where`."""
        rule = self._rules[tuple(error.schema_path)]
        if rule.keyword == "propertyNames":
            for each in rule.refused(value):
                yield Named(each.kind, value, error.instance_path, each.schema_path, each.evaluation_path, where)
            return
        schema_path, way = [*rule.place, rule.keyword], [*error.evaluation_path[:-3], rule.keyword]
        for fault in rule.faults(value):
            yield Named(fault, value, error.instance_path, schema_path, way, where)


def gather(schema: Schema, whole: Schema) -> tuple[Schema, Gathering]:
    """Divide a schema in one that fails once for many names, and what tells them; both stay as they are.

    `whole` is what references lead into: the schema itself may already lack what others look after.
    """
    gathered, rules = copy.deepcopy(schema), dict[Steps, Rule]()
    fails, failing = OLD_WAY if draft_of(whole).name in WITHOUT_CONDITIONS else WAY
    for place, holder in _places(gathered):
        for rule in list(_rules(holder, place, whole)):
            parts = holder.setdefault("allOf", [])
            rules[*place, "allOf", len(parts), fails] = rule
            parts.append(failing({rule.keyword: holder.pop(rule.keyword)}))
    return (gathered if rules else schema), Gathering(rules)


def _places(schema: Schema) -> list[tuple[Steps, dict[str, Any]]]:
    """List the subschemas that the engine's paths lead to without doubt; none where a part has its own address."""
    found: list[tuple[Steps, dict[str, Any]]] = [((), schema)] if isinstance(schema, dict) else []
    for place, holder in found:  # which grows on the way
        if place and any(isinstance(holder.get(keyword), str) for keyword in ("$id", "id")):
            return []
        for keyword, member, child in subschemas(holder):
            if keyword != "propertyNames" and _is_spelt_plainly(member):
                found.append(((*place, keyword) if member is None else (*place, keyword, member), child))
    return found


def _is_spelt_plainly(member: str | int | None) -> bool:
    """Tell a name that the engine writes as it is: it drops the empty one and takes digits for a number."""
    return not isinstance(member, str) or (member != "" and not member.removeprefix("+").isdigit())


def _rules(holder: dict[str, Any], place: Steps, whole: Schema) -> Iterator[Rule]:
    if isinstance(holder.get("propertyNames"), dict):
        with suppress(InvalidSchema):  # what leads elsewhere by an address of its own stays with the engine
            yield Rule("propertyNames", place, validator=compile_names(whole, [*place, "propertyNames"]))
    if isinstance(names := holder.get("required"), list) and len(names) > FEW:
        yield Rule("required", place, ((None, names),))
    if isinstance(options := holder.get("enum"), list) and len(options) > FEW_OPTIONS:
        yield Rule("enum", place, options=Enum(options))
    table = holder.get("dependentRequired")
    if isinstance(table, dict) and sum(map(len, table.values())) > FEW:
        yield Rule("dependentRequired", place, tuple(table.items()))
