"""The contract in one process, from the outside: attempts, their verdicts, and what configures them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from retrycontract import (
    ErrorCode,
    InMemoryRetryTracker,
    Outcome,
    RetryConfiguration,
    RetryContract,
    Tool,
    ValidationError,
    load_configuration,
    parse_feedback,
)
from retrycontract.contract.configuration import ConfigurationError
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.loops import AnthropicModel, ModelApiError, OpenAIModel, extract, respond_with_correction
from tests.contract.in_process_desk import BAD, GOOD, NOW, SCHEMA, contract, fail


def test_a_valid_attempt_gives_its_arguments_and_nothing_else() -> None:
    outcome = contract().check("read_file", "id", GOOD)
    assert outcome == Outcome("call-1", "valid", 1, 3, arguments={"path": "a"}, tool="read_file")  # type: ignore[arg-type]


def test_a_failed_attempt_is_answered_with_feedback() -> None:
    outcome = contract().check("read_file", tool_call_id="call_1", arguments=BAD)
    assert (outcome.status, outcome.attempt, outcome.max_attempts) == ("retry", 1, 3)
    assert [(error.field_path, error.error_code) for error in outcome.errors] == [
        ("/encoding", ErrorCode.INVALID_ENUM_VALUE),
        ("/path", ErrorCode.REQUIRED_FIELD_MISSING),
    ]
    assert outcome.arguments is None
    assert outcome.escalation is None
    assert outcome.tool_result is not None
    assert outcome.tool_result.is_error
    assert outcome.tool_result.render("openai")["tool_call_id"] == "call_1"
    assert (
        outcome.tool_result.content
        == """\
Validation failed for tool 'read_file' (attempt 1/3):

Errors:
• /encoding (VAL-008): Invalid enum value 'uft8'
  Expected: one of: utf-8, ascii
  Actual: "uft8"

• /path (VAL-001): Required field 'path' is missing
  Expected: string

