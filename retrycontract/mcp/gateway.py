"""Stand between an MCP client and an MCP server: pass every message on, and look at tool calls.

It passes messages, not features: resources, prompts, sampling, elicitation, tasks and whatever the protocol will bring
arrive as they were sent, in both directions and in every version of the protocol.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.judging import Judge
from retrycontract.judging.asking import NoVerdictError, Tick
from retrycontract.mcp import messages
from retrycontract.mcp.checkpoint import Checkpoint, Forward
from retrycontract.mcp.toolbox import NoToolListError, Toolbox, ToolListing

WAITING = "The call is Blocked; a person has been asked and is waited for."
ENDED = "The MCP server behind the gateway has ended: start it again. Whether this call was executed is not known."
NEVER_SENT = "The MCP server behind the gateway has ended: start it again. Nothing was executed."

logger = logging.getLogger("retrycontract.mcp")


class Incoming(Protocol):
    """Read messages until the other side closes; what was no message comes as an exception."""

    def __aiter__(self) -> AsyncIterator[SessionMessage | Exception]:
        """Iterate over the messages."""


class Outgoing(Protocol):
    """Write messages."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message; raises anyio's errors when nobody reads any more."""


Streams = tuple[Incoming, Outgoing]


@dataclass(slots=True)
class _Forwarded:
    """Remember a request that the upstream has to answer."""

    request: JSONRPCRequest
    note: str | None = None


class Gateway:
    """Connect one client with one upstream until the client leaves."""

    def __init__(self, client: Streams, upstream: Streams, judge: Judge, checkpoint: Checkpoint) -> None:
        self._from_client, self._to_client = client
        self._from_upstream, self._to_upstream = upstream
        self._checkpoint, self._listing = checkpoint, ToolListing(self._send_upstream)
        self._toolbox = Toolbox(judge, self._listing)
        self._forwarded: dict[RequestId, _Forwarded] = {}
        self._being_judged: dict[RequestId, anyio.CancelScope] = {}
        self._upstream_ended = False

    async def run(self) -> None:
        """Pass messages until the client closes its side."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_from_upstream)
            async for message in self._from_client:
                await self._from_the_client(message, tasks)
            tasks.cancel_scope.cancel()

    async def _from_the_client(self, received: SessionMessage | Exception, tasks: TaskGroup) -> None:
        if isinstance(received, Exception):
            await self._answer(messages.not_json_rpc())
            return
        match received.message:
            case JSONRPCRequest(method="tools/call", params={"name": str()}) as request:
                # Noted at once: the client's next message may be its cancellation.
                self._being_judged[request.id] = anyio.CancelScope()
                tasks.start_soon(self._judge_call, request)
            case JSONRPCRequest() as request:
                await self._forward(request)
            case JSONRPCNotification(method="notifications/cancelled") as cancelled:
                await self._cancel(cancelled)
            case message:
                await self._send_upstream(message)

    async def _cancel(self, message: JSONRPCNotification) -> None:
        request_id = (message.params or {}).get("requestId")
        if not isinstance(request_id, int | str):
            return
        self._forwarded.pop(request_id, None)
        if request_id in self._being_judged:
            self._being_judged[request_id].cancel()
        else:
            await self._send_upstream(message)

    async def _judge_call(self, request: JSONRPCRequest) -> None:
        assert request.params is not None
        with self._being_judged[request.id]:
            try:
                await self._decide(request, request.params)
            finally:
                del self._being_judged[request.id]

    async def _decide(self, request: JSONRPCRequest, params: dict[str, Any]) -> None:
        name = params["name"]
        try:
            await self._toolbox.look_up(name, messages.meta_of(params))
        except NoToolListError as error:
            logger.warning("Tool %r is passed on unchecked: %s", name, error)
            await self._forward(request)
            return
        except NoVerdictError as error:
            await self._refuse(request, f"This call could not be checked: {error} Nothing was executed.")
            return
        if self._toolbox.is_unchecked(name):
            await self._forward(request)
            return
        arguments = params.get("arguments")
        tick = self._signs_of_life(messages.meta_of(params).get("progressToken"))
        decision = await self._checkpoint.decide(name, {} if arguments is None else arguments, tick)
        if not isinstance(decision, Forward):
            await self._answer(messages.refusal(request, decision.result))
        elif decision.note is None:
            await self._forward(request)
        else:
            await self._forward(messages.with_arguments(request, decision.arguments), decision.note)

    def _signs_of_life(self, token: Any) -> Tick:
        """Make what tells the client that a person is waited for; only a client that gave a token hears it."""
        counter = itertools.count()

        async def tick() -> None:
            if isinstance(token, str | int):
                await self._answer(messages.progress(token, next(counter), WAITING))

        return tick

    async def _forward(self, request: JSONRPCRequest, note: str | None = None) -> None:
        self._forwarded[request.id] = _Forwarded(request, note)
        if not await self._send_upstream(request):
            await self._give_up(request.id, NEVER_SENT)

    async def _send_upstream(self, message: JSONRPCMessage) -> bool:
        if self._upstream_ended:
            return False
        try:
            await self._to_upstream.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        return True

    async def _answer(self, message: JSONRPCMessage) -> None:
        await self._to_client.send(SessionMessage(message))

    async def _refuse(self, request: JSONRPCRequest, text: str) -> None:
        await self._answer(messages.refusal(request, ToolResult("", text)))

    async def _pass_from_upstream(self) -> None:
        async for received in self._from_upstream:
            if not isinstance(received, Exception):  # the SDK has logged what was no message
                await self._from_the_upstream(received.message)
        self._upstream_ended = True
        logger.error("The MCP server behind the gateway has ended")
        self._listing.give_up()
        for request_id in list(self._forwarded):
            await self._give_up(request_id, ENDED)

    async def _from_the_upstream(self, message: JSONRPCMessage) -> None:
        if self._listing.takes(message):
            return
        match message:
            case JSONRPCResponse() as response:
                message = self._answered(response)
            case JSONRPCError(id=int() | str() as request_id):
                self._forwarded.pop(request_id, None)
            case JSONRPCNotification(method="notifications/tools/list_changed"):
                self._toolbox.has_changed()
        await self._answer(message)

    def _answered(self, response: JSONRPCResponse) -> JSONRPCResponse:
        answered = self._forwarded.pop(response.id, None)
        if answered is None:
            return response
        if answered.request.method == "tools/list":
            self._toolbox.read_along(answered.request, response)
        return messages.with_note(response, answered.note) if answered.note else response

    async def _give_up(self, request_id: RequestId, text: str) -> None:
        forwarded = self._forwarded.pop(request_id, None)
        if forwarded is None:
            return
        if forwarded.request.method == "tools/call":
            await self._refuse(forwarded.request, text)
        else:
            await self._answer(messages.upstream_ended(request_id))
