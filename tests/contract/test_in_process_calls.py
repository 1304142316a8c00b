"""Which call an attempt belongs to, in one process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryConfiguration, RetryContract, Tool, ValidationError
from retrycontract.contract import tracker
from retrycontract.contract.matching import AmbiguousCallError
from retrycontract.contract.tracker import OtherToolError, UnknownCallError
from tests.contract.in_process_desk import BAD, GOOD, SCHEMA, contract, fail


def test_a_call_that_ended_is_followed_by_a_new_one() -> None:
    desk = contract()
    assert desk.check("read_file", "id", GOOD).call_id == "call-1"
    assert fail(desk, 1).call_id == "call-2"
    assert fail(desk, 1).attempt == 2


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


def test_open_calls_are_bounded_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "MAX_CALLS", 3)
    desk = contract()
    calls = [desk.check("read_file", str(number), BAD).call_id for number in range(4)]
    with pytest.raises(UnknownCallError):
        desk.check("read_file", "x", BAD, call_id=calls[0])
    assert desk.check("read_file", "1", BAD).call_id == calls[1]
    assert desk.check("read_file", "0", BAD).call_id not in calls


def test_a_call_that_is_pushed_out_while_it_is_judged_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "MAX_CALLS", 1)
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
