"""Describe a schema in the few words that a model needs: "array of {sku: string, qty: integer >= 1}"."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import regex

from retrycontract.contract.json_types import Resolve, Schema
from retrycontract.contract.redaction.sanitizer import NO_CHOICES, Choices

Redact = Callable[[str], str]

# A valid value of each format that is asserted: a name alone says too little to a model.
FORMATS = {
    "date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "P1DT2H",
    "email": "ana@example.com", "idn-email": "ana@example.com", "hostname": "example.com",
    "idn-hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com/a",
    "uri-reference": "/a", "iri": "https://example.com/a", "iri-reference": "/a",
    "uri-template": "https://example.com/{id}", "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "regex": "^a+$",
    "json-pointer": "/a/0", "relative-json-pointer": "1/a",
}  # fmt: skip
MAX_NEARLY = 100  # characters of a value that is looked at for what it lacks of its format
# What is most often missing from a value that is nearly right; the first that fits is told.
NEARLY: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "date-time": (
        (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?"), "the zone is missing: Z or +01:00 at the end"),
        (re.compile(r"\d{4}-\d\d-\d\d +\d\d:\d\d.*"), "T and not a blank stands between date and time"),
        (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?"), "the seconds are missing"),
        (re.compile(r"\d{4}-\d\d-\d\d"), "the time and its zone are missing"),
        (re.compile(r".*[+-]\d{2}(?:\d{2})?"), "the zone is not written as +01:00"),
    ),
    "time": (
        (re.compile(r"\d\d:\d\d:\d\d(?:\.\d+)?"), "the zone is missing: Z or +01:00 at the end"),
        (re.compile(r"\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?"), "the seconds are missing"),
    ),
    "date": ((re.compile(r"\d{4}-\d\d-\d\d[T ].+"), "a time follows the date"),),
    **dict.fromkeys(("email", "idn-email"), ((re.compile(r"[^<>]*<[^<>]+>\s*"), "the address alone, without a name"),)),
    "uri": ((re.compile(r"[\w.-]+\.[a-zA-Z]{2,}(?:[/:?#].*)?"), "the scheme is missing: https:// at the beginning"),),
}
MAX_LENGTH = 160  # characters of one expression
MAX_MEMBERS = 6  # fields or alternatives named before "…"
MAX_LEVELS = 2  # nested objects spelled out
MAX_REFERENCES = 2  # followed one after the other; a schema may refer to itself
MAX_OPTIONS = 120  # characters of a list of allowed values

CLUSTER = regex.compile(r"\X")
BOUNDS = (
    ("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"),
    ("multipleOf", "multiple of"),
)  # fmt: skip
# What a schema without `type` is about, by the keywords that it uses.
IMPLIED = (
    ("object", frozenset({"properties", "required"})),
    ("array", frozenset({"items", "minItems", "maxItems"})),
    ("number", frozenset(keyword for keyword, _ in BOUNDS)),
    ("string", frozenset({"format", "pattern", "minLength", "maxLength"})),
)


@dataclass(frozen=True, slots=True)
class _Depth:
    """Say how deep an expression stands, and how references are followed there."""

    resolve: Resolve | None
    redact: Redact
    choices: Choices
    level: int = 0
    references: int = 0

    @property
    def within(self) -> _Depth:
        return replace(self, level=self.level + 1)

    @property
    def referred(self) -> _Depth:
        return replace(self, references=self.references + 1)


def describe(
    schema: Schema, resolve: Resolve | None = None, redact: Redact = str, choices: Choices = NO_CHOICES
) -> str:
    """Write the type expression of a schema, at most 160 characters; `redact` is given each of its words whole.

    `choices` has, by the ids of subschemas, what to show for those of their keywords that tell a secret.
    """
    return _clip(_expression(schema, _Depth(resolve, redact, choices)))


def lacking(form: str, value: Any) -> str | None:
    """Say what a value that is nearly in a format lacks of it, if that can be told."""
    if not isinstance(value, str) or len(value) > MAX_NEARLY:
        return None
    return next((what for looks, what in NEARLY.get(form, ()) if looks.fullmatch(value)), None)


def describe_options(options: Iterable[Any], redact: Redact = str) -> str:
    """List allowed values for people and models: plain strings bare, everything else as JSON."""
    listed, shown, length = list(options), list[str](), 0
    for option in listed:
        text = redact(option if isinstance(option, str) and option else json.dumps(option))
        if text in shown:  # as marks are
            continue
        length += len(text) + 2
        if shown and length > MAX_OPTIONS:
            return f"{', '.join(shown)}, … ({len(listed)} values)"
        shown.append(_clip(text))
    return ", ".join(shown)


def describe_types(types: Iterable[str]) -> str:
    """Join type names: "string", "string or null"."""
    return " or ".join(types)


def counted(number: Any, noun: str) -> str:
    """Write a number of things: "1 item", "3 items"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _expression(schema: Schema, depth: _Depth) -> str:
    if isinstance(schema, bool):
        return "any value" if schema else "nothing"
    if isinstance(reference := schema.get("$ref"), str) and depth.resolve is not None:
        target = depth.resolve(reference)
        if depth.level > MAX_LEVELS or depth.references == MAX_REFERENCES:
            return "object"
        return _expression(target, depth.referred) if target is not None else "any value"
    schema = {**schema, **depth.choices.get(id(schema), {})}
    if "const" in schema:
        return depth.redact(json.dumps(schema["const"], ensure_ascii=False))
    if isinstance(schema.get("enum"), list):
        return f"one of: {describe_options(schema['enum'], depth.redact)}"
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(keyword), list) and "properties" not in schema:
            # Branches that refer to unions multiply: those that are not shown are not described.
            parts = dict.fromkeys(_expression(branch, depth) for branch in branches[:MAX_MEMBERS])
            more = [f"… ({len(branches)} alternatives)"] if len(branches) > MAX_MEMBERS else []
            return " or ".join([*parts, *more])
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else [str(kind) for kind in kinds] if isinstance(kinds, list) else []
    names = names or [next((name for name, keywords in IMPLIED if not keywords.isdisjoint(schema)), "any value")]
    return " or ".join(_one_type(name, schema, depth) for name in names)


