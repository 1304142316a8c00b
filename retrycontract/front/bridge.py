"""The bridge from ASGI to a WSGI application: buffers both ways, bounds what it buffers, tells what is pending."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote
from weakref import WeakValueDictionary

from retrycontract.front.turns import DearReaders, Line
from retrycontract.front.wsgi import Receive, Response, Scope, Send, call, environ_of, path_of

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

Answer = Callable[[Scope, bytes], Awaitable["Response | None"]]

logger = logging.getLogger(__name__)

# A client that still uploads when it is refused must get the time to read why: closing at once resets the
# connection under its answer. Two seconds pass over slow links and keep nobody's connection for long.
LINGER_SECONDS: Final = 2.0
# Of processor time, of a read of the API and of a page: while one takes that long others wait for the interpreter, so
# that the next reads of its key, or of the same page by its session, go apart.
DEAR_SECONDS, DEAR_PAGE_SECONDS = 0.02, 0.1
OUTSIDE: Final = b"/login/provider/"  # waits for an identity provider: nobody else waits behind it
# Of a form in percent escapes, which are undone one by one: two megabytes of them hold the interpreter for 0.3 s. What
# a page lets people write at length it sends in parts, which are read as they are. Anybody may send a log-in.
ESCAPED_BYTES, LOGIN_BYTES = 262_144, 65_536
SAFE: Final = frozenset({"GET", "HEAD"})

# `Retrycontract-Pending: <bell>; <path to ask again>`: between the application and the front of house only.
PENDING: Final = b"retrycontract-pending"


class BodyTooLargeError(Exception):
    """Refuse a request body; `limit` is the most that is taken, in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The request body is over {limit} bytes. Send less in one request.")
        self.limit = limit


class ClientLeftError(Exception):
    """Tell that the client closed the connection before its request was complete."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Name the bell that announces an answer, and the path that gives it; without a bell it is there already."""

    bell: str
    path: str

    @classmethod
    def of(cls, response: Response) -> Pending | None:
        """Read the application's note on a response, if it left one."""
        bell, _, path = (response.header(PENDING) or b"").decode("latin-1").partition(";")
        return cls(bell.strip(), path.strip()) if path.strip().startswith("/") else None


def question(scope: Scope, target: str) -> Scope:
    """Ask for another address in the name of a request."""
    path, _, query = target.partition("?")
    # These speak of the body of the first request, and the question has none.
    headers = [pair for pair in scope["headers"] if not pair[0].startswith((b"content-", b"expect"))]
    return {
        **scope,
        "method": "HEAD" if scope["method"] == "HEAD" else "GET",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [*headers, (PENDING, b"asked again")],  # for the log, which tells each request once
    }


