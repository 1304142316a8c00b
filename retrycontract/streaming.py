"""Event streams: write the application's pages as they come, one open connection and no thread for each reader."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retrycontract.pending import PENDING, Pending, disconnected, question

if TYPE_CHECKING:
    from retrycontract.bridge import Receive, Response, Scope, Send, WsgiBridge
    from retrycontract.waiting import Bells

STREAM: Final = b"text/event-stream"
SILENCE: Final = b":\n\n"
# So many questions are asked at once after a quiet time.
BURST: Final = 20
# A reader that takes nothing any more must not hold up a deploy.
FAREWELL_SECONDS: Final = 2.0
# When to come back after the end, in milliseconds: a crowd is spread.
COME_BACK: Final = (1_000, 5_000)
TOO_MANY_REQUESTS: Final = 429

Page = tuple["Response", int]  # and the ticket that was taken before it was asked for


def is_stream(scope: Scope, response: Response) -> bool:
    """Tell whether a response is the first page of a stream."""
    media_type = (response.header(b"content-type") or b"").partition(b";")[0]
    return scope["method"] == "GET" and media_type == STREAM and Pending.of(response) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Say when streams write and ask, in seconds."""

    # A comment this often keeps proxies from closing a silent stream, mostly after a minute, and finds who has left.
    heartbeat: float = 15.0
    # What happens to an agent shortly after a page comes with the next one: a quarter of a second here,
    pause: float = 0.25
    # and longer the more streams are open, for each page is written to each of its readers. With 500 streams of ten
    # agents that submitted all the time, four pages a second added a third to a submit's processor time, one a tenth.
    pages_per_second: float = 500.0
    # Unrung a stream asks this often: for rings that were lost, and to learn that its key was revoked.
    recheck: float = 30.0
    # Questions of all streams together: some 3 % of what one API thread answers, however many read and whatever
    # happens. Under load a page comes later, and holds more.
    questions_per_second: float = 25.0


class Pace:
    """Let so many through each second, in the order in which they come."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._step = 1 / per_second
        self._credit = burst * self._step
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for one's turn; after a quiet time it comes at once."""
        now = asyncio.get_running_loop().time()
        turn = max(self._next, now - self._credit)
        self._next = turn + self._step
        if turn > now:
            await asyncio.sleep(turn - now)


class Streams:
    """Hold the open streams of a process; `turns` bounds the questions that stand before a submit at once."""

    def __init__(self, bridge: WsgiBridge, bells: Bells, turns: asyncio.Semaphore, rhythm: Rhythm) -> None:
        self._bridge = bridge
        self._bells = bells
        self._turns = turns
        self._rhythm = rhythm
        self._pace = Pace(rhythm.questions_per_second, BURST)
        self._asked: dict[tuple[str, tuple[bytes, ...]], asyncio.Task[Page]] = {}
        self._closing = asyncio.Event()
        self.open = 0

    def stop(self) -> None:
        """End every stream, each with word when to come back; on the loop's thread."""
        self._closing.set()
        for asked in self._asked.values():
            asked.cancel()

    async def follow(self, scope: Scope, receive: Receive, send: Send, first: Response, ticket: int) -> None:
        """Send a stream until its reader leaves, its key ends or the server stops; `ticket` is older than `first`."""
        await send({"type": "http.response.start", "status": 200, "headers": _headers(first)})
        writing = asyncio.create_task(self._write_pages(scope, send, first, ticket))
        gone = asyncio.create_task(disconnected(receive))
        closing = asyncio.create_task(self._closing.wait())
        self.open += 1
        try:
            await asyncio.wait((writing, gone, closing), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
        finally:
            self.open -= 1
            for task in (writing, gone, closing):
                task.cancel()
        await asyncio.wait((writing,))
        await _farewell(send)
        if not writing.cancelled():
            writing.result()

    async def _write_pages(self, scope: Scope, send: Send, first: Response, ticket: int) -> None:
        await _write(send, first.body or SILENCE)
        page: Page | None = (first, ticket)
        while page is not None and (pending := Pending.of(page[0])) is not None:
            page = await self._next(scope, send, pending, page[1])
            if page is not None and page[0].body:
                await _write(send, page[0].body)

    async def _next(self, scope: Scope, send: Send, pending: Pending, ticket: int) -> Page | None:
        """Give the next page, as often as it takes to get one; None when there will be none."""
        if pending.bell:
            await asyncio.sleep(max(self._rhythm.pause, self.open / self._rhythm.pages_per_second))
            await self._hear(send, pending.bell, ticket)
        while True:
            response, ticket = await asyncio.shield(self._question(scope, pending.path))
            if response.status < 400:
                return response, ticket
            if response.status < 500 and response.status != TOO_MANY_REQUESTS:
                return None  # its reader asks again, and is told why
            await asyncio.sleep(self._rhythm.heartbeat)
            await _write(send, SILENCE)

    async def _hear(self, send: Send, bell: str, ticket: int) -> None:
        """Wait until a bell rings, or it is time to ask anyway."""
        clock = asyncio.get_running_loop().time
        # Half of the questions at most are asked unrung.
        end = clock() + max(self._rhythm.recheck, 2 * self.open / self._rhythm.questions_per_second)
        while (left := end - clock()) > 0:
            if await self._bells.wait(bell, ticket, min(left, self._rhythm.heartbeat)):
                return
            await _write(send, SILENCE)

    def _question(self, scope: Scope, path: str) -> asyncio.Task[Page]:
        """Ask for a page; readers with one key or session that have read as far as each other share the answer."""
        asker = tuple(value for name, value in scope["headers"] if name in (b"authorization", b"cookie"))
        key = (path, asker)
        if key not in self._asked:
            task = self._asked[key] = asyncio.create_task(self._ask(question(scope, path)))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        return self._asked[key]

    async def _ask(self, scope: Scope) -> Page:
        await self._pace.turn()
        async with self._turns:
            ticket = self._bells.ticket()
            return await self._bridge.ask(scope, b""), ticket


def _headers(first: Response) -> list[tuple[bytes, bytes]]:
    dropped = (PENDING, b"content-length", b"cache-control")
    kept = [pair for pair in first.headers if pair[0] not in dropped]
    # The second one is for nginx, which would gather the stream before it sends it on.
    return [*kept, (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _farewell(send: Send) -> None:
    """End a stream, and say when to come back."""
    come_back = random.randrange(*COME_BACK)  # noqa: S311 - spreads a crowd, keeps no secret
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_SECONDS):
            await _write(send, b"retry: %d\n\n" % come_back)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
