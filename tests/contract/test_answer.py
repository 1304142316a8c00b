from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryConfiguration, Tool, ValidationError, ValueSanitizer, parse_feedback
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.feedback.answer import examine, redacted_output, write_answer
from retrycontract.contract.lifecycle import Budget, CallState, Move, Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tool import CompiledTool

SCHEMA = {"properties": {"path": {"type": "string"}, "pin": {"x-sensitive": True}}, "required": ["path"]}
TOOL = CompiledTool.of(Tool(name="read", input_schema=SCHEMA))
SANITIZER = ValueSanitizer()
SECRET = "sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ" * 2


def look(output: Any, tool: CompiledTool | None = TOOL, **options: Any) -> Findings:
    return examine(output, tool, SANITIZER, tool_name="read", **options)


def test_a_callbacks_rejection_counts_when_the_output_is_otherwise_right() -> None:
    found = look('{"path": "a"}', callback_error="no such file")
    assert [error.keyword for error in found.errors] == ["callback"]
    assert (found.is_valid, found.is_parsed, found.parsed) == (False, True, {"path": "a"})

    found = look('{"pat": "a"}', callback_error="no such file")
    assert "callback" not in [error.keyword for error in found.errors]


def test_an_empty_rejection_is_a_rejection() -> None:
    assert not look('{"path": "a"}', callback_error="").is_valid


@pytest.mark.parametrize(("output", "parsed"), [('{"path": 1}', {"path": 1}), ("{", None)], ids=["json", "no-json"])
def test_the_call_of_an_unknown_tool_is_one_error_and_keeps_what_it_sent(output: str, parsed: Any) -> None:
    found = look(output, None, known_tools=["read_file"])
    assert [error.keyword for error in found.errors] == ["tool"]
    assert (found.parsed, found.is_parsed) == (parsed, parsed is not None)


ERROR = ValidationError(ErrorCode.REQUIRED_FIELD_MISSING, "/path", "Required field 'path' is missing")
FAILED = Findings((ERROR,), {}, is_parsed=True)


def answer(verdict: Move, budget: Budget, **options: Any) -> Any:
    return write_answer(
        FAILED, verdict, budget, tool_name="read", tool_call_id="call_7", configuration=RetryConfiguration(), **options
    )


def test_a_valid_attempt_has_no_tool_result() -> None:
    assert answer(Move(CallState.VALID, Status.VALID), Budget(1, 3)) is None
    assert answer(Move(CallState.OBSERVED, Status.VALID), Budget(3, 3)) is None


def test_a_retry_is_answered_with_feedback_under_the_attempts_id() -> None:
    result = answer(Move(CallState.RETRYING, Status.RETRY), Budget(2, 3), kind=Kind.EXTRACTION)
    assert (result.tool_call_id, result.is_error, result.role) == ("call_7", True, "tool")
    parsed = parse_feedback(result.content)
    assert (parsed.subject, parsed.attempt, parsed.max_attempts, parsed.is_blocked) == ("extraction", 2, 3, False)
    assert result.metadata == {
        "format": "retrycontract/1",
        "status": "retry",
        "attempt": 2,
        "max_attempts": 3,
        "errors": [ERROR.to_json()],
        "warnings": [],
    }
    assert result.name == "read"


def test_a_blocked_call_is_told_so_whatever_number_it_has_reached() -> None:
    result = answer(Move(CallState.BLOCKED, Status.BLOCKED), Budget(5, 3))
    parsed = parse_feedback(result.content)
    assert (parsed.attempt, parsed.max_attempts, parsed.is_blocked, parsed.pointers) == (3, 3, True, ("/path",))
    assert result.metadata["status"] == "blocked"


def test_a_held_call_is_told_that_a_person_must_answer_first() -> None:
    result = answer(Move(CallState.BLOCKED, Status.BLOCKED, is_held=True), Budget(4, 3))
    assert "The output is valid now" in result.content
    assert parse_feedback(result.content).errors == ()


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        pytest.param('{"path": "a", "pin": 1234}', {"path": "a", "pin": "[REDACTED: "}, id="marked-by-the-schema"),
        pytest.param({"path": SECRET}, {"path": "[REDACTED: OPENAI_KEY]"}, id="by-value"),
        pytest.param(f'{{"path": "{SECRET}', '{"path": "[REDACTED: OPENAI_KEY]', id="text-that-never-parsed"),
        pytest.param(b"\xff " + SECRET.encode(), "[REDACTED: SENSITIVE]", id="bytes-that-never-parsed"),
        pytest.param({"path": float("nan"), "x": SECRET}, '"x": "[REDACTED: OPENAI_KEY]"', id="value-json-cannot-hold"),
        pytest.param({("a", 1): SECRET}, "[REDACTED: OPENAI_KEY]", id="key-json-cannot-hold"),
        pytest.param({"password": [10**5000]}, "[REDACTED: ", id="number-nobody-prints"),
        pytest.param([10**5000], "[REDACTED: ", id="number-where-nothing-has-a-name"),
    ],
)
def test_what_is_kept_of_an_output_has_no_secrets(output: Any, kept: Any) -> None:
    stored = redacted_output(look(output), output, TOOL, SANITIZER)
    text = stored if isinstance(stored, str) else json.dumps(stored)
    assert SECRET not in text
    assert "1234" not in text
    if isinstance(kept, str):
        assert kept in text
    else:
        assert all(str(stored[name]).startswith(value) for name, value in kept.items())


def test_without_a_tool_the_names_alone_tell_secrets() -> None:
    assert redacted_output(look('{"password": "x1y2"}', None), "", None, SANITIZER) == {
        "password": "[REDACTED: PASSWORD]"
    }


def test_a_value_nested_beyond_all_reason_is_kept_in_short() -> None:
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]
    assert len(json.dumps(redacted_output(look(value), value, TOOL, SANITIZER))) < 10_000
