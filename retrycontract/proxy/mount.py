"""Serve `/proxy/NAME/…` beside the service: upstreams come from the settings, and whoever asks has a key of ours."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
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


@dataclass(slots=True)
class AdmittedProxy:
    """Hold the proxy of one key, and when that was last found to be right."""

    proxy: Proxy
    client: AsyncClient
    checked_at: float


class ProxyMount:
    """Hand what is below `/proxy/` to a proxy, everything else to the application, which is also the desk's API."""

    def __init__(self, app: Any, upstreams: Mapping[str, str], settings: ProxySettings) -> None:
        self._app, self._upstreams, self._settings = app, upstreams, settings
        self._admitted: OrderedDict[bytes, AdmittedProxy] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._app(scope, receive, send)
            return
        name = scope["path"].removeprefix(PATH).partition("/")[0]
        visit = ClientVisit(scope, receive, send)
        if name not in self._upstreams:
            await visit.answer(404, openai_error(404, NO_UPSTREAM))
            return
        admitted = await self._admit(name, visit.header(KEY), scope)
        if admitted is None:
            await visit.answer(401, openai_error(401, NO_KEY))
            return
        below = len(PATH) + len(name)  # names are plain ASCII, so that path and raw path begin alike
        raw = scope.get("raw_path") or scope["path"].encode()
        await admitted.proxy({**scope, "path": scope["path"][below:], "raw_path": raw[below:]}, receive, send)

    async def _admit(self, name: str, key: str, scope: Any) -> AdmittedProxy | None:
        if not key.isascii() or not key.isprintable() or not key or " " in key:
            return None
        now, place = asyncio.get_running_loop().time(), hashlib.sha256(f"{name} {key}".encode()).digest()
        admitted = self._admitted.get(place)
        if admitted is not None and now - admitted.checked_at < CHECKED_SECONDS:
            return admitted
        transport = httpx2.ASGITransport(app=self._api(scope))
        async with httpx2.AsyncClient(transport=transport) as http:
            answer = await http.get(f"{HERE}/api/v1/calls?limit=1", headers={"Authorization": f"Bearer {key}"})
        if answer.status_code not in (200, 403):  # a key that may not read may submit all the same
            self._admitted.pop(place, None)
            return None
        if admitted is None:
            client = AsyncClient(HERE, key, transport=transport, patience=PATIENCE)
            admitted = AdmittedProxy(Proxy(self._upstreams[name], self._settings, client), client, now)
            self._admitted[place] = admitted
            if len(self._admitted) > MAX_PROXIES:
                self._admitted.popitem(last=False)  # requests under way keep it until they end
        admitted.checked_at = now
        return admitted

    def _api(self, scope: Any) -> Any:
        """Give the application as whoever asks reaches it: by the same host, and through the same proxies."""
        # Without the names of request and trace: the client made here outlives this request.
        theirs = [pair for pair in scope["headers"] if pair[0].startswith(HANDED_ON[:3])]
        outer = {name: scope[name] for name in ("scheme", "client", "server") if name in scope}

        async def ask(inner: Any, receive: Any, send: Any) -> None:
            mine = [pair for pair in inner["headers"] if not pair[0].startswith(HANDED_ON[:3])]
            await self._app({**inner, **outer, "headers": mine + theirs}, receive, send)

        return ask
