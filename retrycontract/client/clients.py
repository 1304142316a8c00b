"""The two clients: one drives the operations in the caller's thread, the other in an event loop."""

from __future__ import annotations

import asyncio
import inspect
import random as chance
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec, Self, TypeVar, Unpack, overload

import httpx2

from retrycontract.client.connection import Connection, Owned, Whole, bound, lost, opened, running_loop, to_httpx
from retrycontract.client.events import Event, Feed, follow, follow_in_loop
from retrycontract.client.exchange import PATIENCE, Conversation, Lost, Patience, Reply, Request, Submissions, advanced
from retrycontract.client.guarding import Guard, guarded, guarded_in_loop
from retrycontract.client.operations import (
    WAIT,
    AnyCall,
    CallQuery,
    Details,
    DryRunOptions,
    LogQuery,
    Operations,
    ToolListOptions,
    ToolOptions,
)
from retrycontract.client.results import (
    CallSummary,
    DryRun,
    Guidance,
    ImportedTools,
    KnownTool,
    Listing,
    LoggedResponse,
    Outcome,
    RegisteredTool,
    Settlement,
)
from retrycontract.client.sessions import AsyncSession, Place, Session
from retrycontract.contract.lifecycle import CallState
from retrycontract.contract.outputs import Kind

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Client:
    """Submit what a model wrote, and wait for verdicts and people's guidance; for any number of threads.

    `url` and `api_key` default to RETRYCONTRACT_URL and RETRYCONTRACT_API_KEY. What fails on the way is asked again
    for `patience` seconds; an attempt never counts twice. Raises the errors of `retrycontract.client.errors`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        patience: float = PATIENCE,
        transport: httpx2.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = chance.random,
    ) -> None:
        connection = Connection.of(url, api_key)
        self.url = connection.url
        self._http = Owned(lambda: bound(opened(httpx2.Client, connection, transport)))
        self._operations = _operations(connection, Patience(patience, clock, random))
        self._feed = partial(Feed, connection.url, self._operations.patience)
        self._sleep = sleep

    def session(self, name: str | None = None) -> Session:
        """Begin a conversation of the agent, whose retries find their calls; nobody else has it unless it is named."""
        return Session(self, Place.of(name))

    def submit(
        self, tool: str, tool_call_id: str, arguments: Any, *, wait: float = WAIT, **details: Unpack[Details]
    ) -> Outcome:
        """Submit an attempt and wait at most `wait` seconds for its verdict; `status` is None without one.

        `arguments` are JSON text as the model wrote it, or the parsed value. A retry passes `call_id` of the outcome
        before, or is submitted to a `session()`: without either, every attempt begins a call of its own.
        """
        return self._drive(self._operations.submit(tool, tool_call_id, arguments, details, wait))

    def settle(
        self, tool: str, tool_call_id: str, arguments: Any, *, timeout: float | None = None, wait: float = WAIT,
        **details: Unpack[Details],
    ) -> Settlement[Any]:  # fmt: skip
        """Submit an attempt; where its call is Blocked wait for a person, and take over the answer.

        The status then says what to do: "valid", run the tool with `arguments`, which a person may have corrected or
        accepted; "retry", let the model read `tool_result`, which holds a person's hint, and try again; "blocked",
        let it read that and stop: a person said no, or none answered within `timeout` seconds (None sets no limit).
        Raises VerdictPendingError where that time has passed without a verdict.
        """
        return self._drive(self._operations.settle(tool, tool_call_id, arguments, details, wait, timeout))

    @overload
    def guard(self, function: Callable[P, R], /) -> Callable[P, R | str]: ...
    @overload
    def guard(self, /, *, timeout: float | None) -> Callable[[Callable[P, R]], Callable[P, R | str]]: ...
    def guard(self, function: Any = None, /, *, timeout: float | None = None) -> Any:
        """Check every call of a function, and run only what is valid; else give the text that the model should read.

        Its signature and docstring are the tool, registered with the first call. It is called inside a session
        (`with client.session():`) with what the model wrote, and gets its own types. A Blocked call waits for a person,
        at most `timeout` seconds. Raises NoConversationError outside of a session.
        """
        if function is None:
            return partial(self.guard, timeout=timeout)
        if inspect.iscoroutinefunction(function):
            # Its checks would hold up the event loop, for as long as a person takes to answer.
            raise TypeError(f"{function.__name__!r} is a coroutine function: let an AsyncClient guard it")
        return guarded(self, Guard(function, timeout))

    def guard_tools(
        self, functions: Iterable[Callable[..., Any]], *, timeout: float | None = None
    ) -> list[Callable[..., Any]]:
        """Guard a list of functions, in its order, and register them at once; see `guard`."""
        guards = Guard.each(functions, timeout)
        imported = self.register_tools([guard.declaration(self) for guard in guards])
        for guard in guards:
            guard.require(imported)
        return [guarded(self, guard) for guard in guards]

    def wait_for_verdict(self, call: AnyCall, timeout: float = WAIT) -> Outcome:
        """Wait at most `timeout` seconds for the verdict on an outcome that had none."""
        return self._drive(self._operations.wait_for_verdict(call, timeout))

    def wait_for_guidance(self, call: AnyCall, timeout: float | None = None) -> Guidance:
        """Wait until a person has answered or the call has ended, at most `timeout` seconds; None sets no limit."""
        return self._drive(self._operations.wait_for_guidance(call, timeout))

    def acknowledge(self, call: AnyCall) -> bool:
        """Tell the person that the guidance has arrived; False when that was said before."""
        return self._drive(self._operations.acknowledge(call))

    def cancel(self, call: AnyCall) -> CallState:
        """Give a call up, and learn how it ended."""
        return self._drive(self._operations.cancel(call))

    def calls(self, **filters: Unpack[CallQuery]) -> Iterator[CallSummary]:
        """List the agent's calls, the newest first, read page by page as they are asked for."""
        return self._rows(self._operations.calls(filters))

    def agent_responses(self, **filters: Unpack[LogQuery]) -> Iterator[LoggedResponse]:
        """Read the agent-response log: the newest call first, its replies one after the other."""
        return self._rows(self._operations.agent_responses(filters))

    def tools(self, kind: Kind | str | None = None) -> Iterator[KnownTool]:
        """List the tools that the service knows, by name and without their schemas."""
        return self._rows(self._operations.tools(kind))

    def tool(self, name: str) -> KnownTool:
        """Read one tool with its schema; raises RefusedError for one that is not known."""
        return self._drive(self._operations.tool(name))

    def register_tool(self, name: str, input_schema: Any, **options: Unpack[ToolOptions]) -> RegisteredTool:
        """Register a tool, or change its schema and options."""
        return self._drive(self._operations.register_tool(name, input_schema, options))

    def register_tools(self, tools: Any, **options: Unpack[ToolListOptions]) -> ImportedTools:
        """Register a tool list of OpenAI, Anthropic or MCP, or a list of functions, pydantic models and dataclasses."""
        return self._drive(self._operations.register_tools(tools, options))

    def dry_run(self, input_schema: Any, arguments: Any, **options: Unpack[DryRunOptions]) -> DryRun:
        """Try an output against a schema; nothing is stored."""
        return self._drive(self._operations.dry_run(input_schema, arguments, options))

    def events(
        self, *, types: Sequence[str] = (), call_id: str | None = None, after: int | None = None
    ) -> Iterator[Event]:
        """Follow what happens to your calls, each event once; breaks are mended, and close the iterator to end it.

        `after` is the id of the last event seen before, 0 for the first of all; without it events begin now.
        """
        return follow(self._http, self._feed(types=types, call_id=call_id, after=after), self._sleep)

    def close(self) -> None:
        """Close the connections."""
        if http := self._http.made():
            http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def _rows(self, listing: Listing[T]) -> Iterator[T]:
        path: str | None = listing.path
        while path is not None:
            page = self._drive(self._operations.page(path, listing))
            yield from page.rows
            path = page.following

    def _drive(self, conversation: Conversation[T]) -> T:
        try:
            request = next(conversation)
            while True:
                if request.after:
                    self._sleep(request.after)
                request = conversation.send(self._send(request))
        # A generator hands its result over in the exception that ends it.
        except StopIteration as done:
            result: T = done.value
            return result

    def _send(self, request: Request) -> Reply | Lost:
        whole = Whole(self._operations.patience.clock, request)
        try:
            # `whole` first: headers are read while the stream opens, and those reads have to end with the request as
            # well.
            with whole, self._http.get().stream(**to_httpx(request)) as response:
                for chunk in response.iter_bytes():
                    whole.take(chunk)
                return whole.reply(response)
        except httpx2.RequestError as error:
            return lost(error)


