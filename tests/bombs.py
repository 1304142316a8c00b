"""Outputs and schemas that take far longer to judge than to send: the known ones, and any number from a seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from retrycontract.checking import Question
from retrycontract.contract.configuration import RetryConfiguration


@dataclass(frozen=True)
class Bomb:
    """A schema, and a value that is dear to hold against it."""

    name: str
    schema: Any
    value: Any

    @property
    def size(self) -> int:
        """Count the bytes of the value."""
        return len(json.dumps(self.value))


def _numbers(count: int) -> list[int]:
    return list(range(5_000, 5_000 + count))


def _constants(count: int) -> list[dict[str, Any]]:
    return [{"const": number} for number in range(count)]


def _list_of(items: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "array", "items": items}}}


def _kinds(count: int) -> list[dict[str, Any]]:
    return [{"properties": {"k": {"const": number}}, "required": ["k"]} for number in range(count)]


def known() -> list[Bomb]:
    """Give those that once froze the service, in the sizes that did."""
    chosen = {"if": {"anyOf": _constants(400)}, "then": True, "else": True}
    contained = {"type": "object", "properties": {"a": {"contains": {"anyOf": _constants(400)}, "minContains": 1}}}
    nots = {"contains": {"allOf": [{"not": {"anyOf": _constants(440)}}, {"const": -1}]}}
    return [
        Bomb("if of constants, 1.5 MB", _list_of(chosen), {"a": _numbers(200_000)}),
        Bomb("if of constants", _list_of(chosen), {"a": _numbers(10_900)}),
        Bomb("contains of constants", contained, {"a": _numbers(10_000)}),
        Bomb("contains of negations", {"properties": {"a": nots}}, {"a": _numbers(10_900)}),
        Bomb(
            "contains of objects", {"properties": {"a": {"contains": {"oneOf": _kinds(200)}}}},
            {"a": [{"k": 1_000 + number} for number in range(6_500)]},
        ),
        Bomb("unique objects", {"properties": {"a": {"uniqueItems": True}}}, {"a": [{"i": n} for n in range(9_000)]}),
        Bomb("names", {"propertyNames": {"pattern": "^[a-z]+$"}}, {f"Bad Name {n}": 1 for n in range(4_000)}),
        Bomb("items of constants", _list_of({"anyOf": _constants(400)}), {"a": _numbers(10_000)}),
        Bomb("items of objects", _list_of({"oneOf": _kinds(60)}), {"a": [{"k": 1_000 + n} for n in range(3_000)]}),
        Bomb(
            "patterns",
            {"additionalProperties": {"anyOf": [{"type": "string", "pattern": f"^x{n}[a-z]+$"} for n in range(200)]}},
            {f"k{number}": "abcdef" for number in range(3_000)},
        ),
        Bomb("unique large numbers", {"properties": {"a": {"uniqueItems": True}}},
             {"a": [2**64 + number for number in range(1_500)]}),
        Bomb("multiples", _list_of({"not": {"anyOf": [{"multipleOf": 1e7 + n + 0.1} for n in range(200)]}}),
             {"a": _numbers(1_000)}),
        Bomb("a long string", {"properties": {"a": {"type": "integer"}}}, {"a": "lorem ipsum dolor " * 105_000}),
        Bomb("many numbers", _list_of({"type": "string"}), {"a": list(range(100_000, 340_000))}),
        Bomb("many names", {"properties": {"a": {}}}, {f"k{number:06}": number for number in range(100_000)}),
    ]  # fmt: skip


def seeded(seed: int, count: int) -> Iterator[Bomb]:
    """Make bombs of a grammar: what tests many alternatives, below what holds many values."""
    random = Random(seed)
    for number in range(count):
        yield _made(random, f"seed {seed}, number {number}")


def _made(random: Random, name: str) -> Bomb:
    width, values = random.choice([(20, 4_000), (60, 2_000), (150, 1_500), (300, 800), (400, 2_500)])
    leaf, make = random.choice(LEAVES)
    branches = [leaf(number) for number in range(width)]
    if "pattern" in branches[0]:
        branches = branches[:200]  # no more are admitted
    test = random.choice(TESTS)(branches)
    holder = random.choice(HOLDERS)
    return Bomb(name, *holder(test, [make(number) for number in range(values)]))


LEAVES = [
    (lambda n: {"const": n}, lambda n: 5_000 + n),
    (lambda n: {"const": f"name {n}"}, lambda n: f"value {n}"),
    (lambda n: {"enum": [n, -n - 1]}, lambda n: 5_000 + n),
    (lambda n: {"const": {"a": n, "b": [1, 2]}}, lambda _: {"a": -1, "b": [1, 2]}),
    (lambda n: {"properties": {"k": {"const": n}}, "required": ["k"]}, lambda n: {"k": 1_000 + n}),
    (lambda n: {"required": [f"m{n}"]}, lambda n: {"k": n}),
    (lambda n: {"type": "string", "pattern": f"^x{n}[a-z]+$"}, lambda n: "abcdef" * (1 + n % 4)),
    (lambda n: {"type": "string", "minLength": 100 + n}, lambda n: "abc" * (1 + n % 9)),
    (lambda n: {"minimum": 10_000_000 + n}, lambda n: n),
    (lambda n: {"minimum": 10_000_000.5 + n}, lambda n: n + 0.5),
    (lambda n: {"multipleOf": 10_000_000.5 + n}, lambda n: 5_000 + n),
    (lambda n: {"const": n}, lambda n: n + 0.5),
    (lambda n: {"type": "array", "maxItems": 1, "items": {"const": n}}, lambda n: [n, n + 1, n + 2]),
]
TESTS = [
    lambda branches: {"anyOf": branches},
    lambda branches: {"oneOf": branches},
    lambda branches: {"not": {"anyOf": branches}},
    lambda branches: {"if": {"anyOf": branches}, "then": False},
    lambda branches: {"allOf": [{"not": branch} for branch in branches]},
    lambda branches: {"anyOf": [*branches, True]},
]
HOLDERS = [
    lambda test, values: (_list_of(test), {"a": values}),
    lambda test, values: ({"properties": {"a": {"contains": test}}}, {"a": values}),
    lambda test, values: ({"additionalProperties": test}, {f"k{at}": value for at, value in enumerate(values)}),
    lambda test, values: ({"patternProperties": {"^k": test}}, {f"k{at}": value for at, value in enumerate(values)}),
    lambda test, values: (
        _list_of({"properties": {"v": test}, "required": ["v"]}), {"a": [{"v": value} for value in values]}
    ),
    lambda test, values: (
        {"$defs": {"t": test}, "properties": {"a": {"items": {"$ref": "#/$defs/t"}}}}, {"a": values}
    ),
]  # fmt: skip


def endless() -> Question:
    """Ask for what takes minutes."""
    schema = json.dumps(_list_of({"if": {"anyOf": _constants(1_500)}, "then": True}))
    value = {"a": _numbers(400_000)}
    return Question(output=value, tool_name="tool", schema=schema, configuration=RetryConfiguration())
