"""The proxy as an ASGI application: judged paths, and everything else passed through as it came.

By itself it serves one upstream; `/proxy/NAME/…` beside the service has upstreams from the settings, and whoever asks
has a key of ours.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from retrycontract.client import AsyncClient
from retrycontract.contract.schemas.document import excerpt
from retrycontract.judging.asking import PATIENCE, tell_of_refused_key
from retrycontract.mcp.visiting import HANDED_ON, HERE, asker
from retrycontract.proxy.anthropic_messages import AnthropicMessages
from retrycontract.proxy.contracts import Contracts
from retrycontract.proxy.exchange import ExchangeReport
from retrycontract.proxy.judged import Doorway, JudgedRequest, ProxySettings, relay
from retrycontract.proxy.openai_chat import OpenAIChat
from retrycontract.proxy.openai_responses import OpenAIResponses
from retrycontract.proxy.upstream import Headers, Upstream, UpstreamError
from retrycontract.proxy.visit import BusyError, ClientVisit, RequestTooLargeError, Room
from retrycontract.proxy.wire import Wire, openai_error

# A path's end says which API is spoken, whatever stands before: Azure's deployments, a router's prefix. Servers read
# capitals, and slashes at the end, as they like.
WIRES: Final[tuple[tuple[re.Pattern[str], Wire], ...]] = (
    (re.compile(r"/chat/+completions/*$", re.IGNORECASE), OpenAIChat()),
    (re.compile(r"/responses/*$", re.IGNORECASE), OpenAIResponses()),
    # Threads have messages as well.
    (re.compile(r"/v\d+/+messages/*$|^/*messages/*$", re.IGNORECASE), AnthropicMessages()),
)
STATUS_PATH: Final = "/retrycontract"
API_KEY: Final = "RETRYCONTRACT_API_KEY"
MAX_MODELS: Final = 1_000  # that are counted apart: their names are the clients' to choose


logger = logging.getLogger("retrycontract.proxy")


class Proxy:
    """Serve one upstream; `service` is the client of a desk, and closed by whoever made it.

    Within that service others are served as well: work is done in the `turn` of a key, and bodies share `room`.
    """

    def __init__(
        self,
        upstream: str,
        settings: ProxySettings,
        service: AsyncClient | None,
        *,
        turn: bytes | None = None,
        room: Room | None = None,
    ) -> None:
        self._upstream = Upstream(upstream, stall=settings.stall, max_answer=settings.max_answer)
        contracts = Contracts(settings.judging, service, turn)
        self._service, self._room = service, room
        self._doorway = Doorway(settings, self._upstream, contracts, self._count)
        self._models: set[str] = set()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.rescued: Counter[tuple[str, str]] = Counter()

    async def close(self) -> None:
        await self._upstream.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, until the client leaves."""
        if scope["type"] == "lifespan":
            telling = asyncio.create_task(tell_of_refused_key(self._service, API_KEY))
            while True:
                message = await receive()
                if message["type"] == "lifespan.shutdown":
                    telling.cancel()
                    await self.close()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        if scope["type"] != "http":
            return
        visit = ClientVisit(scope, receive, send, self._room)
        work, gone = asyncio.create_task(self._serve(visit)), asyncio.create_task(visit.gone())
        try:
            await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
            if visit.has_ended:  # it has its answer; what is left is to look at that
                await asyncio.wait([work])
        finally:
            visit.leave()
            # Whoever is left is not needed: a client that has gone cancels what the upstream still writes.
            left = [task for task in (work, gone) if not task.done()]
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)
        # A task keeps its exception to itself: the server, which logs it and closes the connection, has to see it.
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error

    async def _serve(self, visit: ClientVisit) -> None:
        if visit.is_astray:
            await visit.answer(400, openai_error(400, "the path leads above its beginning, or can be read in two ways"))
            return
        if visit.path == STATUS_PATH:
            outcomes = [{"model": model, "outcome": outcome, "count": count}
                        for (model, outcome), count in sorted(self.counts.items())]  # fmt: skip
            rescued = [{"model": model, "dialect": dialect, "count": count}
                       for (model, dialect), count in sorted(self.rescued.items())]  # fmt: skip
            mode = self._doorway.settings.judging.mode
            await visit.answer(200, {"mode": mode, "outcomes": outcomes, "rescued": rescued})
            return
        wire = next((wire for pattern, wire in WIRES if pattern.search(visit.path)), None)
        asked_for = visit.header(b"upgrade")
        has_body = visit.header(b"content-length") or visit.header(b"transfer-encoding")
        if asked_for and (has_body or asked_for.lower() == "websocket"):
            # A body behind an upgrade never arrives here. This status sends clients back to plain HTTP.
            words = f"the proxy speaks HTTP/1.1 alone: ask again without 'Upgrade: {excerpt(asked_for)}'"
            headers = [(b"upgrade", b"HTTP/1.1"), (b"connection", b"close, upgrade")]
            await visit.answer(426, (wire or WIRES[0][1]).error(426, words), headers=headers)
            return
        try:
            if wire is None or visit.request.method != "POST":
                is_told = visit.request.method not in ("GET", "HEAD", "OPTIONS", "DELETE")
                if is_told:
                    logger.info("%r is passed on unjudged: no path of an API that the proxy speaks", visit.path)
                async with self._upstream.answered(visit.request, visit.chunks()) as response:
                    await relay(visit, response, [("warning", "this path is not judged")] if is_told else [])
            else:
                await JudgedRequest(self._doorway, visit, wire).serve()
        except RequestTooLargeError:
            await visit.answer(413, (wire or WIRES[0][1]).error(413, "the request is too large"))
        except BusyError as busy:
            after = [(b"retry-after", b"%d" % busy.wait)]
            await visit.answer(429, (wire or WIRES[0][1]).error(429, f"{busy}."), headers=after)
        except UpstreamError as error:
            if not visit.has_begun:  # else the connection breaks off, as the upstream's has
                await visit.answer(error.status, (wire or WIRES[0][1]).error(error.status, f"{error}."))

    def _count(self, report: ExchangeReport) -> None:
        if len(self._models) < MAX_MODELS:
            self._models.add(report.model)
        model = report.model if report.model in self._models else ""
        self.counts[model, report.outcome] += 1
        for _ in report.repeated:
            self.counts[model, "repeated"] += 1
        if report.dialect:
            self.rescued[model, report.dialect] += 1