Please change 'encoding' to one of the allowed values (did you mean 'utf-8'?) and provide the missing 'path' field."""
    )


def test_third_failed_attempt_blocks_the_call() -> None:
    desk = contract()
    assert [fail(desk, 1).status for _ in range(3)] == ["retry", "retry", "blocked"]


def test_the_blocked_outcome_has_the_text_for_the_model_and_the_one_for_a_person() -> None:
    desk = contract()
    fail(desk, 2, now=NOW - timedelta(minutes=2))
    outcome = fail(desk, 1)
    assert outcome.tool_result is not None
    assert parse_feedback(outcome.tool_result.content).is_blocked
    assert outcome.escalation is not None
    assert outcome.escalation.startswith("Tool 'read_file' validation failed after 3 attempts.\n")
    assert "\nAttempt 1 (2 min ago): /encoding (VAL-008) " in outcome.escalation


def test_what_is_tried_while_blocked_is_told_apart_from_the_budget() -> None:
    desk = contract()
    outcome = fail(desk, 4)
    assert (outcome.attempt, outcome.max_attempts, outcome.status) == (3, 3, "blocked")
    assert outcome.tool_result is not None
    assert "(attempt 3/3)" in outcome.tool_result.content
    assert outcome.escalation is not None
    assert outcome.escalation.startswith(
        "Tool 'read_file' validation failed after 3 attempts, and 1 more while Blocked.\n"
    )
    assert "\nAttempt 4 (" in outcome.escalation
    assert "after 3 attempts, and 9 more while Blocked." in (fail(desk, 8).escalation or "")
    assert "\nAttempt 3 (just now): " in outcome.escalation
    assert '\n  read_file {"encoding": "uft8"}  (sanitised)\n' in outcome.escalation


def test_the_second_attempt_says_that_one_is_left() -> None:
    outcome = fail(contract(), 2)
    assert outcome.tool_result is not None
    assert outcome.tool_result.content.endswith("\n\nOne attempt is left.")


def test_a_blocked_call_stays_blocked_under_its_number_until_it_is_right() -> None:
    desk = contract()
    first = fail(desk, 3)
    again = fail(desk, 2)
    assert (again.status, again.attempt, again.max_attempts, again.call_id) == ("blocked", 3, 3, first.call_id)
    right = desk.check("read_file", "id", GOOD)
    assert (right.status, right.call_id, right.arguments) == ("valid", first.call_id, {"path": "a"})


def test_hold_keeps_a_blocked_call_closed_although_it_is_right_now() -> None:
    desk = contract(hold=True)
    fail(desk, 3)
    outcome = desk.check("read_file", "id", GOOD)
    assert (outcome.status, outcome.errors, outcome.arguments) == ("blocked", (), None)
    assert outcome.tool_result is not None
    assert "The output is valid now, but a person must release it first" in outcome.tool_result.content
    assert outcome.escalation is not None
    assert "Attempt 4: valid, and held until a person has answered" in outcome.escalation
    assert "1. Look at the newest output, which is valid" in outcome.escalation
    assert "unable to provide valid arguments" not in outcome.escalation


def test_observe_mode_never_blocks() -> None:
    for desk in (
        contract(mode="observe"),
        contract(configuration=RetryConfiguration(mode="observe")),
        contract(configuration=RetryConfiguration(overrides=(("read_*", {"mode": "observe"}),))),
    ):
        for _ in range(5):
            outcome = fail(desk, 1)
            assert (outcome.status, outcome.attempt, outcome.is_observed) == ("valid", 1, True)
            assert (len(outcome.errors), outcome.arguments, outcome.tool_result) == (2, {"encoding": "uft8"}, None)


def test_a_tool_enforces_although_the_configuration_observes() -> None:
    assert fail(contract(mode="enforce", configuration=RetryConfiguration(mode="observe")), 1).status == "retry"


@pytest.mark.parametrize(
    ("tool", "overrides", "expected"),
    [({}, (), 4), ({}, (("read_*", {"max_attempts": 2}),), 2), ({"max_attempts": 1}, (("*", {"max_attempts": 2}),), 1)],
    ids=["configuration", "override", "tool"],
)
def test_the_number_of_attempts_comes_from_the_nearest_place(tool: Any, overrides: Any, expected: int) -> None:
    desk = contract(configuration=RetryConfiguration(max_attempts=4, overrides=overrides), **tool)
    outcome = fail(desk, expected)
    assert (outcome.status, outcome.attempt, outcome.max_attempts) == ("blocked", expected, expected)


def test_a_tools_number_of_attempts_has_the_same_range() -> None:
    with pytest.raises(ConfigurationError, match="max_attempts: must be a whole number from 1 to 10, not 11"):
        contract(max_attempts=11)
    with pytest.raises(ConfigurationError, match="max_attempts"):
        contract(max_attempts=0)


def test_an_invalid_schema_is_refused_at_registration() -> None:
    with pytest.raises(InvalidSchema, match="/properties/a/type"):
        RetryContract([Tool(name="t", input_schema={"properties": {"a": {"type": "text"}}})])


def test_a_tool_can_be_replaced() -> None:
    desk = contract()
    fail(desk, 1)
    desk.register(Tool(name="read_file", input_schema={}))
    assert fail(desk, 1).status == "valid"


def test_warnings_do_not_block() -> None:
    outcome = contract(strict=False).check("read_file", "id", '{"path": "a", "pth": 1}')
    assert (outcome.status, outcome.arguments) == ("valid", {"path": "a", "pth": 1})
    assert outcome.warnings == outcome.errors
    assert [warning.field_path for warning in outcome.warnings] == ["/pth"]


def test_nobody_is_said_to_have_been_asked_where_there_is_no_desk() -> None:
    told = [fail(contract(hold=hold), attempts).tool_result for hold in (True, False) for attempts in (1, 2, 3)]
    held = contract(hold=True)
    fail(held, 3)
    told.append(held.check("read_file", "id", GOOD).tool_result)
    assert not [result.content for result in told if result is None or "asked" in result.content]
    assert all(parse_feedback(result.content).is_blocked for result in told[2::3] if result)


def test_a_rejection_with_errors_keeps_their_codes_pointers_and_words() -> None:
    said = ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "/path", "no such file", hint="list the folder first")
    outcome = contract().check("read_file", "id", GOOD, callback_error=[said])
    assert [(error.error_code, error.field_path, error.message) for error in outcome.errors] == [
        (ErrorCode.CONSTRAINT_VIOLATION, "/path", "no such file")
    ]
    assert outcome.tool_result is not None
    assert "• /path (VAL-003): no such file\n" in outcome.tool_result.content
    assert outcome.tool_result.content.endswith("Please list the folder first.")


def test_an_escalation_pairs_the_original_call_with_its_own_id() -> None:
    desk = contract()
    call_id = desk.check("read_file", "first-id", {"encoding": "one"}).call_id
    desk.check("read_file", "second-id", {"encoding": "two"}, call_id=call_id)
    outcome = desk.check("read_file", "third-id", {"encoding": "three"}, call_id=call_id)
    assert '{"encoding": "one"}  (sanitised)\n  id: first-id\n' in (outcome.escalation or "")
    assert outcome.tool_result is not None
    assert outcome.tool_result.tool_call_id == "third-id"


def test_the_history_of_an_outcome_has_every_error_of_every_attempt() -> None:
    wide = {"required": [f"f{number}" for number in range(30)]}
    desk = RetryContract([Tool(name="wide", input_schema=wide)])
    outcomes = [desk.check("wide", "id", {}) for _ in range(3)]
    assert [[record.number for record in outcome.history] for outcome in outcomes] == [[1], [1, 2], [1, 2, 3]]
    assert [len(record.errors) + record.omitted for record in outcomes[-1].history] == [30, 30, 30]
    assert outcomes[-1].history[-1].errors == outcomes[-1].errors


@pytest.mark.parametrize("attempts", [0, 11, 20, -1])
def test_a_budget_out_of_its_range_is_refused(attempts: int) -> None:
    with pytest.raises(ConfigurationError, match="1 to 10"):
        contract().check("read_file", "id", GOOD, max_attempts=attempts)


def test_a_callbacks_rejection_is_a_failed_attempt() -> None:
    desk = contract()
    outcome = desk.check("read_file", "id", GOOD, callback_error="no such file")
    assert (outcome.status, outcome.errors[0].error_code) == ("retry", ErrorCode.OBJECT_SCHEMA_VIOLATION)
    assert outcome.errors[0].message == "no such file"
    assert [desk.check("read_file", "id", text, callback_error="no").status for text in (BAD, GOOD)][-1] == "blocked"


def test_a_cut_off_output_is_told_apart() -> None:
    outcome = contract().check("read_file", "id", '{"path": "a" "b', finish_reason="length")
    assert outcome.errors[0].keyword == "truncated"


def test_an_unknown_tool_is_the_models_mistake_and_counts() -> None:
    desk = contract()
    outcome = desk.check("read_fiel", "id", GOOD)
    assert (outcome.status, outcome.attempt) == ("retry", 1)
    assert outcome.tool_result is not None
    assert "Please call 'read_file' instead." in outcome.tool_result.content
    right = desk.check("read_file", "id", GOOD)
    assert (right.status, right.attempt, right.call_id) == ("valid", 2, outcome.call_id)


def test_a_tool_that_nobody_registered_blocks_like_any_other() -> None:
    desk = contract()
    assert [desk.check("reed", f"{n}", GOOD, session_id="s", turn=n).status for n in range(3)][-1] == "blocked"


def test_history_can_be_left_out() -> None:
    outcome = fail(contract(configuration=RetryConfiguration(track_history=False)), 3)
    assert outcome.escalation is not None
    assert "(no attempt was recorded)" in outcome.escalation
    assert "after 3 attempts" in outcome.escalation


def test_a_tracker_can_be_handed_in_and_is_cleared_when_the_call_ends() -> None:
    tracker = InMemoryRetryTracker()
    desk = RetryContract([Tool(name="read_file", input_schema=SCHEMA)], tracker=tracker)
    call_id = fail(desk, 2).call_id
    assert tracker.get_current_attempt(call_id) == len(tracker.get_history(call_id)) == 2
    desk.check("read_file", "id", GOOD)
    assert tracker.get_current_attempt(call_id) == 0


def test_what_the_schema_calls_sensitive_is_not_in_the_escalation() -> None:
    schema = {"properties": {"pin": {"type": "string", "x-sensitive": True}}, "required": ["amount"]}
    desk = RetryContract([Tool(name="pay", input_schema=schema)], RetryConfiguration(max_attempts=1))
    outcome = desk.check("pay", "id", {"pin": "tree-house"})
    assert outcome.escalation is not None
    assert "tree-house" not in outcome.escalation


@pytest.mark.parametrize("arguments", [b"\xff", "", "{", None, 3, {1: 2}, object, float("nan"), "\ud800"], ids=ascii)
def test_nothing_that_a_model_writes_raises(arguments: Any) -> None:
    desk = contract()
    for status in ("retry", "retry", "blocked"):
        outcome = desk.check("read_file", "\ud800", arguments, session_id="\ud800", turn=-1)
        assert outcome.status == status
        outcome.tool_result.content.encode()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: Tool(name="t", input_schema=SCHEMA, mode="obsrve"),
            "no mode 'obsrve'; the modes are observe, enforce",
        ),
        (lambda: Tool(name="t", input_schema=SCHEMA, strict="no"), "strict of 't' is 'no': give True or False"),
        (lambda: Tool(name=5, input_schema=SCHEMA), "the name of a tool is 5"),
        (lambda: RetryContract([SCHEMA]), "is no Tool: give Tool(name="),
        (lambda: RetryContract([], {}), "configuration is {}: give a RetryConfiguration"),
        (lambda: Tool(name="t", input_schema=SCHEMA, checks=print), "give a list of functions"),
        (lambda: Tool(name="t", input_schema=SCHEMA, checks=[5]), "give a list of functions"),
        (lambda: contract().check(None, "c1", {}), "tool_name is None: give a text"),
        *[
            (
                lambda blank=blank: contract().check("read_file", "c1", {}, session_id=blank),
                "give each an id of its own",
            )
            for blank in ("", " ", "\u3000", "{session}", "None")
        ],
        (lambda: contract().check("read_file", 5, {}), "tool_call_id is 5: give a text"),
        *[
            (lambda name=name: contract().check("read_file", "c1", {}, **{name: object()}), f"{name} is <object")
            for name in ("call_id", "session_id", "turn", "correlation_id", "finish_reason", "said", "feedback", "now")
        ],
        (lambda: contract().check("read_file", "c1", {"path": "a"}, callback_error=5), "callback_error is 5"),
        (lambda: contract().check("read_file", "c1", {}, max_attempts="3"), "1 to 10, not '3'"),
        (lambda: parse_feedback(None), "not a retrycontract/1 message"),
        (lambda: load_configuration(str(Path(__file__))), "this is not YAML"),
        (lambda: ModelApiError("busy", retry_after="1"), "retry_after is '1': give seconds"),
        (lambda: OpenAIModel(None, "m"), "client is None"),
        (lambda: AnthropicModel("key", "m"), "client is 'key'"),
        (lambda: extract(str, SCHEMA, 5), "the messages are 5"),
        (lambda: extract(str, SCHEMA, [{}]), "the messages are [{}]"),
        (lambda: extract(str, SCHEMA, "q", max_attempts="2"), "not '2'"),
        (lambda: respond_with_correction(str, "q"), "the messages are 'q'"),
        (lambda: respond_with_correction(str, None), "the messages are None"),
    ],
)
def test_what_a_developer_misspells_is_told_at_once(make: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        make()
