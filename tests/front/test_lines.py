"""The line of large requests: one at a time, smaller ones first, and none that waits for ever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from retrycontract.front import turns
from retrycontract.front.bridge import WsgiBridge
from tests.serving.threads import http_scope

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

KB, MB = 1_000, 1_000_000


async def let_in(sizes: list[int], *, leaving: int | None = None, pause: float = 0) -> list[int]:
    """Have requests of some sizes come one after the other, while the first holds the turn; gives their order."""
    line, order, go_on = turns.Line(), list[int](), asyncio.Event()

    async def read(size: int) -> None:
        async with line.turn(size):
            order.append(size)
            await go_on.wait()

    asked = []
    for size in sizes:
        asked.append(asyncio.ensure_future(read(size)))
        await asyncio.sleep(pause)
    if leaving is not None:
        asked[leaving].cancel()
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*asked, return_exceptions=True)
    async with asyncio.timeout(1), line.turn(1):  # it is free again
        pass
    return order


@pytest.mark.parametrize(
    ("sizes", "order"),
    [
        ([1, 3 * MB, 100 * KB, 70 * KB], [1, 70 * KB, 100 * KB, 3 * MB]),
        ([3 * MB, 2 * MB, 1 * MB], [3 * MB, 1 * MB, 2 * MB]),
        ([1], [1]),
    ],
)
def test_the_smaller_ones_come_first(sizes: list[int], order: list[int]) -> None:
    assert asyncio.run(let_in(sizes)) == order


def test_a_large_one_that_has_waited_comes_before_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SECONDS_OF_BYTE", 1e-9)
    assert asyncio.run(let_in([1, 3 * MB, 100 * KB], pause=0.1)) == [1, 3 * MB, 100 * KB]


@pytest.mark.parametrize(("leaving", "order"), [(0, [1, 2, 3]), (1, [1, 3]), (2, [1, 2])])
def test_who_leaves_holds_up_nobody(leaving: int, order: list[int]) -> None:
    assert asyncio.run(let_in([1, 2, 3], leaving=leaving)) == order


def test_who_leaves_as_it_is_called_calls_the_next() -> None:
    async def leave() -> list[str]:
        line, served = turns.Line(), list[str]()

        async def read(who: str) -> None:
            async with line.turn(1):
                served.append(who)

        async with line.turn(1):
            called, following = (asyncio.ensure_future(read(who)) for who in ("called", "next"))
            await asyncio.sleep(0)
        called.cancel()  # its turn has come, and it has not begun
        await asyncio.wait_for(following, 1)
        return served

    assert asyncio.run(leave()) == ["next"]


def test_of_many_large_requests_of_one_key_few_are_before_one_of_another() -> None:
    order = list[str]()

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        order.append(environ["HTTP_AUTHORIZATION"])
        start_response("200 OK", [])
        return []

    async def ask_all() -> None:
        bridge = WsgiBridge(application, turn_of=lambda *_: "large", max_body_bytes=MB)
        scopes = [http_scope("/api/x", method="POST", headers=((b"authorization", who),)) for who in (b"many", b"one")]
        asked = [asyncio.ensure_future(bridge.ask(scopes[0], b"x" * 20)) for _ in range(200)]
        await asyncio.sleep(0)
        await bridge.ask(scopes[1], b"x" * 20)
        await asyncio.gather(*asked)
        bridge.close()

    asyncio.run(ask_all())
    assert len(order) == 201
    assert order.index("one") <= 2
