"""Outputs and schemas that take far longer to judge than to send: the known ones, and any number from a seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from retrycontract.checking import Question
from retrycontract.contract.configuration import RetryConfiguration
from tests.contract.pathological import TEXTS


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


WORDS = ("all", "neighbours", "know", "this", "old", "and", "quiet")


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
        Bomb("sentences", {}, {"a": [" ".join(WORDS[n // 7**at % 7] for at in range(5)) for n in range(16_000)]}),
        Bomb("many names", {"properties": {"a": {}}}, {f"k{number:06}": number for number in range(100_000)}),
    ]  # fmt: skip


def seeded(seed: int, count: int) -> Iterator[Bomb]:
    """Make bombs of a grammar: what tests many alternatives, below what holds many values; every third is a shape."""
    random = Random(seed)
    for number in range(count):
        name = f"seed {seed}, number {number}"
        if number % 3 == 2:
            shape = random.choice(SHAPES)
            yield Bomb(f"{name}, {shape.__name__.strip('_')}", *shape(random))
        else:
            yield _made(random, name)


def _made(random: Random, name: str) -> Bomb:
    width, values = random.choice([(20, 4_000), (60, 2_000), (150, 1_500), (300, 800), (400, 2_500)])
    leaf, make = random.choice(LEAVES)
    branches = [leaf(number) for number in range(width)]
    if "pattern" in branches[0]:
        branches = branches[:199]  # no more are admitted, and some holders have one themselves
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


def _unique(random: Random) -> tuple[Any, Any]:
    make = random.choice([
        lambda n: {"i": n, "l": [n, 1]}, lambda n: n + 0.5, lambda n: f"text {n}", lambda n: [n] * 5,
        lambda n: 2**64 + n, lambda n: n % 2 or {"a": n},
    ])  # fmt: skip
    schema = {"properties": {"a": {"uniqueItems": True, "items": random.choice([True, {"type": "object"}])}}}
    return schema, {"a": [make(number) for number in range(random.choice([300, 1_500, 6_000]))]}


def _property_names(random: Random) -> tuple[Any, Any]:
    branches = random.choice([
        [{"pattern": f"^x{n}[a-z]+$"} for n in range(150)], [{"const": f"name {n}"} for n in range(400)],
        [{"maxLength": 2}, {"format": "email"}, {"pattern": "^[A-Z]+$"}], [{"enum": [f"n{n}" for n in range(900)]}],
    ])  # fmt: skip
    value = {f"{'k' * random.choice([1, 40])}{n}": n for n in range(random.choice([200, 2_000, 6_000]))}
    return {"propertyNames": {random.choice(["anyOf", "oneOf"]): branches}}, value


def _tree_of_references(random: Random) -> tuple[Any, Any]:
    ways = random.choice([1, 2, 4])
    node = {
        "properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}, "v": {random.choice(["anyOf", "oneOf"]):
                       [{"const": n} for n in range(100)]}},
        "allOf": [{"required": [f"m{n}"]} for n in range(ways)],
    }  # fmt: skip

    def grown(depth: int) -> Any:
        return {"v": 1_000 + depth} | ({"l": grown(depth - 1), "r": grown(depth - 1)} if depth else {})

    return {"$defs": {"n": node}, "$ref": "#/$defs/n"}, grown(random.choice([7, 9, 11]))


def _nested_alternatives(random: Random) -> tuple[Any, Any]:
    kind, width = random.choice(["anyOf", "oneOf", "allOf"]), random.choice([5, 8, 11])
    nested: Any = {"type": "string"}
    for _ in range(3):
        nested = {kind: [nested | {"title": str(number)} for number in range(width)]}
    return _list_of(nested), {"a": _numbers(random.choice([30, 300, 1_000]))}


def _dependent_schemas(random: Random) -> tuple[Any, Any]:
    count = random.choice([50, 300])
    asked = {f"k{n}": {"required": [f"m{n}"], "properties": {f"k{n}": {"type": "string"}}} for n in range(count)}
    value = {f"k{n}": n for n in range(count)}
    return _list_of({"dependentSchemas": asked}), {"a": [value] * random.choice([2, 20, 60])}


def _unevaluated(random: Random) -> tuple[Any, Any]:
    values = random.choice([20, 200, 1_000])
    if random.random() < 0.5:
        branches = [{"prefixItems": [True] * (n + 1)} for n in range(20)]
        return _list_of({"anyOf": branches, "unevaluatedItems": False}), {"a": [list(range(30))] * values}
    branches = [{"properties": {f"p{n}": {"type": "integer"}}} for n in range(60)]
    schema: dict[str, Any] = {"anyOf": branches, "unevaluatedProperties": False}
    for _ in range(random.choice([0, 2])):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return _list_of(schema), {"a": [{f"q{n}": n for n in range(10)}] * values}


def _deep_values(random: Random) -> tuple[Any, Any]:
    deep: Any = random.choice([1, "x", None])
    for level in range(random.choice([40, 90])):
        deep = [deep] if level % 2 else {"d": deep}
    schema = {"$defs": {"n": {"anyOf": [{"type": "string"}, {"items": {"$ref": "#/$defs/n"}},
                                        {"properties": {"d": {"$ref": "#/$defs/n"}}}]}},
              "properties": {"a": {"items": random.choice([True, {"$ref": "#/$defs/n"}])}}}  # fmt: skip
    return schema, {"a": [deep] * random.choice([50, 500, 2_000])}


def _long_strings(random: Random) -> tuple[Any, Any]:
    written = random.choice(
        ["lorem ipsum ", "aB3$", "key=a1B2 ", "长文本没有空格", "\\u0041\\n", "((((", "ab" * 50 + "@"]
    )
    text = written * (random.choice([20_000, 300_000, 1_200_000]) // len(written.encode()))
    if random.choice([True, False]):
        made = [make for name, make in TEXTS.items() if name != "lone surrogates"]  # no door takes these
        text = random.choice(made)(random.choice([1_500, 10_000, 60_000]))
    held = random.choice([
        {"type": "integer"}, {"pattern": "^(a|b|ab)*c$"}, {"format": "email"}, {"maxLength": 10}, {"format": "uri"},
        {"anyOf": [{"pattern": f"x{n}[a-z]+$"} for n in range(60)]}, True,
    ])  # fmt: skip
    return {"properties": {"a": held}}, {"a": text}


def _many_properties(random: Random) -> tuple[Any, Any]:
    count = random.choice([200, 900])
    named = {f"p{n}": {"type": random.choice(["string", "integer"]), "minimum": 10**6} for n in range(count)}
    return _list_of({"properties": named, "additionalProperties": False}), {
        "a": [{f"{'pq'[at % 2]}{n}": n for n in range(count)} for at in range(random.choice([2, 20, 80]))]
    }


def _wide_arrays(random: Random) -> tuple[Any, Any]:
    make = random.choice(
        [lambda n: n, lambda n: n + 0.5, lambda _: [], lambda _: {}, lambda n: f"v{n}", lambda _: None]
    )
    held = random.choice([{"type": "boolean"}, True, {"const": 1}, {"contains": {"const": 1}}])
    return _list_of(held), {"a": [make(number) for number in range(random.choice([5_000, 40_000, 130_000]))]}


def _large_numbers(random: Random) -> tuple[Any, Any]:
    test = random.choice([
        {"multipleOf": 0.01}, {"multipleOf": 1e7 + 0.1}, {"minimum": 10**40}, {"const": 2**70}, {"enum": [2**70, 1]},
        {"anyOf": [{"maximum": -n - 0.5} for n in range(80)]},
        {"anyOf": [{"multipleOf": 2**65 + n} for n in range(40)]},
    ])  # fmt: skip
    digits = random.choice([19, 40, 300])
    return _list_of(test), {"a": [10**digits + number for number in range(random.choice([100, 1_000, 4_000]))]}


def _dressed_up(random: Random) -> tuple[Any, Any]:
    leaf, make = random.choice(LEAVES)
    test = random.choice(TESTS[:2])([leaf(number) for number in range(20)])
    values = [make(number) for number in range(random.choice([3, 40, 300]))]
    whole = {"type": "object", "properties": {"a": {"type": "array", "items": test}}, "required": ["a"]}
    holding = {"type": "object", "properties": {"v": test}, "required": ["v"], "additionalProperties": False}
    return random.choice([
        (whole, {"a": json.dumps(values)}),
        (whole, {"arguments": {"a": values}}),
        (whole, {"name": "tool", "arguments": json.dumps({"a": values})}),
        (_list_of({"type": "object", "properties": {"v": test}}), {"a": [json.dumps({"v": each}) for each in values]}),
        (_list_of({"type": "object", "properties": {"v": test}}), {"a": [[{"v": each}] for each in values]}),
        (_list_of({"type": "array", "items": leaf(7), "maxItems": 2}), {"a": values}),
        (_list_of({"type": "array", "items": holding}), {"a": [{"v": each} for each in values]}),
        (_list_of(holding), {"a": [{"arguments": {"v": each}} for each in values]}),
        ({"anyOf": [whole, {**whole, "required": ["b"]}], "type": "object"}, {"arguments": {"a": values}}),
    ])  # fmt: skip


SHAPES = [
    _unique, _property_names, _tree_of_references, _nested_alternatives, _dependent_schemas, _unevaluated,
    _deep_values, _long_strings, _many_properties, _wide_arrays, _large_numbers,
    _dressed_up,
]  # fmt: skip


def endless() -> Question:
    """Ask for what takes minutes."""
    schema = json.dumps(_list_of({"if": {"anyOf": _constants(1_500)}, "then": True}))
    value = {"a": _numbers(400_000)}
    return Question(output=value, tool_name="tool", schema=schema, configuration=RetryConfiguration())