PATH: Final = "/proxy/"
KEY: Final = b"x-retrycontract-key"
MAX_HELD: Final = 384 * 1024 * 1024  # bytes of bodies that are held at once, of all keys
MAX_HELD_OF_KEY: Final = 128 * 1024 * 1024  # at one upstream
MAX_PROXIES: Final = 500  # one for each agent's key and upstream; whose turn is over begins anew
NO_UPSTREAM: Final = "this service has no such upstream: its settings name those that it has"
NO_KEY: Final = "send the key of an agent of this service as x-retrycontract-key"
CHECKED_SECONDS: Final = 10.0  # a key that was revoked is refused after so many
# The scope of the request under way: clients and their connections outlive it, and serve others with the same key.
ASKING: Final[ContextVar[Any]] = ContextVar("asking")


@dataclass(slots=True)
class AdmittedProxy:
    """Hold the proxy of one key, and when that was last found to be right."""

    proxy: Proxy
    client: AsyncClient
    checked_at: float
    users: int = 0  # requests under way, which keep it until they end
    is_dismissed: bool = False

    async def close_behind_the_last(self) -> None:
        """Close the connections of a proxy that takes no more requests, once none is under way."""
        if self.is_dismissed and not self.users:
            await self.proxy.close()
            await self.client.close()


class KeyRefusedError(Exception):
    """Raised for a key that may not ask, or not for now: `status` and `headers` say which."""

    def __init__(self, status: int = 401, reason: str = NO_KEY, headers: Headers = ()) -> None:
        self.status, self.headers = status, headers
        super().__init__(reason)


