"""Event streams: write the application's pages as they come, one open connection and no thread for each reader."""

from __future__ import annotations

import asyncio
import random
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retrycontract.front.bridge import PENDING, Pending, disconnected, question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrycontract.front.bridge import WsgiBridge
    from retrycontract.front.waiting import Bells
    from retrycontract.front.wsgi import Receive, Response, Scope, Send

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
    # What happens to an agent shortly after a page comes with the next one: at most a quarter of a second later,
    pause: float = 0.25
    # and longer the more streams are open, 2 s with 500, for a page of many events costs little more than one of few.
    pages_per_second: float = 250.0
    # Unrung a stream asks this often: for rings that were lost, and to learn that its key was revoked.
    recheck: float = 30.0
    # Questions of all streams together: some 6 % of what one API thread answers, however many read and whatever
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
        now, turn = self._upcoming()
        self._next = turn + self._step
        if turn > now:
            await asyncio.sleep(turn - now)

    def try_turn(self) -> bool:
        """Take a turn if one comes at once; tell whether it did."""
        now, turn = self._upcoming()
        if turn <= now:
            self._next = turn + self._step
        return turn <= now

    def _upcoming(self) -> tuple[float, float]:
        now = asyncio.get_running_loop().time()
        return now, max(self._next, now - self._credit)


@dataclass(slots=True)
class Coming:
    """Hold a page that so many readers await; it is not asked for any more when the last of them leaves."""

    page: asyncio.Task[Page | None]
    readers: int = 0


class Streams:
    """Hold the open streams of a process; `turns` bounds the questions that stand before a submit at once."""

    def __init__(self, bridge: WsgiBridge, bells: Bells, turns: asyncio.Semaphore, rhythm: Rhythm) -> None:
        self._bridge = bridge
        self._bells = bells
        self._turns = turns
        self._rhythm = rhythm
        self._pace = Pace(rhythm.questions_per_second, BURST)
        self._coming: dict[tuple[str, tuple[bytes, ...]], Coming] = {}
        self._closing = asyncio.Event()
        self.open = 0

    def stop(self) -> None:
        """End every stream, each with word when to come back; on the loop's thread."""
        self._closing.set()
        for coming in self._coming.values():
            coming.page.cancel()

    async def follow(self, scope: Scope, receive: Receive, send: Send, first: Response, ticket: int) -> None:
        """Send a stream until its reader leaves, its key ends or the server stops; `ticket` is older than `first`."""
        # The length is that of the first page, and the stream has none.
        dropped = (PENDING, b"content-length", b"cache-control")
        kept = [pair for pair in first.headers if pair[0] not in dropped]
        # The second one is for nginx, which would gather the stream before it sends it on.
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [*kept, (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")],
            }
        )
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
        # Cancelled, it may still be about to write: nothing else is written before it has ended.
        await asyncio.wait((writing,))
        come_back = random.randrange(*COME_BACK)  # noqa: S311 - spreads a crowd, keeps no secret
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await _write(send, b"retry: %d\n\n" % come_back)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        if not writing.cancelled():
            writing.result()

    async def _write_pages(self, scope: Scope, send: Send, first: Response, ticket: int) -> None:
        await _write(send, first.body or SILENCE)
        page: Page | None = (first, ticket)
        while page is not None and (pending := Pending.of(page[0])) is not None:
            with self._together(scope, pending, page[1]) as coming:
                while not (await asyncio.wait((coming,), timeout=self._rhythm.heartbeat))[0]:
                    await _write(send, SILENCE)
                page = coming.result()
            if page is not None and page[0].body:
                await _write(send, page[0].body)

    @contextmanager
    def _together(self, scope: Scope, pending: Pending, ticket: int) -> Iterator[asyncio.Task[Page | None]]:
        """Await the next page with all readers that have one key or session and have read as far as each other."""
        asker = tuple(value for name, value in scope["headers"] if name in (b"authorization", b"cookie"))
        key = (pending.path, asker)
        coming = self._coming.get(key)
        if coming is None or coming.page.done():
            coming = self._coming[key] = Coming(asyncio.create_task(self._next(scope, pending, ticket)))
        coming.readers += 1
        try:
            yield coming.page
        finally:
            coming.readers -= 1
            if not coming.readers:
                coming.page.cancel()
                # Another page may have come into its place under the same key.
                if self._coming.get(key) is coming:
                    del self._coming[key]

    async def _next(self, scope: Scope, pending: Pending, ticket: int) -> Page | None:
        """Give the next page, as often as it takes to get one; None when there will be none."""
        if pending.bell:
            pause = max(self._rhythm.pause, self.open / self._rhythm.pages_per_second)
            shift = (
                hash(pending.bell) % 1000 / 1000 * pause
            )  # each bell has its own beat: their questions do not come at once
            await asyncio.sleep(pause - (asyncio.get_running_loop().time() + shift) % pause)
            # Half of the questions at most are asked unrung.
            unrung = max(self._rhythm.recheck, 2 * len(self._coming) / self._rhythm.questions_per_second)
            await self._bells.wait(pending.bell, ticket, unrung)
        while True:
            await self._pace.turn()
            async with self._turns:
                ticket = self._bells.ticket()
                response = await self._bridge.ask(question(scope, pending.path), b"")
            if response.status < 400:
                return response, ticket
            if response.status < 500 and response.status != TOO_MANY_REQUESTS:
                return None  # its reader asks again, and is told why
            # The reader is not told: the stream stays open, and goes on once the service answers again.
            await asyncio.sleep(self._rhythm.heartbeat)


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
