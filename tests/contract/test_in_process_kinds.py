"""The contract in one process, for other outputs than tool calls, and for attempts without any."""

from __future__ import annotations

from collections import namedtuple
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.feedback.progress import compare
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tracker import AttemptRecord

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize("kind", list(Kind))
def test_the_feedback_says_what_was_checked(kind: Kind) -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=SCHEMA | {"x-language": "json"}, kind=kind)])
    outcome = contract.check("t", "1", "{")
    assert outcome.tool_result is not None
    assert outcome.tool_result.content.startswith(f"Validation failed for {kind.subject} 't' (attempt 1/3):")


def test_the_first_attempt_may_bring_the_budget_of_its_call() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=SCHEMA, max_attempts=5)])
    first = contract.check("t", "1", "{}", max_attempts=2)
    second = contract.check("t", "2", "{}", call_id=first.call_id, max_attempts=9)
    assert [(each.attempt, each.max_attempts, each.status) for each in (first, second)] == [
        (1, 2, "retry"), (2, 2, "blocked"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name", "schema", "wrong"),
    [
        ("source_file", "cfg.yaml", {"type": "string", "x-language": "yaml"}, "a: [1"),
        ("extraction", "invoice", SCHEMA, "{}["),
        ("agent_response", "reply", SCHEMA, "no JSON"),
        ("tool_call", "call", SCHEMA, "no JSON"),
    ],
)
def test_a_kind_may_be_spelt_as_a_string(kind: Any, name: str, schema: Any, wrong: str) -> None:
    tool = Tool(name=name, input_schema=schema, kind=kind)
    outcome = RetryContract([tool]).check(name, "1", wrong)
    assert (tool.kind, type(tool.kind), outcome.status) == (kind, Kind, "retry")
    assert outcome.tool_result is not None
    assert outcome.tool_result.content.startswith(f"Validation failed for {Kind(kind).subject} '{name}'")


def test_a_kind_that_is_none_is_refused_when_the_tool_is_declared() -> None:
    with pytest.raises(ValueError, match="'t' is of no kind 'toolcall'; the kinds are tool_call, agent_response"):
        Tool(name="t", input_schema={}, kind="toolcall")  # type: ignore[arg-type]


def test_an_attempt_without_output_says_why_and_is_no_mistake_of_the_models() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=SCHEMA)])
    first = contract.check("t", "1", '{"a": "x"}')
    second = contract.check("t", "2", None, call_id=first.call_id, callback_error="HTTP 429")
    third = contract.check("t", "3", '{"a": "x"}', call_id=first.call_id)
    assert [error.keyword for error in second.errors] == ["no-output"]
    assert second.tool_result is not None
    assert "There is no output: HTTP 429" in second.tool_result.content
    assert third.status == "blocked"
    progress = compare(third.errors, [AttemptRecord(1, first.errors), AttemptRecord(2, second.errors)])
    assert progress is not None
    assert progress.same_as == 1


def test_a_response_with_a_number_that_is_too_large_is_no_text_around_json() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema=True, kind=Kind.AGENT_RESPONSE)])
    assert [error.error_code for error in contract.check("t", "1", '{"a": 1e999}').errors] == ["VAL-011"]


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_id_is_refused_for_attempts_that_share_it_would_be_one_calls(blank: str) -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema={})])
    with pytest.raises(ValueError, match="give an id that is not blank"):
        contract.check("t", blank, {})
    with pytest.raises(ValueError, match="give each an id of its own"):
        contract.check("t", "1", {}, session_id=blank)
    with pytest.raises(ValueError, match="the name of a tool is empty"):
        contract.register(Tool(name=blank, input_schema={}))


def test_two_tools_of_one_name_and_what_is_no_formatter_are_refused() -> None:
    tool = Tool(name="t", input_schema={})
    with pytest.raises(ValueError, match="two tools are named 't'"):
        RetryContract(tools=[tool, tool])
    with pytest.raises(TypeError, match="the formatter of 'x' is 5"):
        RetryContract(tools=[tool], formatters={"x": 5})  # type: ignore[dict-item]


def test_retries_with_ids_of_their_own_are_one_call_of_a_session_with_turns() -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema={"type": "object", "required": ["a"]})])
    found = [contract.check("t", f"call_{turn}", {}, session_id="chat", turn=turn).status for turn in (1, 2, 3)]
    assert found == ["retry", "retry", "blocked"]


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Fraction(float):  # as numpy.float64 is one
    pass


class Level(IntEnum):
    LOW = 3


class Word(StrEnum):
    A = "a"


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "null"}, {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "array"}, {"const": 3},
        {"enum": ["a", 1.5]}, {"minimum": 9}, {"multipleOf": 7}, {"maxLength": 0}, {"format": "date"}, {"pattern": "b"},
        {"minItems": 3}, {"uniqueItems": True}, {"not": {}}, {"anyOf": [{"type": "boolean"}, {"maxLength": 0}]}, False,
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        (Text("a"), "a"), (Whole(3), 3), (Fraction(1.5), 1.5), (Level.LOW, 3), (Word.A, "a"),
        (Pair(Text("a"), "a"), ["a", "a"]),
    ],
    ids=lambda value: f"{type(value).__name__}-{value}",
)  # fmt: skip
def test_what_is_a_text_or_a_number_by_inheritance_is_judged_as_one(odd: Any, plain: Any, schema: Any) -> None:
    contract = RetryContract(tools=[Tool(name="t", input_schema={"type": "object", "properties": {"n": schema}})])
    given, expected = (contract.check("t", str(number), {"n": n}) for number, n in enumerate((odd, plain)))
    assert given.status == expected.status
    assert [error.message for error in given.errors] == [error.message for error in expected.errors]
    assert (given.arguments, type((given.arguments or {}).get("n"))) == (
        expected.arguments, type((expected.arguments or {}).get("n")),
    )  # fmt: skip
