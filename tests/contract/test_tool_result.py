from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract import ErrorCode, ToolResult, ValidationError
from retrycontract.contract.tool_result import RENDERERS, metadata

RESULT = ToolResult("call_1", "Validation failed …", metadata={"format": "retrycontract/1", "errors": []})


def test_the_neutral_shape_is_a_tool_message() -> None:
    assert RESULT.to_json() == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "Validation failed …",
        "is_error": True,
        "metadata": {"format": "retrycontract/1", "errors": []},
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
                "structuredContent": {"format": "retrycontract/1", "errors": []},
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


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no rendering for 'acme'; known are openai, openai_responses, anthropic, mcp"):
        RESULT.render("acme")  # type: ignore[arg-type]


def test_nobody_edits_the_twin_through_a_rendering() -> None:
    RESULT.render("mcp")["structuredContent"]["errors"].append("x")
    assert RESULT.metadata["errors"] == []


def test_the_machine_readable_twin_has_every_error() -> None:
    errors = tuple(ValidationError(ErrorCode.TYPE_MISMATCH, f"/{index}", "m") for index in range(200))
    twin = metadata(errors, attempt=2, max_attempts=3, status="retry")
    assert [ValidationError.from_json(error) for error in twin.pop("errors")] == list(errors)
    assert twin == {"format": "retrycontract/1", "status": "retry", "attempt": 2, "max_attempts": 3}
