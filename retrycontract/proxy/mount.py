"""Serve `/proxy/NAME/…` beside the service: upstreams come from the settings, and whoever asks has a key of ours."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from retrycontract.client import AsyncClient
from retrycontract.judging.asking import PATIENCE
from retrycontract.mcp.visiting import HANDED_ON, HERE
from retrycontract.proxy.app import Proxy
from retrycontract.proxy.contracts import JudgingSettings
from retrycontract.proxy.judged import ProxySettings
from retrycontract.proxy.visit import ClientVisit
from retrycontract.proxy.wire import openai_error

__all__ = ["JudgingSettings", "ProxyMount", "ProxySettings"]

PATH: Final = "/proxy/"
KEY: Final = b"x-retrycontract-key"
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


class ProxyMount:
    """Hand what is below `/proxy/` to a proxy, everything else to the application, which is also the desk's API."""

    def __init__(self, app: Any, upstreams: Mapping[str, str], settings: ProxySettings) -> None:
        self._app, self._upstreams, self._settings = app, upstreams, settings
        self._admitted: OrderedDict[bytes, AdmittedProxy] = OrderedDict()
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
        admitted = await self._admit(name, visit.header(KEY))
        if admitted is None:
            await visit.answer(401, openai_error(401, NO_KEY))
            return
        below = len(PATH) + len(name)  # names are plain ASCII, so that path and raw path begin alike
        raw = scope.get("raw_path") or scope["path"].encode()
        admitted.users += 1
        try:
            at = {"path": scope["path"][below:], "raw_path": raw[below:], "root_path": scope["path"][:below]}
            await admitted.proxy({**scope, **at}, receive, send)
        finally:
            admitted.users -= 1
            await admitted.close_behind_the_last()

    async def _admit(self, name: str, key: str) -> AdmittedProxy | None:
        if not key.isascii() or not key.isprintable() or not key or " " in key:
            return None
        now, place = asyncio.get_running_loop().time(), hashlib.sha256(f"{name} {key}".encode()).digest()
        admitted = self._admitted.get(place)
        if admitted is not None and now - admitted.checked_at < CHECKED_SECONDS:
            return admitted
        async with httpx2.AsyncClient(transport=self._transport) as http:
            answer = await http.get(f"{HERE}/api/v1/calls?limit=1", headers={"Authorization": f"Bearer {key}"})
        if answer.status_code not in (200, 403):  # a key that may not read may submit all the same
            await self._dismiss(place)
            return None
        while place not in self._admitted and len(self._admitted) >= MAX_PROXIES:
            await self._dismiss(next(iter(self._admitted)))
        admitted = self._admitted.get(place)  # another request may have made, or dismissed, it meanwhile
        if admitted is None:
            client = AsyncClient(HERE, key, transport=self._transport, patience=PATIENCE)
            admitted = AdmittedProxy(Proxy(self._upstreams[name], self._settings, client), client, now)
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
