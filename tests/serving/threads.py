"""A real uvicorn on a real socket, in a thread, for the tests of what stands before Django."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import uvicorn

if TYPE_CHECKING:
    import socket
    import socketserver
    from collections.abc import Callable, Iterator, Mapping

    from retrycontract.front.wsgi import Message, Scope


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold what came over the wire; header names are lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Give the first value of a header."""
        return next((value for key, value in self.headers if key == name), None)


class PromptServer(uvicorn.Server):
    """End as soon as it is told to: uvicorn looks each tenth of a second, and gives idle connections another one."""

    async def main_loop(self) -> None:
        """Look more often whether to end."""
        ticks = itertools.count()
        while not await self.on_tick(next(ticks)):
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for nobody where nobody is."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        await self.lifespan.shutdown()


@contextmanager
def serving(app: Any, *, lifespan: Literal["on", "off"] = "off", protocol: Any = "auto") -> Iterator[int]:
    """Serve an ASGI application while the block runs; gives the port."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, lifespan=lifespan, log_config=None, access_log=False, backlog=4096, http=protocol
    )
    server = PromptServer(config)
    thread = threading.Thread(target=server.run, name="uvicorn")
    thread.start()
    try:
        eventually(lambda: server.started)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def fetch(
    port: int,
    path: str,
    *,
    method: str = "GET",
    body: bytes | Iterator[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Make one request; an iterator as body is sent in chunks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        pairs = [(name.lower(), value) for name, value in response.getheaders()]
        return Reply(response.status, pairs, response.read())
    finally:
        connection.close()


@contextmanager
def served(server: socketserver.BaseServer) -> Iterator[None]:
    """Let a server of the standard library answer in a thread while the block runs; it is closed then."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def busy_threads() -> list[str]:
    """List the other threads of this process that compute for most of a moment; none where there is no /proc."""
    looked_at = 0.2

    def spent() -> dict[str, int]:
        found = {}
        for task in Path("/proc/self/task").glob("*"):
            with suppress(OSError):  # it has ended
                found[task.name] = sum(map(int, (task / "stat").read_text().rpartition(") ")[2].split()[11:13]))
        return found

    before = spent()
    time.sleep(looked_at)
    limit = looked_at * os.sysconf("SC_CLK_TCK") / 4  # of two that compute each has half at most
    named = {str(thread.native_id): repr(thread) for thread in threading.enumerate()}
    return [named.get(task, task) for task, ticks in spent().items() if ticks - before.get(task, ticks) > limit]


def eventually(condition: Callable[[], object], *, within: float = 60.0) -> None:
    """Wait until a condition holds, or fail."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "The condition did not come true in time."
        time.sleep(0.005)


def http_scope(path: str, *, method: str = "GET", headers: tuple[tuple[bytes, bytes], ...] = ()) -> Scope:
    """Build the scope that a server would hand over."""
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8000),
    }


class Sent:
    """Collect what an application sends."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        """Take one message."""
        self.messages.append(message)

    @property
    def status(self) -> int:
        """Give the status of the one response."""
        (start,) = [message for message in self.messages if message["type"] == "http.response.start"]
        status: int = start["status"]
        return status
