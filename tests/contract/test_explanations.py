"""What was worded once is told again as if it were worded anew, and only what the schema knows is kept."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.explaining.explanations import MAX_KEPT
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledSchema, CompiledTool, Tool

PLAIN, CLOSED = ValueSanitizer(RetryConfiguration(redact_secrets=False)), ValueSanitizer()
SECRET = "AKIA" + "QWERTYUIOPASDFGH"
INTEGER = {"type": "integer"}
ITEM = {
    "properties": {"n": INTEGER, "password": {"type": "string", "pattern": "^x"}, "7": INTEGER, "a/b": INTEGER},
    "required": ["n"],
}
SCHEMA: dict[str, Any] = {
    "properties": {
        "n": INTEGER | {"x-hint": "count"},
        "when": {"type": ["string", "null"], "format": "date"},
        "list": {"type": "array", "items": ITEM},
        "numbers": {"type": "array", "items": INTEGER},
        "any": {"anyOf": [ITEM, {"$ref": "#/$defs/soft"}]},
        "soft": {"$ref": "#/$defs/soft", "x-severity": "warning"},
        SECRET: INTEGER,
        "choice": {"enum": ["large", "small", 1, None]},
        "kind": {"const": "sesame"},
        "range": {"type": "number", "minimum": 1, "exclusiveMaximum": 2},
        "size": {"minLength": 2, "maxItems": 1},
        "shown": {"x-sensitive": True, "type": "string"},
    },
    "patternProperties": {"^free": INTEGER},
    "dependentRequired": {"n": ["when"], "when": ["n"]},
    "required": ["n", "list"],
    "$defs": {"soft": {"type": "string", "pattern": "^s"}},
}
NAMES = [*SCHEMA["properties"], "password", "7", "a/b", "freely", "unknown"]
VALUES = st.dictionaries(
    st.sampled_from(NAMES),
    st.recursive(
        st.none() | st.integers(0, 3) | st.sampled_from(["", "x", "sesame", "lagre", "Small", "same", SECRET]),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "password", "7", "a/b"]), inner)
        ),
        max_leaves=8,
    ),
)


def compiled(schema: Any = SCHEMA) -> CompiledSchema:
    return CompiledTool.of(Tool(name="t", input_schema=schema)).schema


def told(schema: CompiledSchema, value: Any, sanitizer: ValueSanitizer = CLOSED) -> list[ValidationError]:
    return violations(schema, value, strict=True, sanitizer=sanitizer)


@given(st.lists(st.tuples(VALUES, st.sampled_from([PLAIN, CLOSED])), min_size=2, max_size=4))
def test_whatever_was_told_before_changes_nothing(submissions: list[tuple[Any, ValueSanitizer]]) -> None:
    known = compiled()
    for value, sanitizer in submissions:
        assert told(known, value, sanitizer) == told(compiled(), value, sanitizer)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("n", ["x", None, 1.5, [], "y"]),
        ("choice", ["lagre", "smal", "LARGE", "none of them", 2, [], "x" * 300]),
        ("kind", ["Sesame", "other", 1]),
        ("range", [0, -7.5, 2, 3, 10**30]),
        ("size", ["", "x", [1, 2], [1, 2, 3]]),
        ("when", ["x", "2026-13-01", 1, SECRET]),
        ("soft", ["x", "y", 1]),
    ],
)
def test_each_value_is_told_as_if_it_were_the_first(field: str, values: list[Any]) -> None:
    known = compiled()
    for value in [*values, *reversed(values)]:
        assert told(known, {"n": 1, field: value}) == told(compiled(), {"n": 1, field: value})


def test_a_name_that_is_a_secret_is_shown_to_nobody_who_may_not_see_it() -> None:
    known = compiled()
    assert any(SECRET in str(error) for error in told(known, {SECRET: "x"}, PLAIN))
    assert not any(SECRET in str(error) for error in told(known, {SECRET: "x"}, CLOSED))


def test_an_item_is_named_by_its_own_index() -> None:
    value = {"n": 1, "numbers": [0, "x", "x"], "list": [{"n": 1}, {"n": "x"}, {}]}
    hints = {error.field_path: error.hint for error in told(compiled(), value)}
    assert hints["/numbers/1"] == "send 'numbers/1' as integer"
    assert hints["/numbers/2"] == "send 'numbers/2' as integer"
    assert {"/list/1/n", "/list/2/n"} <= hints.keys()


def kept(schema: CompiledSchema) -> int:
    return len(schema.explanations._kept)


def test_names_that_only_the_model_knows_are_not_kept() -> None:
    known = compiled()
    told(known, {"freely": "x", "n": "x"})
    before = kept(known)
    for number in range(50):
        told(known, {f"free{number}": "x", "n": "x", "list": [{} for _ in range(number)]})
    assert kept(known) == before + 1  # of the items, all together


def test_what_is_kept_is_bounded_where_references_loop() -> None:
    schema = {"properties": {name: {"$ref": "#"} for name in "ab"} | {"n": INTEGER}}
    known = compiled(schema)
    for way in product("ab", repeat=11):
        value: dict[str, Any] = {"n": "x"}
        for name in way:
            value = {name: value}
        assert len(told(known, value)) == 1
    assert kept(known) == MAX_KEPT


@pytest.mark.parametrize(
    "items", [{"enum": ["a"]}, {"maxLength": 3}, INTEGER, {"anyOf": [{"const": "a"}, {"type": "null"}]}, False]
)
@pytest.mark.parametrize(
    "words", [["--password", SECRET[4:]], ["mysql", f"-p{SECRET[4:]}"], ["curl", "-u", f"a:{SECRET[4:]}"]]
)
def test_an_item_whose_list_tells_that_it_is_secret_is_not_shown_alone(items: Any, words: list[str]) -> None:
    tool = CompiledTool.of(Tool(name="run", input_schema={"properties": {"args": {"items": items}, "command": {}}}))
    values: list[Any] = [{"args": ["before", "it"]}, {"args": words}]
    if not words[0].startswith("-"):
        values.append({"command": words[0], "args": words[1:]})
    for value in values:
        found = violations(tool.schema, value, strict=True, sanitizer=CLOSED)
        assert found
        assert SECRET[4:] not in str([error.to_json() for error in found])
