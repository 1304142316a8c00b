"""A process that speaks MCP: stdin and stdout are the protocol, stderr is for people."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.stdio import stdio_server

FAILED = 1
STOPPED_BY = 128  # plus the signal's number, as shells count

logger = logging.getLogger("retrycontract.mcp")

# The streams are the SDK's; who connects says what it needs of them.
Connect = Callable[[tuple[Any, Any]], Awaitable[None]]


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


class _InputLine(logging.Formatter):
    """Write an event on one line, with the tool, the attempt and the codes where it has some."""

    def format(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        line = f"retrycontract: {super().format(record)}"
        if "tool_name" not in fields:
            return line
        errors = ", ".join(f"{error['path'] or '(root)'} {error['code']}" for error in fields["errors"])
        return f"{line}: {fields['tool_name']} (attempt {fields['retry_attempt']}/{fields['max_retries']}): {errors}"
