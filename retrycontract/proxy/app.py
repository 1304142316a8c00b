"""The proxy as an ASGI application: judged paths, and everything else passed through as it came."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from typing import Any, Final

from retrycontract.client import AsyncClient
from retrycontract.judging.asking import tell_of_refused_key
from retrycontract.proxy.anthropic_messages import AnthropicMessages
from retrycontract.proxy.contracts import Contracts
from retrycontract.proxy.exchange import ExchangeReport
from retrycontract.proxy.judged import Doorway, JudgedRequest, ProxySettings, relay
from retrycontract.proxy.openai_chat import OpenAIChat
from retrycontract.proxy.openai_responses import OpenAIResponses
from retrycontract.proxy.upstream import Upstream, UpstreamError
from retrycontract.proxy.visit import ClientVisit, RequestTooLargeError
from retrycontract.proxy.wire import Wire

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
    """Serve one upstream; `service` is the client of a desk, and closed by whoever made it."""

    def __init__(self, upstream: str, settings: ProxySettings, service: AsyncClient | None = None) -> None:
        self._upstream = Upstream(upstream, stall=settings.stall, max_answer=settings.max_answer)
        contracts = Contracts(settings.judging, service)
        self._service = service
        self._doorway = Doorway(settings, self._upstream, contracts, self._count)
        self._models: set[str] = set()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.rescued: Counter[tuple[str, str]] = Counter()

    async def close(self) -> None:
        """Close the connections to the upstream."""
        await self._upstream.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, until the client leaves."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        visit = ClientVisit(scope, receive, send)
        work, gone = asyncio.create_task(self._serve(visit)), asyncio.create_task(visit.gone())
        try:
            await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
            if visit.has_ended:  # it has its answer; what is left is to look at that
                await asyncio.wait([work])
        finally:
            # Whoever is left is not needed: a client that has gone cancels what the upstream still writes.
            left = [task for task in (work, gone) if not task.done()]
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)
        # A task keeps its exception to itself: the server, which logs it and closes the connection, has to see it.
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error

    async def _live(self, receive: Any, send: Any) -> None:
        telling = asyncio.create_task(tell_of_refused_key(self._service, API_KEY))
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                telling.cancel()
                await self.close()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _serve(self, visit: ClientVisit) -> None:
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
            words = f"the proxy speaks HTTP/1.1 alone: ask again without 'Upgrade: {asked_for[:50]}'"
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
