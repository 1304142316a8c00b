"""A process that speaks MCP: stdin and stdout are the protocol, stderr is for people."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anyio
from anyio.abc import TaskGroup

from retrycontract.config.telemetry import flush
from retrycontract.mcp.connection import ServerConnection
from retrycontract.mcp.gateway import Gateway, Send
from retrycontract.mcp.stdio import Lines, LineWriter

FAILED = 1
LAST_ANSWERS = 10.0  # seconds in which a client that sends nothing more may get answers
STOPPED_BY = 128  # plus the signal's number, as shells count

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

    caught: list[int] = []
    answers: list[Any] = []
    async with stdio_server(stdin=_ReadableLines(answers)) as client:  # type: ignore[arg-type]  # it is iterated alone
        answers.append(client[1])
        async with client[1]:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_stop_at_signal, tasks, caught)
                    await connect(client)
                    tasks.cancel_scope.cancel()
                status = STOPPED_BY + caught[0] if caught else 0
            except Exception:
                logger.exception("The connection failed")
                status = FAILED
        if status:
            # A thread of the SDK still reads stdin, and nothing but its end would wake it.
            logging.shutdown()
            flush()
            os._exit(status)
    return 0


class _ReadableLines:
    """Give the SDK each line so that it can read it; answer what nobody can read, of which it would say nothing."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers

    async def __aiter__(self) -> AsyncGenerator[str, None]:
        import mcp_types as types
        from mcp.shared.message import SessionMessage

        from retrycontract.mcp.readable import RefusedMessageError, readable

        async with aclosing(aiter(Lines(sys.stdin.fileno()))) as lines:
            async for line in lines:
                try:
                    text = readable(line)
                except RefusedMessageError as refused:
                    said = types.jsonrpc_message_adapter.validate_json(refused.answer.text, by_name=False)
                    await self._answers[0].send(SessionMessage(said))
                else:
                    yield text


async def _stop_at_signal(tasks: TaskGroup, caught: list[int]) -> None:
    """Leave in good order at SIGTERM and SIGINT: an upstream is stopped on the way out."""
    if sys.platform == "win32":
        return  # which has no such signals to wait for
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            caught.append(number)
            tasks.cancel_scope.cancel()
            return


async def wait_for_signal() -> None:
    """Return at SIGTERM or SIGINT; on Windows, which has none to wait for, never."""
    if sys.platform == "win32":
        await anyio.sleep_forever()
    async with anyio.create_task_group() as waiting:
        await _stop_at_signal(waiting, [])


class StdioFront:
    """Serve one client over stdin and stdout, until it leaves or its server ends."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection, self._status = connection, 0

    async def run(self, make: MakeGateway) -> int:
        """Give the exit status: 0 when the client has left, else the server's own."""

        async def leave_at_signal() -> None:
            caught: list[int] = []
            async with anyio.create_task_group() as waiting:
                await _stop_at_signal(waiting, caught)
            if caught:
                await self._connection.close()
                logging.shutdown()
                flush()
                os._exit(STOPPED_BY + caught[0])  # also while a thread waits for a client that does not read

        async def end_with_server() -> None:
            self._status = await self._connection.run()
            # Before the tasks are cancelled: whoever waits gets an answer, and only then does the process end.
            await gateway.refuse_all()
            tasks.cancel_scope.cancel()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(leave_at_signal)
                gateway = make(LineWriter(sys.stdout.fileno()).send, self._connection.send, tasks)
                self._connection.bind(gateway, tasks)
                tasks.start_soon(end_with_server)
                async for line in Lines(sys.stdin.fileno()):
                    await gateway.from_client(line)
                # A script sends its requests, closes its end and reads: no more of them come, and it is still there.
                with anyio.move_on_after(LAST_ANSWERS):
                    await gateway.answer_all()
                tasks.cancel_scope.cancel()
            await self._connection.close()
        except Exception:
            logger.exception("The connection failed")
            return FAILED
        return self._status


class _InputLine(logging.Formatter):
    """Write an event on one line, with the tool, the attempt and the codes where it has some."""

    def format(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        line = f"retrycontract: {super().format(record)}"
        if "tool_name" not in fields:
            return line
        errors = ", ".join(f"{error['path'] or '(root)'} {error['code']}" for error in fields["errors"])
        return f"{line}: {fields['tool_name']} (attempt {fields['retry_attempt']}/{fields['max_retries']}): {errors}"
