from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import httpx2
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.client import AsyncClient
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.mcp.checkpoint import MOST_AT_ONCE, Checkpoint, ConnectionCall, Forward, OpenCalls
from retrycontract.mcp.visiting import answer
from tests.client.scripted import KEY, RETRY, URL, VALID

NAMES = st.sampled_from(["read_file", "write_file"])


def failed(calls: OpenCalls, name: str, call_id: str) -> ConnectionCall:
    call = calls.take(name)
    call.call_id = call.call_id or call_id
    calls.put_back(call)
    return call


def test_a_failed_call_is_continued_by_the_next_of_the_same_tool() -> None:
    calls = OpenCalls(0)
    first = failed(calls, "read_file", "c1")
    assert calls.take("write_file") is not first
    assert calls.take("read_file") is first


def test_parallel_calls_are_continued_in_their_order() -> None:
    calls = OpenCalls(0)
    one, two = calls.take("read_file"), calls.take("read_file")
    one.call_id, two.call_id = "c1", "c2"
    for call in (one, two):
        calls.put_back(call)
    assert [calls.take("read_file"), calls.take("read_file")] == [one, two]


def test_an_ended_call_and_one_that_never_began_are_not_continued() -> None:
    calls = OpenCalls(0)
    ended, cancelled = ConnectionCall("read_file", "c1", has_ended=True), ConnectionCall("read_file")
    calls.put_back(ended)
    calls.put_back(cancelled)
    assert calls.take("read_file") not in (ended, cancelled)


@given(st.lists(st.tuples(NAMES, st.booleans())))
def test_no_call_is_ever_tried_twice_at_the_same_time(steps: list[tuple[str, bool]]) -> None:
    calls = OpenCalls(0)
    in_flight: list[ConnectionCall] = []
    for number, (name, begins) in enumerate(steps):
        if begins or not in_flight:
            taken = calls.take(name)
            assert taken.tool_name == name
            assert all(taken is not other for other in in_flight)
            in_flight.append(taken)
        else:
            call = in_flight.pop(0)
            call.call_id = call.call_id or f"c{number}"
            calls.put_back(call)


def test_of_a_burst_only_some_are_judged_at_the_same_time_and_all_in_their_order() -> None:
    asked: list[str] = []
    under_way = most = 0

    async def service(_scope: Any, receive: Any, send: Any) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        asked.append(json.loads((await receive())["body"])["arguments"]["text"])
        await asyncio.sleep(0.01)
        under_way -= 1
        await answer(send, 200, {b"content-type": b"application/json"}, json.dumps(VALID).encode())

    async def story() -> None:
        async with AsyncClient(URL, KEY, transport=httpx2.ASGITransport(app=service)) as client:
            judge = ServiceJudge(client, "test", is_patient=False)
            checkpoint = Checkpoint(judge, ValueSanitizer(RetryConfiguration()), wait=0, silent_wait=0)

            async def tick() -> None: ...

            texts = [f"{number:02}" for number in range(50)]
            decided = [checkpoint.decide("read_file", {"text": text}, tick, is_heard=False) for text in texts]
            assert [each.note for each in await asyncio.gather(*decided) if isinstance(each, Forward)] == [None] * 50
            assert asked == texts

    asyncio.run(story())
    assert most == MOST_AT_ONCE


def test_what_came_before_a_call_was_answered_does_not_continue_it_and_what_came_after_nobody_was_does() -> None:
    continued: list[Any] = []
    is_away = False

    async def service(_scope: Any, receive: Any, send: Any) -> None:
        continued.append(call_id := json.loads((await receive())["body"]).get("call_id"))
        if is_away:
            await asyncio.sleep(60)
        said = RETRY | {"call_id": call_id or f"call_{len(continued)}"}
        await answer(send, 200, {b"content-type": b"application/json"}, json.dumps(said).encode())

    async def story() -> None:
        nonlocal is_away
        async with AsyncClient(URL, KEY, transport=httpx2.ASGITransport(app=service)) as client:
            judge = ServiceJudge(client, "test", is_patient=False)
            checkpoint = Checkpoint(
                judge, ValueSanitizer(RetryConfiguration()), wait=0, silent_wait=0, calls=OpenCalls(0)
            )

            async def tick() -> None: ...

            async def attempt(name: str, came_at: float) -> None:
                await checkpoint.decide(name, {}, tick, is_heard=False, came_at=came_at)

            both = time.monotonic()  # of one message: on a busy machine the second is looked at much later
            await attempt("read_file", both)
            await attempt("read_file", both)
            await attempt("write_file", time.monotonic())
            is_away = True
            with suppress(TimeoutError):
                await asyncio.wait_for(attempt("write_file", time.monotonic()), 0.1)
            sent_again = time.monotonic() - 0.05  # it may come before the end of the first is noticed
            is_away = False
            await attempt("write_file", sent_again)

    asyncio.run(story())
    assert continued == [None, None, None, "call_3", "call_3"]
