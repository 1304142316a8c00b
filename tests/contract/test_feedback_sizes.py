"""Whole messages through the real check: what is told, in how many characters, and never a secret."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract import Outcome, RetryConfiguration, RetryContract, Tool, parse_feedback

SECRET = "sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ" * 2
BOOK_FLIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "destination": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "passengers": {"type": "integer", "minimum": 1},
        "flexible": {"type": "boolean"},
        "cabin": {"enum": ["economy", "premium_economy", "business", "first"]},
        "api_key": {"type": "string", "maxLength": 20},
        "contact": {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]},
        "seat": {"type": "string"},
    },
    "required": ["origin", "destination", "passengers", "cabin"],
}
EIGHT_FAULTS = {
    "origin": "London", "destination": "paris", "passengers": "two", "flexible": "maybe", "cabin": "busines",
    "api_key": SECRET, "contact": {}, "saet": "12A",
}  # fmt: skip
EIGHT_TOLD = """\
Validation failed for tool 'book_flight' (attempt 1/3):

Errors:
• /api_key (VAL-009): String length 48 exceeds maximum 20
• /cabin (VAL-008): Invalid enum value 'busines'
  Expected: one of: economy, premium_economy, business, first
• /contact/email (VAL-001): Required field 'email' is missing
  Expected: string
• /destination (VAL-007): Value doesn't match pattern: ^[A-Z]{3}$
  Actual: "paris"
• /flexible (VAL-002): Type mismatch: expected boolean, got string
• /origin (VAL-007): Value doesn't match pattern: ^[A-Z]{3}$
  Actual: "London"
• /passengers (VAL-002): Type mismatch: expected integer, got string
  Expected: integer >= 1
• /saet (VAL-005): Unknown field 'saet'

