"""What a proposal must never do: tell a secret, overrule the author, cost much, or grow long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import RetryConfiguration, RetryContract, Tool, parse_feedback
from retrycontract.contract.advice.proposals import MAX_ERRORS, MAX_HINT, MAX_NODES, MAX_PATCHES, MAX_SHOWN, MAX_VALUE
from tests.contract.test_near_misses import TEXT, TEXTS, WHOLE, fields, judged, moved, replaced

SECRET = "ghp_" + "a1B2c3D4e" * 4
PINS = {"type": "array", "items": TEXT, "writeOnly": True}


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        pytest.param(fields(tags=TEXTS), {"tags": SECRET}, "send 'tags' as an array", id="by-value"),
        pytest.param(fields(password=TEXTS), {"password": "hunter2-two"}, "send 'password' as an array", id="by-name"),
        pytest.param(fields(code=PINS), {"code": "4711"}, "send 'code' as an array", id="by-the-schemas-mark"),
        pytest.param(
            fields(name=TEXT, value=TEXT), {"name": "PASSWORD", "value": 47114711}, "send 'value' as string",
            id="by-a-neighbour",
        ),
        pytest.param(
            fields(login=fields(token=TEXT)), {"login": json.dumps({"token": SECRET})},
            "send 'login' as an object, not as a string that holds JSON", id="within-json-text",
        ),
        pytest.param(
            fields("password", password=TEXT), "hunter2-two", "send the arguments as an object", id="under-its-new-name"
        ),
        pytest.param(fields(tags=TEXTS), {"tags": "x [REDACTED: TOKEN]"}, "send 'tags' as an array", id="redacted"),
    ],
)  # fmt: skip
def test_a_secret_is_mended_in_words_alone(schema: Any, value: Any, hint: str) -> None:
    (error,) = judged(schema, value).errors
    assert (error.patch, error.hint) == ((), hint)


def test_a_secret_that_only_moves_may_be_patched_for_no_value_travels() -> None:
    findings = judged(fields("password", password=TEXT), {"pasword": "hunter2-two"})
    assert [error.patch for error in findings.errors] == [(moved("/pasword", "/password"),)] * 2
    assert "hunter2" not in json.dumps([error.to_json() for error in findings.errors])


def test_a_secret_as_a_name_is_in_no_patch() -> None:
    findings = judged(fields("path", path=TEXT), {SECRET: {"path": "a"}})
    assert [error.patch for error in findings.errors if error.patch] == []
    assert SECRET not in json.dumps([error.to_json() for error in findings.errors])


def test_without_redaction_a_value_travels_as_everything_else_does() -> None:
    desk = RetryContract(
        [Tool(name="t", input_schema=fields(password=TEXTS))], RetryConfiguration(redact_secrets=False)
    )
    (error,) = desk.check("t", "1", {"password": "hunter2-two"}).errors
    assert error.patch == (replaced("/password", ["hunter2-two"]),)


def test_a_long_value_is_mended_in_words_alone() -> None:
    (error,) = judged(fields(tags=TEXTS), {"tags": "a" * MAX_VALUE}).errors
    assert (error.patch, error.hint) == ((), "send 'tags' as an array")


def test_a_value_that_is_too_long_to_read_stands_in_the_patch_only() -> None:
    text = "a" * MAX_SHOWN
    (error,) = judged(fields(tags=TEXTS), {"tags": text}).errors
    assert (error.patch, error.hint) == ((replaced("/tags", [text]),), "send 'tags' as an array")


def test_an_absolute_path_stands_in_the_patch_only() -> None:
    (error,) = judged(fields(paths=TEXTS), {"paths": "/home/ana/notes.md"}).errors
    assert (error.patch, error.hint) == ((replaced("/paths", ["/home/ana/notes.md"]),), "send 'paths' as an array")


@pytest.mark.parametrize("marks", [{"x-hint": "count in pages"}, {"x-hints": {"type": "count in pages"}}])
def test_the_authors_hint_stays_and_the_patch_goes_along(marks: dict[str, Any]) -> None:
    (error,) = judged(fields(n=WHOLE | marks), {"n": "5"}).errors
    assert (error.hint, error.patch) == ("count in pages", (replaced("/n", 5),))


def test_an_authors_hint_for_the_object_stays_where_a_field_of_it_is_missing() -> None:
    schema = fields("path", path=TEXT) | {"x-hint": "look at the example " * 20}
    (missing,) = (error for error in judged(schema, {"Path": "a"}).errors if error.keyword == "required")
    assert missing.patch == (moved("/Path", "/path"),)
    assert (missing.hint or "").startswith("look at")


def test_hints_are_short_whatever_the_names_are() -> None:
    long = "n" * 5_000
    schema = fields(**{long: fields(**{long: WHOLE, f"{long}_": WHOLE})})
    for value in ({long: {long: "5"}}, {long: {long.upper(): 1}}, {long: {"x": {long: 5}}}, {long: {long: [5]}}):
        for error in judged(schema, value).errors:
            assert len(error.hint or "") <= MAX_HINT + MAX_SHOWN + 2


def test_more_near_misses_than_that_are_left_to_the_next_turn() -> None:
    errors = judged({"items": WHOLE}, ["5"] * (2 * MAX_PATCHES)).errors
    assert sum(1 for error in errors if error.patch) == MAX_PATCHES


def test_so_many_mistakes_are_no_near_miss() -> None:
    assert not any(error.patch for error in judged({"items": WHOLE}, ["5"] * (MAX_ERRORS + 1)).errors)


def test_a_document_that_is_too_large_to_try_gets_no_patch() -> None:
    schema = fields(n=WHOLE, rest={"type": "array"})
    small, large = ({"n": "5", "rest": [0] * size} for size in (10, MAX_NODES))
    assert judged(schema, small).errors[0].patch
    assert not judged(schema, large).errors[0].patch


def test_json_in_a_text_that_nests_too_deep_to_be_cheap_is_not_even_tried() -> None:
    again = {"items": {"$ref": "#/$defs/tree"}}
    schema = fields(tree={"$ref": "#/$defs/tree"}) | {"$defs": {"tree": {"type": "array", "allOf": [again, again]}}}
    for depth, is_patched in ((1, True), (80, False)):
        (error,) = judged(schema, {"tree": "[" * depth + "]" * depth}).errors
        assert bool(error.patch) is is_patched


def test_a_long_text_beside_the_mistake_does_not_matter() -> None:
    (error,) = judged(fields(content=TEXT, n=WHOLE), {"content": "a" * 1_000_000, "n": "5"}).errors
    assert error.patch == (replaced("/n", 5),)


def test_arguments_handed_over_as_python_objects_are_never_changed_or_refused() -> None:
    tool = Tool(name="t", input_schema=fields(tags=TEXTS, n=WHOLE))
    value = {"tags": ({"a": 1},), "n": "5"}
    outcome = RetryContract([tool]).check("t", "1", value)
    assert outcome.status == "retry"
    assert value == {"tags": ({"a": 1},), "n": "5"}


def test_the_message_for_eight_near_misses_stays_short() -> None:
    names = [f"number_{position}" for position in range(8)]
    desk = RetryContract([Tool(name="tool", input_schema=fields(**dict.fromkeys(names, WHOLE)))])
    outcome = desk.check("tool", "1", dict.fromkeys(names, "200000"))
    assert outcome.tool_result is not None
    text = outcome.tool_result.content
    assert len(parse_feedback(text).errors) == 8
    assert "as integer: 200000" in text
    assert len(text) < 2_000


def test_the_machine_readable_twin_carries_the_patches() -> None:
    outcome = RetryContract([Tool(name="t", input_schema=fields(n=WHOLE))]).check("t", "1", {"n": "5"})
    assert outcome.tool_result is not None
    assert outcome.tool_result.metadata["errors"][0]["patch"] == [replaced("/n", 5)]


def test_a_patch_reads_the_same_each_time() -> None:
    schema, value = fields("a", "b", a=TEXT, b=TEXTS), {"A": "x", "c": 1}
    assert judged(schema, value) == judged(schema, value)


def test_nothing_is_advised_that_was_not_tried() -> None:
    error, _ = judged(fields(n=WHOLE | {"maximum": 3}), {"n": "4"}).errors
    assert (error.hint, error.patch) == ("send 'n' as integer", ())
