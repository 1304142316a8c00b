"""The contract in one process, from the outside."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import sleep
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
    in_process,
    parse_feedback,
)
from retrycontract.contract.admission import InvalidSchema
from retrycontract.contract.configuration import ConfigurationError
from retrycontract.contract.matching import AmbiguousCallError
from retrycontract.in_process import OtherToolError, UnknownCallError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "encoding": {"enum": ["utf-8", "ascii"]}},
    "required": ["path"],
}
GOOD, BAD = '{"path": "a"}', '{"encoding": "uft8"}'


def contract(*, configuration: RetryConfiguration | None = None, **tool: Any) -> RetryContract:
    numbers = iter(range(1, 1000))
    return RetryContract(
        [Tool(name="read_file", input_schema=SCHEMA, **tool), Tool(name="write_file", input_schema=SCHEMA)],
        configuration,
        clock=lambda: NOW,
        new_id=lambda: f"call-{next(numbers)}",
    )


def fail(desk: RetryContract, times: int, **options: Any) -> Outcome:
    for _ in range(times):
        outcome = desk.check("read_file", "id", BAD, **options)
    return outcome


def test_a_valid_attempt_gives_its_arguments_and_nothing_else() -> None:
    outcome = contract().check("read_file", "id", GOOD)
    assert outcome == Outcome("call-1", "valid", 1, 3, arguments={"path": "a"})  # type: ignore[arg-type]


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
    assert "\nAttempt 3 (just now): " in outcome.escalation
    assert '\n  read_file {"encoding": "uft8"}  (sanitised)\n' in outcome.escalation


def test_the_second_attempt_says_that_one_is_left() -> None:
    outcome = fail(contract(), 2)
    assert outcome.tool_result is not None
    assert outcome.tool_result.content.endswith("One attempt is left before a person is asked.")


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
    assert "The output is valid now, but a person was asked" in outcome.tool_result.content
    assert outcome.escalation is not None
    assert "Attempt 4: valid, and held until a person has answered" in outcome.escalation
    assert "1. Look at the newest output, which is valid" in outcome.escalation
    assert "unable to provide valid arguments" not in outcome.escalation


def test_a_call_that_ended_is_followed_by_a_new_one() -> None:
    desk = contract()
    assert desk.check("read_file", "id", GOOD).call_id == "call-1"
    assert fail(desk, 1).call_id == "call-2"
    assert fail(desk, 1).attempt == 2


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


def test_a_callbacks_rejection_is_a_failed_attempt() -> None:
    desk = contract()
    outcome = desk.check("read_file", "id", GOOD, callback_error="no such file")
    assert (outcome.status, outcome.errors[0].error_code) == ("retry", ErrorCode.OBJECT_SCHEMA_VIOLATION)
    assert outcome.errors[0].message == "Object doesn't match the schema: no such file"
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


def test_an_unknown_call_id_is_an_error_of_the_caller() -> None:
    desk = contract()
    ended = desk.check("read_file", "id", GOOD).call_id
    for call_id in (ended, "never-was"):
        with pytest.raises(UnknownCallError, match="no open call has the id") as caught:
            desk.check("read_file", "id", GOOD, call_id=call_id)
        assert caught.value.call_id == call_id


def test_the_call_id_finds_a_call_whatever_the_provider_calls_it() -> None:
    desk = contract()
    first = fail(desk, 1)
    second = desk.check("read_file", "new-1", BAD, call_id=first.call_id)
    assert (second.call_id, second.attempt) == (first.call_id, 2)
    assert second.tool_result is not None
    assert second.tool_result.tool_call_id == "new-1"
    third = desk.check("read_file", "new-1", BAD)
    assert (third.call_id, third.status) == (first.call_id, "blocked")
    assert desk.check("read_file", "id", BAD).call_id != first.call_id


def test_a_retry_in_a_later_turn_of_the_session_is_the_same_call() -> None:
    desk = contract()
    first = desk.check("read_file", "a", BAD, session_id="s", turn=1)
    parallel = desk.check("read_file", "b", BAD, session_id="s", turn=1)
    assert parallel.call_id != first.call_id
    with pytest.raises(AmbiguousCallError) as caught:
        desk.check("read_file", "c", BAD, session_id="s", turn=2)
    assert [call.last_tool_call_id for call in caught.value.candidates] == ["a", "b"]
    assert desk.check("read_file", "c", GOOD, session_id="s", turn=2, call_id=parallel.call_id).status == "valid"
    later = desk.check("read_file", "d", BAD, session_id="s", turn=2)
    assert (later.call_id, later.attempt) == (first.call_id, 2)


def test_sessions_and_tools_do_not_mix() -> None:
    desk = contract()
    calls = {
        desk.check("read_file", "call_0", BAD, session_id="s", turn=1).call_id,
        desk.check("read_file", "call_0", BAD, session_id="t", turn=2).call_id,
        desk.check("read_file", "call_0", BAD).call_id,
        desk.check("write_file", "call_0", BAD, session_id="s", turn=2).call_id,
    }
    assert len(calls) == 4


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


def test_open_calls_are_bounded_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "MAX_OPEN_CALLS", 3)
    desk = contract()
    calls = [desk.check("read_file", str(number), BAD).call_id for number in range(4)]
    with pytest.raises(UnknownCallError):
        desk.check("read_file", "x", BAD, call_id=calls[0])
    assert desk.check("read_file", "1", BAD).call_id == calls[1]
    assert desk.check("read_file", "0", BAD).call_id not in calls


def test_a_call_that_is_pushed_out_while_it_is_judged_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "MAX_OPEN_CALLS", 1)
    desk = contract()

    def crowd(_: Any) -> list[ValidationError]:
        desk.check("write_file", "other", BAD)
        return []

    desk.register(Tool(name="read_file", input_schema=SCHEMA, checks=(crowd,)))
    call_id = desk.check("read_file", "id", BAD).call_id
    assert desk.check("read_file", "new", GOOD, call_id=call_id).status == "valid"


def test_a_call_that_ends_while_another_attempt_waits_is_not_counted_on() -> None:
    desk = contract()
    begun, go = threading.Event(), threading.Event()

    def wait(_: Any) -> list[ValidationError]:
        begun.set()
        assert go.wait(10)
        return []

    desk.register(Tool(name="read_file", input_schema=SCHEMA, checks=(wait,)))
    call_id = fail(desk, 1).call_id
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(desk.check, "read_file", "id", GOOD)
        assert begun.wait(10)
        named = pool.submit(desk.check, "read_file", "id", BAD, call_id=call_id)
        matched = pool.submit(desk.check, "read_file", "id", BAD)
        sleep(0.05)  # both reach the lock meanwhile; they give the same answer if they don't
        go.set()
        assert first.result().attempt == 2
        assert isinstance(named.exception(), UnknownCallError)
        assert (matched.result().call_id != call_id, matched.result().attempt) == (True, 1)


def test_many_threads_keep_their_calls_apart() -> None:
    desk = RetryContract([Tool(name="read_file", input_schema=SCHEMA)])

    def work(number: int) -> list[tuple[str, int]]:
        outcomes = [desk.check("read_file", f"id-{number}", BAD, session_id=f"s{number}") for _ in range(3)]
        assert len({outcome.call_id for outcome in outcomes}) == 1
        return [(outcome.status.value, outcome.attempt) for outcome in outcomes]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(200)))
    assert results == [[("retry", 1), ("retry", 2), ("blocked", 3)]] * 200


def test_attempts_of_one_call_from_many_threads_are_judged_one_by_one() -> None:
    desk = contract(configuration=RetryConfiguration(max_attempts=10))
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: fail(desk, 1), range(10)))
    assert sorted(outcome.attempt for outcome in outcomes) == list(range(1, 11))
    assert [outcome.status for outcome in outcomes].count("blocked") == 1  # type: ignore[comparison-overlap]


def test_a_call_whose_first_attempt_is_still_judged_is_found_by_its_second() -> None:
    def slow(_: Any) -> list[ValidationError]:
        sleep(0.1)
        return [ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "no")]

    desk = RetryContract([Tool(name="t", input_schema={}, checks=(slow,))])
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: desk.check("t", "id", {}), range(2)))
    assert sorted(outcome.attempt for outcome in outcomes) == [1, 2]


FIELDS = ("tool_name", "error_count", "retry_attempt", "max_retries", "errors", "correlation_id", "duration_us")


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.message) for record in caplog.records]


def test_a_failure_is_one_warning_with_fields_and_a_retry_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "retrycontract"):
        contract().check("read_file", "id", BAD, correlation_id="c-1")
    assert events(caplog) == [("WARNING", "Tool validation failed"), ("INFO", "Tool call is retried")]
    for record in caplog.records:
        fields = {name: getattr(record, name) for name in FIELDS}
        assert fields.pop("duration_us") >= 0
        assert fields == {
            "tool_name": "read_file",
            "error_count": 2,
            "retry_attempt": 1,
            "max_retries": 3,
            "errors": [{"path": "/encoding", "code": "VAL-008"}, {"path": "/path", "code": "VAL-001"}],
            "correlation_id": "c-1",
        }


def test_an_escalation_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    fail(contract(), 3)
    assert events(caplog)[-2:] == [
        ("WARNING", "Tool validation failed"),
        ("WARNING", "Tool call escalated to a person"),
    ]


def test_an_observed_failure_is_logged_and_a_valid_attempt_is_not(caplog: pytest.LogCaptureFixture) -> None:
    contract().check("read_file", "id", GOOD)
    contract(strict=False).check("read_file", "id", '{"path": "a", "x": 1}')
    assert events(caplog) == []
    fail(contract(mode="observe"), 1)
    assert events(caplog) == [("WARNING", "Tool validation failed")]


def test_no_value_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ('{"path": ["tree-house"], "encoding": "tree-house"}', '{"path": "tree-house', '"tree-house"'):
            contract().check("read_file", "id", text, callback_error="tree-house")
    assert len(caplog.records) == 6
    assert "tree-house" not in str([vars(record) for record in caplog.records])


def test_a_secret_in_a_tools_name_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ" * 2
    contract().check(key, "id", {key: 1})
    assert key not in str([vars(record) for record in caplog.records])


def test_an_attempt_without_a_turn_does_not_make_the_call_forget_its_turn() -> None:
    contract = RetryContract([Tool(name="t", input_schema={"required": ["a"]})])
    first = contract.check("t", "id1", {}, session_id="s", turn=1)
    contract.check("t", "id2", {}, session_id="s", call_id=first.call_id)
    third = contract.check("t", "id3", {}, session_id="s", turn=2)
    assert (third.call_id, third.attempt) == (first.call_id, 3)


def test_a_call_id_of_another_tool_is_refused() -> None:
    contract = RetryContract([Tool(name="t", input_schema={"required": ["a"]}), Tool(name="u", input_schema={})])
    first = contract.check("t", "id1", {})
    with pytest.raises(OtherToolError, match="is of the tool 't'"):
        contract.check("u", "id2", {}, call_id=first.call_id)
