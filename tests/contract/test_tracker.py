from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest

from retrycontract import ErrorCode, InMemoryRetryTracker, ValidationError
from retrycontract.contract import tracker as module
from retrycontract.contract.tracker import AttemptRecord

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def error(path: str = "/a", message: str = "m", **fields: str) -> ValidationError:
    return ValidationError(ErrorCode.TYPE_MISMATCH, path, message, **fields)  # type: ignore[arg-type]


def size(history: list[AttemptRecord]) -> int:
    return sum(len(json.dumps(each.to_json())) for record in history for each in record.errors)


def test_attempts_count_from_one() -> None:
    tracker = InMemoryRetryTracker()
    assert tracker.get_current_attempt("c") == 0
    assert [tracker.increment_attempt("c") for _ in range(3)] == [1, 2, 3]
    assert tracker.get_current_attempt("c") == 3


def test_the_maximum_is_exceeded_when_it_is_reached() -> None:
    tracker = InMemoryRetryTracker(max_attempts=2)
    assert not tracker.has_exceeded_max_retries("c")
    tracker.increment_attempt("c")
    assert not tracker.has_exceeded_max_retries("c")
    assert tracker.has_exceeded_max_retries("c", 1)
    tracker.increment_attempt("c")
    assert tracker.has_exceeded_max_retries("c")


def test_the_history_has_number_errors_and_time() -> None:
    tracker = InMemoryRetryTracker()
    tracker.increment_attempt("c")
    tracker.record_error("c", [error()], at=NOW)
    tracker.increment_attempt("c")
    tracker.record_error("c", [])
    assert tracker.get_history("c") == [AttemptRecord(1, (error(),), NOW), AttemptRecord(2, (), None)]


def test_the_history_is_a_copy() -> None:
    tracker = InMemoryRetryTracker()
    tracker.increment_attempt("c")
    tracker.record_error("c", [error()])
    tracker.get_history("c").clear()
    assert len(tracker.get_history("c")) == 1


def test_errors_of_a_call_that_was_not_counted_yet_are_kept() -> None:
    tracker = InMemoryRetryTracker()
    tracker.record_error("c", [error()])
    assert [record.number for record in tracker.get_history("c")] == [1]
    assert tracker.get_current_attempt("c") == 0
    assert tracker.increment_attempt("c") == 1


def test_a_call_that_is_not_known_has_no_history_and_gets_none() -> None:
    tracker = InMemoryRetryTracker()
    tracker.finish("c")
    tracker.clear("c")
    assert tracker.get_history("c") == []
    assert tracker.get_current_attempt("c") == 0


def test_a_cleared_call_begins_anew() -> None:
    tracker = InMemoryRetryTracker()
    tracker.increment_attempt("c")
    tracker.record_error("c", [error()])
    tracker.clear("c")
    assert tracker.get_history("c") == []
    assert tracker.increment_attempt("c") == 1


def test_at_most_ten_entries_are_kept_the_latest() -> None:
    tracker = InMemoryRetryTracker()
    for _ in range(25):
        tracker.increment_attempt("c")
        tracker.record_error("c", [error()])
    assert [record.number for record in tracker.get_history("c")] == list(range(16, 26))


@pytest.mark.parametrize(
    "errors",
    [
        pytest.param([error(f"/{index}", "m" * 100) for index in range(500)], id="many-errors"),
        pytest.param([error("/a", "m" * 4000)], id="long-message"),
        pytest.param([error("/a", "m" * 100_000, expected_value="e" * 9000, actual_value="a" * 9000)], id="one-huge"),
        pytest.param([error("/" + "😀" * 9000, "😀" * 9000, hint="😀" * 9000, keyword="😀" * 900)], id="escaped"),
        pytest.param([error(), error("/b", "m" * 100_000)], id="a-small-one-first"),
    ],
)
def test_at_most_ten_kilobytes_are_kept_and_always_the_last_attempt(errors: list[ValidationError]) -> None:
    tracker = InMemoryRetryTracker()
    for number in range(1, 6):
        tracker.increment_attempt("c")
        tracker.record_error("c", errors)
        history = tracker.get_history("c")
        assert 0 < size(history) <= 10_000, "as the requirement has it, whatever the code says"
        assert history[-1].number == number
        assert history[-1].errors[0].error_code is ErrorCode.TYPE_MISMATCH
        assert history[-1].errors[0].field_path.startswith(errors[0].field_path[:2])


def test_when_it_is_full_the_call_that_finished_first_goes() -> None:
    tracker = InMemoryRetryTracker(max_calls=3)
    for name in ("", "b", "c"):
        tracker.increment_attempt(name)
    tracker.finish("b")
    tracker.finish("")
    tracker.increment_attempt("d")
    assert [tracker.get_current_attempt(name) for name in ("", "b", "c", "d")] == [1, 0, 1, 1]
    tracker.increment_attempt("e")
    assert [tracker.get_current_attempt(name) for name in ("", "b", "c", "d", "e")] == [0, 0, 1, 1, 1]


def test_when_no_call_has_finished_the_oldest_goes() -> None:
    tracker = InMemoryRetryTracker(max_calls=2)
    for name in ("a", "b", "a", "c"):
        tracker.increment_attempt(name)
    assert [tracker.get_current_attempt(name) for name in "abc"] == [0, 1, 1]


def test_a_finished_call_that_goes_on_is_not_the_first_to_go() -> None:
    tracker = InMemoryRetryTracker(max_calls=2)
    tracker.increment_attempt("a")
    tracker.increment_attempt("b")
    tracker.finish("b")
    tracker.increment_attempt("b")
    tracker.increment_attempt("c")
    assert [tracker.get_current_attempt(name) for name in "abc"] == [0, 2, 1]


def test_ten_thousand_calls_of_many_threads_stay_independent() -> None:
    tracker = InMemoryRetryTracker()

    def work(worker: int) -> None:
        for attempt in range(1, 4):
            for call in range(worker, 10_000, 8):
                assert tracker.increment_attempt(str(call)) == attempt
                tracker.record_error(str(call), [error(f"/{call}", str(attempt))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for call in range(10_000):
        history = tracker.get_history(str(call))
        assert [record.number for record in history] == [1, 2, 3]
        assert {each.field_path for record in history for each in record.errors} == {f"/{call}"}


def test_one_call_counted_from_many_threads_loses_no_attempt() -> None:
    tracker = InMemoryRetryTracker()
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: tracker.increment_attempt("c"), range(2000)))
    assert sorted(numbers) == list(range(1, 2001))


def test_threads_that_are_switched_at_every_line_get_numbers_of_their_own() -> None:
    """Python hardly ever switches within so little work; here it does wherever it could."""
    tracker = InMemoryRetryTracker()

    def give_way(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        time.sleep(0)
        return give_way

    before = threading.gettrace()
    threading.settrace(give_way)
    try:
        with ThreadPoolExecutor(8) as pool:
            numbers = list(pool.map(lambda _: tracker.increment_attempt("c"), range(400)))
    finally:
        threading.settrace(before)  # type: ignore[arg-type]  # None is what it was
    assert sorted(numbers) == list(range(1, 401))
