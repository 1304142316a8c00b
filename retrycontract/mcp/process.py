"""The gateway as a process: stdin and stdout are the protocol, stderr is for people, and the upstream ends with us."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.stdio import stdio_server

from retrycontract.configuration_file import DEFAULT_PATH, load_configuration
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.sanitizer import ValueSanitizer
from retrycontract.mcp.checkpoint import Checkpoint
from retrycontract.mcp.command_line import API_KEY
from retrycontract.mcp.gateway import Gateway, Streams
from retrycontract.mcp.in_process_judge import InProcessJudge
from retrycontract.mcp.judging import Judge
from retrycontract.mcp.service_judge import TIMEOUT, ServiceJudge

FAILED = 1
STOPPED_BY = 128  # plus the signal's number, as shells count

logger = logging.getLogger("retrycontract.mcp")


def run_gateway(options: argparse.Namespace) -> int:
    """Serve one client until it leaves or a signal comes; raises ConfigurationError, OSError and ValueError."""
    log_to_stderr()
    configuration = read_configuration(options)
    if options.url and not os.environ.get(API_KEY):
        raise ValueError(f"--url needs the agent's key in {API_KEY}; make one with: manage.py create_agent NAME")
    if shutil.which(options.upstream[0]) is None:
        raise ValueError(f"{options.upstream[0]}: there is no such command; what follows '--' starts the MCP server")
    return anyio.run(_serve, options, configuration)


class _Line(logging.Formatter):
    """Write an event on one line, with the tool, the attempt and the codes where it has some."""

    def format(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        line = f"retrycontract: {super().format(record)}"
        if "tool_name" not in fields:
            return line
        errors = ", ".join(f"{error['path'] or '(root)'} {error['code']}" for error in fields["errors"])
        return f"{line}: {fields['tool_name']} (attempt {fields['retry_attempt']}/{fields['max_retries']}): {errors}"


def log_to_stderr() -> None:
    """Send warnings where people look: stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def read_configuration(options: argparse.Namespace) -> RetryConfiguration:
    """Read file and environment; the command's own options override both."""
    if options.config is not None:
        options.config.stat()  # a file that was asked for must be there, the default one need not
    configuration = load_configuration(options.config or DEFAULT_PATH, os.environ)
    changes: dict[str, Any] = {"mode": "observe"} if options.observe else {}
    if options.max_attempts is not None:
        changes["max_attempts"] = options.max_attempts
    return replace(configuration, **changes)


async def _serve(options: argparse.Namespace, configuration: RetryConfiguration) -> int:
    async with stdio_server() as client:
        async with client[1]:
            status = await _serve_client(client, options, configuration)
        if status:
            # A thread of the SDK still reads stdin, and nothing but its end would wake it.
            logging.shutdown()
            os._exit(status)
    return 0


async def _serve_client(client: Streams, options: argparse.Namespace, configuration: RetryConfiguration) -> int:
    caught: list[int] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_at_signal, tasks, caught)
            await _connect(client, options, configuration)
            tasks.cancel_scope.cancel()
    except Exception:
        logger.exception("The gateway failed")
        return FAILED
    return STOPPED_BY + caught[0] if caught else 0


async def _connect(client: Streams, options: argparse.Namespace, configuration: RetryConfiguration) -> None:
    # The upstream gets our environment, since clients configure it through us, but not our key.
    environment = {name: value for name, value in os.environ.items() if name != API_KEY}
    command, *arguments = options.upstream
    parameters = StdioServerParameters(command=command, args=arguments, env=environment)
    async with _judge(options, configuration) as judge, stdio_client(parameters) as upstream:
        checkpoint = Checkpoint(judge, ValueSanitizer(configuration), wait=options.wait if options.url else 0)
        await Gateway(client, upstream, judge, checkpoint).run()


async def _stop_at_signal(tasks: TaskGroup, caught: list[int]) -> None:
    """Leave in good order at SIGTERM and SIGINT: the upstream is stopped on the way out."""
    if sys.platform == "win32":
        return  # which has no such signals to wait for
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            caught.append(number)
            tasks.cancel_scope.cancel()
            return


@asynccontextmanager
async def _judge(options: argparse.Namespace, configuration: RetryConfiguration) -> AsyncIterator[Judge]:
    if not options.url:
        strict = not options.lenient
        yield InProcessJudge(configuration, strict=strict)
        return
    headers = {"Authorization": f"Bearer {os.environ[API_KEY]}"}
    async with httpx2.AsyncClient(base_url=options.url, headers=headers, timeout=TIMEOUT) as http:
        yield ServiceJudge(http, session=options.session, settings=_asked_settings(options))


def _asked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Give what the command line says of every tool; what it does not say is left to the service."""
    settings: dict[str, Any] = {"strict": False} if options.lenient else {}
    if options.observe:
        settings["mode"] = "observe"
    if options.max_attempts is not None:
        settings["max_attempts"] = options.max_attempts
    return settings
