"""A process that speaks MCP: stdin and stdout are the protocol, stderr is for people."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync

from retrycontract.mcp.gateway import Gateway, Send
from retrycontract.mcp.stdio import Lines, LineWriter
from retrycontract.mcp.upstream import UpstreamProcess

FAILED = 1
STOPPED_BY = 128  # plus the signal's number, as shells count
DRAIN_SECONDS = 1.0  # for what an ended server's children still hold of its output
MOST_RESTARTS, PER_SECONDS = 5, 60.0  # a server that always dies at once is not started for ever

logger = logging.getLogger("retrycontract.mcp")

# The streams are the SDK's; who connects says what it needs of them.
Connect = Callable[[tuple[Any, Any]], Awaitable[None]]
# Makes the gateway out of what writes to the client, what writes to the upstream, and the tasks to run in.
MakeGateway = Callable[[Send, Send, TaskGroup], Gateway]


def serve(connect: Connect) -> int:
    """Connect one client to whatever `connect` makes of it, until it leaves or a signal comes."""
    log_to_stderr()
    return anyio.run(_serve, connect)


def log_to_stderr() -> None:
    """Send warnings where people look: stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_InputLine())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


async def _serve(connect: Connect) -> int:
    from mcp.server.stdio import stdio_server  # a second of processor time, which the gateway does not need

    async with stdio_server() as client:
        async with client[1]:
            status = await _run(connect, client)
        if status:
            # A thread of the SDK still reads stdin, and nothing but its end would wake it.
            logging.shutdown()
            os._exit(status)
    return 0


async def _run(connect: Connect, client: tuple[Any, Any]) -> int:
    caught: list[int] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_at_signal, tasks, caught)
            await connect(client)
            tasks.cancel_scope.cancel()
    except Exception:
        logger.exception("The connection failed")
        return FAILED
    return STOPPED_BY + caught[0] if caught else 0


async def _stop_at_signal(tasks: TaskGroup, caught: list[int]) -> None:
    """Leave in good order at SIGTERM and SIGINT: an upstream is stopped on the way out."""
    if sys.platform == "win32":
        return  # which has no such signals to wait for
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            caught.append(number)
            tasks.cancel_scope.cancel()
            return


class GatewayProcess:
    """Run a gateway between this process's client and one upstream, until either has left."""

    def __init__(self, upstream: UpstreamProcess, *, restart: bool) -> None:
        self._upstream, self._restart = upstream, restart
        # As if five restarts were long ago: the list is a window that slides, and the first ones are free.
        self._status, self._restarts = 0, [-PER_SECONDS] * MOST_RESTARTS

    async def run(self, make: MakeGateway) -> int:
        """Give the exit status: 0 when the client has left, else the upstream's own."""
        try:
            await self._pass_on(make)
        except Exception:
            logger.exception("The connection failed")
            return FAILED
        return self._status

    async def _pass_on(self, make: MakeGateway) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._leave_at_signal)
            self._connect()
            gateway = make(LineWriter(sys.stdout.fileno()).send, self._send_upstream, tasks)
            tasks.start_soon(self._pass_from_upstream, gateway, tasks)
            async for line in Lines(sys.stdin.fileno()):
                await gateway.from_client(line)
            tasks.cancel_scope.cancel()

    def _connect(self) -> None:
        says, hears = self._upstream.descriptors
        self._from_upstream, self._to_upstream = Lines(says), LineWriter(hears)

    async def _leave_at_signal(self) -> None:
        caught: list[int] = []
        async with anyio.create_task_group() as waiting:
            await _stop_at_signal(waiting, caught)
        if caught:
            self._upstream.stop()
            logging.shutdown()
            os._exit(STOPPED_BY + caught[0])  # also while a thread waits for a client that does not read

    async def _send_upstream(self, text: str) -> bool:
        return await self._to_upstream.send(text)

    async def _pass_from_upstream(self, gateway: Gateway, tasks: TaskGroup) -> None:
        while True:
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._read, gateway)
                # A thread that waits cannot be woken; it ends when the upstream is stopped on the way out.
                self._status = await run_sync(self._upstream.wait, abandon_on_cancel=True)
                reading.cancel_scope.deadline = anyio.current_time() + DRAIN_SECONDS
            await gateway.upstream_ended()
            if not (self._restart and self._may_restart()):
                # Before the tasks are cancelled: whoever waits gets an answer, and only then does the process end.
                await gateway.refuse_all()
                tasks.cancel_scope.cancel()
                return
            # An end that a restart follows is not the gateway's own.
            self._status = 0
            self._upstream.start()
            self._connect()
            tasks.start_soon(gateway.greet_again)

    async def _read(self, gateway: Gateway) -> None:
        async for line in self._from_upstream:
            await gateway.from_upstream(line)
        # It says no more, whether it runs on or not.
        await run_sync(self._upstream.stop)

    def _may_restart(self) -> bool:
        self._restarts.append(time.monotonic())
        return self._restarts[-1] - self._restarts.pop(0) >= PER_SECONDS


class _InputLine(logging.Formatter):
    """Write an event on one line, with the tool, the attempt and the codes where it has some."""

    def format(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        line = f"retrycontract: {super().format(record)}"
        if "tool_name" not in fields:
            return line
        errors = ", ".join(f"{error['path'] or '(root)'} {error['code']}" for error in fields["errors"])
        return f"{line}: {fields['tool_name']} (attempt {fields['retry_attempt']}/{fields['max_retries']}): {errors}"
