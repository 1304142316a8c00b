"""Fields of another name or level, and words spelt otherwise: what is wrong with what was meant is told at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.patches import apply_patch
from tests.contract.test_readings import below, holding, judged, told

TEXT, FEW = {"type": "string"}, {"type": "integer", "maximum": 100}
RANGE = holding(min={"type": "integer"}, unit={"enum": ["m", "km"]}) | {"required": ["min", "unit"]}
SEARCH = holding(q=TEXT, f=RANGE) | {"required": ["q", "f"]}
CHANGES = {"type": "array", "items": holding(old=TEXT, new=TEXT) | {"required": ["old", "new"]}}
EDIT = holding(path=TEXT, edits=CHANGES) | {"required": ["path", "edits"]}
PETS = {
    "oneOf": [
        holding(kind={"const": "cat"}, lives={"type": "integer"}) | {"required": ["kind", "lives"]},
        holding(kind={"const": "dog"}, bark={"type": "boolean"}) | {"required": ["kind", "bark"]},
    ]
}
BOTH = "put 'min', 'unit' inside 'f'"
OF_ONE = "put 'old', 'new' inside an item of 'edits'"

CASES: dict[str, tuple[Any, Any, dict[str, str], set[str]]] = {
    "a-name-and-a-range": (
        holding(perPage=FEW), {"per_page": 200}, {"/per_page": "VAL-005", "/perPage": "VAL-011"},
        {"rename 'per_page' to 'perPage'"},
    ),
    "a-required-name-and-a-type": (
        holding(path=TEXT) | {"required": ["path"]}, {"pth": ["a", "b"]},
        {"/pth": "VAL-005", "/path": "VAL-002"}, {"rename 'pth' to 'path'"},
    ),
    "two-names": (
        holding(filePath=TEXT, maxLines=FEW), {"file_path": [1], "max_lines": "ten"},
        {"/file_path": "VAL-005", "/filePath": "VAL-002", "/max_lines": "VAL-005", "/maxLines": "VAL-002"},
        {"rename 'file_path' to 'filePath'", "rename 'max_lines' to 'maxLines'"},
    ),
    "a-name-of-an-object": (
        holding(f=RANGE), {"F": {"min": 1, "unit": "mi"}}, {"/F": "VAL-005", "/f/unit": "VAL-008"},
        {"rename 'F' to 'f'"},
    ),
    "fields-without-their-object": (
        SEARCH, {"q": "x", "min": 5, "unit": "mi"},
        {"/f": "VAL-001", "/min": "VAL-005", "/unit": "VAL-005", "/f/unit": "VAL-008"}, {BOTH},
    ),
    "a-part-of-the-fields-without-their-object": (
        SEARCH, {"q": "x", "min": 5}, {"/f": "VAL-001", "/min": "VAL-005", "/f/unit": "VAL-001"},
        {"put 'min' inside 'f'"},
    ),
    "a-level-too-low": (
        SEARCH, {"f": {"min": 5, "unit": "m", "q": 7}}, {"/f/q": "VAL-005", "/q": "VAL-002"}, {"move '/f/q' to '/q'"},
    ),
    "a-level-too-high": (
        SEARCH, {"q": "x", "f": {"unit": "m"}, "min": "a"}, {"/f/min": "VAL-002", "/min": "VAL-005"},
        {"move '/min' to '/f/min'"},
    ),
    "an-item-without-its-list": (
        EDIT, {"path": "x", "old": "a", "new": 5},
        {"/edits": "VAL-001", "/old": "VAL-005", "/new": "VAL-005", "/edits/0/new": "VAL-002"}, {OF_ONE},
    ),
    "in-an-item-by-reference": (
        holding(rows={"type": "array", "items": {"$ref": "#/$defs/s"}}) | {"$defs": {"s": SEARCH}},
        {"rows": [{"q": "x", "min": 5, "unit": "mi"}]},
        below("/rows/0", {"/f": "VAL-001", "/min": "VAL-005", "/unit": "VAL-005", "/f/unit": "VAL-008"}), {BOTH},
    ),
    "a-kind": (holding(p=PETS), {"p": {"kind": "Cat", "lives": "9"}}, {"/p/kind": "VAL-008", "/p/lives": "VAL-002"},
               set()),
    "a-kind-of-the-whole": (PETS, {"kind": "Dog"}, {"/kind": "VAL-008", "/bark": "VAL-001"}, set()),
    "a-name-and-a-text-within": (
        holding(f=RANGE), {"F": json.dumps({"min": "x", "unit": "m"})},
        {"/F": "VAL-005", "/f": "VAL-002", "/f/min": "VAL-002"}, {"rename 'F' to 'f'"},
    ),
    "a-name-within-a-wrapper": (
        holding(perPage=FEW), {"arguments": {"per_page": 200}},
        {"/arguments": "VAL-005", "/arguments/per_page": "VAL-005", "/arguments/perPage": "VAL-011"},
        {"rename 'per_page' to 'perPage'"},
    ),
    "a-list-of-a-number-in-a-text": (
        holding(n=FEW), {"n": ["200"]}, {"/n": "VAL-002", "/n/0": "VAL-011"},
        {"send 'n' without the array around it"},
    ),
    "one-choice-in-the-place-of-a-list": (
        holding(tags={"type": "array", "items": {"enum": ["a", "b"]}}), {"tags": "c"},
        {"/tags": "VAL-002", "/tags/0": "VAL-008"}, {"send 'tags' as an array"},
    ),
    "a-list-of-a-choice": (
        holding(user={"type": "string", "enum": ["a"]}), {"user": ["b"]}, {"/user": "VAL-008", "/user/0": "VAL-008"},
        {"send 'user' without the array around it"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "expected", "hints"), CASES.values(), ids=CASES.keys())
def test_what_is_wrong_with_what_was_meant_is_told_where_it_will_stand(
    schema: Any, value: Any, expected: dict[str, str], hints: set[str]
) -> None:
    findings = judged(schema, value)
    assert expected.items() <= told(findings).items()
    assert hints <= {error.hint for error in findings.errors}
    assert not any("remove" in str(error.hint) or "[]" in str(error.hint) for error in findings.errors)


@pytest.mark.parametrize(
    ("place", "sent", "code"),
    [
        (FEW, "200", "VAL-011"),
        ({"type": "number", "multipleOf": 0.5}, "1.3", "VAL-011"),
        ({"type": "integer", "enum": [1, 2]}, "7", "VAL-008"),
        ({"anyOf": [FEW, {"type": "null"}]}, "200", "VAL-011"),
        ({"type": "boolean", "const": True}, "false", "VAL-008"),
    ],
)
def test_a_number_in_a_text_is_held_against_what_numbers_are(place: Any, sent: str, code: str) -> None:
    findings = judged(holding(n=place), {"n": sent})
    found = {(error.field_path, error.error_code.value) for error in findings.errors}
    assert found == {("/n", "VAL-002"), ("/n", code)}
    assert "did you mean" not in str(findings.errors[0].hint)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(holding(q=TEXT, author=holding(name=TEXT, mail=TEXT) | {"required": ["name", "mail"]}),
                     {"q": "x", "name": "Bob"}, id="a-part-of-what-need-not-be-sent"),
        pytest.param(holding(q=TEXT, page=holding(size=FEW)), {"page": {"size": 1, "q": 7}}, id="another-type"),
        pytest.param(holding(a=RANGE, b=RANGE), {"min": "x"}, id="two-homes"),
        pytest.param(holding(p=PETS), {"p": {"kind": "katze", "lives": "9"}}, id="no-kind"),
        pytest.param(holding(n=FEW), {"n": "five"}, id="a-number-in-words"),
        pytest.param(holding(n=FEW), {"n": "1,200"}, id="thousands"),
    ],
)  # fmt: skip
def test_what_may_stand_for_anything_is_one_mistake(schema: Any, value: Any) -> None:
    assert len(judged(schema, value).errors) == 1


def test_an_item_without_its_list_is_put_into_it() -> None:
    findings = judged(EDIT, {"path": "x", "old": "a", "new": "b"})
    assert {error.hint for error in findings.errors} == {OF_ONE}
    (patch,) = {json.dumps(error.patch) for error in findings.errors}
    assert apply_patch(findings.parsed, json.loads(patch)) == {"path": "x", "edits": [{"old": "a", "new": "b"}]}


def test_a_list_is_not_said_to_be_empty_beside_what_may_be_its_items() -> None:
    findings = judged(EDIT, {"path": "x", "old_one": "a", "new_one": "b"})
    assert not any("[]" in str(error.hint) for error in findings.errors)


def test_a_list_that_was_never_sent_is_not_shown() -> None:
    findings = judged(holding(ids={"type": "array", "items": FEW, "minItems": 2}), {"ids": 5})
    shown = [(error.error_code.value, error.actual_value) for error in findings.errors]
    assert shown == [("VAL-002", "5"), ("VAL-006", None)]


def test_a_name_that_is_not_allowed_keeps_its_own_advice() -> None:
    schema = {"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "integer"}}
    hints = {error.error_code.value: error.hint for error in judged(schema, {"b": "1"}).errors}
    assert hints["VAL-003"] == "rename 'b'"


def test_a_secret_is_hidden_at_the_name_that_it_will_have() -> None:
    findings = judged(holding(password={"type": "string", "maxLength": 3}), {"pasword": "hunter2-" + "two"})
    assert told(findings) == {"/pasword": "VAL-005", "/password": "VAL-009"}
    assert "hunter2" not in json.dumps([error.to_json() for error in findings.errors])


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (holding(value=FEW, f=holding(name=TEXT)) | {"required": ["value"]}, "f"),
        (holding(f=holding(value=FEW) | {"required": ["value"]}, name=TEXT) | {"required": ["f"]}, ""),
        (holding(f={"type": "array", "items": holding(value=FEW)}, name=TEXT) | {"required": ["f"]}, ""),
        (holding(rows={"type": "array", "items": holding(value=FEW, f=holding(name=TEXT))}), "rows"),
    ],
)
def test_a_value_that_its_neighbours_make_a_secret_is_not_shown_without_them(schema: Any, sent: str) -> None:
    pair: Any = {"name": "password", "value": "hunter2-" + "two"}
    errors = judged(schema, {"f": {"f": pair}, "rows": {"rows": [{"f": pair}]}}.get(sent, pair)).errors
    assert errors
    assert "hunter2" not in json.dumps([error.to_json() for error in errors])


def test_a_warning_brings_no_more_and_a_missing_field_errors() -> None:
    open_schema = {"type": "object", "properties": {"n": FEW, "q": TEXT}, "additionalProperties": True}
    tool = {"type": "object", "properties": {"n": FEW, "q": TEXT}}
    assert judged(open_schema, {"N": 200}).errors == ()
    contract = RetryContract([Tool(name="t", input_schema=tool, strict=False)])
    outcome = contract.check("t", "1", {"N": 200})
    assert (outcome.status, [error.field_path for error in outcome.warnings]) == ("valid", ["/N"])
    needed = RetryContract([Tool(name="t", input_schema=tool | {"required": ["n"]}, strict=False)])
    errors = needed.check("t", "1", {"N": 200}).errors
    assert [e.severity.name for e in errors if e.error_code.value == "VAL-011"] == ["ERROR"]


def test_three_mistakes_of_one_field_cost_two_attempts() -> None:
    schema = holding(perPage=FEW) | {"required": ["perPage"]}
    contract = RetryContract([Tool(name="list", input_schema=schema)])
    outcome = contract.check("list", "1", {"per_page": "200"})
    assert outcome.tool_result is not None
    assert "make 'perPage' <= 100" in outcome.tool_result.content
    assert contract.check("list", "1", {"perPage": 100}, call_id=outcome.call_id).status == "valid"
