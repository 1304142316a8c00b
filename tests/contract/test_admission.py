"""Schemas at registration: what is wrong is refused with its pointer, what is right compiles."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from retrycontract.contract import pointers
from retrycontract.contract.schemas.admission import InvalidSchema, SchemaFault, admit, compile_schema, examine

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
NULL = {"type": "null"}


# name, schema, code, pointer
REFUSED: list[tuple[str, Any, str, str]] = [
    # what is no schema, or no JSON
    ("null", None, "not-a-schema", ""),
    ("a list", [], "not-a-schema", ""),
    ("a text", '{"type": "object"}', "not-a-schema", ""),
    ("a number", 1, "not-a-schema", ""),
    ("a class", dict, "not-a-schema", ""),
    ("a set", {"properties": {"a": {"enum": {1, 2}}}}, "not-json", "/properties/a/enum"),
    ("a tuple", {"required": ("a", "b")}, "not-json", "/required"),
    ("bytes", {"title": b"x"}, "not-json", "/title"),
    ("NaN", {"minimum": math.nan}, "not-json", "/minimum"),
    ("Infinity", {"properties": {"a": {"enum": [1, math.inf]}}}, "not-json", "/properties/a/enum/1"),
    ("half a surrogate pair", {"properties": {"a": {"title": "\ud800"}}}, "not-json", "/properties/a/title"),
    ("half a surrogate pair in a name", {"properties": {"\udc00": {}}}, "not-json", "/properties"),
    ("a number as a name", {"properties": {1: {}}}, "not-json", "/properties"),
    ("a number of 5,000 digits", {"maximum": 10**4999}, "not-json", "/maximum"),
    # drafts
    ("draft 3", {"$schema": "http://json-schema.org/draft-03/schema#"}, "unknown-draft", "/$schema"),
    ("a draft of one's own", {"$schema": "https://example.com/schema"}, "unknown-draft", "/$schema"),
    ("an empty draft", {"$schema": ""}, "unknown-draft", "/$schema"),
    ("a number for the draft", {"$schema": 7}, "unknown-draft", "/$schema"),
    (
        "an unknown draft inside",
        {"items": {"$id": "b", "$schema": "https://x.y/z"}},
        "unknown-draft",
        "/items/$schema",
    ),
    # the metaschema
    ("an unknown type", {"properties": {"a": {"type": "strnig"}}}, "metaschema", "/properties/a/type"),
    ("a type that is null", {"type": None}, "metaschema", "/type"),
    ("a type named twice", {"type": ["string", "string"]}, "metaschema", "/type"),
    (
        "draft 4's exclusiveMinimum",
        {"properties": {"p": {"anyOf": [{"items": {"exclusiveMinimum": True, "minimum": 0}}]}}},
        "metaschema",
        "/properties/p/anyOf/0/items/exclusiveMinimum",
    ),
    ("an object as title", {"title": {"type": "string"}, "x": {"type": "string"}}, "metaschema", "/title"),
    (
        "a property called properties, its schema left out",
        {"properties": {"type": "object", "description": "to update"}},
        "metaschema",
        "/properties/type",
    ),
    ("required on the field", {"properties": {"a": {"required": True}}}, "metaschema", "/properties/a/required"),
    ("a required name twice", {"required": ["a", "a"]}, "metaschema", "/required"),
    ("a required number", {"required": ["a", 1]}, "metaschema", "/required/1"),
    ("a negative length", {"minLength": -1}, "metaschema", "/minLength"),
    ("a multiple of zero", {"multipleOf": 0}, "metaschema", "/multipleOf"),
    ("an empty allOf", {"allOf": []}, "metaschema", "/allOf"),
    ("a malformed anchor", {"$anchor": "a b"}, "metaschema", "/$anchor"),
    ("names that look like numbers", {"properties": {"7": {}, "007": 5}}, "metaschema", "/properties/007"),
    ("an empty name", {"properties": {"": {"properties": {"+1": 5}}}}, "metaschema", "/properties//properties/+1"),
    (
        "a fault inside draft 7's items",
        {"$schema": DRAFT_7, "items": {"items": {"minimum": "1"}}},
        "metaschema",
        "/items/items/minimum",
    ),
    (
        "a fault inside draft 7's dependencies",
        {"$schema": DRAFT_7, "dependencies": {"a/b": {"title": 1}}},
        "metaschema",
        "/dependencies/a~1b/title",
    ),
    ("draft 4 without the bound", {"$schema": DRAFT_4, "items": {"exclusiveMinimum": True}}, "metaschema", "/items"),
    ("the first of two faults", {"properties": {"a": {"title": 1}}, "title": 1}, "metaschema", "/properties/a/title"),
    ("a bad schema that a reference finds", {"$ref": "#/x", "x": {"type": 5}}, "metaschema", "/x/type"),
    # patterns
    ("look-ahead", {"properties": {"a": {"pattern": "^(?=.*x)"}}}, "pattern", "/properties/a/pattern"),
    ("negative look-ahead", {"patternProperties": {"^(?!x/)": {}}}, "pattern", "/patternProperties/^(?!x~1)"),
    ("look-behind", {"pattern": "(?<=a)b"}, "pattern", "/pattern"),
    ("a backreference", {"pattern": r"(a)\1"}, "pattern", "/pattern"),
    ("an unclosed class", {"pattern": "[a"}, "pattern", "/pattern"),
    ("a bad pattern that nothing uses", {"$defs": {"a": {"pattern": "(?=a)"}}}, "pattern", "/$defs/a/pattern"),
    ("a bad pattern that a reference finds", {"$ref": "#/x", "x": {"pattern": "(?=a)"}}, "pattern", "/x/pattern"),
    # references
    ("a remote reference", {"$ref": "http://example.com/a.json"}, "remote-ref", "/$ref"),
    (
        "a reference to a file",
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        "remote-ref",
        "/properties/a/$ref",
    ),
    ("a relative reference", {"items": {"$ref": "other.json#/$defs/a"}}, "remote-ref", "/items/$ref"),
    ("a reference without a scheme", {"$ref": "//example.com/a"}, "remote-ref", "/$ref"),
    ("a reference to another draft", {"$ref": DRAFT_7}, "remote-ref", "/$ref"),
    ("a reference to no address", {"$ref": "http://[bad"}, "remote-ref", "/$ref"),
    ("a step up to nothing", {"$id": "b", "items": {"$ref": "."}}, "remote-ref", "/items/$ref"),
    ("a remote dynamic reference", {"$dynamicRef": "https://x.y/z#n"}, "remote-ref", "/$dynamicRef"),
    ("a remote recursive reference", {"$recursiveRef": "http://x.y/"}, "remote-ref", "/$recursiveRef"),
    ("a remote reference in unused parts", {"$defs": {"a": {"$ref": "urn:x:y"}}}, "remote-ref", "/$defs/a/$ref"),
    ("a name that is missing", {"items": {"$ref": "#/$defs/a"}, "$defs": {}}, "unresolved-ref", "/items/$ref"),
    ("a component that is missing", {"$ref": "#/components/a", "components": {}}, "unresolved-ref", "/$ref"),
    ("an anchor that is missing", {"$ref": "#a"}, "unresolved-ref", "/$ref"),
    ("a reference to a list", {"$ref": "#/required", "required": ["a"]}, "unresolved-ref", "/$ref"),
    ("an index beyond the list", {"anyOf": [{}], "items": {"$ref": "#/anyOf/1"}}, "unresolved-ref", "/items/$ref"),
    ("an identifier that is no address", {"$defs": {"a": {"$id": "http://[x"}}}, "uncompilable", "/$defs/a/$id"),
    # loops
    ("a schema that is itself", {"$ref": "#"}, "ref-cycle", "/$ref"),
    ("allOf itself", {"allOf": [{"type": "object"}, {"$ref": "#"}]}, "ref-cycle", "/allOf/1/$ref"),
    ("not itself", {"properties": {"a": {"not": {"$ref": "#/properties/a"}}}}, "ref-cycle", "/properties/a/not/$ref"),
    (
        "two that are each other",
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
        "ref-cycle",
        "/$defs/b/anyOf/0/$ref",
    ),
    ("a dynamic loop", {"$dynamicAnchor": "n", "$dynamicRef": "#n"}, "ref-cycle", "/$dynamicRef"),
    ("a recursive loop", {"$schema": DRAFT_2019_09, "$recursiveRef": "#"}, "ref-cycle", "/$recursiveRef"),
    ("a loop outside the keywords", {"$ref": "#/x", "x": {"allOf": [{"$ref": "#/x"}]}}, "ref-cycle", "/x/allOf/0/$ref"),
]


@pytest.mark.parametrize(("schema", "code", "pointer"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_wrong_schema_is_refused_with_code_and_pointer(schema: Any, code: str, pointer: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        admit(schema)
    assert (caught.value.code, caught.value.pointer) == (code, pointer)
    assert caught.value.reason.endswith(".")
    if code not in ("not-a-schema", "not-json"):
        pointers.resolve(schema, pointer)


# name, schema, a value that fits, a value that does not
ADMITTED: list[tuple[str, Any, Any, Any]] = [
    ("an object", {"type": "object", "required": ["a"]}, {"a": 1}, {}),
    ("a format", {"format": "date"}, "2026-01-31", "2026-02-31"),
    ("2020-12 with an empty fragment", {"$schema": DRAFT_2020_12 + "#", "prefixItems": [NULL]}, [None], [1]),
    ("draft 7 over https", {"$schema": "https://json-schema.org/draft-07/schema", "items": [NULL]}, [None], [1]),
    ("draft 4's bounds", {"$schema": DRAFT_4, "minimum": 0, "exclusiveMinimum": True}, 1, 0),
    ("recursion through items", {"type": "array", "items": {"$ref": "#"}}, [[], [[]]], [[1]]),
    (
        "recursion through a property",
        {"properties": {"next": {"$ref": "#"}}, "type": "object"},
        {"next": {}},
        {"next": 1},
    ),
    (
        "dynamic recursion",
        {"$dynamicAnchor": "n", "type": "array", "items": {"$dynamicRef": "#n"}},
        [[]],
        [1],
    ),
    (
        "recursion of 2019-09",
        {"$schema": DRAFT_2019_09, "$recursiveAnchor": True, "type": "array", "items": {"$recursiveRef": "#"}},
        [[]],
        [1],
    ),
    ("an anchor", {"items": {"$ref": "#a"}, "$defs": {"x": {"$anchor": "a", "type": "null"}}}, [None], [1]),
    (
        "an identifier inside",
        {"$id": "https://x.y/a", "items": {"$ref": "b"}, "$defs": {"b": {"$id": "b", "type": "null"}}},
        [None],
        [1],
    ),
    ("an empty identifier inside", {"type": "array", "items": {"$id": "", "$ref": "#"}}, [[]], [1]),
    (
        "the schema's own address",
        {"$id": "https://x.y/a", "items": {"$ref": "https://x.y/a#/$defs/b"}, "$defs": {"b": NULL}},
        [None],
        [1],
    ),
    ("the draft's metaschema", {"items": {"$ref": DRAFT_2020_12}}, [{"type": "object"}], [{"type": 5}]),
    ("a path through any member", {"items": {"$ref": "#/x-shared/a"}, "x-shared": {"a": NULL}}, [None], [1]),
    ("encoded names", {"items": {"$ref": "#/$defs/a~1b%25"}, "$defs": {"a/b%": NULL}}, [None], [1]),
    (
        "names that should be encoded",
        {"$id": "My schema", "items": {"$ref": "#/$defs/List<Größe>"}, "$defs": {"List<Größe>": NULL}},
        [None],
        [1],
    ),
    (
        "siblings that draft 7 ignores",
        {"$schema": DRAFT_7, "$ref": "#/definitions/a", "allOf": [{"$ref": "#"}], "definitions": {"a": NULL}},
        None,
        1,
    ),
    (
        "references in data",
        {"enum": [{"$ref": "http://x.y/z"}], "default": {"$ref": "#/no"}},
        {"$ref": "http://x.y/z"},
        1,
    ),
    ("properties called $ref and id", {"properties": {"$ref": NULL, "id": {}}}, {"$ref": None}, {"$ref": 1}),
    ("a pattern that backtracks elsewhere", {"pattern": "^(a+)+$"}, "aaa", "a" * 50_000 + "!"),
    ("escapes of ECMAScript", {"pattern": r"^[\/\-\w]+\d\.\p{L}$"}, "/-a1.é", "a1.1"),
]


@pytest.mark.parametrize(("schema", "good", "bad"), [row[1:] for row in ADMITTED], ids=[row[0] for row in ADMITTED])
@pytest.mark.parametrize("build", [admit, compile_schema])
def test_an_admitted_schema_judges_the_same_when_it_is_compiled_again(
    build: Any, schema: Any, good: Any, bad: Any
) -> None:
    validator = build(schema)
    assert validator.is_valid(good)
    assert not validator.is_valid(bad)


def test_boolean_schemas_are_schemas() -> None:
    assert admit(True).is_valid({"anything": 1})
    assert not admit(False).is_valid({})


def test_a_part_that_was_cut_off_accepts_anything_and_gives_a_warning() -> None:
    schema = {"properties": {"contact": {"$ref": "#/components/schemas/Contact"}, "name": {"type": "string"}}}
    admission = examine(schema)
    assert [warning.pointer for warning in admission.warnings] == ["/properties/contact/$ref"]
    assert "components" not in schema, "the developer's schema is not touched"
    for validator in (admission.validator, compile_schema(schema)):
        assert validator.is_valid({"contact": {"id": 1}, "name": "Ada"})
        assert not validator.is_valid({"contact": {"id": 1}, "name": 7})


def test_the_schema_may_change_after_it_was_admitted() -> None:
    schema = {"type": "string"}
    validator = admit(schema)
    schema["type"] = "integer"
    assert validator.is_valid("text")


def test_a_refusal_quotes_only_a_short_excerpt_of_the_schema() -> None:
    with pytest.raises(InvalidSchema) as caught:
        admit({"properties": {"x\n" * 5_000: {"type": "secret\u202e" * 1_000}}})
    assert len(str(caught.value)) < 1_000
    assert str(caught.value).isprintable()


def test_a_refusal_survives_pickling() -> None:
    fault = InvalidSchema("/a", "No.", SchemaFault.PATTERN)
    again = pickle.loads(pickle.dumps(fault))
    assert (again.pointer, again.reason, again.code) == ("/a", "No.", "pattern")


def test_compiling_an_unadmitted_schema_that_is_wrong_raises_too() -> None:
    with pytest.raises(InvalidSchema):
        compile_schema({"$ref": "#/$defs/missing"})


@pytest.mark.parametrize(
    ("schema", "pointers"),
    [
        ({"properties": {"n": {"minimum": 5, "maximum": 3}}}, ["/properties/n/minimum"]),
        ({"exclusiveMinimum": 3, "maximum": 3}, ["/exclusiveMinimum"]),
        ({"minLength": 4, "maxLength": 3, "minItems": 2, "maxItems": 1}, ["/minItems", "/minLength"]),
        ({"items": {"type": "integer", "enum": ["a", "b"]}}, ["/items/type"]),
        ({"type": ["integer", "null"], "const": "a"}, ["/type"]),
        ({"properties": {"n": {}}, "required": ["n", "z"], "additionalProperties": False}, ["/required"]),
        ({"anyOf": [{"required": ["z"], "additionalProperties": False}, {}]}, ["/anyOf/0/required"]),
        # What some value fits.
        ({"minimum": 3, "maximum": 3, "minLength": 0, "maxLength": 0}, []),
        ({"type": "number", "enum": [1]}, []),
        ({"type": "integer", "const": 1.0}, []),
        ({"type": ["string", "null"], "enum": ["a", None]}, []),
        ({"required": ["z"], "additionalProperties": False, "patternProperties": {"^z": {}}}, []),
        ({"properties": {"n": {}}, "required": ["z"]}, []),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}, []),
        ({"properties": {"minimum": {"const": 5}, "maximum": {"const": 3}}}, []),
    ],
)
def test_a_schema_that_nothing_fits_is_warned_of(schema: Any, pointers: list[str]) -> None:
    told = examine(schema).warnings
    assert [warning.pointer for warning in told] == pointers
    assert all(warning.reason.startswith("No value fits: ") for warning in told)
