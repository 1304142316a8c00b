"""JSON sent as a text, arguments in a wrapper, lists of one: all that is wrong within is told at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.readings import MAX_CHARACTERS, NOT_LOOKED_INTO
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.tool import CompiledTool
from tests.contract.test_near_misses import SANITIZER

UNIT = {
    "type": "object", "properties": {"unit": {"enum": ["c", "f"]}, "days": {"type": "integer"}}, "required": ["days"],
    "additionalProperties": False,
}  # fmt: skip
WRONG = {"unit": "k", "dys": 1}
WITHIN = {"/unit": "VAL-008", "/days": "VAL-001", "/dys": "VAL-005"}  # what is wrong with it
PRESENT = {"/unit": "VAL-008", "/dys": "VAL-005"}  # without what is missing, within a wrapper as beside it
AS_OBJECT = "send 'o' as an object, not as a string that holds JSON"


def holding(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def judged(schema: Any, value: Any) -> Findings:
    return check_arguments(json.dumps(value), CompiledTool.of(Tool(name="t", input_schema=schema)), SANITIZER)


def told(findings: Findings) -> dict[str, str]:
    return {error.field_path: str(error.error_code.value) for error in findings.errors}


def below(place: str, pointers: dict[str, str] = WITHIN) -> dict[str, str]:
    return {f"{place}{pointer}": code for pointer, code in pointers.items()}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(holding(o=UNIT), {"o": WRONG}, {"/o": "VAL-002", **below("/o")}, id="a-field"),
        pytest.param(
            holding(o={"anyOf": [UNIT, {"type": "null"}]}), {"o": WRONG}, {"/o": "VAL-002", **below("/o")},
            id="optional",
        ),
        pytest.param(
            holding(o={"$ref": "#/$defs/U"}) | {"$defs": {"U": UNIT}}, {"o": WRONG}, {"/o": "VAL-002", **below("/o")},
            id="by-reference",
        ),
        pytest.param(
            holding(o={"type": "array", "items": UNIT}), {"o": [WRONG, {"days": 1}]},
            {"/o": "VAL-002", **below("/o/0")}, id="a-list",
        ),
        pytest.param(holding(o={**UNIT, "type": ["object", "null"]}), {"o": WRONG},
                     {"/o": "VAL-002", **below("/o")}, id="two-types"),
    ],
)  # fmt: skip
def test_what_is_wrong_within_a_text_is_told_beside_the_text(schema: Any, value: Any, expected: dict[str, str]) -> None:
    sent = {name: json.dumps(held) for name, held in value.items()}
    findings = judged(schema, sent)
    assert told(findings) == expected
    assert all(error.patch == () for error in findings.errors)
    assert "not as a string that holds JSON" in str(findings.errors[0].hint)


def test_the_arguments_may_be_the_text_and_hold_another_one() -> None:
    findings = judged(holding(o=UNIT, n={"type": "integer"}), json.dumps({"o": json.dumps(WRONG), "n": "x"}))
    assert told(findings) == {"": "VAL-002", "/o": "VAL-002", "/n": "VAL-002", **below("/o")}
    hints = {error.field_path: error.hint for error in findings.errors}
    assert hints[""] == "send the arguments as an object, not as a string that holds JSON"
    assert hints["/o"] == AS_OBJECT


@pytest.mark.parametrize(
    ("sent", "wrapper"),
    [
        pytest.param({"name": "t", "arguments": {"o": WRONG, "n": 1}}, "arguments", id="the-whole-call"),
        pytest.param({"name": "t", "arguments": json.dumps({"o": WRONG})}, "arguments", id="as-a-text"),
        pytest.param(
            {"name": "t", "arguments": json.dumps({"o": WRONG, "text": "x" * 20_000})}, "arguments", id="as-a-long-text"
        ),
        pytest.param(
            {"name": "t", "arguments": f"```json\n{json.dumps({'o': WRONG})}\n```"}, "arguments", id="as-a-fence"
        ),
        pytest.param({"type": [{"x": 1}], "arguments": {"o": WRONG}}, "arguments", id="beside-a-list"),
        pytest.param({"function": {"o": WRONG}, "arguments": {"o": WRONG}}, "arguments", id="beside-another-object"),
        pytest.param({"input": {"o": WRONG}}, "input", id="one-field"),
        pytest.param(
            {"id": "c", "type": "function", "function": {"name": "t", "arguments": json.dumps({"o": WRONG})}},
            "function/arguments",
            id="as-openai-writes-it",
        ),
        pytest.param({"functionCall": {"name": "t", "args": {"o": WRONG}}}, "functionCall/args", id="as-gemini-does"),
        pytest.param({"type": "tool_use", "id": "c", "name": "t", "input": {"o": WRONG}}, "input", id="as-claude-does"),
        pytest.param({"tool_calls": [{"name": "t", "arguments": {"o": WRONG}}]}, "tool_calls/0/arguments", id="a-list"),
        pytest.param({"arguments": {"arguments": {"o": WRONG}}}, "arguments/arguments", id="twice"),
        pytest.param({"recipient_name": "functions.t", "parameters": {"o": WRONG}}, "parameters", id="of-two-names"),
        pytest.param({"parameters": {"o": json.dumps(WRONG), "n": 2}}, "parameters", id="of-a-text"),
        pytest.param(
            {"toolUse": {"toolUseId": "c", "name": "t", "input": {"o": WRONG}}}, "toolUse/input", id="as-bedrock-does"
        ),
        pytest.param(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {"o": WRONG}}},
            "params/arguments",
            id="as-mcp-does",
        ),
        pytest.param(
            {"thought": "hm", "action": "t", "action_input": {"o": WRONG}}, "action_input", id="as-react-does"
        ),
        pytest.param({"method": "t", "params": {"o": WRONG}}, "params", id="a-method-of-the-tools-name"),
        pytest.param({"command": "t", "args": json.dumps({"o": WRONG})}, "args", id="a-command-of-the-tools-name"),
    ],
)
def test_what_is_wrong_within_a_wrapper_is_told_where_it_stands(sent: Any, wrapper: str) -> None:
    findings = judged(holding(o=UNIT, n={"type": "integer"}, text={"type": "string"}), sent)
    assert below(f"/{wrapper}/o").items() <= told(findings).items()
    hints = {error.hint for error in findings.errors if error.field_path.count("/") == 1}
    assert hints == {f"send the content of '{wrapper.rpartition('/')[2]}' itself as the arguments"}


CHOICES = {"type": "array", "items": {"enum": ["a", "b"], "type": "string"}}
UNITS = {"type": "array", "items": UNIT}
BY_KIND = {
    "oneOf": [
        {**UNIT, "properties": {**UNIT["properties"], "kind": {"const": kind}}, "required": ["kind", "days"]}
        for kind in "xy"
    ]
}


@pytest.mark.parametrize(
    ("place", "sent", "expected", "hint"),
    [
        pytest.param(UNIT, [WRONG], {"": "VAL-002", **below("/0")}, "send 'o' without the array around it", id="list"),
        pytest.param({"type": "integer", "maximum": 3}, [5], {"": "VAL-002", "/0": "VAL-011"},
                     "send 'o' without the array around it", id="list-of-a-number"),
        pytest.param({"anyOf": [UNIT, {"type": "null"}]}, [WRONG], {"": "VAL-002", **below("/0")},
                     "send 'o' without the array around it", id="list-where-it-is-optional"),
        pytest.param(UNIT, json.dumps([WRONG]), {"": "VAL-002", **below("/0")}, AS_OBJECT, id="list-in-a-text"),
        pytest.param(CHOICES, "c", {"": "VAL-002", "/0": "VAL-008"}, "send 'o' as an array", id="one-item"),
        pytest.param(UNITS, WRONG, {"": "VAL-002", **below("/0")}, "send 'o' as an array", id="one-object"),
        pytest.param(UNITS, json.dumps(WRONG), {"": "VAL-002", **below("/0")},
                     "send 'o' as an array, not as a string that holds JSON", id="one-object-in-a-text"),
        pytest.param(UNITS, [[WRONG]], {"/0": "VAL-002", **below("/0/0")}, "send 'o/0' without the array around it",
                     id="list-in-a-list"),
        pytest.param(UNIT, {"o": WRONG}, {"/o": "VAL-005", "/days": "VAL-001", **below("/o", PRESENT)},
                     "send the content of 'o' itself as 'o'", id="twice"),
        pytest.param(UNIT, {"arguments": json.dumps(WRONG)},
                     {"/arguments": "VAL-005", "/days": "VAL-001", **below("/arguments", PRESENT)},
                     "send the content of 'arguments' itself as 'o'", id="wrapper-with-a-text"),
        pytest.param(BY_KIND, {"value": {"kind": "x", **WRONG}}, {"": "VAL-015", **below("/value")},
                     "send the content of 'value' itself as 'o'", id="wrapper-of-a-union"),
        pytest.param(BY_KIND, [{"kind": "x", **WRONG}], {"": "VAL-002", **below("/0")},
                     "send 'o' without the array around it", id="list-of-a-union"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_on_whatever_level_it_was_sent(
    place: Any, sent: Any, expected: dict[str, str], hint: str
) -> None:
    findings = judged(holding(o=place), {"o": sent})
    assert told(findings) == below("/o", expected)
    assert hint in {error.hint for error in findings.errors}
    whole = judged(place, sent)
    assert {pointer for pointer in expected if pointer.count("/") > 1} <= told(whole).keys(), "as all arguments"


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        pytest.param(UNITS, {"here": WRONG, "there": WRONG}, id="a-map-of-several"),
        pytest.param(CHOICES, "c, d", id="a-list-in-words"),
        pytest.param(CHOICES, None, id="nothing"),
        pytest.param(CHOICES, 5, id="of-another-type"),
        pytest.param(UNIT, [WRONG, WRONG], id="a-list-of-two"),
        pytest.param(UNIT, [[WRONG]], id="a-list-of-a-list"),
        pytest.param(UNIT, ["c"], id="a-list-of-another-type"),
        pytest.param(UNIT, [], id="an-empty-list"),
    ],
)
def test_what_stands_for_nothing_else_is_one_mistake(place: Any, sent: Any) -> None:
    assert told(judged(holding(o=place), {"o": sent})) == {"/o": "VAL-002"}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param({"filter": {"unit": "k", "dys": 1}}, id="no-name-that-is-known"),
        pytest.param({"command": "ls", "args": {"o": WRONG}}, id="a-command-of-another-name"),
        pytest.param({"method": "t", "o2": {"o": WRONG}}, id="a-method-without-its-arguments"),
        pytest.param({"n": 1, "extra": {"o": WRONG}}, id="beside-a-field-that-is-known"),
        pytest.param({"a": {"o": WRONG}, "b": {"o": WRONG}}, id="two"),
        pytest.param({"input": [{"o": WRONG}] * 2}, id="a-list"),
        pytest.param({"note": {"arguments": 1, "text": "x"}}, id="of-two-fields"),
    ],
)
def test_another_unknown_field_is_one_mistake(sent: Any) -> None:
    findings = judged(holding(o=UNIT, n={"type": "integer"}), sent)
    assert {error.error_code.value for error in findings.errors} == {"VAL-005"}


def test_a_tool_whose_fields_are_called_as_those_of_a_call_is_told_alike() -> None:
    user = holding(name={"type": "string"}, age={"type": "integer"}) | {"required": ["name", "age"]}
    findings = judged(user, {"name": "t", "arguments": {"name": "Bob", "age": "x"}})
    assert told(findings) == {"/arguments": "VAL-005", "/arguments/age": "VAL-002", "/age": "VAL-001"}
    right = judged(user, {"name": "t", "arguments": {"name": "Bob", "age": 3}}).errors
    assert [error.patch for error in right] == [({"op": "move", "from": "/arguments", "path": ""},)] * 2
    findings = judged(user, {"name": "Bob", "arguments": {"age": 3}})
    assert not any(error.patch for error in findings.errors), "the name would be lost"
    told_of = {error.field_path: error.hint for error in findings.errors}
    assert told_of["/arguments"] == "send what 'arguments' holds beside the other fields, without 'arguments' around it"


@pytest.mark.parametrize("held", [3, {}, {"y": ["q"]}, [{"y": 1}]])
@pytest.mark.parametrize("beside", [{"y": '["q"]'}, [{"y": ["q"]}], {"name": {"y": ["q"]}}, '{"y": ["q"]}'])
def test_what_stands_in_the_way_of_a_wrapper_is_gone_with_it(held: Any, beside: Any) -> None:
    schema = holding(name=holding(y={"type": "array", "items": {"type": "integer"}}))
    pointers = told(judged(schema, {"arguments": {"name": held}, "name": beside}))
    assert "/arguments" in pointers
    assert held != {"y": ["q"]} or "/arguments/name/y/0" in pointers


def test_a_field_that_nobody_declared_is_told_within_a_wrapper_too() -> None:
    findings = judged(holding(path={"type": "string"}), {"name": "t", "arguments": {"file_path": "/a"}})
    hints = {error.field_path: error.hint for error in findings.errors}
    assert hints["/arguments"] == "send the content of 'arguments' itself as the arguments"
    assert hints["/arguments/file_path"] == "rename 'file_path' to 'path'"


@pytest.mark.parametrize(
    "sent",
    [
        '{"unit": "k", "dys": 1,}',
        "{'unit': 'k', 'dys': 1}",
        '```json\n{"unit": "k", "dys": 1}\n```',
        "\ufeff%s",
        "%s\n\nDone.",
    ],
)
def test_a_text_with_slips_is_looked_into_as_an_output_is(sent: str) -> None:
    findings = judged(holding(o=UNIT), {"o": sent.replace("%s", json.dumps(WRONG))})
    assert told(findings) == {"/o": "VAL-002", **below("/o")}
    assert findings.errors[0].hint == AS_OBJECT


def test_an_alternative_that_was_not_meant_may_take_a_text() -> None:
    kinds = [
        holding(kind={"const": "text"}, body={"type": "string"}),
        holding(kind={"const": "units"}, body={"type": "array", "items": UNIT}),
    ]
    schema = holding(o={"anyOf": [{**kind, "required": ["kind", "body"]} for kind in kinds]})
    findings = judged(schema, {"o": {"kind": "units", "body": json.dumps([WRONG])}})
    assert told(findings) == {"/o/body": "VAL-002", **below("/o/body/0")}


def test_a_text_in_quotes_twice_is_read_all_the_same() -> None:
    findings = judged(holding(o=UNIT), {"o": json.dumps(json.dumps(WRONG))})
    assert told(findings) == {"/o": "VAL-002", **below("/o")}
    (error,) = judged(holding(o=UNIT), {"o": json.dumps(json.dumps({"days": 1}))}).errors
    assert error.patch == ({"op": "replace", "path": "/o", "value": {"days": 1}},)


def test_each_text_of_a_list_is_looked_into_and_one_that_is_right_is_mended() -> None:
    texts = [json.dumps(WRONG), json.dumps({"days": 1}), json.dumps({"days": "2"})]
    findings = judged(holding(o={"type": "array", "items": UNIT}), {"o": texts})
    assert told(findings) == {
        "/o/0": "VAL-002", **below("/o/0"), "/o/1": "VAL-002", "/o/2": "VAL-002", "/o/2/days": "VAL-002"
    }  # fmt: skip
    assert [error.field_path for error in findings.errors if error.patch] == ["/o/1"]


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        pytest.param(
            {"anyOf": [{"type": "string", "maxLength": 3}, UNIT]}, json.dumps(WRONG), id="where-texts-may-stand"
        ),
        pytest.param(UNIT, "see {unit}", id="no-JSON"),
        pytest.param(UNIT, json.dumps(WRONG)[:-1], id="cut-off"),
        pytest.param(UNIT, json.dumps([WRONG] * 2), id="a-list-where-an-object-is-wanted"),
        pytest.param({"type": "array"}, json.dumps(WRONG), id="an-object-where-a-list-is-wanted"),
        pytest.param(UNIT, json.dumps(WRONG | {"unit": "k" * MAX_CHARACTERS}), id="too-long"),
    ],
)
def test_other_texts_are_one_mistake(place: Any, sent: str) -> None:
    (error,) = judged(holding(o=place), {"o": sent}).errors
    assert error.field_path == "/o"
    assert "holds JSON" not in str(error.hint)


def test_what_a_list_of_one_lacks_is_told_of_the_list() -> None:
    findings = judged(holding(o=CHOICES | {"minItems": 2}), {"o": "c"})
    assert [(error.field_path, error.error_code.value) for error in findings.errors] == [
        ("/o", "VAL-002"), ("/o", "VAL-006"), ("/o/0", "VAL-008"),
    ]  # fmt: skip


def test_the_only_field_of_a_tool_is_not_filled_with_the_text_of_its_arguments() -> None:
    findings = judged({**holding(query={"type": "string"}), "required": ["query"]}, json.dumps({"query": 1}))
    assert told(findings) == {"": "VAL-002", "/query": "VAL-002"}
    assert findings.errors[0].patch == ()


def test_what_an_author_let_pass_as_a_whole_stays_a_warning() -> None:
    findings = judged(holding(o=UNIT | {"x-severity": "warning"}), {"o": json.dumps(WRONG)})
    assert findings.is_valid
    assert told(findings) == {"/o": "VAL-002", **below("/o")}


def test_an_authors_hint_stays() -> None:
    findings = judged(holding(o=UNIT | {"x-hint": "see the manual"}), {"o": json.dumps(WRONG)})
    assert {error.hint for error in findings.errors if error.field_path == "/o"} == {"see the manual"}


def test_a_secret_within_a_text_is_hidden_where_it_will_stand() -> None:
    secret = "hunter2-" + "two"
    short = {"type": "string", "maxLength": 3}
    login = holding(password=short, door=short | {"x-sensitive": True}, gate=short | {"writeOnly": True})
    findings = judged(holding(login=login), {"login": json.dumps(dict.fromkeys(("password", "door", "gate"), secret))})
    assert told(findings) == {
        "/login": "VAL-002",
        **{f"/login/{name}": "VAL-009" for name in ("password", "door", "gate")},
    }
    assert secret not in json.dumps([error.to_json() for error in findings.errors])


def test_a_secret_as_the_name_of_a_wrapper_is_hidden() -> None:
    secret = "ghp_" + "a1B2c3D4e" * 4
    findings = judged(holding(o=UNIT), {"payload": {secret: {"o": WRONG | {secret: 1}}}})
    assert "/payload/[REDACTED: GITHUB_TOKEN]/o/unit" in told(findings)
    assert secret not in json.dumps([error.to_json() for error in findings.errors])
    assert told(judged(holding(o=UNIT), {secret: {"o": WRONG}})) == {"/[REDACTED: GITHUB_TOKEN]": "VAL-005"}


def test_of_very_many_mistakes_within_a_text_the_first_are_told_and_that_there_are_more() -> None:
    findings = judged(holding(o={"type": "array", "items": {"type": "integer"}}), {"o": json.dumps(["x"] * 900)})
    assert len(findings.errors) == 102
    assert [error.field_path for error in findings.errors if "more than 100 mistakes" in error.message] == ["/o"]


def test_a_text_that_holds_too_much_is_said_not_to_be_looked_into() -> None:
    (error,) = judged(holding(o={"type": "array", "items": UNIT}), {"o": json.dumps([WRONG] * 500)}).errors
    assert error.hint == f"{AS_OBJECT.replace('an object', 'an array')}; {NOT_LOOKED_INTO}"


def test_the_model_reads_all_of_it_in_its_first_answer() -> None:
    contract = RetryContract([Tool(name="t", input_schema=holding(o=UNIT))])
    outcome = contract.check("t", "1", {"o": json.dumps(WRONG)})
    assert outcome.tool_result is not None
    assert [pointer for pointer in ("/o ", *below("/o")) if pointer not in outcome.tool_result.content] == []
    assert contract.check("t", "1", {"o": {"unit": "c", "days": 1}}, call_id=outcome.call_id).status == "valid"