class AsyncClient:
    """Do what `Client` does in an event loop; for any number of tasks."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        patience: float = PATIENCE,
        transport: httpx2.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = chance.random,
    ) -> None:
        connection = Connection.of(url, api_key)
        self.url = connection.url
        # Not `bound`: `asyncio.timeout` in `_send` ends a request as a whole, which nothing can do for a thread.
        self._http = Owned(lambda: opened(httpx2.AsyncClient, connection, transport), running_loop)
        self._operations = _operations(connection, Patience(patience, clock, random))
        self._feed = partial(Feed, connection.url, self._operations.patience)
        self._sleep, self._advance = sleep, advanced

    def session(self, name: str | None = None) -> AsyncSession:
        """Begin a conversation of the agent; see `Client.session`."""
        return AsyncSession(self, Place.of(name))

    async def submit(
        self, tool: str, tool_call_id: str, arguments: Any, *, wait: float = WAIT, **details: Unpack[Details]
    ) -> Outcome:
        """Submit an attempt and wait at most `wait` seconds for its verdict; see `Client.submit`."""
        return await self._drive(self._operations.submit(tool, tool_call_id, arguments, details, wait))

    async def settle(
        self, tool: str, tool_call_id: str, arguments: Any, *, timeout: float | None = None, wait: float = WAIT,
        **details: Unpack[Details],
    ) -> Settlement[Any]:  # fmt: skip
        """Submit an attempt, and take over what a person answers where its call is Blocked; see `Client.settle`."""
        return await self._drive(self._operations.settle(tool, tool_call_id, arguments, details, wait, timeout))

    @overload
    def guard(self, function: Callable[P, Awaitable[R]], /) -> Callable[P, Awaitable[R | str]]: ...
    @overload
    def guard(
        self, /, *, timeout: float | None
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R | str]]]: ...
    def guard(self, function: Any = None, /, *, timeout: float | None = None) -> Any:
        """Check every call of a coroutine function; see `Client.guard`."""
        return (
            partial(self.guard, timeout=timeout)
            if function is None
            else guarded_in_loop(self, Guard(function, timeout))
        )

    async def guard_tools(
        self, functions: Iterable[Callable[..., Any]], *, timeout: float | None = None
    ) -> list[Callable[..., Awaitable[Any]]]:
        """Guard a list of functions, plain ones too, and register them at once; see `Client.guard`."""
        guards = Guard.each(functions, timeout)
        imported = await self.register_tools([guard.declaration(self) for guard in guards])
        for guard in guards:
            guard.require(imported)
        return [guarded_in_loop(self, guard) for guard in guards]

    async def wait_for_verdict(self, call: AnyCall, timeout: float = WAIT) -> Outcome:
        """Wait at most `timeout` seconds for the verdict on an outcome that had none."""
        return await self._drive(self._operations.wait_for_verdict(call, timeout))

    async def wait_for_guidance(self, call: AnyCall, timeout: float | None = None) -> Guidance:
        """Wait until a person has answered or the call has ended, at most `timeout` seconds; None sets no limit."""
        return await self._drive(self._operations.wait_for_guidance(call, timeout))

    async def acknowledge(self, call: AnyCall) -> bool:
        """Tell the person that the guidance has arrived; False when that was said before."""
        return await self._drive(self._operations.acknowledge(call))

    async def cancel(self, call: AnyCall) -> CallState:
        """Give a call up, and learn how it ended."""
        return await self._drive(self._operations.cancel(call))

    def calls(self, **filters: Unpack[CallQuery]) -> AsyncIterator[CallSummary]:
        """List the agent's calls, the newest first, read page by page as they are asked for."""
        return self._rows(self._operations.calls(filters))

    def agent_responses(self, **filters: Unpack[LogQuery]) -> AsyncIterator[LoggedResponse]:
        """Read the agent-response log; see `Client.agent_responses`."""
        return self._rows(self._operations.agent_responses(filters))

    def tools(self, kind: Kind | str | None = None) -> AsyncIterator[KnownTool]:
        """List the tools that the service knows; see `Client.tools`."""
        return self._rows(self._operations.tools(kind))

    async def tool(self, name: str) -> KnownTool:
        """Read one tool with its schema; see `Client.tool`."""
        return await self._drive(self._operations.tool(name))

    async def register_tool(self, name: str, input_schema: Any, **options: Unpack[ToolOptions]) -> RegisteredTool:
        """Register a tool, or change its schema and options."""
        return await self._drive(self._operations.register_tool(name, input_schema, options))

    async def register_tools(self, tools: Any, **options: Unpack[ToolListOptions]) -> ImportedTools:
        """Register a tool list of OpenAI, Anthropic or MCP, or a list of functions, pydantic models and dataclasses."""
        return await self._drive(self._operations.register_tools(tools, options))

    async def dry_run(self, input_schema: Any, arguments: Any, **options: Unpack[DryRunOptions]) -> DryRun:
        """Try an output against a schema; nothing is stored."""
        return await self._drive(self._operations.dry_run(input_schema, arguments, options))

    def events(
        self, *, types: Sequence[str] = (), call_id: str | None = None, after: int | None = None
    ) -> AsyncIterator[Event]:
        """Follow what happens to your calls, each event once; see `Client.events`."""
        return follow_in_loop(self._http, self._feed(types=types, call_id=call_id, after=after), self._sleep)

    async def close(self) -> None:
        """Close the connections."""
        if http := self._http.made():
            await http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"

    async def _rows(self, listing: Listing[T]) -> AsyncIterator[T]:
        path: str | None = listing.path
        while path is not None:
            page = await self._drive(self._operations.page(path, listing))
            for row in page.rows:
                yield row
            path = page.following

    async def _drive(self, conversation: Conversation[T]) -> T:
        step = await self._advance(conversation, None)
        while isinstance(step, Request):
            if step.after:
                await self._sleep(step.after)
            step = await self._advance(conversation, await self._send(step))
        result: T = step.value
        return result

    async def _send(self, request: Request) -> Reply | Lost:
        whole = Whole(self._operations.patience.clock, request)
        try:
            # Around the opening too, so that headers that trickle are bounded like the body.
            async with asyncio.timeout(whole.left()), self._http.get().stream(**to_httpx(request)) as response:
                async for chunk in response.aiter_bytes():
                    whole.take(chunk)
                return whole.reply(response)
        except (httpx2.RequestError, TimeoutError) as error:
            return lost(error)


def _operations(connection: Connection, patience: Patience) -> Operations:
    """Give what both clients drive; uuid4 gives each submission its key."""
    return Operations(connection.url, patience, Submissions(), lambda: str(uuid.uuid4()))


def remembering(client: AsyncClient, sent: Submissions) -> AsyncClient:
    """Let a client know what another one has sent, so that it can take over a person's answer to that."""
    client._operations = replace(client._operations, sent=sent)  # noqa: SLF001 - of this module
    return client
