"""Answer `/livez` and `/readyz` before anything else: without login, host check or a thread of the pages."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from retrycontract.bridge import Receive, Scope, Send

# Whoever probes has given up by then, and a database that takes this long is not ready.
LONGEST_SECONDS: Final = 5.0
UNAVAILABLE: Final = {"status": "unavailable", "database": "no answer"}


class Health:
    """Serve an application, and tell how it is.

    `look` runs in a thread of its own, once at a time however many ask; `status` of what it gives decides.
    """

    def __init__(self, app: Any, look: Callable[[], Mapping[str, Any]], *, timeout: float = LONGEST_SECONDS) -> None:
        self._app = app
        self._look = look
        self._timeout = timeout
        self._looking: asyncio.Task[Mapping[str, Any]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe, or hand the request on."""
        path = scope["path"] if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if path == "/livez":
            await _answer(scope, send, {"status": "alive"})
        elif path == "/readyz":
            await _answer(scope, send, await self._readiness())
        else:
            await self._app(scope, receive, send)

    async def _readiness(self) -> Mapping[str, Any]:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._look))
        await asyncio.wait((self._looking,), timeout=self._timeout)
        return self._looking.result() if self._looking.done() else UNAVAILABLE


async def _answer(scope: Scope, send: Send, state: Mapping[str, Any]) -> None:
    body = json.dumps(state).encode() + b"\n"
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    status = 503 if state["status"] == "unavailable" else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
