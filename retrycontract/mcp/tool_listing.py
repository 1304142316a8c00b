"""Ask the upstream for its tools, beside what the client asks it."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse, RequestId

from retrycontract.mcp import messages

PAGE_SECONDS = 30.0  # for one page of the upstream's tools
MAX_PAGES = 100

Send = Callable[[JSONRPCMessage], Awaitable[bool]]


class NoToolListError(Exception):
    """Raised when the upstream does not list its tools."""


class ToolListing:
    """Put requests of our own to the upstream, and pick their answers out of what it sends.

    `send` says whether a message could be sent.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._questions: dict[RequestId, _Question] = {}

    async def tools(self, meta: Mapping[str, Any]) -> list[Any]:
        """Give every page of the list; `meta` is that of the client's request. Raises NoToolListError."""
        tools: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._page(meta, cursor)
            tools += page.get("tools") or []
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                return tools
        raise NoToolListError(f"its list has more than {MAX_PAGES} pages")

    def takes(self, message: JSONRPCMessage) -> bool:
        """Take a message if it answers us; nobody else has asked for it then."""
        match message:
            case JSONRPCResponse() | JSONRPCError() if message.id in self._questions:
                self._questions[message.id].take(message)
                return True
            case _:
                return False

    def give_up(self) -> None:
        """Wait no longer: the upstream has ended."""
        for question in self._questions.values():
            question.answered.set()

    async def _page(self, meta: Mapping[str, Any], cursor: str | None) -> dict[str, Any]:
        request = messages.list_request(f"retrycontract-{uuid.uuid4().hex}", meta, cursor)
        question = self._questions[request.id] = _Question()
        try:
            with anyio.move_on_after(PAGE_SECONDS):
                if await self._send(request):
                    await question.answered.wait()
        finally:
            del self._questions[request.id]
        if question.result is None:
            raise NoToolListError("the server does not list its tools")
        return question.result


class _Question:
    """Hold a request of ours until the upstream has answered it; no result when it did not."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.result: dict[str, Any] | None = None

    def take(self, message: JSONRPCResponse | JSONRPCError) -> None:
        """Take the upstream's answer; an error is none."""
        self.result = message.result if isinstance(message, JSONRPCResponse) else None
        self.answered.set()
