"""Lines over pipes, in an event loop."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
from anyio.to_thread import run_sync

CHUNK = 1 << 16
CHUNKS_AHEAD = 16  # read but not yet passed on: whoever writes more waits, as at any full pipe


class Lines:
    """Iterate over the lines that arrive at a file descriptor, without their ends.

    A thread reads: pipes, terminals and files alike, on every system.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        # Without a bound of its own, so that a send from the loop never fails; the semaphore keeps what is read ahead
        # bounded.
        self._send, self._receive = anyio.create_memory_object_stream[bytes](float("inf"))
        self._room = threading.Semaphore(CHUNKS_AHEAD)
        # A daemon: a read that nobody answers must not keep the process alive.
        threading.Thread(target=self._read, daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Give each line as text that is written as the same bytes again, whatever they are."""
        parts: list[bytes] = []
        async for chunk in self._receive:
            self._room.release()
            first, *others = chunk.split(b"\n")
            parts.append(first)
            for other in others:
                if (line := b"".join(parts)).strip():
                    yield line.decode("utf-8", "surrogateescape")
                parts = [other]
        if (line := b"".join(parts)).strip():
            yield line.decode("utf-8", "surrogateescape")

    def _read(self) -> None:
        chunk = b"x"
        while chunk:
            self._room.acquire()
            try:
                chunk = os.read(self._descriptor, CHUNK)
            except OSError:
                chunk = b""
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._take, chunk)

    def _take(self, chunk: bytes) -> None:
        if chunk:
            self._send.send_nowait(chunk)
        else:
            self._send.close()


class LineWriter:
    """Write lines to a file descriptor, each whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._one_at_a_time = descriptor, anyio.Lock()
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(descriptor, select.POLLOUT)

    async def send(self, text: str) -> bool:
        """Write a line; False when nobody reads any more."""
        data = text.encode("utf-8", "surrogateescape") + b"\n"
        try:
            with anyio.CancelScope(shield=True):  # half a line would spoil the next one
                async with self._one_at_a_time:
                    if self._takes_at_once(data):
                        os.write(self._descriptor, data)
                    else:
                        await run_sync(self._write, data)
        except OSError:
            return False
        return True

    def _takes_at_once(self, data: bytes) -> bool:
        """Tell whether a write cannot block; a thread for each short line would take longer than the line."""
        # Up to this size POSIX writes to a pipe whole or not at all, and a pipe that is ready has room for it.
        if self._poll is None or len(data) > select.PIPE_BUF:
            return False
        return [event for _, event in self._poll.poll(0)] == [select.POLLOUT]

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
