"""How the client uses connections: as many as there are waiters, and none that the service is about to close."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import pytest
import uvicorn

from retrycontract.client import AsyncClient, UnreachableError
from retrycontract.client.connection import KEEP_ALIVE_SECONDS
from tests.client.flavours import opened
from tests.client.scripted import guided
from tests.serving.threads import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrycontract.front.wsgi import Receive, Scope, Send

WAITERS: Final = 120  # more than HTTP clients open by default
ALL: Final = 60.0  # seconds for all of them to arrive


class Told:
    """Answer each request at once, and remember by which connection it came."""

    def __init__(self) -> None:
        self.ports: list[int] = []

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Answer one request."""
        self.ports.append(scope["client"][1])
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(guided()).encode()})


# In a process of its own: this one has threads, whose locks a fork would copy.
FORKING = """
import os, sys
from retrycontract.client import Client
client = Client(sys.argv[1], "rc_x")
client.wait_for_guidance("call-1")
if child := os.fork():
    sys.exit(os.waitpid(child, 0)[1])
os._exit(client.wait_for_guidance("call-2").decision != "hint")
"""


@pytest.mark.processes
def test_a_process_that_was_forked_opens_a_connection_of_its_own() -> None:
    """On one connection two processes would read each other's answers: wrong arguments would be called valid."""
    with serving(app := Told()) as port:
        subprocess.run([sys.executable, "-c", FORKING, f"http://127.0.0.1:{port}"], check=True, timeout=60)
    assert len(set(app.ports)) == len(app.ports) == 2


@pytest.mark.filterwarnings("ignore:unclosed", "ignore::pytest.PytestUnraisableExceptionWarning")  # nobody closes it
def test_an_asynchronous_client_serves_one_event_loop_after_the_other() -> None:
    with serving(Told()) as port:
        client = AsyncClient(f"http://127.0.0.1:{port}", "rc_x", patience=0)
        for _ in range(3):
            assert asyncio.run(client.wait_for_guidance("call-1")).decision == "hint"
        del client
        gc.collect()


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9", "127.0.0.1:port"])
def test_a_proxy_of_the_environment_that_cannot_be_used_is_named(
    flavour: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(UnreachableError, match="ALL_PROXY"), opened(flavour, "http://h", "rc_x", patience=0) as client:
        client.wait_for_guidance("call-1")


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


@contextmanager
def trickling() -> Iterator[int]:
    """Serve headers that never end, a piece at a time; gives the port."""
    done = threading.Event()

    def trickle(taken: socket.socket) -> None:
        with taken, suppress(OSError):
            taken.sendall(b"HTTP/1.1 200 OK\r\n")
            while not done.wait(0.05):
                taken.sendall(b"X-More: 1\r\n")

    def serve() -> None:
        with suppress(OSError), ThreadPoolExecutor(4) as answering:
            while True:
                answering.submit(trickle, listener.accept()[0])

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(30)


def test_headers_that_trickle_are_waited_for_no_longer_than_patience_says(
    flavour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an end of the whole request this test would never end: every piece comes in time."""
    monkeypatch.setattr("retrycontract.client.exchange.SHORTEST_ANSWER", 0.5)
    with (
        trickling() as port,
        opened(flavour, f"http://127.0.0.1:{port}", "rc_x", patience=0) as client,
        pytest.raises(UnreachableError),
    ):
        client.settle("open", "t1", {}, wait=0)