Please change 'cabin' to one of the allowed values (did you mean 'business'?), rename 'saet' to 'seat' and correct \
the remaining errors above."""


def check(schema: Any, *calls: Any, name: str = "t", **settings: Any) -> Outcome:
    """The outcome of the last of several attempts."""
    contract = RetryContract([Tool(name=name, input_schema=schema)], RetryConfiguration(**settings))
    return [contract.check(name, "call_1", call) for call in calls][-1]


def content(schema: Any, *calls: Any, **settings: Any) -> str:
    result = check(schema, *calls, **settings).tool_result
    assert result is not None
    return result.content


def test_eight_faults_of_one_call_are_told_in_at_most_900_characters() -> None:
    text = content(BOOK_FLIGHT, EIGHT_FAULTS, name="book_flight")
    assert text == EIGHT_TOLD
    assert len(text) <= 900
    assert SECRET[8:20] not in text


def test_the_advice_on_many_faults_repeats_no_bullet() -> None:
    fields = {name: {"type": "string"} for name in "abcde"} | {"list": {"type": "array"}}
    schema = {"properties": fields, "required": list(fields)}
    assert content(schema, {}).endswith(
        "Please provide the missing 'list' field ([] if there are none) and correct the \
remaining errors above."
    )
    wrong = dict.fromkeys("abcde", 1) | {"list": [], "unit": "k", "when": "now"}
    fields |= {"unit": {"enum": ["c", "f"]}, "when": {"format": "date"}}
    told = content(schema | {"properties": {key: fields[key] for key in ("unit", "when", *"abc", "list")}}, wrong)
    assert "such as 2026-01-31" in told
    assert content({"properties": {key: {"maxLength": 1} for key in "abcdef"}}, dict.fromkeys("abcdef", "xx")).endswith(
        "Please correct all errors above."
    )


def test_six_hundred_like_faults_are_told_in_at_most_500_characters() -> None:
    schema = {"properties": {"items": {"items": {"required": ["sku"], "properties": {"sku": {"type": "string"}}}}}}
    text = content(schema, {"items": [{}] * 600}, name="order")
    assert text == (
        "Validation failed for tool 'order' (attempt 1/3):\n\n"
        "• /items/0/sku (VAL-001): Required field 'sku' is missing … and in 599 more items (/items/*/sku)\n"
        "  Expected: string\n\n"
        "Please provide the missing 'sku' field."
    )
    assert len(text) <= 500


def test_every_distinct_mistake_stays_visible_among_six_hundred() -> None:
    item = {"required": ["sku", "size"], "properties": {"qty": {"type": "integer"}, "size": {"enum": ["S", "M"]}}}
    text = content({"properties": {"items": {"items": item}}}, {"items": [{"qty": "1"}] * 300, "nmae": 1})
    parsed = parse_feedback(text)
    assert parsed.pointers == ("/items/0/qty", "/items/0/size", "/items/0/sku", "/nmae")
    assert text.count("… and in 299 more items") == 3
    assert len(text) <= 700


def test_what_is_missing_is_told_however_many_fields_were_made_up() -> None:
    schema = {
        "properties": {
            "query": {"type": "string"},
            "changes": {"properties": {"qty": {"type": "integer"}}, "additionalProperties": False},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    made_up = dict.fromkeys("abcdefghijkl", 1)
    text = content(schema, made_up | {"changes": made_up | {"qty": "1"}})
    assert parse_feedback(text).pointers == ("/a", "/changes/a", "/changes/qty", "/query")
    assert "'a' … and 11 more unknown fields (/*)" in text
    assert "'a' … and 11 more unknown fields (/changes/*)" in text
    assert "remove 'a' and the other unknown fields" in text


def test_the_same_call_again_is_told_to_take_a_different_approach() -> None:
    text = content(BOOK_FLIGHT, EIGHT_FAULTS, EIGHT_FAULTS, name="book_flight")
    assert (
        "\n\nProgress: none, the mistakes are the same as in attempt 1; take a different approach.\n\nPlease " in text
    )
    assert text.endswith("\n\nOne attempt is left.")
    assert parse_feedback(text).is_unchanged
    assert len(text) <= 1000


def test_the_known_fields_are_told_once_for_all_unknown_ones() -> None:
    text = content({"properties": {"path": {}, "mode": {}}}, {"x": 1, "yyyyy": 2, "zzz": 3})
    assert text.count("Expected: one of the fields mode, path") == 1


def test_like_advice_for_several_fields_is_given_once() -> None:
    schema = {"required": ["a", "b", "c"], "properties": {"n": {"type": "integer"}, "m": {"type": "boolean"}}}
    text = content(schema, {"n": "x", "m": "y"})
    assert text.endswith(
        "Please provide the missing 'a', 'b' and 'c' fields and send 'm' as boolean and 'n' as integer."
    )
    many = {"required": [f"field_{number}" for number in range(9)]}
    assert content(many, {}).endswith("Please correct all errors above.")


def test_a_field_that_is_there_under_another_name_is_not_asked_for_as_well() -> None:
    schema = {"properties": {"path": {}, "inner": {"required": ["path"]}}, "required": ["path", "inner"]}
    assert content(schema, {"pth": 1, "inner": {}}).endswith(
        "\n\nPlease provide the missing 'path' field and rename 'pth' to 'path'."
    )
    assert content(schema, {"pth": 1, "inner": {"path": 1}}).endswith("\n\nPlease rename 'pth' to 'path'.")


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ({"x-hint": "use an IATA code, such as LHR"}, "use an IATA code, such as LHR"),
        ({"x-hints": {"pattern": "write three capitals"}, "x-hint": "no"}, "write three capitals"),
        ({"x-hints": {"maxLength": "no"}}, "rewrite 'origin' to match its pattern"),
    ],
    ids=["of-the-subschema", "of-the-keyword", "of-another-keyword"],
)
def test_the_authors_hint_reaches_the_model(mark: dict[str, Any], said: str) -> None:
    schema = {"properties": {"origin": {"pattern": "^[A-Z]{3}$", **mark}}}
    assert content(schema, {"origin": "London"}).endswith(f"\n\nPlease {said}.")


def test_the_authors_hint_comes_before_what_the_bullets_say_already() -> None:
    schema = {"properties": {f"f{number}": {"type": "integer"} for number in range(8)}}
    schema["properties"]["f7"]["x-hint"] = "take the number from the invoice"
    text = content(schema, {f"f{number}": "x" for number in range(8)})
    assert "take the number from the invoice" in parse_feedback(text).hint


def test_warnings_alone_let_the_call_pass_and_are_listed() -> None:
    schema = {"properties": {"a": {"deprecated": True}, "b": {"type": "string", "x-severity": "info"}}}
    outcome = check(schema, {"a": 1, "b": 2})
    assert (outcome.status, outcome.tool_result) == ("valid", None)
    assert [error.field_path for error in outcome.warnings] == ["/a", "/b"]


def test_warnings_beside_errors_are_in_the_text_and_in_the_twin() -> None:
    result = check({"properties": {"a": {"deprecated": True}}, "required": ["b"]}, {"a": 1}).tool_result
    assert result is not None
    assert "• /a (VAL-003) [warning]: " in result.content
    assert [error["field_path"] for error in result.metadata["errors"]] == ["/b", "/a"]
    assert [error["field_path"] for error in result.metadata["warnings"]] == ["/a"]


def test_the_name_of_a_tool_that_nobody_registered_may_be_a_secret() -> None:
    contract = RetryContract([Tool(name="read", input_schema={})])
    outcomes = [contract.check(SECRET, "call_1", {}) for _ in range(3)]
    told = [outcome.tool_result.content for outcome in outcomes if outcome.tool_result]
    assert len(told) == 3
    assert SECRET not in "".join([*told, outcomes[-1].escalation or ""])
