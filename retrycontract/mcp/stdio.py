"""Lines over pipes, in an event loop, and a server that speaks in them."""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync

from retrycontract.mcp.behind import UpstreamProcess
from retrycontract.mcp.connection import Receiver

CHUNK = 1 << 16
CHUNKS_AHEAD = 16  # read but not yet passed on: whoever writes more waits, as at any full pipe
DRAIN_SECONDS = 1.0  # for what an ended server's children still hold of its output
MOST_RESTARTS, PER_SECONDS = 5, 60.0  # a server that always dies at once is not started for ever


class Lines:
    """Iterate over the lines that arrive at a file descriptor, without their ends.

    Pipes and terminals are read in the event loop; files, and everything on Windows, in a thread.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._thread: ReadingThread | None = None
        self._asked: asyncio.Future[bytes] | None = None
        self._is_watched = False

    async def __aiter__(self) -> AsyncGenerator[str, None]:
        """Give each line as text that is written as the same bytes again, whatever they are.

        Close it before the descriptor is closed: another pipe may get the number.
        """
        parts: list[bytes] = []
        try:
            while chunk := await self._chunk():
                first, *others = chunk.split(b"\n")
                parts.append(first)
                for other in others:
                    if (line := b"".join(parts)).strip():
                        yield line.decode("utf-8", "surrogateescape")
                    parts = [other]
            if (line := b"".join(parts)).strip():
                yield line.decode("utf-8", "surrogateescape")
        finally:
            self._unwatch()

    async def _chunk(self) -> bytes:
        """Read what is there, at least a byte; nothing at the end."""
        if self._thread is None and not self._is_watched:
            try:
                self._loop.add_reader(self._descriptor, self._take)
                self._is_watched = True
            except (OSError, NotImplementedError):  # a file is always ready, and Windows waits for sockets alone
                self._thread = ReadingThread(self._descriptor, self._loop)
        if self._thread is not None:
            return await self._thread.chunk()
        self._asked = self._loop.create_future()
        return await self._asked

    def _take(self) -> None:
        # Watched from one line to the next, for each change takes as long as a read; not while nobody asks.
        if self._asked is None or self._asked.done():
            self._unwatch()
            return
        try:
            self._asked.set_result(os.read(self._descriptor, CHUNK))
        except OSError:
            self._asked.set_result(b"")

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._descriptor)


class ReadingThread:
    """Read a file descriptor in a thread, which waits where an event loop cannot."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._descriptor, self._loop = descriptor, loop
        # Without a bound of its own, so that a send from the loop never fails; the semaphore keeps what is read ahead
        # bounded.
        self._send, self._receive = anyio.create_memory_object_stream[bytes](float("inf"))
        self._room = threading.Semaphore(CHUNKS_AHEAD)
        # A daemon: a read that nobody answers must not keep the process alive.
        threading.Thread(target=self._read, daemon=True).start()

    async def chunk(self) -> bytes:
        """Give what was read next; nothing at the end."""
        try:
            chunk = await self._receive.receive()
        except anyio.EndOfStream:
            self._receive.close()
            return b""
        self._room.release()
        return chunk

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
        """Write a message on a line of its own; False when nobody reads any more."""
        if "\n" in text or "\r" in text:  # over HTTP it may have come on several: there they can only be white space
            text = text.replace("\n", " ").replace("\r", " ")
        data = text.encode("utf-8", "surrogateescape") + b"\n"
        # Up to this size POSIX writes to a pipe whole or not at all, and a pipe that is ready has room for it: such a
        # write cannot block, and a thread for each short line would take longer than the line.
        poll = self._poll if len(data) <= select.PIPE_BUF and not self._one_at_a_time.locked() else None
        try:
            if poll is not None and [event for _, event in poll.poll(0)] == [select.POLLOUT]:
                os.write(self._descriptor, data)
                return True
            with anyio.CancelScope(shield=True):  # half a line would spoil the next one
                async with self._one_at_a_time:
                    await run_sync(self._write, data)
        except OSError:
            return False
        return True

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]


class ProcessConnection:
    """Speak with a server over its pipes; with `restart` it is started again when it ends."""

    def __init__(self, upstream: UpstreamProcess, *, restart: bool) -> None:
        self._upstream, self._restart = upstream, restart
        # As if five restarts were long ago: the list is a window that slides, and the first ones are free.
        self._restarts = [-PER_SECONDS] * MOST_RESTARTS
        self._is_closed = False
        self._open_pipes()

    def bind(self, receiver: Receiver, tasks: TaskGroup) -> None:
        self._receiver, self._tasks = receiver, tasks

    async def send(self, text: str) -> bool:
        """Write a message; False when the server does not listen any more."""
        return await self._to_upstream.send(text)

    async def run(self) -> int:
        """Hand on what the server says until it has ended and is not started again; gives its exit status."""
        while True:
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._read)
                # A thread that waits cannot be woken; it ends when the upstream is stopped on the way out.
                status = await run_sync(self._upstream.wait, abandon_on_cancel=True)
                reading.cancel_scope.deadline = anyio.current_time() + DRAIN_SECONDS
            if self._is_closed:
                return 0
            await self._receiver.upstream_ended()
            if not self._restart:
                return status
            self._restarts.append(time.monotonic())
            if self._restarts[-1] - self._restarts.pop(0) < PER_SECONDS:
                return status
            self._upstream.start()
            self._open_pipes()
            self._tasks.start_soon(self._receiver.greet_again)

    async def listen(self) -> None:
        """Do nothing: over a pipe everything arrives."""

    async def close(self) -> None:
        self._is_closed = True
        await run_sync(self._upstream.stop)

    def _open_pipes(self) -> None:
        says, hears = self._upstream.descriptors
        self._from_upstream, self._to_upstream = Lines(says), LineWriter(hears)

    async def _read(self) -> None:
        async with aclosing(aiter(self._from_upstream)) as lines:
            async for line in lines:
                await self._receiver.from_upstream(line)
        # It says no more, whether it runs on or not.
        await run_sync(self._upstream.stop)
