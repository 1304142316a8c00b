"""Where the checks of the gateway run: small ones that are quick stay in the event loop, all others leave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from retrycontract.contract.tool import Tool
from retrycontract.in_process import RetryContract
from retrycontract.judging import InProcessJudge, ModelOutput
from retrycontract.judging.in_process_judge import is_small
from retrycontract.judging.steps import drive

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def test_a_check_leaves_the_loop_until_its_tool_was_quick_and_whenever_the_output_is_large() -> None:
    left: list[Any] = []

    def run(work: Callable[[], Any]) -> Any:
        left.append(work)
        return work()

    judge = InProcessJudge(RetryContract(), "test", run=run)
    drive(judge.register(Tool(name="known", input_schema=SCHEMA)))
    left.clear()

    def leaves(name: str, value: Any) -> bool:
        before = len(left)
        drive(judge.judge(ModelOutput(name, value)))
        return len(left) > before

    assert leaves("known", {"text": "a"}), "nothing is known of its schema yet"
    judge.took["known"] = 0.0001
    assert not leaves("known", {"text": "a"})
    judge.took["known"] = 0.0001
    assert leaves("known", {"text": "a" * 10_000})
    judge.took["known"] = 0.1
    assert leaves("known", {"text": "a"}), "it was slow"
    assert leaves("unknown", {})
    assert leaves("unknown", {}), "a model may make up names"
    assert "unknown" not in judge.took


@pytest.mark.parametrize(
    ("output", "small"),
    [({}, True), ("x" * 100, True), ({"a": [1, {"b": None}]}, True), ([0] * 300, False), ({"k" * 9000: 1}, False),
     ({"a": {"b": ["c" * 9000]}}, False), ("x" * 9000, False), (5, True)],
)  # fmt: skip
def test_small_is_what_a_look_at_few_values_shows(output: Any, small: bool) -> None:
    assert is_small(output) is small
