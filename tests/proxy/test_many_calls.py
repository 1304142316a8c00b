"""Answers of more calls than are checked: refused where it is enforced, passed on where it is only observed."""

from __future__ import annotations

import asyncio
import json
from types import ModuleType

import httpx2
import pytest

from retrycontract.proxy.upstream import MAX_CALLS
from tests.proxy.test_published import passed
from tests.proxy.test_wires import WIRES, reply
from tests.proxy.upstream import RIGHT, proxied, upstream


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("mode", ["enforce", "observe"])
@pytest.mark.parametrize("more", [0, 1], ids=["as many as are checked", "one more"])
def test_no_more_calls_of_one_answer_are_checked_than_can_be_at_once(
    wire: ModuleType, way: str, mode: str, more: int
) -> None:
    made = [wire.call("read_file", RIGHT, number) for number in range(MAX_CALLS + more)]
    answer = reply(wire, way, "", *made)
    with upstream(answer) as up, proxied(up.url, mode=mode) as url:
        body = wire.asking(wire.tool()) | ({"stream": True} if way == "streamed" else {})
        arrived = httpx2.post(f"{url}{wire.PATH}", json=body, timeout=60)
    assert len(up.asked) == 1
    if more and mode == "enforce":
        assert f"answer makes {MAX_CALLS + 1} calls, and at most {MAX_CALLS} are checked" in arrived.text
        assert json.dumps(RIGHT)[1:-1] not in arrived.text
        assert arrived.status_code == (502 if way == "whole" else 200)
    else:
        assert arrived.content.startswith(b"".join(answer.parts)[:2_000])


def test_others_are_served_between_the_events_that_come_in_one_piece(wire: ModuleType) -> None:
    made = [wire.call("read_file", RIGHT, number) for number in range(1_000)]

    async def turns() -> int:
        following = asyncio.create_task(passed(wire, wire.tool(), [wire.chunks(None, *made)]))
        turns = 0
        while not following.done():
            turns += 1
            await asyncio.sleep(0)
        await following
        return turns

    assert asyncio.run(turns()) > 20, "without a rest all of it is one turn"
