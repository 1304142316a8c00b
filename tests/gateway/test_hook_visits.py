"""What a hook asks of the API: for a call that has run, for a session that it has forgotten, when it is cancelled."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from retrycontract.client import AsyncClient
from retrycontract.mcp.hooks import MAX_SESSIONS, HookVisit, Sessions
from retrycontract.mcp.visiting import HERE, answer
from tests.gateway.test_hooks import WRONG, payload

AT = "2027-03-14T12:00:00Z"
OPEN_CALL: dict[str, Any] = {
    **dict.fromkeys(("expires_at", "task_id", "correlation_id", "model")),
    "call_id": "call-1",
    "state": "retrying",
    "kind": "tool_call",
    "tool": "Edit",
    "session_id": "s",
    "created_at": AT,
    "updated_at": AT,
    "attempts_made": 1,
    "attempts_allowed": 3,
}


class Desks:
    """An API as the hook asks it: what it says of its one open call, and whether it answers at all."""

    def __init__(self, attempts: bytes = b"", *, hangs: bool = False) -> None:
        self.attempts, self.hangs = attempts, hangs
        self.asked: list[str] = []
        self.is_left = self.was_left_before_the_client_closed = False

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        self.asked.append(f"{scope['method']} {scope['path'].removeprefix('/api/v1')}")
        if self.hangs:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)  # as what is closed in good order takes a moment
                self.is_left = True
        listed = json.dumps({"calls": [OPEN_CALL], "next": None}).encode()
        said = listed if scope["path"].endswith("/calls") else self.attempts
        await answer(send, 200, {b"content-type": b"application/json"}, said)

    async def hear(self, sent: list[dict[str, Any]], body: dict[str, Any]) -> None:
        """Answer a hook's payload; what is sent is kept in `sent`."""
        received = asyncio.Queue[dict[str, Any]]()
        received.put_nowait({"type": "http.request", "body": json.dumps(body).encode()})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"query_string": b"", "headers": [], "method": "POST"}
        visit = HookVisit(self, scope, is_closing=lambda: False)
        async with AsyncClient(HERE, "rc_00000000_key", transport=httpx2.ASGITransport(app=self)) as client:
            try:
                await visit.answer(client, "rc_00000000_key", received.get, send, 1_000_000)
            finally:
                self.was_left_before_the_client_closed = self.is_left


@pytest.mark.parametrize(
    "attempts",
    [
        pytest.param(b"<html>", id="a failure"),
        pytest.param(b'{"attempts": [{"tool_call_id": "call_10-0f"}]}', id="another's"),
        pytest.param(b'{"attempts": [{"tool_call_id": "call_1-2-0f"}]}', id="another's with a hyphen"),
    ],
)
def test_what_has_run_is_neither_denied_nor_taken_for_another(attempts: bytes) -> None:
    desk, sent = Desks(attempts), list[dict[str, Any]]()
    asyncio.run(desk.hear(sent, payload("s", WRONG, "PostToolUse", "call_1")))
    assert json.loads(sent[1]["body"]) == {}
    assert desk.asked == ["GET /calls", "GET /calls/call-1"]


@pytest.mark.soak
def test_ten_thousand_sessions_are_remembered_and_of_the_others_is_asked_again() -> None:
    desk, sessions = Desks(), Sessions()

    async def story() -> None:
        async with AsyncClient(HERE, "rc_00000000_key", transport=httpx2.ASGITransport(app=desk)) as client:
            for number in [*range(MAX_SESSIONS + 1), MAX_SESSIONS, 1]:
                await sessions.find(client, "key", f"session-{number}", "Edit")
            assert len(desk.asked) == MAX_SESSIONS + 1
            found = await sessions.find(client, "key", "session-0", "Edit")
            assert len(desk.asked) == MAX_SESSIONS + 2
            assert [call.call_id for call in found.calls.idle()] == ["call-1"], "its call goes on all the same"

    asyncio.run(story())


def test_a_hook_that_is_cancelled_leaves_nothing_running() -> None:
    desk = Desks(hangs=True)

    async def cancel() -> None:
        hearing = asyncio.create_task(desk.hear([], payload("s", WRONG)))
        while not desk.asked:
            await asyncio.sleep(0)
        hearing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hearing
        assert desk.was_left_before_the_client_closed

    asyncio.run(cancel())
