"""Each near miss: recognised, said in words, and mended by its patch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import Tool, ValidationError, ValueSanitizer
from retrycontract.contract.advice import combined_patch
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.patches import apply_patch
from retrycontract.contract.tool import CompiledTool

SANITIZER = ValueSanitizer()
TEXT, WHOLE, YES = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT}


def fields(*required: str, **properties: Any) -> dict[str, Any]:
    """Describe an object of these fields."""
    return {"type": "object", "properties": properties, "required": list(required)}


def judged(schema: Any, value: Any, *, strict: bool = True) -> Findings:
    tool = CompiledTool.of(Tool(name="t", input_schema=schema, strict=strict))
    return check_arguments(json.dumps(value), tool, SANITIZER)


def replaced(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def moved(source: str, path: str) -> dict[str, Any]:
    return {"op": "move", "from": source, "path": path}


CASES: dict[str, tuple[Any, Any, list[dict[str, Any]], str]] = {
    "array-as-text": (
        fields(paths=TEXTS), {"paths": '["a", "b"]'},
        [replaced("/paths", ["a", "b"])], "send 'paths' as an array, not as a string that holds JSON",
    ),
    "object-as-text": (
        fields(headers={"type": "object"}), {"headers": '{"Accept": "*/*"}'},
        [replaced("/headers", {"Accept": "*/*"})], "send 'headers' as an object, not as a string that holds JSON",
    ),
    "arguments-as-text": (
        fields("path", path=TEXT), '{"path": "a"}',
        [replaced("", {"path": "a"})], "send the arguments as an object, not as a string that holds JSON",
    ),
    "number-as-text": (
        fields(maxBytes=WHOLE), {"maxBytes": "200000"},
        [replaced("/maxBytes", 200000)], "send 'maxBytes' as integer: 200000",
    ),
    "whole-number-as-text-with-a-fraction": (
        fields(n=WHOLE), {"n": "3.0"}, [replaced("/n", 3)], "send 'n' as integer: 3",
    ),
    "fraction-as-text": (
        fields(n={"type": "number"}), {"n": " 0.5"}, [replaced("/n", 0.5)], "send 'n' as number: 0.5",
    ),
    "whole-number-as-text": (
        fields(n={"type": "number"}), {"n": "5"}, [replaced("/n", 5)], "send 'n' as number: 5",
    ),
    "boolean-or-number-as-text": (
        fields(v={"type": ["number", "boolean"]}), {"v": "true"}, [replaced("/v", True)], "send 'v' as boolean: true",
    ),
    "boolean-as-text": (fields(on=YES), {"on": "true"}, [replaced("/on", True)], "send 'on' as boolean: true"),
    "boolean-as-pythons": (fields(on=YES), {"on": "False"}, [replaced("/on", False)], "send 'on' as boolean: false"),
    "null-as-text": (
        fields(n={"type": ["integer", "null"]}), {"n": "null"}, [replaced("/n", None)],
        "send 'n' as null, without quotes",
    ),
    "zero-for-false": (fields(on=YES), {"on": 0}, [replaced("/on", False)], "send 'on' as boolean: false"),
    "number-for-text": (fields(zip=TEXT), {"zip": 5}, [replaced("/zip", "5")], "send 'zip' as string: \"5\""),
    "boolean-for-text": (fields(v=TEXT), {"v": True}, [replaced("/v", "true")], "send 'v' as string: \"true\""),
    "number-for-an-allowed-text": (
        fields(level={"enum": ["1", "2"]}), {"level": 2}, [replaced("/level", "2")], "send 'level' as string: \"2\"",
    ),
    "text-for-an-allowed-number": (
        fields(level={"enum": [1, 2]}), {"level": "2"}, [replaced("/level", 2)], "send 'level' as integer: 2",
    ),
    "null-for-an-optional": (
        fields("kind", kind=TEXT, namespace=TEXT), {"kind": "a", "namespace": None},
        [{"op": "remove", "path": "/namespace"}], "leave out 'namespace' instead of sending null",
    ),
    "null-as-text-for-an-optional": (
        fields(n=WHOLE), {"n": "None"}, [{"op": "remove", "path": "/n"}], "leave out 'n' instead of sending \"None\"",
    ),
    "null-for-a-required-with-a-default": (
        fields("n", n={"type": "integer", "default": 7}), {"n": None}, [replaced("/n", 7)],
        "send a value instead of null in 'n': 7",
    ),
    "null-for-an-array-without-items": (
        fields("tags", tags=TEXTS | {"maxItems": 0}), {"tags": None}, [replaced("/tags", [])],
        "send a value instead of null in 'tags': []",
    ),
    "array-for-no-arguments": (fields(), [], [replaced("", {})], "send the arguments as an empty object: {}"),
    "null-for-no-arguments": (fields(), None, [replaced("", {})], "send the arguments as an empty object: {}"),
    "empty-text-for-no-arguments": (fields(), "", [replaced("", {})], "send the arguments as an empty object: {}"),
    "object-for-no-items": (
        fields(tags=TEXTS), {"tags": {}}, [replaced("/tags", [])], "send 'tags' as an empty array: []",
    ),
    "item-for-an-array": (
        fields(tags=TEXTS), {"tags": "a"}, [replaced("/tags", ["a"])], "send 'tags' as an array: [\"a\"]",
    ),
    "object-for-an-array-of-objects": (
        fields(rules={"type": "array", "items": fields("id", id=WHOLE)}), {"rules": {"id": 1}},
        [replaced("/rules", [{"id": 1}])], "send 'rules' as an array: [{\"id\": 1}]",
    ),
    "array-for-its-item": (
        fields(name=TEXT), {"name": ["a"]}, [moved("/name/0", "/name")], "send 'name' without the array around it",
    ),
    "arguments-in-an-array": (
        fields("a", a=TEXT), [{"a": "x"}], [moved("/0", "")], "send the arguments without the array around it",
    ),
    "object-around-an-item": (
        fields(tags=TEXTS), {"tags": ["b", {"value": "a"}]}, [replaced("/tags/1", "a")],
        "send the content of 'value' itself as 'tags/1'",
    ),
    "array-around-an-item": (
        fields(tags=TEXTS), {"tags": [["a"]]}, [replaced("/tags/0", "a")], "send 'tags/0' without the array around it",
    ),
    **{
        f"only-name-of-three-letters-{wrong}": (
            fields(right, **{right: TEXT}), {wrong: "a"}, [moved(f"/{wrong}", f"/{right}")],
            f"rename '{wrong}' to '{right}'",
        )
        for wrong, right in (("ulr", "url"), ("ul", "url"), ("pah", "path"))
    },
    "object-around-a-text": (
        fields(name=TEXT), {"name": {"text": "a"}}, [moved("/name/text", "/name")],
        "send the content of 'text' itself as 'name'",
    ),
    "object-around-a-rule": (
        fields(filter=fields("field", field=TEXT)), {"filter": {"rule": {"field": "a"}}},
        [moved("/filter/rule", "/filter")], "send the content of 'rule' itself as 'filter'",
    ),
    "object-around-one-of-several": (
        fields(f={"anyOf": [fields("a", a=TEXT), fields("b", b=TEXT)]}), {"f": {"f": {"a": "x"}}},
        [moved("/f/f", "/f")], "send the content of 'f' itself as 'f'",
    ),
    "arguments-in-arguments": (
        fields("path", path=TEXT), {"arguments": {"path": "a"}}, [moved("/arguments", "")],
        "send the content of 'arguments' itself as the arguments",
    ),
    "arguments-as-text-in-arguments": (
        fields("path", path=TEXT), {"arguments": '{"path": "a"}'}, [replaced("", {"path": "a"})],
        "send the content of 'arguments' itself as the arguments",
    ),
    "the-whole-call-as-arguments": (
        fields("path", path=TEXT), {"name": "read_file", "arguments": {"path": "a"}}, [moved("/arguments", "")],
        "send the content of 'arguments' itself as the arguments",
    ),
    "a-tool-use-block-as-arguments": (
        fields("path", path=TEXT), {"type": "tool_use", "id": "1", "name": "t", "input": {"path": "a"}},
        [moved("/input", "")], "send the content of 'input' itself as the arguments",
    ),
    "only-argument-without-its-name": (
        fields("path", path=TEXT, mode=TEXT), "a", [replaced("", {"path": "a"})],
        'send the arguments as an object: {"path": "a"}',
    ),
    "only-list-without-its-name": (
        fields("paths", paths=TEXTS), ["a"], [replaced("", {"paths": ["a"]})],
        'send the arguments as an object: {"paths": ["a"]}',
    ),
    "fields-of-an-object-without-it": (
        fields("filter", filter=fields("a", a=TEXT, b=TEXT), n=WHOLE), {"a": "x", "b": "y", "n": 1},
        [{"op": "add", "path": "/filter", "value": {}}, moved("/a", "/filter/a"), moved("/b", "/filter/b")],
        "put 'a', 'b' inside 'filter'",
    ),
    "other-case": (
        fields("userName", userName=TEXT), {"username": "a"}, [moved("/username", "/userName")],
        "rename 'username' to 'userName'",
    ),
    "underscore": (
        fields("maxBytes", maxBytes=WHOLE), {"max_bytes": 1}, [moved("/max_bytes", "/maxBytes")],
        "rename 'max_bytes' to 'maxBytes'",
    ),
    "dash-in-an-optional": (
        fields(max_bytes=WHOLE), {"max-bytes": 1}, [moved("/max-bytes", "/max_bytes")],
        "rename 'max-bytes' to 'max_bytes'",
    ),
    "typo-with-a-slash": (
        fields("a/path", **{"a/path": TEXT}), {"a/pth": "x"}, [moved("/a~1pth", "/a~1path")],
        "rename 'a/pth' to 'a/path'",
    ),
    "typo-in-an-item": (
        fields(items={"type": "array", "items": fields("sku", sku=TEXT)}), {"items": [{"sku": "a"}, {"skuu": "b"}]},
        [moved("/items/1/skuu", "/items/1/sku")], "rename 'skuu' to 'sku'",
    ),
    "misspelt-choice": (
        fields(encoding={"enum": ["utf-8", "ascii"]}), {"encoding": "uft8"}, [replaced("/encoding", "utf-8")],
        "change 'encoding' to one of the allowed values (did you mean 'utf-8'?)",
    ),
    "choice-in-other-case": (
        fields(region={"type": "string", "enum": ["EU", "NA"]}), {"region": "na"}, [replaced("/region", "NA")],
        "change 'region' to one of the allowed values (did you mean 'NA'?)",
    ),
    "misspelt-constant": (
        fields(kind={"const": "Node"}), {"kind": "node"}, [replaced("/kind", "Node")],
        "change 'kind' to Node (did you mean 'Node'?)",
    ),
    "one-level-too-high": (
        fields("page", page=fields("limit", limit=WHOLE)), {"page": {}, "limit": 5}, [moved("/limit", "/page/limit")],
        "move '/limit' to '/page/limit'",
    ),
    "one-level-too-low": (
        fields("limit", limit=WHOLE, page=fields(size=WHOLE)), {"page": {"size": 1, "limit": 5}},
        [moved("/page/limit", "/limit")], "move '/page/limit' to '/limit'",
    ),
    "optional-one-level-too-low": (
        fields(limit=WHOLE, page=fields(size=WHOLE)), {"page": {"size": 1, "limit": 5}},
        [moved("/page/limit", "/limit")], "move '/page/limit' to '/limit'",
    ),
    "missing-with-a-default": (
        fields("mode", mode={"type": "string", "default": "r"}), {},
        [{"op": "add", "path": "/mode", "value": "r"}], "provide the missing 'mode' field: \"r\"",
    ),
    "missing-with-one-choice": (
        fields("v", v={"enum": [2]}), {}, [{"op": "add", "path": "/v", "value": 2}], "provide the missing 'v' field: 2",
    ),
    "missing-constant": (
        fields("v", v={"const": "1.0", "default": "x"}), {}, [{"op": "add", "path": "/v", "value": "1.0"}],
        "provide the missing 'v' field: \"1.0\"",
    ),
    **{
        f"missing-with-{json.dumps(schema)}": (
            fields("v", v=schema), {}, [{"op": "add", "path": "/v", "value": value}],
            f"provide the missing 'v' field: {json.dumps(value)}",
        )
        for schema, value in (
            (TEXTS | {"maxItems": 0}, []), ({"type": "object", "maxProperties": 0}, {}),
            (TEXT | {"maxLength": 0}, ""), ({"type": "null"}, None), (TEXTS | {"default": ["a"]}, ["a"]),
        )
    },
    "missing-beside-another": (
        {"properties": {"a": WHOLE, "b": {"default": 1}}, "dependentRequired": {"a": ["b"]}}, {"a": 1},
        [{"op": "add", "path": "/b", "value": 1}], "provide the missing 'b' field: 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "patch", "hint"), CASES.values(), ids=CASES.keys())
def test_a_near_miss_is_said_in_words_and_mended_by_its_patch(
    schema: Any, value: Any, patch: list[dict[str, Any]], hint: str
) -> None:
    findings = judged(schema, value)
    # The wrong name and the missing one are two errors and one story: both tell it alike.
    assert {(error.hint, json.dumps(error.patch)) for error in findings.errors} == {(hint, json.dumps(patch))}
    assert judged(schema, apply_patch(findings.parsed, combined_patch(findings.errors))).errors == ()


@pytest.mark.parametrize("name", ["other-case", "arguments-in-arguments", "one-level-too-low", "missing-constant"])
def test_a_missing_field_of_an_open_object_is_a_near_miss_too(name: str) -> None:
    schema, value, patch, hint = CASES[name]
    findings = judged(schema | {"additionalProperties": True}, value, strict=False)
    missing = findings.errors[0]
    assert (missing.hint, list(missing.patch)) == (hint, patch)


def test_a_mere_warning_is_mended_as_well() -> None:
    (warning,) = judged(fields(path=TEXT), {"pth": "a"}, strict=False).warnings
    assert warning.patch == (moved("/pth", "/path"),)


NO_NEAR_MISS: dict[str, tuple[Any, Any]] = {
    "text-that-may-be-several": (fields(tags=TEXTS), {"tags": "a, b"}),
    "text-that-may-be-broken-json": (fields(tags=TEXTS), {"tags": "[a"}),
    "fraction-that-may-have-been-a-version": (fields(version=TEXT), {"version": 3.10}),
    "fraction-for-an-integer": (fields(n=WHOLE), {"n": 1.5}),
    "thousand-or-one": (fields(n=WHOLE), {"n": "1.000"}),
    "fraction-that-may-be-thousands": (fields(n={"type": "number"}), {"n": "12.500"}),
    "number-of-401-digits": (fields(n=WHOLE), {"n": "1e400"}),
    "number-of-21-digits": (fields(n=WHOLE), {"n": "1" * 21}),
    "short-name-beside-another-missing": (fields("url", "to", url=TEXT, to=TEXT), {"ulr": "a"}),
    "number-in-words": (fields(n=WHOLE), {"n": "five"}),
    "two-for-a-boolean": (fields(on=YES), {"on": 2}),
    "what-the-text-holds-is-wrong-too": (fields(n={"type": "integer", "maximum": 3}), {"n": "4"}),
    "array-of-two-for-one": (fields(name=TEXT), {"name": ["a", "b"]}),
    "null-for-a-required-text": (fields("path", path=TEXT), {"path": None}),
    "missing-without-a-hint-of-it": (fields("action", action=TEXT), {}),
    "missing-choice": (fields("action", action={"enum": ["a", "b"]}), {}),
    "missing-array-with-items": (fields("tags", tags=TEXTS | {"minItems": 1}), {}),
    "missing-array": (fields("tags", tags=TEXTS), {}),
    "missing-array-beside-what-is-there": (fields("to", "s", to=TEXTS, s=TEXT), {"s": "x"}),
    "missing-array-that-may-be-null": (fields("tags", tags={"type": ["array", "null"]}), {}),
    "missing-object": (fields("o", o={"type": "object"}), {}),
    "missing-object-with-a-constant": (fields("o", o=fields("v", v={"const": 1})), {}),
    "missing-boolean": (fields("on", on=YES), {}),
    "missing-number": (fields("n", n={"type": "integer", "minimum": 1, "maximum": 10}), {}),
    "missing-text-that-may-be-empty": (fields("a", a=TEXT | {"minLength": 0}), {}),
    "missing-array-in-an-item": (fields(rows={"type": "array", "items": fields("ids", ids=TEXTS)}), {"rows": [{}]}),
    "null-for-a-required-array": (fields("tags", tags=TEXTS), {"tags": None}),
    "null-for-a-required-object": (fields("o", o={"type": "object"}), {"o": None}),
    "null-for-an-item": (fields(rows={"type": "array", "items": {"type": "object"}}), {"rows": [None]}),
    "null-for-a-required-boolean": (fields("on", on=YES), {"on": None}),
    "null-for-a-required-number": (fields("n", n=WHOLE | {"minimum": 0}), {"n": None}),
    "text-for-arguments-of-two": (fields("a", "b", a=TEXT, b=TEXT), "x"),
    "choice-that-two-could-mean": (fields(lang={"enum": ["en_US", "en_GB"]}), {"lang": "en"}),
    "choice-out-of-nowhere": (fields(region={"enum": ["EU", "NA"]}), {"region": "north-america"}),
    "unknown-field-like-no-other": (fields(path=TEXT), {"colour": "red"}),
    "the-opposite-of-a-field": (fields("run", run=YES), {"dry_run": True}),
    "fields-by-another-word": (fields(exclude_tags=TEXTS), {"tags": ["a"]}),
    "two-unknown-fields-for-one": (fields("path", path=TEXT), {"pat": "a", "pth": "b"}),
    "what-stands-beside-a-wrapper-would-be-lost": (
        fields("path", path=TEXT),
        {"note": "not the old one", "data": {"path": "a"}},
    ),
    "renamed-it-would-be-wrong": (fields("path", path=TEXT), {"pth": {"a": 1}}),
    "two-homes": (fields(a=fields(n=WHOLE), b=fields(n=WHOLE)), {"n": 1, "a": {}, "b": {}}),
    **{
        f"none-{n}-of-what-has-a-default": (fields(*required, v=field), {"v": word})
        for word in ("none", "None", "NONE", " null ", "n/a", "nil")
        for required in ((), ("v",))
        for n, field in enumerate(
            (
                {"enum": ["gzip", "zstd"], "default": "gzip"},
                {"enum": ["gzip", "zstd"]},
                WHOLE | {"default": 30},
                YES | {"default": True},
                TEXTS | {"default": ["all"]},
                {"type": "number", "default": 0.5},
                {"type": "object", "default": {"a": 1}},
                {"const": "basic", "default": "basic"},
            )
        )
    },
    "none-for-a-required-array": (fields("tags", tags=TEXTS), {"tags": "none"}),
    "constant-out-of-nowhere": (fields(confirm={"const": True}), {"confirm": False}),
    "object-for-another-constraint": ({"minProperties": 2}, {"a": 1}),
}


@pytest.mark.parametrize(("schema", "value"), NO_NEAR_MISS.values(), ids=NO_NEAR_MISS.keys())
def test_where_one_would_have_to_guess_nothing_is_proposed(schema: Any, value: Any) -> None:
    errors = judged(schema, value).errors
    assert errors
    assert [error.patch for error in errors if error.patch] == []


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        (fields("tags", tags=TEXTS), {}, "provide the missing 'tags' field ([] if there are none)"),
        (fields("tags", tags=TEXTS), {"tags": None}, "send 'tags' as an array ([] if there is nothing to send)"),
        (fields("tags", tags=TEXTS), {"tags": "none"}, "send 'tags' as an array ([] if there is nothing to send)"),
        (fields("o", o={"type": "object"}), {"o": None}, "send 'o' as an object ({} if there is nothing to send)"),
    ],
)  # fmt: skip
def test_a_guess_is_told_and_in_no_patch(schema: Any, value: Any, hint: str) -> None:
    """An empty list of receivers is an e-mail to nobody, an empty filter may mean everything."""
    (error,) = judged(schema, value).errors
    assert (error.hint, error.patch) == (hint, ())
    beside = judged(fields("tags", tags=TEXTS, n=WHOLE), {"n": "5"})
    assert combined_patch(beside.errors) == (replaced("/n", 5),)


NOTHING = TEXTS | {"maxItems": 0}


def test_several_near_misses_are_mended_together() -> None:
    schema = fields("path", "tags", path=TEXT, n=WHOLE, tags=NOTHING, mode={"enum": ["read", "write"]}, x=TEXT)
    findings = judged(schema, {"Path": "a", "n": "5", "mode": "raed", "x": None})
    patch = combined_patch(findings.errors)
    assert len(patch) == 5
    assert judged(schema, apply_patch(findings.parsed, patch)).errors == ()


def test_a_patch_that_mends_only_beside_another_is_not_proposed() -> None:
    either = {"anyOf": [{"required": ["startDate"]}, {"required": ["unit"]}]}
    inner = {"type": "object", "properties": {"config": {"type": "object"}, "unit": TEXT, "startDate": TEXT}} | either
    findings = judged(fields("config", config=inner), {"config": {"config": {"depth": 5}}, "unit": "celsius"})
    assert [error.patch for error in findings.errors] == [(), (moved("/unit", "/config/unit"),)]


def test_what_changes_the_whole_document_comes_before_its_parts() -> None:
    schema = fields("path", "mode", path=TEXT, mode={"default": "r"})
    findings = judged(schema, {"arguments": {"path": "a"}})
    patch = combined_patch(findings.errors)
    assert patch == (moved("/arguments", ""), {"op": "add", "path": "/mode", "value": "r"})
    assert apply_patch(findings.parsed, patch) == {"path": "a", "mode": "r"}


def test_an_error_that_knows_no_patch_adds_nothing_to_the_whole() -> None:
    known = judged(fields(path=TEXT), {"colour": 1}).errors
    assert combined_patch(known) == ()


def test_the_submission_itself_is_left_as_it_is() -> None:
    findings = judged(fields("path", path=TEXT, n=WHOLE), {"Path": "a", "n": "5"})
    assert findings.parsed == {"Path": "a", "n": "5"}
    assert not findings.is_valid


def test_an_error_with_a_patch_survives_its_way_through_json() -> None:
    for error in judged(fields("path", path=TEXT, n=WHOLE), {"Path": "a", "n": "5"}).errors:
        assert ValidationError.from_json(json.loads(json.dumps(error.to_json()))) == error
