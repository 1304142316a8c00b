from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest

from retrycontract import ErrorCode, ErrorSeverity, ToolResult, ValidationError
from retrycontract.contract.feedback.tool_result import MAX_LISTED, RENDERERS, Provider, metadata

RESULT = ToolResult("call_1", "Validation failed …", metadata={"format": "retrycontract/1", "errors": []}, name="read")


def test_the_neutral_shape_is_a_tool_message() -> None:
    assert RESULT.to_json() == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "Validation failed …",
        "is_error": True,
        "metadata": {"format": "retrycontract/1", "errors": []},
        "name": "read",
    }


@pytest.mark.parametrize(
    ("provider", "shape"),
    [
        ("openai", {"role": "tool", "tool_call_id": "call_1", "content": "Validation failed …"}),
        (
            "openai_responses",
            {"type": "function_call_output", "call_id": "call_1", "output": "Validation failed …"},
        ),
        (
            "anthropic",
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": "Validation failed …",
                "is_error": True,
            },
        ),
        (
            "mcp",
            {
                "content": [{"type": "text", "text": "Validation failed …"}],
                "isError": True,
                "_meta": {"retrycontract/feedback": {"format": "retrycontract/1", "errors": []}},
            },
        ),
        (
            "gemini",
            {"functionResponse": {"id": "call_1", "name": "read", "response": {"error": "Validation failed …"}}},
        ),
        (
            "langchain",
            {
                "type": "tool",
                "status": "error",
                "tool_call_id": "call_1",
                "name": "read",
                "content": "Validation failed …",
                "artifact": {"format": "retrycontract/1", "errors": []},
            },
        ),
        (
            "pydantic_ai",
            {
                "part_kind": "retry-prompt",
                "tool_name": "read",
                "content": "Validation failed …",
                "tool_call_id": "call_1",
            },
        ),
    ],
)
def test_each_provider_gets_its_own_shape(provider: Any, shape: dict[str, Any]) -> None:
    assert RESULT.render(provider) == shape


@pytest.mark.parametrize("provider", RENDERERS)
def test_a_rendering_is_plain_json(provider: Any) -> None:
    rendered = RESULT.render(provider)
    assert json.loads(json.dumps(rendered)) == rendered


def test_every_provider_that_a_type_checker_allows_has_a_rendering() -> None:
    assert list(RENDERERS) == list(get_args(Provider))


def test_pydantic_ai_is_not_asked_to_try_a_blocked_call_again() -> None:
    blocked = replace(RESULT, metadata={"status": "blocked"}).render("pydantic_ai")
    assert (blocked["part_kind"], blocked["outcome"]) == ("tool-return", "failed")


def test_what_is_no_error_is_rendered_as_none() -> None:
    result = replace(RESULT, is_error=False)
    assert result.render("gemini")["functionResponse"]["response"] == {"output": "Validation failed …"}
    assert result.render("langchain")["status"] == "success"


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no rendering for 'acme'; known are openai, .*, pydantic_ai"):
        RESULT.render("acme")  # type: ignore[arg-type]


def test_warnings_are_listed_among_the_errors_and_apart() -> None:
    wrong = ValidationError(ErrorCode.TYPE_MISMATCH, "/a", "m")
    old = ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "/b", "m", severity=ErrorSeverity.WARNING)
    twin = metadata((wrong, old), attempt=1, max_attempts=3, status="retry")
    assert (twin["errors"], twin["warnings"]) == ([wrong.to_json(), old.to_json()], [old.to_json()])


def test_nobody_edits_the_twin_through_a_rendering() -> None:
    RESULT.render("mcp")["_meta"]["retrycontract/feedback"]["errors"].append("x")
    assert RESULT.metadata["errors"] == []


@pytest.mark.parametrize("count", [1, MAX_LISTED])
def test_the_machine_readable_twin_has_every_error_that_a_reply_lists(count: int) -> None:
    errors = tuple(ValidationError(ErrorCode.TYPE_MISMATCH, f"/{index}", "m") for index in range(count))
    twin = metadata(errors, attempt=2, max_attempts=3, status="retry")
    assert [ValidationError.from_json(error) for error in twin.pop("errors")] == list(errors)
    assert twin == {"format": "retrycontract/1", "status": "retry", "attempt": 2, "max_attempts": 3, "warnings": []}


def test_the_machine_readable_twin_counts_the_errors_that_it_leaves_out() -> None:
    errors = tuple(ValidationError(ErrorCode.TYPE_MISMATCH, f"/{index}", "m") for index in range(2 * MAX_LISTED))
    twin = metadata(errors, attempt=2, max_attempts=3, status="retry")
    assert [error["field_path"] for error in twin["errors"]] == [f"/{index}" for index in range(MAX_LISTED)]
    assert twin["errors_left_out"] == MAX_LISTED
