"""The waiting room: ask the application, and while its answer is pending await a bell and ask again."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.request import parse_http_list

from retrycontract.front.bridge import PENDING, Pending, disconnected, question
from retrycontract.front.lifespan import live
from retrycontract.front.streaming import Pace, Rhythm, Streams, is_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from retrycontract.front.bridge import WsgiBridge
    from retrycontract.front.wsgi import Header, Receive, Response, Scope, Send

# Half a minute of rings at the busiest rate that one process was measured at; about 10 MB when full.
REMEMBERED_RINGS: Final = 50_000
# What came with rings is fetched by whoever is woken within milliseconds; 4 MB when full of the longest.
REMEMBERED_NEWS: Final = 256
# Safety questions of all waiters together: some 2 % of what one API thread answers, however many wait.
RECHECKS_PER_SECOND: Final = 4
# So few woken questions stand before a submit in the API's queue, even when a thousand are woken at once.
QUESTIONS_AT_ONCE: Final = 4


class Bells:
    """Count events by key, so that a ring between a question and the wait for its answer is not lost.

    Take a ticket, look, then wait with the ticket: a ring of the key after the ticket ends the wait at once.
    """

    def __init__(self, *, remembered: int = REMEMBERED_RINGS) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._remembered = remembered
        self._rung: OrderedDict[str, int] = OrderedDict()  # the count of each key's last ring, oldest first
        self._forgotten = 0  # rings up to this count may have left `_rung`
        # What came with a key's last ring, and the count of that ring; oldest first
        self._news: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._waiters: dict[str, set[asyncio.Future[None]]] = {}

    def ticket(self) -> int:
        """Give the count of rings so far."""
        return self._count

    def ring(self, key: str, news: bytes | None = None) -> None:
        """Wake whoever waits for a key, and keep what comes with the ring for them; from any thread."""
        with self._lock:
            self._count += 1
            self._rung[key] = self._count
            self._rung.move_to_end(key)
            if len(self._rung) > self._remembered:
                _, self._forgotten = self._rung.popitem(last=False)
            self._news.pop(key, None)  # of what rang before it is not the newest any more
            if news:
                self._news[key] = (self._count, news)
                if len(self._news) > REMEMBERED_NEWS:
                    self._news.popitem(last=False)
            waiters = self._waiters.pop(key, None)
        if waiters:
            _wake(waiters)

    def news(self, key: str, since: int) -> bytes | None:
        """Give what came with the last ring of a key, if that was after the ticket `since`."""
        with self._lock:
            count, news = self._news.get(key, (0, b""))
        return news if count > since else None

    def waited_for(self) -> list[str]:
        """List the keys that somebody waits for."""
        with self._lock:
            return list(self._waiters)

    def ring_all(self) -> None:
        """Wake everybody: after a gap in which rings may have been missed, or at the end."""
        with self._lock:
            self._count += 1
            self._forgotten = self._count
            self._rung.clear()
            self._news.clear()
            waiters = {waiter for waiting in self._waiters.values() for waiter in waiting}
            self._waiters.clear()
        _wake(waiters)

    async def wait(self, key: str, since: int, timeout: float) -> bool:
        """Wait until a key rings after the ticket `since`, at most `timeout` seconds; tell whether it rang.

        A ticket older than what is remembered counts as rung: a needless wake costs one more question.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            # Looked at and entered under one lock: a ring between the two would be lost.
            if since < self._forgotten or self._rung.get(key, 0) > since:
                return True
            self._waiters.setdefault(key, set()).add(waiter)
        try:
            done, _ = await asyncio.wait((waiter,), timeout=timeout)
        finally:
            with self._lock:
                waiting = self._waiters.get(key)
                if waiting is not None:
                    waiting.discard(waiter)
                    if not waiting:
                        del self._waiters[key]
        return bool(done)


def _wake(waiters: Iterable[asyncio.Future[None]]) -> None:
    def resolve(waiters: Iterable[asyncio.Future[None]]) -> None:
        for waiter in waiters:
            # Its wait may have timed out since, or been cancelled.
            if not waiter.done():
                waiter.set_result(None)

    # Futures are not thread-safe: each is resolved on its own loop, all of a loop in one call.
    loops: defaultdict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = defaultdict(list)
    for waiter in waiters:
        loops[waiter.get_loop()].append(waiter)
    for loop, woken in loops.items():
        with suppress(RuntimeError):  # the loop has closed: nobody waits there any more
            loop.call_soon_threadsafe(resolve, woken)


bells = Bells()


def asked_wait(headers: Iterable[Header]) -> int | None:
    """Read how many seconds the client is ready to wait (RFC 7240); None when it does not say.

    `respond-async` alone is 0; next to `wait=N` it only says what happens after N seconds.
    """
    fields = b",".join(value for name, value in headers if name == b"prefer").decode("latin-1")
    preferences: dict[str, str] = {}
    for preference in parse_http_list(fields):
        name, _, value = preference.partition(";")[0].partition("=")
        preferences.setdefault(name.strip().lower(), value.strip().strip('"'))  # the first one counts
    seconds = preferences.get("wait", "")
    if seconds.isascii() and seconds.isdigit():
        return int(seconds[:9])  # 30 years; more digits would only cost time to read
    return 0 if "respond-async" in preferences else None