async def disconnected(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


class WsgiBridge:
    """Serve a WSGI application over ASGI.

    Paths under `/api/` run on a pool of their own, so that slow pages never queue before submits. It has
    one thread by default: one writer is quicker than several that fight for SQLite's lock. What is only read runs on
    another pool of that size, so that it never queues behind a write that waits for a lock. Of these, what `is_slow`
    tells by method, path and size of the body runs on a third pool. What `turn_of` gives a name runs in one thread with
    all of that name, one of each key at a time, and the smaller ones first. Of one key no more are handed to the API's
    pool than keep its threads at work: of a thousand that come at once the others wait outside, so that nobody else
    queues behind them. One that reads what is dear to write, such as megabytes of history, reads in one thread with all
    others that do; so does who reloads a page that is dear. One session has half of the pages'.
    Who sends a form over the limit reads `too_large_page`, which is given the limit in bytes, or else one bare line.
    """

    def __init__(
        self,
        wsgi_app: WSGIApplication,
        *,
        api_threads: int = 1,
        page_threads: int = 4,
        slow_threads: int = 1,
        outside_threads: int = 1,
        is_slow: Callable[[str, bytes, int], bool] = lambda *_: False,
        turn_of: Callable[[str, bytes, int], str] = lambda *_: "",
        too_large_page: Callable[[int], str] | None = None,
        max_body_bytes: int,
    ) -> None:
        self._app = wsgi_app
        self._api = ThreadPoolExecutor(api_threads, thread_name_prefix="api")
        # A write may wait for the database for long, and who only reads has nothing to wait for.
        self._reads = ThreadPoolExecutor(api_threads, thread_name_prefix="read")
        self._dear = DearReaders()
        self._of_key, self._of_session = 2 * api_threads, max(page_threads // 2, 1)
        self._gates = WeakValueDictionary[bytes, asyncio.Semaphore]()  # of keys and sessions that ask just now
        self._slow = ThreadPoolExecutor(slow_threads, thread_name_prefix="slow")
        self._is_slow = is_slow
        # Nothing there waits for anything but the interpreter, so that more threads would do no more, and take it
        # from all others in turn.
        self._turns = defaultdict[str, ThreadPoolExecutor](partial(ThreadPoolExecutor, 1, thread_name_prefix="turn"))
        self._lines = defaultdict[str, Line](Line)
        self._turn_of = turn_of
        self._pages = ThreadPoolExecutor(page_threads, thread_name_prefix="page")
        self._apart = {
            self._reads: ThreadPoolExecutor(1, thread_name_prefix="dear"),
            self._pages: ThreadPoolExecutor(1, thread_name_prefix="dear page"),
        }
        # A password is made to be dear to check: six who guess would hold every thread of the pages. One at a time
        # leaves the other processor to agents, and nobody who logs in feels it.
        self._logins = ThreadPoolExecutor(1, thread_name_prefix="login")
        self._outside = ThreadPoolExecutor(outside_threads, thread_name_prefix="outside")
        self._limit, self._too_large_page = max_body_bytes, too_large_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        if scope["type"] != "http":
            raise NotImplementedError(f"The bridge serves HTTP only, not {scope['type']!r}.")
        await self.serve(scope, receive, send, self.ask)

    async def serve(self, scope: Scope, receive: Receive, send: Send, answer: Answer) -> None:
        """Read the body, refuse it or have it answered, send the response; None sends nothing."""
        try:
            body = await self._read(scope, receive)
        except ClientLeftError:
            return
        except BodyTooLargeError as refusal:
            # What is left of the body is not read as the next request: the connection ends here.
            await _send(send, self._too_large(scope, refusal).plus(b"connection", b"close"), more=True)
            try:
                async with asyncio.timeout(LINGER_SECONDS):
                    while (left := await receive())["type"] != "http.disconnect" and left.get("more_body", False):
                        pass
            except TimeoutError:
                pass
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        response = await answer(scope, body)
        if response is not None:
            await _send(send, response)

    async def ask(self, scope: Scope, body: bytes) -> Response:
        """Run the application for one request and give its whole response; what it raises becomes a 500."""
        apart = self._outside if path_of(scope).startswith(OUTSIDE) else self._pages
        pool, turn = self._logins if _is_login(scope) else apart, ""
        if self.is_api(scope):
            request = scope["method"], path_of(scope), len(body)
            turn = self._turn_of(*request)
            quick = self._reads if scope["method"] in SAFE else self._api
            pool = self._turns[turn] if turn else self._slow if self._is_slow(*request) else quick
        loop = asyncio.get_running_loop()
        # A form may wait for the database, and nobody behind it.
        may_go_apart = pool is self._reads or (pool is self._pages and scope["method"] in SAFE)
        least, reader = DEAR_SECONDS, _key(scope)
        if pool is self._pages:
            least, reader = DEAR_PAGE_SECONDS, f"{_visitor(scope)} ".encode() + path_of(scope)
        async with self._gate(scope, pool, turn), self._lines[turn].turn(len(body)) if turn else nullcontext():
            # Not before its turn: what was read before it may have been dear.
            used = self._apart[pool] if may_go_apart and self._dear.has(reader) else pool
            response, seconds = await loop.run_in_executor(used, self._run, scope, body)
        if may_go_apart and seconds > least:
            self._dear.add(reader, seconds)
        return response

    def _gate(self, scope: Scope, pool: ThreadPoolExecutor, turn: str) -> AbstractAsyncContextManager[object]:
        if pool in (self._api, self._reads):
            use = b"read " if pool is self._reads else b"write "
            return self._gates.setdefault(use + _key(scope), asyncio.Semaphore(self._of_key))
        if turn:
            return self._gates.setdefault(f"{turn} ".encode() + _key(scope), asyncio.Semaphore(1))
        if pool is not self._pages:
            return nullcontext()
        return self._gates.setdefault(f"page of {_visitor(scope)}".encode(), asyncio.Semaphore(self._of_session))

    def is_api(self, scope: Scope) -> bool:
        """Tell whether the path, as the application will see it, is the API's."""
        return path_of(scope).startswith(b"/api/")

    def close(self) -> None:
        """Let the threads end; requests that have not begun are dropped, nobody waits for them any more."""
        pools = (self._api, self._reads, self._slow, self._pages, self._logins, self._outside)
        for pool in (*pools, *self._apart.values(), *self._turns.values()):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        limit = self._limit_of(scope)
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and int(declared[:18]) > limit:  # Python refuses to read endless numbers
            raise BodyTooLargeError(limit)
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientLeftError
            body += message.get("body", b"")
            if len(body) > limit:
                raise BodyTooLargeError(limit)
            more = message.get("more_body", False)
        return bytes(body)

    def _limit_of(self, scope: Scope) -> int:
        if _is_login(scope):
            return min(LOGIN_BYTES, self._limit)
        is_escaped = not self.is_api(scope) and _is_escaped(scope)
        return min(ESCAPED_BYTES, self._limit) if is_escaped else self._limit

    def _run(self, scope: Scope, body: bytes) -> tuple[Response, float]:
        """Give the response, and the processor time that it took."""
        begun = thread_time()
        try:
            response = call(self._app, environ_of(scope, body), head=scope["method"] == "HEAD")
        except Exception:
            logger.exception("The application raised on %s %r", scope["method"], path_of(scope))
            problem = {"title": "Internal error", "detail": "The server failed. Its log has the reason."}
            response = self._problem(scope, 500, "internal", problem)
        return response, thread_time() - begun

    def _too_large(self, scope: Scope, refusal: BodyTooLargeError) -> Response:
        if self._too_large_page and not self.is_api(scope):
            return _response(413, b"text/html; charset=utf-8", self._too_large_page(refusal.limit).encode())
        problem: Mapping[str, str | int] = {"title": "Too large", "detail": str(refusal), "limit": refusal.limit}
        return self._problem(scope, 413, "body-too-large", problem)

    def _problem(self, scope: Scope, status: int, code: str, problem: Mapping[str, str | int]) -> Response:
        if not self.is_api(scope):
            return _response(status, b"text/plain; charset=utf-8", f"{problem['detail']}\n".encode())
        document = {"type": f"urn:retrycontract:problem:{code}", "status": status, "code": code, **problem}
        return _response(status, b"application/problem+json", json.dumps(document).encode())


def _is_login(scope: Scope) -> bool:
    return scope["method"] == "POST" and path_of(scope).endswith(b"/login/")


def _is_escaped(scope: Scope) -> bool:
    """Tell whether Django may read the body as a form in percent escapes; of several types it reads them joined."""
    return any(name == b"content-type" and b"urlencoded" in value.lower() for name, value in scope["headers"])


def _key(scope: Scope) -> bytes:
    """Give the key of a request as the application will read it, or nothing; blanks before it make no other one."""
    presented = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    return "".join(presented.decode("latin-1").split()[-1:]).encode("latin-1")


def _visitor(scope: Scope) -> str:
    """Give the session of a page, or the address of who has none."""
    return _session(scope) or str((scope.get("client") or ("",))[0])


def _session(scope: Scope) -> str:
    """Give the session of a request's cookies as Django will read it, or nothing; one has one spelling only."""
    cookies = b";".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
    pairs = (pair.partition("=") for pair in cookies.split(";"))
    sessions = [value.strip() for name, _, value in pairs if name.strip() == "sessionid"]
    # In quotes it might be written in many ways, each of which would have threads of its own.
    return sessions[-1] if sessions and sessions[-1].isalnum() else ""


def _response(status: int, content_type: bytes, body: bytes) -> Response:
    headers = (
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"x-content-type-options", b"nosniff"),
    )
    return Response(status, headers, body)


async def _send(send: Send, response: Response, *, more: bool = False) -> None:
    await send({"type": "http.response.start", "status": response.status, "headers": list(response.headers)})
    await send({"type": "http.response.body", "body": response.body, "more_body": more})
