"""Answer `/livez` and `/readyz` before anything else: without login, host check or a thread of the pages."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from retrycontract.front.bridge import Header, Receive, Scope, Send

# Whoever probes has given up by then, and a database that takes this long is not ready.
LONGEST_SECONDS: Final = 5.0
UNAVAILABLE: Final = {"status": "unavailable", "database": "no answer"}
NOT_SERVING: Final = ("unavailable", "not-ready")
Seen = TypeVar("Seen")


class Looking(Generic[Seen]):
    """Look in a thread of its own, once at a time however many ask."""

    def __init__(self, look: Callable[[], Seen], *, timeout: float) -> None:
        self._look = look
        self._timeout = timeout
        self._task: asyncio.Task[Seen] | None = None

    async def result(self) -> Seen | None:
        """Give what is seen, or None when it takes too long."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(asyncio.to_thread(self._look))
        # Not `wait_for`, which would cancel the look: whoever asks next joins it, and a database that hangs keeps one
        # thread only.
        await asyncio.wait((self._task,), timeout=self._timeout)
        return self._task.result() if self._task.done() else None


class Health:
    """Serve an application, and tell how it is; `status` of what `look` gives decides."""

    def __init__(self, app: Any, look: Callable[[], Mapping[str, Any]], *, timeout: float = LONGEST_SECONDS) -> None:
        self._app = app
        self._looking = Looking(look, timeout=timeout)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe, or hand the request on."""
        path = scope["path"] if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if path == "/livez":
            await _tell(scope, send, {"status": "alive"})
        elif path == "/readyz":
            await _tell(scope, send, await self._looking.result() or UNAVAILABLE)
        else:
            await self._app(scope, receive, send)


async def answer(scope: Scope, send: Send, status: int, content_type: str, text: str, *headers: Header) -> None:
    """Send a short text that nobody may keep."""
    body = text.encode()
    basic = [
        (b"content-type", content_type.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*basic, *headers]})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _tell(scope: Scope, send: Send, state: Mapping[str, Any]) -> None:
    status = 503 if state["status"] in NOT_SERVING else 200
    await answer(scope, send, status, "application/json", json.dumps(state) + "\n")
