"""What stands around a gateway: the connection with a server, and the HTTP request that brings a message."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Final, Protocol

from anyio.abc import TaskGroup

Headers = list[tuple[bytes, bytes]]

ENDED: Final = "The MCP server behind the gateway has ended. Whether this call was executed is not known."
NEVER_SENT: Final = "The MCP server behind the gateway has ended. Nothing was executed."


class Receiver(Protocol):
    """What a connection hands messages to: the gateway, or one of several servers behind it."""

    async def from_upstream(self, line: str) -> None:
        """Take a message of the server's."""

    def awaits(self, key: str) -> bool:
        """Tell whether a request still waits for its answer."""

    async def give_up(self, key: str, text: str) -> None:
        """Answer a request that the server will not answer."""

    def forget(self, key: str) -> None:
        """Expect no answer: whoever asked has got one in another way."""

    async def upstream_ended(self) -> None:
        """Answer whoever waits for the server."""

    async def greet_again(self) -> None:
        """Tell a server that has begun anew what the client told it first."""


class ServerConnection(Protocol):
    """One client's connection with one server."""

    def bind(self, receiver: Receiver, tasks: TaskGroup) -> None:
        """Say who gets the messages, and where what takes time may run."""

    async def send(self, text: str) -> bool:
        """Send a message, or a batch; False when the server does not listen any more."""

    async def run(self) -> int:
        """Hand on what the server says until it has ended; gives its exit status."""

    async def listen(self) -> None:
        """Hand on, too, what a server says only to who asks for it; started once, when the client wants to hear it."""

    async def close(self) -> None:
        """Take leave of the server, and end what was started."""


class Visit(Protocol):
    """An HTTP request of a client's, whose messages are under way."""

    headers: Headers

    def refuse(self, keys: Sequence[str], status: int, headers: Headers, body: bytes) -> bool:
        """Answer with what the server answered to these requests; False when something else was said or asked."""


# Set while a client's request is handled: tasks inherit it, so that whatever becomes of a message can be told where it
# came from, through the gateway, which knows messages only. None for a client that speaks over pipes.
VISIT: ContextVar[Visit | None] = ContextVar("VISIT", default=None)
