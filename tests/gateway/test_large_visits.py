"""Large requests at the doors: of all keys together one is worked on at a time, and nobody else waits for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from retrycontract.mcp.guardrails import LiteLLMVisit
from retrycontract.mcp.hooks import HookVisit
from retrycontract.mcp.large_visits import LARGE_BYTES
from retrycontract.mcp.server import ServerVisit
from retrycontract.mcp.visiting import KeyedVisit, answer
from tests.client.scripted import PENDING, VALID
from tests.gateway.test_guardrails import of_litellm
from tests.gateway.test_hooks import payload

TOOL = {
    "name": "Edit", "kind": "tool_call", "input_schema": True, "schema_hash": "0" * 64, "is_quarantined": False,
    "version": 1, "max_attempts": 3, "mode": "enforce", "strict": False, "description": "",
}  # fmt: skip
LARGE, SMALL = {"text": "a " * LARGE_BYTES}, {"text": "a"}


def of_mcp(arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": "check_tool_call", "arguments": {"tool": "Edit", "arguments": arguments}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


DOORS: dict[type[KeyedVisit], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ServerVisit: of_mcp,
    HookVisit: lambda arguments: payload("", arguments),
    LiteLLMVisit: lambda arguments: of_litellm("", arguments),
}


class Service:
    """Be the API that visits ask, and count the large attempts that are submitted at once."""

    def __init__(self, submitted: dict[str, Any] = VALID) -> None:
        self.submitted = submitted
        self.under_way = self.most = self.small = self.waiting = 0
        self.let_go = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        said: dict[str, Any] = {"calls": [], "next": None}
        if scope["path"].endswith("/wait"):
            self.waiting += 1
            await self.let_go.wait()
            said = VALID
        elif scope["method"] == "POST":
            said = await self._submitted(len((await receive())["body"]))
        elif "/tools/" in scope["path"]:
            said = TOOL
        await answer(send, 200 if said is not PENDING else 202, {b"content-type": b"application/json"}, _json(said))

    async def _submitted(self, size: int) -> dict[str, Any]:
        if size < LARGE_BYTES:
            self.small += 1
            return VALID
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for _ in range(500):  # rounds of the loop, in which all others might come
            await asyncio.sleep(0)
        self.under_way -= 1
        return self.submitted

    async def visited(self, door: type[KeyedVisit], key: bytes, arguments: dict[str, Any]) -> int:
        """Send a request with a key to a door; give the status of its answer."""
        received, sent = asyncio.Queue[dict[str, Any]](), list[dict[str, Any]]()
        received.put_nowait({"type": "http.request", "body": _json(DOORS[door](arguments))})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = {
            b"authorization": b"Bearer " + key, b"content-type": b"application/json", b"host": b"in.process",
            b"accept": b"application/json, text/event-stream",
        }  # fmt: skip
        scope = {
            "type": "http", "http_version": "1.1", "scheme": "http", "method": "POST", "path": "/", "raw_path": b"/",
            "query_string": b"", "root_path": "", "headers": [*headers.items()], "client": ("127.0.0.1", 1),
        }  # fmt: skip
        await door(self, scope, is_closing=lambda: False).serve(received.get, send, max_body_bytes=1_000_000)
        status: int = sent[0]["status"]
        return status


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("door", DOORS)
def test_of_the_large_requests_of_all_keys_one_is_submitted_at_a_time(door: type[KeyedVisit]) -> None:
    async def story() -> tuple[list[int], Service]:
        service = Service()
        asked = [service.visited(door, key, LARGE) for key in (b"rc_1_a", b"rc_2_b") for _ in range(3)]
        return await asyncio.gather(*asked), service

    statuses, service = asyncio.run(story())
    assert (statuses, service.most) == ([200] * 6, 1)


def test_doors_share_the_turns_of_large_requests() -> None:
    async def story() -> Service:
        service = Service()
        await asyncio.gather(*(service.visited(door, b"rc_%d_a" % number, LARGE) for number, door in enumerate(DOORS)))
        return service

    assert asyncio.run(story()).most == 1


@pytest.mark.parametrize("door", DOORS)
def test_who_waits_for_a_verdict_leaves_its_turn_to_others(door: type[KeyedVisit]) -> None:
    async def story() -> Service:
        service = Service(PENDING)
        keys = (b"rc_1_a", b"rc_2_b", b"rc_1_a", b"rc_2_b")
        asked = [asyncio.ensure_future(service.visited(door, key, LARGE)) for key in keys]
        async with asyncio.timeout(30):
            while service.waiting < len(asked):
                await asyncio.sleep(0)
            await service.visited(door, b"rc_1_a", SMALL)
            service.let_go.set()
            await asyncio.gather(*asked)
        return service

    service = asyncio.run(story())
    assert (service.most, service.waiting, service.small) == (1, 4, 1)


def test_who_leaves_while_it_waits_for_its_turn_holds_up_nobody() -> None:
    async def story() -> int:
        service = Service()
        asked = [asyncio.ensure_future(service.visited(HookVisit, b"rc_%d_a" % key, LARGE)) for key in range(4)]
        while not service.under_way:
            await asyncio.sleep(0)
        asked[1].cancel()
        asked[2].cancel()
        async with asyncio.timeout(30):
            return await service.visited(HookVisit, b"rc_9_a", LARGE)

    assert asyncio.run(story()) == 200
