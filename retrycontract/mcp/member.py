"""Hold one of several MCP servers: its connection, what the client has asked it, and what it listed last."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from anyio.abc import TaskGroup

from retrycontract.mcp import messages
from retrycontract.mcp.connection import ENDED, ServerConnection
from retrycontract.mcp.messages import Message, UnreadableMessageError
from retrycontract.mcp.toolbox import ToolListing, own_id

if TYPE_CHECKING:
    from retrycontract.mcp.group import ServerGroup

INITIALIZED: Final = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
CHANGED: Final = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'

logger = logging.getLogger("retrycontract.mcp")


class ServerMember:
    """Hold one server of the group: its connection, and the client's requests that it has to answer."""

    def __init__(self, name: str, group: ServerGroup) -> None:
        self.name, self._group = name, group
        self.connection: ServerConnection | None = None
        self.fault: str | None = None
        self.greeted: Mapping[str, Any] | None = None
        self._greeting: Message | None = None
        self._asked: set[str] = set()
        self._reason: str | None = None
        self.listed: dict[str, list[str]] = {}  # what it listed last, by the method of the request
        self.asked_for = Counter[str]()  # lists, until they have come
        self.silent = set[str]()  # lists that it was late with: they are asked for and not waited for
        self.questions = ToolListing(self._send)

    def connect(self, connect: Callable[[], ServerConnection], tasks: TaskGroup) -> None:
        """Connect, and begin to hand on what the server says."""

        async def run(connection: ServerConnection) -> None:
            status = await connection.run()
            if self._group.is_closed:
                return
            was_there = self.greeted is not None
            self._leave_out(f"it has ended with status {status}")
            self.questions.give_up()
            if was_there:
                await self._group.receiver.from_upstream(CHANGED)

        try:
            self.connection = connect()
        except OSError as error:
            self._leave_out(f"it cannot be started: {error.strerror or error}")
            return
        self.connection.bind(self, tasks)
        tasks.start_soon(run, self.connection)

    async def greet(self, greeting: Message) -> None:
        """Introduce the client, in its own words."""
        self._greeting = greeting
        asked = await self.ask(greeting)
        if asked is not None and isinstance(result := asked.value.get("result"), dict):
            self.greeted, self.fault = result, None
            if self._group.is_initialized:
                await self.tell(INITIALIZED)
        elif self.fault is None:
            error = None if asked is None else asked.value.get("error")
            reason = error.get("message") if isinstance(error, dict) else self._reason
            self._leave_out(reason or "it gave no answer")

    def offers(self, capability: str) -> bool:
        """Tell whether it is there and has something of a sort."""
        capabilities = (self.greeted or {}).get("capabilities")
        return self.fault is None and isinstance(capabilities, dict) and capability in capabilities

    async def ask(self, request: Message) -> Message | None:
        """Put a question of our own, in the words of the client's request; None where no answer came."""
        return (await self.questions.put(request.with_id(own_id()), self._send)).answer

    async def forward(self, request: Message) -> None:
        """Let the server answer the client itself."""
        self._asked.add(request.key)
        if not await self._send(request):
            await self.give_up(request.key, f"The MCP server {self.name!r} has ended. Nothing was executed.")

    async def tell(self, text: str) -> bool:
        """Send something that is owed no answer; False when nobody listens."""
        return self.connection is not None and await self.connection.send(text)

    async def _send(self, message: Message) -> bool:
        return await self.tell(message.text)

    async def from_upstream(self, line: str) -> None:
        try:
            read = messages.read_line(line)
        except UnreadableMessageError as error:
            if not self.questions.cannot_read(messages.key_of(error.request_id)):
                await self._group.receiver.from_upstream(line)
            return
        for message in [read] if isinstance(read, Message) else read or []:
            if not self.questions.takes(message):
                self._asked.discard(message.key if message.is_answer else "")
                await self._group.receiver.from_upstream(self._group.named(message, self).text)

    def awaits(self, key: str) -> bool:
        return key in self._asked or self.questions.awaits(key)

    def forget(self, key: str) -> None:
        self._asked.discard(key)
        self.questions.lose(key)

    async def give_up(self, key: str, text: str) -> None:
        self._reason = text
        self.questions.lose(key)
        if key in self._asked:
            self._asked.discard(key)
            await self._group.receiver.give_up(key, text)

    async def upstream_ended(self) -> None:
        logger.error("The MCP server %r has ended", self.name)
        self.questions.give_up()
        for key in list(self._asked):
            await self.give_up(key, ENDED)

    async def greet_again(self) -> None:
        """Introduce the client to a server that has begun anew."""
        if self._greeting is not None:
            await self.greet(self._greeting)
            await self._group.receiver.from_upstream(CHANGED)

    def _leave_out(self, fault: str) -> None:
        self.fault = fault
        logger.error("The MCP server %r is left out: %s", self.name, fault)
