"""A scripted upstream on a real socket, the proxy before it on another, and what the APIs' servers say."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import uvicorn

from retrycontract.client import AsyncClient
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.proxy.app import Proxy
from retrycontract.proxy.contracts import JudgingSettings
from retrycontract.proxy.judged import ProxySettings
from retrycontract.proxy.visit import Room
from tests.serving.threads import PromptServer

DROP: Final = object()  # among the parts of a body: the connection breaks off here
STALL: Final = object()  # nothing more comes, and the connection stays

READ_FILE: Final = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "encoding": {"enum": ["utf-8", "ascii"]}},
    "required": ["path"],
}
RIGHT: Final = {"path": "a.txt"}
WRONG: Final = {"path": 7}


@dataclass
class Reply:
    """What the upstream answers: parts of a body, with DROP or STALL among them."""

    parts: list[Any]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    sized: bool = True


@dataclass
class Asked:
    """What the upstream was asked."""

    method: str
    target: str
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


Script = Callable[[Asked], "Reply | Awaitable[Reply]"]


@dataclass
class ScriptedUpstream:
    """Answer each request with the next reply, the last one again and again, or as a function says."""

    replies: list[Reply] = field(default_factory=list)
    script: Script | None = None
    asked: list[Asked] = field(default_factory=list)
    left: int = 0  # connections that the other side closed while an answer was under way
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                if not await self._answer(asked, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if self.script is not None:
            found = self.script(asked)
            reply = found if isinstance(found, Reply) else await found
        else:
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        whole = reply.sized and DROP not in reply.parts and STALL not in reply.parts
        sized = {"Content-Length": str(sum(map(len, reply.parts)))} if whole else {"Transfer-Encoding": "chunked"}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**reply.headers, **sized}.items())
        writer.write(f"HTTP/1.1 {reply.status} Said\r\n{head}\r\n".encode())
        for part in reply.parts:
            if part is DROP:
                await writer.drain()
                return False
            if part is STALL:
                await writer.drain()
                await reader.read(1)  # until the other side has gone
                self.left += 1
                return False
            writer.write(part if whole else b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
            if reader.at_eof():
                self.left += 1
                return False
            if not whole:
                await asyncio.sleep(0)
        if not whole:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    content = b""
    if "content-length" in headers:
        content = await reader.readexactly(int(headers["content-length"]))
    elif headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            content += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    return Asked(method, target, headers, content)


@contextmanager
def in_thread(serve: Callable[[asyncio.Event, Callable[[int], None]], Awaitable[None]]) -> Iterator[int]:
    """Run a server in an event loop of its own; gives its port."""
    started, port, ended = threading.Event(), [0], asyncio.Event()
    loop = asyncio.new_event_loop()

    def run() -> None:
        def ready(number: int) -> None:
            port[0] = number
            started.set()

        try:
            loop.run_until_complete(serve(ended, ready))
        finally:
            loop.close()

    thread = threading.Thread(target=run, name="proxy-tests")
    thread.start()
    assert started.wait(30)
    try:
        yield port[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(30)


@contextmanager
def upstream(*replies: Reply, script: Script | None = None) -> Iterator[ScriptedUpstream]:
    """Serve replies while the block runs."""
    server = ScriptedUpstream(list(replies), script)

    async def serve(ended: asyncio.Event, ready: Callable[[int], None]) -> None:
        handlers: set[asyncio.Task[None]] = set()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            handlers.add(task)
            try:
                await server.handle(reader, writer)
            except asyncio.CancelledError:
                writer.close()
            finally:
                handlers.discard(task)

        listening = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024, limit=2**24)
        ready(listening.sockets[0].getsockname()[1])
        await ended.wait()
        listening.close()
        for task in list(handlers):
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    with in_thread(serve) as port:
        server.port = port
        yield server


@contextmanager
def proxied(
    url: str,
    *,
    mode: Any = "enforce",
    service: Callable[[], AsyncClient] | None = None,
    room: Room | None = None,
    **settings: Any,
) -> Iterator[str]:
    """Serve the proxy before an upstream while the block runs; gives its address."""
    judging = {name: settings.pop(name) for name in ("strict", "configuration") if name in settings}
    judging.setdefault("configuration", RetryConfiguration())

    async def serve(ended: asyncio.Event, ready: Callable[[int], None]) -> None:
        desk = service() if service else None
        chosen = ProxySettings(judging=JudgingSettings(mode=mode, **judging), **({"delay": 0} | settings))
        proxy = Proxy(url, chosen, desk, room=room)
        # With the protocol named: asyncio sends small packets at once on such sockets only, as it does in the command.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
            listening.bind(("127.0.0.1", 0))
            config = uvicorn.Config(
                proxy, log_level="error", access_log=False, server_header=False, date_header=False, ws="none",
                lifespan="on", timeout_graceful_shutdown=2,
            )  # fmt: skip
            server = PromptServer(config)
            server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
            config.load()
            server.lifespan = config.lifespan_class(config)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            ready(listening.getsockname()[1])
            await ended.wait()
            server.should_exit = True
            await serving
        if desk is not None:
            await desk.__aexit__(None, None, None)

    with in_thread(serve) as port:
        yield f"http://127.0.0.1:{port}"


def whole(body: Any, status: int = 200, **headers: str) -> Reply:
    """Answer with JSON, as a server writes it."""
    return Reply([json.dumps(body, indent=1).encode()], status, {"Content-Type": "application/json", **headers})


def streamed(content: bytes, *cuts: int, **headers: str) -> Reply:
    """Answer with a stream of events, cut where it is said."""
    places = [0, *sorted(cuts), len(content)]
    parts = [content[a:b] for a, b in itertools.pairwise(places) if a < b]
    return Reply(parts, 200, {"Content-Type": "text/event-stream; charset=utf-8", **headers}, sized=False)
