"""Schemas that nobody means well with: a name, the schema, and the code of its refusal (None: it is admitted)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

ANY: Final = "*"  # refused, or admitted and judged in bounded time
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
OUTSIDE: Final = (
    "http://127.0.0.1:9/s.json", "https://example.com/s.json#/$defs/a", "file:///etc/passwd", "//127.0.0.1/s",
    "ftp://127.0.0.1/s",
    "other.json", "/etc/passwd", "urn:example:other", "jar:file:///x!/y", "data:application/json,{}",
)  # fmt: skip
# Every keyword that holds a schema, and how.
HOLDERS: Final = {
    **dict.fromkeys(("not", "items", "contains", "additionalProperties", "propertyNames", "if", "then", "else",
                     "unevaluatedItems", "unevaluatedProperties"), "one"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), "list"),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"), "map"),
}  # fmt: skip
Rows = Iterator[tuple[str, Any, str | None]]


def held(keyword: str, schema: Any) -> dict[str, Any]:
    """Put a schema where the keyword holds one."""
    match HOLDERS[keyword]:
        case "one":
            return {keyword: schema}
        case "list":
            return {keyword: [schema]}
        case _:
            return {keyword: {"a": schema}}


def nested(keyword: str, levels: int) -> Any:
    """Hold a schema in a schema in a schema."""
    schema: Any = {}
    for _ in range(levels):
        schema = held(keyword, schema)
    return schema


def remote() -> Rows:
    """References to somewhere else, in every keyword that holds a schema."""
    for keyword in HOLDERS:
        for reference in REFERENCES[:2]:
            yield f"{reference} to the network in {keyword}", held(keyword, {reference: OUTSIDE[0]}), "remote-ref"
    for address in OUTSIDE:
        yield f"$ref to {address}", {"$ref": address}, ANY
        yield f"$id {address} and a relative $ref", {"$id": address, "properties": {"a": {"$ref": "other"}}}, ANY
    for address in (
        *OUTSIDE,
        "",
        "http://json-schema.org/draft-99/schema#",
        "https://json-schema.org/draft/2020-12/schema/../x",
    ):
        yield f"$schema {address or '(empty)'}", {"$schema": address}, "unknown-draft"
    yield "$schema that is no text", {"$schema": 7}, ANY
    yield "a vocabulary", {"$vocabulary": {OUTSIDE[0]: True}}, ANY


def loops() -> Rows:
    """References that lead back to where they began."""
    yield "a reference to itself", {"$ref": "#"}, ANY
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield f"itself in {keyword}", {keyword: [{"$ref": "#"}]}, ANY
    for keyword in ("not", "if", "items", "additionalProperties", "propertyNames", "contains"):
        yield f"itself in {keyword}", {keyword: {"$ref": "#"}}, ANY
    yield (
        "two that name each other",
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        ANY,
    )
    yield "a hundred in a ring", {
        "$ref": "#/$defs/d0", "$defs": {f"d{n}": {"$ref": f"#/$defs/d{(n + 1) % 100}"} for n in range(100)}
    }, ANY  # fmt: skip
    yield "a dynamic ring", {"$dynamicAnchor": "a", "$dynamicRef": "#a"}, ANY
    for pointer in ("#/nowhere", "#nowhere", "#/$defs/~2", "#/%", "#/" + "a/" * 5_000, "#/properties/0/1"):
        yield f"a reference to {pointer[:20]}", {"$ref": pointer}, ANY


def explosions() -> Rows:
    """Small texts that are large work."""
    for keyword in ("anyOf", "allOf", "oneOf"):
        steps = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)}
        yield f"{keyword} doubled 30 times", {"$ref": "#/$defs/a0", "$defs": {**steps, "a30": {}}}, "too-deep"
        yield f"4,000 in {keyword}", {keyword: [{"type": "string"}] * 4_000}, ANY
    for keyword in HOLDERS:
        yield f"30 levels of {keyword}", nested(keyword, 30), ANY
        yield f"400 levels of {keyword}", nested(keyword, 400), ANY
    yield "an enum of 100,000", {"enum": list(range(100_000))}, "too-many-nodes"
    yield "an enum of one huge text", {"enum": ["x" * 200_000]}, "too-large"
    yield "10,000 properties", {"properties": {f"p{n}": {} for n in range(10_000)}}, "too-many-nodes"
    yield "10,000 required", {"required": [f"p{n}" for n in range(10_000)]}, ANY
    yield "a const of depth 60", {"const": nested("items", 60)}, ANY
    yield "unique items of unique items", {"uniqueItems": True, "items": {"uniqueItems": True}}, None


def patterns() -> Rows:
    """Patterns that backtrack, explode, or are none."""
    bombs = [r"^(a+)+$", r"(a|a)*b", r"(.*)*x", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(x+x+)+y", r"(a{1,100}){1,100}",
             r"a{1000}{1000}",
             r"(?=a)b", r"(?!a)b", r"(?<=a)b", r"(a)\1", r"(?<n>a)\k<n>", r"(?>a)", r"(", r"[", r"a{2,1}", r"*",
             r"\p{Nope}", r"\u{zz}",
             "\x00", "(" * 600, "a" * 600, "[" + "a-z" * 300 + "]", r"\w{0,500}" * 40, "(?i)" * 100,
             r"(?#" + "x" * 500 + ")"]  # fmt: skip
    for pattern in bombs:
        yield f"the pattern {pattern[:24]!r}", {"properties": {"a": {"pattern": pattern}}}, ANY
        yield f"the name {pattern[:24]!r}", {"patternProperties": {pattern: {}}}, ANY
    yield "300 patterns", {"properties": {f"p{n}": {"pattern": f"a{n}"} for n in range(300)}}, None


def formats() -> Rows:
    """Formats that are expensive, or that nobody knows."""
    for name in ("regex", "uri", "uri-reference", "iri", "hostname", "idn-hostname", "email", "idn-email", "ipv6",
                 "date-time",
                 "duration", "uuid", "json-pointer", "uri-template", "nobody-knows", "\x00", "x" * 10_000):  # fmt: skip
        yield f"the format {name[:20]!r}", {"properties": {"a": {"format": name}}}, None


def nonsense() -> Rows:
    """Keywords with values that are none of theirs."""
    for keyword, value in {
        "type": "objekt", "properties": [], "required": "a", "enum": {}, "items": 7, "minimum": "1", "maxLength": -1,
        "minLength": 1.5,
        "pattern": 7, "allOf": {}, "$defs": [], "uniqueItems": "yes", "multipleOf": 0, "additionalProperties": "no",
        "$ref": 7,
    }.items():  # fmt: skip
        yield f"{keyword}: {value!r}", {keyword: value}, ANY
    for keyword in ("minimum", "maximum", "multipleOf", "exclusiveMaximum"):
        yield f"{keyword} of 400 digits", {"properties": {"a": {keyword: 10**400}}}, ANY
        yield f"a tiny {keyword}", {"properties": {"a": {keyword: 5e-324}}}, ANY
    for keyword in ("maxLength", "minItems", "maxProperties", "minContains"):
        yield f"{keyword} beyond all integers", {keyword: 2**70}, ANY
    yield "__proto__", {"properties": {"__proto__": {"type": "string"}, "constructor": {}}}, None
    yield "names of every kind", {"properties": {"": {}, "\x00": {}, "~": {}, "/": {}, "\u202e": {}, "$ref": {}}}, None


def every_hostile_schema() -> Rows:
    """Give all of them, each with a name of its own."""
    for family in (remote, loops, explosions, patterns, formats, nonsense):
        for name, schema, code in family():
            yield f"{family.__name__}: {name}", schema, code
