"""The feedback of an extraction: complete where there is room, never longer than allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.feedback.answer import write_answer
from retrycontract.contract.feedback.feedback_forms import FeedbackForm, FeedbackOptions, ShownSchema
from retrycontract.contract.feedback.feedback_text import parse_feedback
from retrycontract.contract.lifecycle import Budget, CallState, Move, Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool, Tool

ITEM = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": ITEM}}
    | {f"note_{number}": {"type": "integer", "description": "d" * 50} for number in range(40)},
}


def told(submission: Any, max_length: int = 16_000) -> str:
    tool = CompiledTool.of(Tool(name="order", input_schema=SCHEMA, kind=Kind.EXTRACTION))
    found = check_arguments(submission, tool, ValueSanitizer())
    answer = write_answer(
        found, Move(CallState.RETRYING, Status.RETRY), Budget(2, 3), tool_name="order", tool_call_id="c1",
        configuration=RetryConfiguration(), kind=Kind.EXTRACTION, output=submission,
        shown=ShownSchema(SCHEMA, tool.schema.index),
        options=FeedbackOptions(FeedbackForm.EXTRACTION, max_length),
    )  # fmt: skip
    assert answer is not None
    return answer.content


def test_all_errors_stand_there_not_only_ten() -> None:
    text = told({f"note_{number}": "x" for number in range(40)})
    assert (len(parse_feedback(text).errors), parse_feedback(text).hidden) == (40, 0)


def test_attempt_schema_and_submission_follow() -> None:
    submission = {"items": [{}]}
    text = told(submission)
    assert "\n\nAttempt 2 of 3 does not conform" in text
    assert f"The JSON Schema:\n{json.dumps(SCHEMA)}" in text
    assert text.endswith(f"<<<DATA\n{json.dumps(submission)}\nDATA>>>")


def test_a_schema_without_room_is_pruned_to_what_failed() -> None:
    text = told({"items": [{}], "note_7": "x"}, max_length=2_000)
    assert '\n/items/0/sku: {"type": "string"}' in text
    assert '\n/note_7: {"type": "integer"' in text
    assert "note_8" not in text


@pytest.mark.parametrize("max_length", [1_000, 2_000, 16_000])
def test_many_errors_are_cut_and_counted(max_length: int) -> None:
    text = told({"items": [{"sku": number} for number in range(3_000)]}, max_length=max_length)
    assert len(text) <= max_length
    assert "Attempt 2 of 3" in text


@given(st.dictionaries(st.text(max_size=300), st.text(max_size=3_000), max_size=30), st.integers(1_000, 6_000))
def test_no_submission_makes_it_longer_than_allowed(submission: dict[str, str], max_length: int) -> None:
    assert len(told(submission, max_length=max_length)) <= max_length


def test_without_a_submission_nothing_is_echoed() -> None:
    assert "What you sent" not in told(None)
