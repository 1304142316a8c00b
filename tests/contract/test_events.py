from __future__ import annotations

from retrycontract import ErrorCode, ValidationError
from retrycontract.contract.events import MAX_LOGGED, failure_fields


def test_a_failure_is_told_by_names_counts_pointers_and_codes() -> None:
    error = ValidationError(
        ErrorCode.TYPE_MISMATCH, "/a", "Type mismatch: 'hunter2'", expected_value="x", actual_value='"hunter2"'
    )
    assert failure_fields("t", [error] * 2, attempt=2, max_attempts=3, correlation_id="c", duration_us=12) == {
        "tool_name": "t",
        "error_count": 2,
        "retry_attempt": 2,
        "max_retries": 3,
        "errors": [{"path": "/a", "code": "VAL-002"}] * 2,
        "correlation_id": "c",
        "duration_us": 12,
    }


def test_many_errors_are_counted_but_not_all_listed() -> None:
    errors = [ValidationError(ErrorCode.TYPE_MISMATCH, f"/{index}", "m") for index in range(1000)]
    fields = failure_fields("t", errors, attempt=1, max_attempts=3)
    assert fields["error_count"] == 1000
    assert len(fields["errors"]) == MAX_LOGGED


def test_names_and_pointers_of_a_megabyte_are_told_at_their_ends() -> None:
    long = "/a" + "x" * 1_000_000 + "/z"
    fields = failure_fields(long, [ValidationError(ErrorCode.TYPE_MISMATCH, long, "m")] * 50, attempt=1, max_attempts=3)
    assert len(str(fields)) < 30_000
    path = fields["errors"][0]["path"]
    assert (path[:3], path[-3:], fields["tool_name"]) == ("/ax", "x/z", path)
