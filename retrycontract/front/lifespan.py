"""The server's beginning and end: its hooks, and the signal that ends it, heard before it waits for requests."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

logger = logging.getLogger(__name__)


async def live(
    receive: Any,
    send: Any,
    on_startup: Callable[[], None] | None,
    on_shutdown: Callable[[], None] | None,
    *,
    on_signal: Callable[[], None],
) -> None:
    """Speak ASGI's lifespan protocol; hooks run in a thread, `on_signal` on the loop.

    uvicorn sends lifespan.shutdown only after the last open request has ended, so held requests would keep a
    deploy waiting for a minute. Hence `on_signal` runs as soon as SIGTERM or SIGINT arrives, and once more
    at the shutdown for servers that were told to end in another way.
    """
    await receive()
    if not await _succeeds(on_startup):
        await send({"type": "lifespan.startup.failed", "message": "A startup hook failed; the log has why."})
        return
    with ExitStack() as handlers:
        if threading.current_thread() is threading.main_thread():  # only there Python hears signals
            for number in (signal.SIGTERM, signal.SIGINT):
                handlers.enter_context(_heard_before_the_server(number, on_signal))
        await send({"type": "lifespan.startup.complete"})
        try:
            await receive()
        except asyncio.CancelledError:  # a second Ctrl-C: the server goes without a word, which is no failure of ours
            return
    on_signal()
    ended = await _succeeds(on_shutdown)
    await send({"type": "lifespan.shutdown.complete" if ended else "lifespan.shutdown.failed"})


async def _succeeds(hook: Callable[[], None] | None) -> bool:
    try:
        if hook is not None:
            await asyncio.to_thread(hook)  # a hook may ask the database, which refuses the loop's thread
    except Exception:
        logger.exception("A lifespan hook failed")
        return False
    return True


@contextmanager
def _heard_before_the_server(number: int, listener: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    server = signal.getsignal(number)
    if not callable(server):  # behind a handler of ours the default action would be lost
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(listener)
        server(number, frame)

    signal.signal(number, handle)
    try:
        yield
    finally:
        signal.signal(number, server)
