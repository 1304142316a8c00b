"""Both clients behind one face, so that each test holds for both: the asynchronous one runs in a loop of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from retrycontract.client import AsyncClient, Client

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAVOURS = {"sync": Client, "async": AsyncClient}


class Blocking:
    """Call an AsyncClient from threads; every method blocks until its coroutine is done."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not inspect.ismethod(found):
            return found
        return lambda *args, **kwargs: self._done(found(*args, **kwargs))

    def session(self, name: str | None = None) -> Blocking:
        """Begin a conversation, whose methods block as well."""
        return Blocking(self._client.session(name), self._loop)

    def turn(self) -> Blocking:
        """Begin a turn of it."""
        return Blocking(self._client.turn(), self._loop)

    def _done(self, begun: Any) -> Any:
        async def collect() -> list[Any]:
            return [each async for each in begun]

        coroutine = collect() if inspect.isasyncgen(begun) else begun
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(90)

    def events(self, **options: Any) -> Iterator[Any]:
        """Give the events one by one; closing the iterator closes the stream."""
        found = self._client.events(**options)
        try:
            while True:
                yield asyncio.run_coroutine_threadsafe(anext(found), self._loop).result(90)  # type: ignore[arg-type]
        finally:
            asyncio.run_coroutine_threadsafe(found.aclose(), self._loop).result(10)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return repr(self._client)


@contextmanager
def opened(flavour: str, *args: Any, **options: Any) -> Iterator[Any]:
    """Open a client of a flavour."""
    if flavour == "sync":
        with Client(*args, **options) as client:
            yield client
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="event loop")
    thread.start()
    blocking = Blocking(AsyncClient(*args, **options), loop)
    try:
        yield blocking
    finally:
        blocking.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
