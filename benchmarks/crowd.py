"""A crowd that waits: long polls and event streams, held open in a process of their own until its input ends.

Reads one line of JSON: port, the requests of the polls and the streams. Says `open` when each stream has begun and each
poll was sent; in the end how many bytes came.
"""

from __future__ import annotations

import asyncio
import json
import sys

AT_ONCE = 50  # connections that open at the same time


async def main() -> None:
    """Open everything, say so, and stay until the input ends."""
    given = json.loads(sys.stdin.readline())
    door, received = asyncio.Semaphore(AT_ONCE), [0]
    began = [asyncio.Event() for _ in given["streams"]]
    tasks = [
        asyncio.create_task(_stream(given["port"], asked.encode(), door, opened, received))
        for asked, opened in zip(given["streams"], began, strict=True)
    ]
    tasks += [asyncio.create_task(_poll(given["port"], asked.encode(), door)) for asked in given["polls"]]
    await asyncio.gather(*(opened.wait() for opened in began))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [str(each) for each in ended if not isinstance(each, asyncio.CancelledError)]
    print(json.dumps({"received": received[0], "failed": failed[:3]}), flush=True)


async def _stream(port: int, asked: bytes, door: asyncio.Semaphore, opened: asyncio.Event, received: list[int]) -> None:
    async with door:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked)
        await reader.readuntil(b"\r\n\r\n")
    opened.set()
    while data := await reader.read(65_536):
        received[0] += len(data)


async def _poll(port: int, asked: bytes, door: asyncio.Semaphore) -> None:
    async with door:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(asked)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0]))


if __name__ == "__main__":
    asyncio.run(main())