class FrontOfHouse:
    """Serve an application behind its bridge, and hold the requests whose answer is still pending.

    `on_startup` and `on_shutdown` run in a thread, so they may block; `on_signal` runs on the loop once the process is
    told to end. Times are in seconds. `answer_of_news` makes the
    answer to a pending one of what came with its bell, or None, and then the application is asked.
    """

    def __init__(
        self,
        bridge: WsgiBridge,
        bells: Bells,
        *,
        on_startup: Callable[[], None] | None = None,
        on_shutdown: Callable[[], None] | None = None,
        on_signal: Callable[[], None] = lambda: None,
        answer_of_news: Callable[[Response, str, bytes], Response | None] = lambda *_: None,
        default_wait: int = 10,
        longest_wait: int = 60,
        recheck: float = 5.0,
        rhythm: Rhythm = Rhythm(),  # noqa: B008 - frozen
    ) -> None:
        self._bridge = bridge
        self._bells = bells
        self._on_startup = on_startup
        self._on_shutdown = on_shutdown
        self._on_signal = on_signal
        self._answer_of_news = answer_of_news
        self._default_wait = default_wait
        self._longest_wait = longest_wait
        self._recheck = recheck
        self._turns = asyncio.Semaphore(QUESTIONS_AT_ONCE)
        self._rechecks = Pace(RECHECKS_PER_SECOND, burst=RECHECKS_PER_SECOND)
        self._streams = Streams(bridge, bells, self._turns, rhythm)
        self.waiting = 0  # requests that are held at the moment
        self.is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request or the lifespan; refuse websockets."""
        match scope["type"]:
            case "http":

                async def answer(scope: Scope, body: bytes) -> Response | None:
                    respond = self._answer if self._bridge.is_api(scope) else self._answer_page
                    response = await respond(scope, body, receive, send)
                    return response.without(PENDING) if response is not None else None

                # Only the application may speak of what is pending.
                headers = [pair for pair in scope["headers"] if pair[0] != PENDING]
                await self._bridge.serve({**scope, "headers": headers}, receive, send, answer)
            case "lifespan":
                await live(receive, send, self._on_startup, self._on_shutdown, on_signal=self.stop_waiting)
                self._bridge.close()
            case "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1000})
            case other:
                raise NotImplementedError(f"The front of house does not serve {other!r}.")

    @property
    def streaming(self) -> int:
        """Count the streams that are open at the moment."""
        return self._streams.open

    def stop_waiting(self) -> None:
        """Answer every held request with what is known, and hold none from now on; on the loop's thread."""
        self.is_closing = True
        self._streams.stop()
        self._bells.ring_all()
        self._on_signal()

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> Response | None:
        asked = asked_wait(scope["headers"])
        wait = self._default_wait if asked is None else min(asked, self._longest_wait)
        # Before the first question: what that takes is a part of what the client is ready to wait.
        deadline = asyncio.get_running_loop().time() + wait
        ticket = self._bells.ticket()
        response: Response | None = await self._bridge.ask(scope, body)
        if response is not None and is_stream(scope, response):
            await self._streams.follow(scope, receive, send, response, ticket)
            return None
        if response is not None and wait and Pending.of(response):
            response = await self._hold(scope, receive, response, ticket, deadline)
        if response is None or asked is None:
            return response
        return response.plus(b"preference-applied", b"wait=%d" % wait)

    async def _answer_page(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> Response | None:
        """Answer a browser: no page is held, the desk's own stream is followed."""
        ticket = self._bells.ticket()
        response = await self._bridge.ask(scope, body)
        if is_stream(scope, response):
            await self._streams.follow(scope, receive, send, response, ticket)
            return None
        return response

    async def _hold(
        self, scope: Scope, receive: Receive, response: Response, ticket: int, deadline: float
    ) -> Response | None:
        answer = asyncio.create_task(self._ask_until_answered(scope, response, ticket, deadline))
        gone = asyncio.create_task(disconnected(receive))
        self.waiting += 1
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            return await answer if answer.done() else None
        finally:
            self.waiting -= 1
            answer.cancel()
            gone.cancel()

    async def _ask_until_answered(self, scope: Scope, response: Response, ticket: int, deadline: float) -> Response:
        clock = asyncio.get_running_loop().time
        while (pending := Pending.of(response)) and not self.is_closing and (left := deadline - clock()) > 0:
            # The more wait, the rarer each wakes to ask unrung; those who came before a crowd find no turn free.
            unrung = max(self._recheck, self.waiting / RECHECKS_PER_SECOND)
            if not await self._bells.wait(pending.bell, ticket, min(left, unrung)):
                if clock() >= deadline:
                    break
                if not self._rechecks.try_turn():
                    continue
            news = self._bells.news(pending.bell, ticket)
            if news is not None and (answer := self._answer_of_news(response, pending.path, news)):
                return answer
            async with self._turns:
                if self.is_closing:
                    break
                ticket = self._bells.ticket()
                response = await self._bridge.ask(question(scope, pending.path), b"")
        return response
