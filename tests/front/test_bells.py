"""The bells alone, and how long a client says that it is ready to wait."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from retrycontract.front.waiting import REMEMBERED_NEWS, Bells, asked_wait
from tests.front.waiting_house import LONG
from tests.serving.threads import eventually


def rings(bells: Bells, key: str, since: int, *, within: float = 0.02) -> bool:
    return asyncio.run(bells.wait(key, since, within))


def test_a_ring_after_the_ticket_ends_the_wait_at_once() -> None:
    bells = Bells()
    ticket = bells.ticket()
    bells.ring("a")
    assert rings(bells, "a", ticket, within=LONG)


def test_a_ring_before_the_ticket_or_of_another_key_does_not_count() -> None:
    bells = Bells()
    bells.ring("a")
    ticket = bells.ticket()
    bells.ring("b")
    assert not rings(bells, "a", ticket)


def test_a_ring_is_heard_by_everyone_who_holds_an_older_ticket() -> None:
    bells = Bells()
    tickets = [bells.ticket()]
    bells.ring("b")
    tickets.append(bells.ticket())
    bells.ring("a")
    assert [rings(bells, "a", ticket) for ticket in [*tickets, bells.ticket()]] == [True, True, False]


def test_what_comes_with_a_ring_is_there_until_the_key_rings_again_or_a_gap() -> None:
    bells = Bells()
    ticket = bells.ticket()
    bells.ring("a", b"first")
    bells.ring("b")
    assert [bells.news(key, ticket) for key in "abc"] == [b"first", None, None]
    assert bells.news("a", bells.ticket()) is None, "it came before the ticket"
    bells.ring("a", b"second")
    assert bells.news("a", ticket) == b"second"
    bells.ring("a")
    assert bells.news("a", ticket) is None, "something else happened since"
    bells.ring("a", b"third")
    bells.ring_all()
    assert bells.news("a", ticket) is None


def test_only_the_newest_news_are_kept() -> None:
    bells = Bells()
    for number in range(REMEMBERED_NEWS + 1):
        bells.ring(str(number), b"news")
    assert [bells.news(key, 0) for key in ("0", "1", str(REMEMBERED_NEWS))] == [None, b"news", b"news"]


def test_a_ticket_older_than_what_is_remembered_counts_as_rung() -> None:
    bells = Bells(remembered=2)
    old = bells.ticket()
    for key in ("a", "b"):
        bells.ring(key)
    assert not rings(bells, "x", old)
    recent = bells.ticket()
    bells.ring("c")
    assert rings(bells, "x", old)
    assert not rings(bells, "x", recent)


def test_a_key_that_rings_often_takes_one_place_in_memory() -> None:
    bells = Bells(remembered=2)
    ticket = bells.ticket()
    for _ in range(100):
        bells.ring("a")
    bells.ring("b")
    assert list(bells._rung) == ["a", "b"]
    assert not rings(bells, "x", ticket)


def test_the_key_that_rang_longest_ago_is_forgotten_first() -> None:
    bells = Bells(remembered=2)
    for key in ("a", "b"):
        bells.ring(key)
    ticket = bells.ticket()
    for key in ("a", "c"):
        bells.ring(key)
    assert list(bells._rung) == ["a", "c"]
    assert [rings(bells, key, ticket) for key in ("a", "b", "c")] == [True, False, True]


def test_ringing_all_wakes_everybody_and_reaches_those_about_to_wait() -> None:
    async def story() -> list[bool]:
        bells = Bells()
        ticket = bells.ticket()
        waits = [asyncio.create_task(bells.wait(key, ticket, LONG)) for key in ("a", "b")]
        await asyncio.sleep(0)
        bells.ring_all()
        heard = [await wait for wait in waits]
        return [*heard, await bells.wait("c", ticket, LONG), await bells.wait("c", bells.ticket(), 0.02)]

    assert asyncio.run(story()) == [True, True, True, False]


def test_a_ring_from_a_thread_wakes_every_loop_that_waits() -> None:
    bells = Bells()
    heard: list[bool] = []
    loops = [threading.Thread(target=lambda: heard.append(asyncio.run(bells.wait("a", 0, 10)))) for _ in range(3)]
    for loop in loops:
        loop.start()
    eventually(lambda: len(bells._waiters.get("a", ())) == 3)
    bells.ring("a")
    for loop in loops:
        loop.join(10)
    assert heard == [True] * 3


@pytest.mark.parametrize("ending", ["timeout", "ring", "cancel"])
def test_nothing_is_left_of_a_wait_that_has_ended(ending: str) -> None:
    async def story() -> None:
        bells = Bells()
        stays = asyncio.create_task(bells.wait("shared", 0, LONG))
        wait = asyncio.create_task(bells.wait("shared", 0, 0.02 if ending == "timeout" else LONG))
        alone = asyncio.create_task(bells.wait("alone", 0, 0.02 if ending == "timeout" else LONG))
        await asyncio.sleep(0)
        if ending == "ring":
            bells.ring("alone")
        if ending != "timeout":
            wait.cancel()
        if ending == "cancel":
            alone.cancel()
        await asyncio.gather(wait, alone, return_exceptions=True)
        assert [(key, len(waiters)) for key, waiters in bells._waiters.items()] == [("shared", 1)]
        stays.cancel()

    asyncio.run(story())


def test_a_ring_for_a_loop_that_has_closed_is_harmless() -> None:
    bells = Bells()
    loop = asyncio.new_event_loop()
    bells._waiters["a"] = {loop.create_future()}
    loop.close()
    bells.ring("a")


def test_no_ring_is_lost_between_the_look_and_the_wait_however_threads_interleave() -> None:
    bells = Bells(remembered=8)
    published = 0
    total = 5_000

    def publish() -> None:
        nonlocal published
        for number in range(1, total + 1):
            published = number
            bells.ring("a")
            if number % 7 == 0:
                bells.ring(f"noise {number}")

    async def follow() -> None:
        seen = 0
        while seen < total:
            ticket = bells.ticket()
            seen = published
            if seen < total:
                assert await bells.wait("a", ticket, 10), "a ring was lost"

    publisher = threading.Thread(target=publish)
    publisher.start()
    asyncio.run(follow())
    publisher.join(10)


# --- how long the client is ready to wait ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ([], None),
        (["wait=7"], 7),
        (["WAIT=7"], 7),
        (["wait = 7"], 7),
        (['wait="7"'], 7),
        (["wait=7; foo=bar"], 7),
        (["handling=lenient, wait=7 ; x"], 7),
        (["handling=lenient", "wait=7"], 7),
        (["wait=7, wait=9"], 7),
        (['note="a, wait=3; \\" wait=4", wait=7'], 7),
        (["wait=0"], 0),
        (["respond-async"], 0),
        (["respond-async, wait=7"], 7),
        (["wait=7; respond-async"], 7),
        (["wait=99999999999999999999"], 999_999_999),
        (["wait"], None),
        (["wait="], None),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["wait=\xb2"], None),
        (["wait=soon"], None),
        (["await=7"], None),
        ([",,;=,\x22"], None),
    ],
)
def test_prefer_is_read_as_the_standard_has_it(fields: list[str], seconds: int | None) -> None:
    headers = [(b"prefer", field.encode("latin-1")) for field in fields]
    assert asked_wait([(b"x-prefer", b"wait=1"), *headers]) == seconds


def test_a_hostile_prefer_costs_no_more_than_its_length() -> None:
    began = time.monotonic()
    for field in (b'\\"' * 30_000, b'"' + b'\\"' * 30_000, b"wait=" + b"9" * 60_000, b"a," * 30_000):
        asked_wait([(b"prefer", field)])
    assert time.monotonic() - began < 1
