"""What must be quick takes few steps; how long a step takes is measured by `make bench`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from retrycontract import (
    ErrorAggregator,
    ErrorCode,
    ErrorFormatter,
    EscalationFormatter,
    InMemoryRetryTracker,
    ValidationError,
)

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "RESULTS.md"
MICROSECONDS = {"ns": 0.001, "µs": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
TEN = [
    ValidationError(ErrorCode.TYPE_MISMATCH, f"/field{number}", "Type mismatch", keyword="type") for number in range(10)
]


def steps(work: Callable[[], Any]) -> int:
    """Count the instructions of Python that a piece of work takes; what is remembered is filled before."""
    work()
    made = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal made
        frame.f_trace_opcodes = True
        made += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return made


@pytest.mark.parametrize(("row", "limit"), [("format 10", 1_000), ("aggregate 10", 100)])
def test_what_was_measured_is_within_the_limit(row: str, limit: float) -> None:
    """Limits are in microseconds."""
    found = re.search(rf"^\| {row} \| ([0-9.,]+) (ns|µs|ms|s) ", RESULTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert float(found[1].replace(",", "")) * MICROSECONDS[found[2]] < limit


def test_a_message_of_ten_errors_takes_a_bounded_number_of_steps() -> None:
    assert steps(lambda: ErrorFormatter().format_errors("t", TEN, 1, 3)) < 30_000


def test_ten_errors_are_aggregated_in_a_bounded_number_of_steps() -> None:
    assert steps(lambda: ErrorAggregator().aggregate(TEN)) < 6_000


def test_tracking_takes_as_many_steps_among_forty_thousand_calls_as_alone() -> None:
    def track(tracker: InMemoryRetryTracker) -> None:
        tracker.increment_attempt("mine")
        tracker.record_error("mine", TEN[:1])
        tracker.get_history("mine")
        tracker.clear("mine")

    alone, crowded = InMemoryRetryTracker(), InMemoryRetryTracker()
    for number in range(40_000):
        crowded.increment_attempt(str(number))
    assert steps(lambda: track(crowded)) == steps(lambda: track(alone)) < 2_000


NULLS: Any = ValidationError(None, None, None, severity=None, keyword=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("errors", [None, [], [None], [None, TEN[0]], [NULLS], [NULLS, NULLS, TEN[0]]])
def test_nulls_of_a_developer_are_no_exception(errors: Any) -> None:
    assert ErrorFormatter().format_errors(None, errors, 1, 3).startswith("Validation failed for tool ''")  # type: ignore[arg-type]
    assert all(ErrorAggregator().aggregate(errors))
    history = [None, errors] if errors is None else errors
    assert EscalationFormatter().format_escalation("t", "c", history, 3).startswith("Tool 't' validation failed")
