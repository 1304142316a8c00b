"""Ask the engine about a stretch of a large value at a time: asked for all, it writes every error before it tells one.

A megabyte holds two hundred thousand wrong items, of which some thousands are told. So the schema that explains large
values says once that the items of an array, or the members of an object, are not all right. Which are not is asked
here stretch by stretch, while there is need of more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.explaining.parts import Located, Named, Path
from retrycontract.contract.explaining.patience import Patience
from retrycontract.contract.json_types import Schema, has_at_most
from retrycontract.contract.schemas.engine_paths import EnginePaths

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

    def errors(self, value: Any, patience: Patience) -> Iterator[Located]:
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
            yield from self._told(stretch, 0 if isinstance(value, dict) else start, patience)

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

    def _told(self, stretch: Any, start: int, patience: Patience) -> Iterator[Located]:
        paths = EnginePaths({NAME: stretch})
        for error in patience.over(self._validator.iter_errors({NAME: stretch})):
            path, value = paths.locate(error)
            where, seen = _moved(path, start), _moved(error.instance_path, start)
            yield Named(error.kind, value, seen, error.schema_path, error.evaluation_path, where), where, value


def _moved(path: Path, start: int) -> Path:
    return [path[0], int(path[1]) + start, *path[2:]] if start else path


def take_rules(holder: dict[str, Any], *, tuples: str) -> Iterator[MemberRule]:
    """Take from a schema what judges each member alone; `tuples` is the keyword whose list is of items one by one."""
    named, patterns = holder.get("properties", {}), holder.get("patternProperties", {})
    if patterns:
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
