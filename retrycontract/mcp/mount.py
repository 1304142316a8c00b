"""Serve `/mcp` beside an application that speaks our API; the SDK is imported when somebody comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

PATH = "/mcp"


class Mount:
    """Hand requests for `/mcp` to the MCP server, everything else to the application.

    `is_closing` tells whether the process is about to end: then nobody is kept waiting.
    """

    def __init__(self, app: Any, *, is_closing: Callable[[], bool], max_body_bytes: int) -> None:
        self._app, self._is_closing, self._max_body_bytes = app, is_closing, max_body_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        # In a thread: it takes most of a second, which every other request would wait.
        module = await asyncio.to_thread(import_module, "retrycontract.mcp.over_http")
        visit = module.Visit(self._app, scope, is_closing=self._is_closing)
        await visit.serve(receive, send, max_body_bytes=self._max_body_bytes)