def _one_type(name: str, schema: dict[str, Any], depth: _Depth) -> str:
    if name == "array":
        items = schema.get("items")
        inner = f" of {_expression(items, depth.within)}" if isinstance(items, dict) and items else ""
        low, high = schema.get("minItems"), schema.get("maxItems")
        most = [f"at most {counted(high, 'item')}"] if _is_number(high) else []
        least = [f"at least {low if most else counted(low, 'item')}"] if _is_number(low) else []
        return f"array{inner}" + (f" with {' and '.join(least + most)}" if least or most else "")
    if name == "object" and depth.level < MAX_LEVELS and ("properties" in schema or "required" in schema):
        return "{" + ", ".join(_members(schema, depth)) + "}"
    if name in ("integer", "number"):
        bounds = [f"{_sign(key, sign, schema)} {schema[key]}" for key, sign in BOUNDS if _is_number(schema.get(key))]
        return " ".join([name, " and ".join(bounds)]) if bounds else name
    if name == "string":
        redact = depth.redact
        parts = ["string"]
        if isinstance(schema.get("format"), str):
            parts.append(f"in format {redact(schema['format'])}")
        if isinstance(schema.get("pattern"), str):
            parts.append(f"matching {_clip(redact(schema['pattern']), 60)}")
        if _is_number(schema.get("maxLength")):
            parts.append(f"with max length {schema['maxLength']}")
        if _is_number(schema.get("minLength")):
            parts.append(f"with min length {schema['minLength']}")
        return " ".join(parts)
    return name


def _sign(key: str, sign: str, schema: dict[str, Any]) -> str:
    """Leave the bound itself out where draft 4 says so beside it."""
    return sign[0] if schema.get(f"exclusive{key.capitalize()}") is True else sign


def _members(schema: dict[str, Any], depth: _Depth) -> Iterator[str]:
    properties, required = schema.get("properties"), schema.get("required")
    needed = dict.fromkeys(required, True) if isinstance(required, list) else {}
    # Required fields first: the model must send them, the others it may.
    fields = list((needed | properties if isinstance(properties, dict) else needed).items())
    for name, member in fields[:MAX_MEMBERS]:
        optional = "" if name in needed else "?"
        yield f"{_clip(depth.redact(str(name)), 40)}{optional}: {_expression(member, depth.within)}"
    if len(fields) > MAX_MEMBERS:
        yield "…"


def _is_number(value: Any) -> bool:
    # In draft 4 `exclusiveMinimum` and its sibling are booleans, which Python counts among the numbers.
    return isinstance(value, int | float) and not isinstance(value, bool)


def _clip(text: str, limit: int = MAX_LENGTH) -> str:
    if len(text) <= limit:
        return text
    # Everything up to the last whole character cluster that leaves room for the ellipsis.
    ends = takewhile(lambda end: end < limit, (cluster.end() for cluster in CLUSTER.finditer(text)))
    return text[: max(ends, default=0)] + "…"