class ProxyMount:
    """Hand what is below `/proxy/` to a proxy, everything else to the application, which is also the desk's API."""

    def __init__(self, app: Any, upstreams: Mapping[str, str], settings: ProxySettings) -> None:
        self._app, self._upstreams, self._settings = app, upstreams, settings
        self._admitted: OrderedDict[bytes, AdmittedProxy] = OrderedDict()
        self._room = Room(MAX_HELD)
        self._transport = httpx2.ASGITransport(app=self._ask)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._app(scope, receive, send)
            if scope["type"] == "lifespan":
                while self._admitted:
                    await self._dismiss(next(iter(self._admitted)))
            return
        name = scope["path"].removeprefix(PATH).partition("/")[0]
        visit = ClientVisit(scope, receive, send)
        if name not in self._upstreams:
            await visit.answer(404, openai_error(404, NO_UPSTREAM))
            return
        ASKING.set(scope)
        asker.set(visit.header(KEY).encode())
        try:
            admitted = await self._admit(name, visit.header(KEY))
        except KeyRefusedError as refused:
            await visit.answer(refused.status, openai_error(refused.status, str(refused)), headers=refused.headers)
            return
        below, raw = len(PATH) + len(name), scope.get("raw_path") or scope["path"].encode()
        if not raw.startswith(
            scope["path"][:below].encode()
        ):  # written with % signs, it would be cut in the wrong place
            await visit.answer(404, openai_error(404, NO_UPSTREAM))
            return
        admitted.users += 1
        try:
            at = {"path": scope["path"][below:], "raw_path": raw[below:], "root_path": scope["path"][:below]}
            await admitted.proxy({**scope, **at}, receive, send)
        finally:
            admitted.users -= 1
            await admitted.close_behind_the_last()

    async def _admit(self, name: str, key: str) -> AdmittedProxy:
        if not key.isascii() or not key.isprintable() or not key or " " in key:
            raise KeyRefusedError
        now, place = asyncio.get_running_loop().time(), hashlib.sha256(f"{name} {key}".encode()).digest()
        admitted = self._admitted.get(place)
        if admitted is not None and now - admitted.checked_at < CHECKED_SECONDS:
            return admitted
        async with httpx2.AsyncClient(transport=self._transport) as http:
            answer = await http.get(f"{HERE}/api/v1/calls?limit=1", headers={"Authorization": f"Bearer {key}"})
        if answer.status_code == 401:
            await self._dismiss(place)
            raise KeyRefusedError
        if answer.status_code not in (200, 403):  # a key that may not read may submit all the same
            # Clients ask again after most of these, and not after a 401.
            after = answer.headers.get("retry-after", "").encode()
            headers = [(b"retry-after", after)] if after else []
            raise KeyRefusedError(max(400, answer.status_code), _detail_of(answer), headers)
        while place not in self._admitted and len(self._admitted) >= MAX_PROXIES:
            await self._dismiss(next(iter(self._admitted)))
        admitted = self._admitted.get(place)  # another request may have made, or dismissed, it meanwhile
        if admitted is None:
            client = AsyncClient(HERE, key, transport=self._transport, patience=PATIENCE)
            room = Room(MAX_HELD_OF_KEY, self._room)
            proxy = Proxy(self._upstreams[name], self._settings, client, turn=place, room=room)
            admitted = AdmittedProxy(proxy, client, now)
            self._admitted[place] = admitted
        admitted.checked_at = now
        return admitted

    async def _dismiss(self, place: bytes) -> None:
        if (admitted := self._admitted.pop(place, None)) is not None:
            admitted.is_dismissed = True
            await admitted.close_behind_the_last()

    async def _ask(self, inner: Any, receive: Any, send: Any) -> None:
        """Call the application as whoever asks reaches it: by the same host, and through the same proxies."""
        # Without the names of request and trace: one request of a client's makes many here.
        scope = ASKING.get()
        theirs = [pair for pair in scope["headers"] if pair[0].startswith(HANDED_ON[:3])]
        outer = {name: scope[name] for name in ("scheme", "client", "server") if name in scope}
        mine = [pair for pair in inner["headers"] if not pair[0].startswith(HANDED_ON[:3])]
        await self._app({**inner, **outer, "headers": mine + theirs}, receive, send)


def _detail_of(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, TypeError, KeyError):
        return f"the service refuses keys for now (HTTP {answer.status_code}): ask it as its address says"
