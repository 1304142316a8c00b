"""How the client uses connections: as many as there are waiters, and none that the service is about to close."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from retrycontract.client.connection import KEEP_ALIVE_SECONDS
from tests.client.flavours import opened
from tests.client.scripted import guided
from tests.serving.threads import serving

if TYPE_CHECKING:
    from retrycontract.front.bridge import Receive, Scope, Send

WAITERS: Final = 120  # more than HTTP clients open by default
ALL: Final = 60.0  # seconds for all of them to arrive


class WaitingRoom:
    """Hold every request until so many are held, then answer all."""

    def __init__(self) -> None:
        self._all = asyncio.Barrier(WAITERS)

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        """Answer one request."""
        async with asyncio.timeout(ALL):
            await self._all.wait()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(guided()).encode()})


def test_more_agents_wait_through_one_client_than_http_clients_open_connections_for(flavour: str) -> None:
    def wait(number: int) -> Any:
        return client.wait_for_guidance(f"call-{number}").decision

    with (
        serving(WaitingRoom()) as port,
        opened(flavour, f"http://127.0.0.1:{port}", "rc_x", patience=0) as client,
        ThreadPoolExecutor(WAITERS) as agents,
    ):
        assert list(agents.map(wait, range(WAITERS))) == ["hint"] * WAITERS


def test_a_silent_connection_is_left_before_the_service_closes_it() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Never called."""

    assert uvicorn.Config(app, log_config=None).timeout_keep_alive > KEEP_ALIVE_SECONDS
