"""Serve MCP, hooks and gateways' checks beside an application that speaks our API; each is imported when asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

# Address -> the module and class that answer there.
DOORS = {
    "/mcp": ("retrycontract.mcp.server", "ServerVisit"),
    "/hooks": ("retrycontract.mcp.hooks", "HookVisit"),
    "/guardrails/beta/litellm_basic_guardrail_api": ("retrycontract.mcp.guardrails", "LiteLLMVisit"),
}
CHECKS = frozenset({"hooks", "guardrails"})  # below them no page is an answer to a machine
# Envoy puts the path that it was asked for behind it.
AUTHORIZATION = "/guardrails/authz"


class Mount:
    """Hand requests for a door to whoever answers there, everything else to the application.

    `is_closing` tells whether the process is about to end: then nobody is kept waiting.
    """

    def __init__(self, app: Any, *, is_closing: Callable[[], bool], max_body_bytes: int) -> None:
        self._app, self._is_closing, self._max_body_bytes = app, is_closing, max_body_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan."""
        door = None
        if scope["type"] == "http":
            path: str = scope["path"]
            door = DOORS.get(path.rstrip("/"))  # as many clients write it
            if path == AUTHORIZATION or path.startswith(f"{AUTHORIZATION}/"):
                door = "retrycontract.mcp.guardrails", "AuthorizationVisit"
            elif door is None and any(part in CHECKS for part in path.split("/")[1:2]):
                door = "retrycontract.mcp.guardrails", "NoVisit"
        if door is None:
            await self._app(scope, receive, send)
            return
        module, visitor = door
        # In a thread: it takes most of a second, which every other request would wait.
        found = getattr(await asyncio.to_thread(import_module, module), visitor)
        visit = found(self._app, scope, is_closing=self._is_closing)
        await visit.serve(receive, send, max_body_bytes=self._max_body_bytes)
