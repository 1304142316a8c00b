"""Calls that make careless checkers slow: each name maps to a schema and a function from a size to bytes.

Every keyword meets the input that gives it most to say: many wrong fields, many wrong items, one long text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import process_time
from typing import Any

from retrycontract import ValueSanitizer
from tests.contract.pathological import ALL_TEXTS, VALUES

MEGABYTE = 1_000_000
Make = Callable[[int], Any]  # from about so many characters of JSON to a value
MOST_NAMES = 1_500  # in a list or a table of a hostile schema: admission takes 5,000 values in all


@dataclass(frozen=True, slots=True)
class Case:
    """Hold a schema, and how to make arguments for it that are about so many bytes."""

    schema: dict[str, Any]
    make: Make

    def arguments(self, size: int) -> bytes:
        """Write the bytes that a model would send; what is bytes or text already stays as it is."""
        made = self.make(size)
        return made if isinstance(made, bytes) else json.dumps(made).encode()


def _fields(value: Any = 1, key: str = "k{}") -> Make:
    """Make an object of many fields with the same value."""
    room = len(key) + 6 + len(json.dumps(value))
    return lambda size: {key.format(number): value for number in range(size // room)}


def _items(value: Any) -> Make:
    """Make an object with one array of many equal items."""
    room = len(json.dumps(value)) + 2
    return lambda size: {"a": [value] * (size // room)}


def _numbered(make: Callable[[int], Any]) -> Make:
    """Make an object with one array of items that differ."""
    return lambda size: {"a": [make(number) for number in range(size // (len(json.dumps(make(10_000))) + 2))]}


def _long(unit: str = "x") -> Make:
    return lambda size: {"a": unit * (size // len(unit))}


def _beside(value: Any) -> Make:
    """Make a small object with a large field beside."""
    return lambda size: {**value, "large": ["lorem"] * (size // 9)}


def _object(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", **keywords}


def _array(**keywords: Any) -> dict[str, Any]:
    return _object(properties={"a": {"type": "array", **keywords}})


def _each(**keywords: Any) -> dict[str, Any]:
    return _array(items=keywords)


def _text(**keywords: Any) -> dict[str, Any]:
    return _object(properties={"a": {"type": "string", **keywords}})


def _names(count: int = MOST_NAMES, name: str = "n{}") -> list[str]:
    return [name.format(number) for number in range(count)]


def _kinds(names: Iterable[str]) -> list[dict[str, Any]]:
    """Give branches that one field tells apart."""
    return [_object(properties={"kind": {"const": name}, "x": {"type": "integer"}}, required=["x"]) for name in names]


def _nested(size: int) -> dict[str, Any]:
    """Nest to the limit, as often as there is room."""
    return {"a": [json.loads('{"a":' * 90 + "1" + "}" * 90)] * (size // 600)}


def _twice(size: int) -> bytes:
    return b"{" + b",".join(b'"k":1' for _ in range(size // 6)) + b"}"


def _marked(size: int) -> dict[str, Any]:
    return {"a": [{"s": f"word {number}", "n": "x"} for number in range(size // 35)]}


FREE = {"large": True}
STRING = {"type": "string"}
CASES: dict[str, Case] = {
    "valid, many fields": Case(_object(additionalProperties=True), _fields()),
    "type of fields": Case(_object(additionalProperties={"type": "string"}), _fields()),
    "type of fields with digits for names": Case(_object(additionalProperties={"type": "string"}), _fields(key="00{}")),
    "type beside an empty name": Case(
        _object(additionalProperties={"type": "string"}), lambda size: {"": 1, **_fields()(size)}
    ),
    "type of fields with odd names": Case(_object(additionalProperties={"type": "string"}), _fields(key="~/ {}\u202e")),
    "type of items": Case(_each(type="integer"), _items("x")),
    "type of items that nearly fit": Case(_each(type="integer"), _numbered(str)),
    "type of items that hold JSON": Case(_each(type="object"), _numbered(lambda number: json.dumps({"n": number}))),
    "type of a long text": Case(_object(properties={"a": {"type": "integer"}}), _long()),
    "type of a large object": Case(_object(properties={"a": {"type": "integer"}}), lambda size: {"a": _fields()(size)}),
    "type of the root": Case(_object(), lambda size: [1] * (size // 3)),
    "null in items": Case(_each(**_object(properties={"n": {"type": "string"}})), _items({"n": None})),
    "propertyNames": Case(_object(propertyNames={"maxLength": 1}), _fields()),
    "propertyNames of a pattern": Case(_object(propertyNames={"pattern": "^[A-Z]+$"}), _fields()),
    "propertyNames false": Case(_object(propertyNames=False), _fields()),
    "propertyNames of items": Case(_each(propertyNames={"maxLength": 1}), _items({"long": 1, "name": 2})),
    "propertyNames behind a reference": Case(
        {"$ref": "#/$defs/o", "$defs": {"o": _object(propertyNames={"maxLength": 1})}}, _fields()
    ),
    "propertyNames in a union": Case({"anyOf": [_object(propertyNames={"maxLength": 1})]}, _fields()),
    "unknown fields": Case(_object(properties={"a": {}}), _fields()),
    "unknown fields, refused": Case(_object(properties={"a": {}}, additionalProperties=False), _fields()),
    "unknown fields beside many known": Case(
        _object(properties=dict.fromkeys(_names(), True), additionalProperties=False), _fields()
    ),
    "unknown fields, all refused": Case(_object(additionalProperties=False), _fields()),
    "unknown fields of items": Case(_each(properties={"known": {}}), _items({"knwon": 1, "b": 2})),
    "unevaluatedProperties": Case(_object(properties={"a": {}}, unevaluatedProperties=False), _fields()),
    "unevaluatedProperties of a schema": Case(_object(unevaluatedProperties={"type": "string"}), _fields()),
    "required": Case(_object(required=_names(), properties=FREE), _beside({})),
    "required behind a reference": Case(
        {"$ref": "#/$defs/o", "$defs": {"o": _object(required=_names(), properties=FREE)}}, _beside({})
    ),
    "required in allOf": Case({"allOf": [_object(required=_names(), properties=FREE)]}, _beside({})),
    "required in a union": Case({"anyOf": [_object(required=_names(), properties=FREE)]}, _beside({})),
    "required of items": Case(_each(required=["x", "y"]), _items({})),
    "dependentRequired": Case(_object(dependentRequired={"a": _names()}, properties=FREE), _beside({"a": 1})),
    "dependentSchemas": Case(
        _object(dependentSchemas={"a": {"required": _names()}}, properties=FREE), _beside({"a": 1})
    ),
    "dependentSchemas false": Case(
        _object(dependentSchemas=dict.fromkeys(_names(), False), properties=FREE), _beside(dict.fromkeys(_names(), 1))
    ),
    "then": Case({"if": {}, "then": {"required": _names()}, "properties": FREE}, _beside({})),
    "minProperties of items": Case(_each(minProperties=3), _items({"x": 1})),
    "maxProperties": Case(_object(maxProperties=1), _fields()),
    "patternProperties": Case(_object(patternProperties={"^k": {"type": "string"}}), _fields()),
    "patternProperties, many": Case(
        _object(patternProperties={f"^{name}$": STRING for name in _names(200)}, additionalProperties=False),
        _fields(),
    ),
    "enum of fields": Case(_object(additionalProperties={"enum": _names()}), _fields("n9999")),
    "enum of items": Case(_each(enum=_names()), _numbered(lambda number: f"m{number}")),
    "enum of long words": Case(_each(enum=_names(200, "n" * 200 + "{}")), _items("m" * 150)),
    "enum of a long text": Case(_text(enum=_names()), _long()),
    "const of items": Case(_each(const="x"), _numbered(lambda number: f"x{number}")),
    "pattern of items": Case(_each(type="string", pattern="^[0-9]+$"), _items("word")),
    "pattern of a long text": Case(_text(pattern="^(a+)+$"), lambda size: {"a": "a" * size + "!"}),
    "format of items": Case(_each(type="string", format="date-time"), _items("word")),
    "format of a long text": Case(_text(format="email"), _long("a@")),
    "uri of a long text": Case(_text(format="uri"), _long("http://")),
    "maxLength of items": Case(_each(type="string", maxLength=1), _items("word")),
    "maxLength of a long text": Case(_text(maxLength=1), _long("lorem ")),
    "minimum of items": Case(_each(type="integer", minimum=10**9), _numbered(lambda number: number)),
    "multipleOf of items": Case(_each(type="number", multipleOf=0.1), _items(0.25)),
    "minItems of items": Case(_each(type="array", minItems=3), _items([1])),
    "maxItems": Case(_array(maxItems=1), _items(1)),
    "uniqueItems of numbers": Case(_array(uniqueItems=True), lambda size: {"a": [*range(size // 8), 0]}),
    "uniqueItems of objects": Case(
        _array(uniqueItems=True), lambda size: {"a": [*({"x": n} for n in range(size // 14)), {"x": 0}]}
    ),
    "uniqueItems of items": Case(_each(uniqueItems=True), _items([1, 1])),
    "contains": Case(_array(contains={"const": "x"}), _items("y")),
    "contains in items": Case(_each(contains={"const": "x"}), _items(["y"])),
    "maxContains": Case(_array(contains={}, maxContains=1), _items("y")),
    "items false": Case(_array(items=False), _items(1)),
    "items after a tuple": Case(_array(prefixItems=[{}], items=False), _items(1)),
    "unevaluatedItems": Case(_array(prefixItems=[{}], unevaluatedItems=False), _numbered(lambda number: number)),
    "unevaluatedItems of objects": Case(
        _array(prefixItems=[{}], unevaluatedItems=False), _numbered(lambda number: {"x": number})
    ),
    "anyOf of types": Case(_each(anyOf=[{"type": "integer"}, {"type": "boolean"}]), _items("x")),
    "anyOf of many kinds": Case(_each(anyOf=_kinds(_names(100))), _items({"kind": "n7"})),
    "oneOf of many kinds, none meant": Case(_each(oneOf=_kinds(_names(100))), _items({"kind": "m"})),
    "anyOf of a large object": Case({"anyOf": _kinds(_names(300))}, lambda size: {"kind": "n7", **_fields()(size)}),
    "anyOf of many texts": Case(_each(anyOf=[{"const": name} for name in _names(500)]), _items("m")),
    "anyOf inside anyOf": Case(
        _each(anyOf=[{"anyOf": [{"anyOf": [{"type": "integer"}] * 5}] * 5}] * 5), _items({"x": 1})
    ),
    "oneOf, several match": Case(_each(oneOf=[{}, {"minimum": 0}, {"maximum": 9}]), _items(1)),
    "oneOf of a large object, several match": Case(
        {"oneOf": [{"required": [name]} for name in ("k1", "k2")]}, _fields()
    ),
    "not": Case(_each(**{"not": {}}), _items(1)),
    "not required": Case(_each(**{"not": {"required": ["a", "b"]}}), _items({"a": 1, "b": 2})),
    "x-hint": Case(_each(type="integer", **{"x-hint": "h" * 1000}), _items("x")),
    "x-severity": Case(_each(type="integer", **{"x-severity": "warning"}), _items("x")),
    "deprecated": Case(_each(properties={"n": {"deprecated": True}}), _items({"n": 1})),
    "marked": Case(_each(properties={"s": {"writeOnly": True}, "n": {"type": "integer"}}), _marked),
    "large schema described": Case(
        _each(**_object(properties=dict.fromkeys(_names(), STRING))), _items("x")
    ),
    "nested to the limit": Case(
        {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"a": {"$ref": "#/$defs/n"}}, "type": "string"}}}, _nested
    ),
    "misspelt fields beside missing ones": Case(
        _object(properties=dict.fromkeys(_names(name="name_{}"), True), required=_names(name="name_{}")),
        _fields(key="nmae_{}"),
    ),
    "fields one level too low": Case(
        _object(properties=dict.fromkeys(_names(), STRING), required=_names()),
        lambda size: {"arguments": dict.fromkeys(_names(), "x"), **_fields()(size)},
    ),
    "secrets in items": Case(_each(type="integer"), _numbered(lambda number: f"password={number}")),
    "secrets as names": Case(
        _object(additionalProperties={"type": "string"}), _fields(key="ghp_{:036}")
    ),
    "one long name": Case(_object(properties={"a": {}}), lambda size: {"k" * size: 1}),
    "long names": Case(_object(properties={"a": {}}), _fields(key="k" * 1000 + "{}")),
    "repeated names": Case(_object(), _twice),
    "repeated names in items": Case(_object(), lambda size: b"[" + b",".join([b'{"k":1,"k":2}'] * (size // 14)) + b"]"),
    "brackets": Case(_object(), lambda size: b"[" * size),
    "cut off": Case(_object(), lambda size: b'{"a": "' + b"x" * size),
    "numbers too large": Case(_object(), lambda size: b'{"a": [' + b",".join([b"1e999"] * (size // 6)) + b"]}"),
    "one number too large": Case(_object(), lambda size: b'{"a": ' + b"9" * size + b"}"),
    "NaN": Case(_object(), lambda size: b'{"a": [' + b",".join([b"NaN"] * (size // 4)) + b"]}"),
    "surrogates": Case(_object(), lambda size: b'{"a": "' + rb"\ud800" * (size // 6) + b'"}'),
    "fences": Case(_object(), lambda size: b"```json\n{}\n" * (size // 11)),
    "one fence": Case(_object(), lambda size: b"```json\n" + json.dumps(_fields()(size)).encode() + b"\n```"),
    "braces in words": Case(_object(), lambda size: b"a {b} " * (size // 6)),
    "trailing values": Case(_object(), lambda size: b"{} " * (size // 3)),
    "quotes": Case(_object(), lambda size: b'"' * size),
    "backslashes": Case(_object(), lambda size: b'{"a": "' + b"\\" * size),
    "not UTF-8": Case(_object(), lambda size: b"\xff" * size),
}  # fmt: skip


def milliseconds_per_megabyte(size: int = MEGABYTE) -> dict[str, float]:
    """Redact and preview each of the worst inputs that we know once, and give what it costs; the slowest first."""
    sanitizer = ValueSanitizer()
    inputs: dict[str, Callable[[int], Any]] = {**ALL_TEXTS, **VALUES}
    costs = {name: _cost(sanitizer, make(size)) for name, make in inputs.items()}
    return dict(sorted(costs.items(), key=lambda item: -item[1]))


def _cost(sanitizer: ValueSanitizer, value: Any) -> float:
    characters = len(value) if isinstance(value, str) else _length_as_json(value)
    started = process_time()
    sanitizer.redact(value)
    sanitizer.preview(value)
    return (process_time() - started) * 1000 * MEGABYTE / characters


def _length_as_json(value: Any) -> int:
    """Count characters without recursion: `json` refuses to go as deep as some of these values."""
    characters, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            characters += sum(len(key) + 4 for key in item)
            pending.extend(item.values())
        elif isinstance(item, list):
            characters += 2 + len(item)
            pending.extend(item)
        else:
            characters += len(json.dumps(item))
    return max(characters, 1)
