"""Run the commands `mcp-gateway` and `mcp`: put together what their options ask for."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrycontract.config.configuration_file import configuration_of
from retrycontract.config.telemetry import send_as_asked
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import WrongInputError
from retrycontract.mcp.behind import API_KEY, TOKEN, CommandServer, HttpServer, ServerBehind, read_servers

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from retrycontract.client import AsyncClient
    from retrycontract.contract.schemas.tool_lists import DeclaredTool
    from retrycontract.judging import Judge
    from retrycontract.mcp.gateway import Gateway, Send

logger = logging.getLogger("retrycontract.mcp")

BACKLOG: Final = 2048  # clients that wait to be accepted, as uvicorn has it
# What a command line that says nothing means. A person at a desk needs minutes, which a client waits that hears from us
# meanwhile; most others give up after 60 seconds.
DEFAULTS: Final = {
    "session": "mcp", "wait": 300.0, "silent_wait": 45.0, "max_attempts": None, "config": None, "url": None,
    "model": None, "upstream": None, "servers": None, "listen": None, "header": (), "allow_host": (),
    "results": "observe", "max_body": 4 * 1024 * 1024, "max_sessions": 1000, "idle": 1800.0,
}  # fmt: skip


def run_gateway(options: argparse.Namespace) -> int:
    """Stand in front of MCP servers; raises ConfigurationError, OSError and ValueError for wrong use."""
    configuration = _configuration(options)
    send_as_asked("mcp,otel")
    behind = _behind(options)
    listening = _listening(options) if options.listen else None
    with behind:
        if listening is None:
            behind.start()
        # Imported while the server starts: most of what we need takes as long as it does.
        import anyio

        from retrycontract.judging.asking import service_at, tell_of_refused_key
        from retrycontract.mcp.process import StdioFront, log_to_stderr

        service = service_at(options.url, API_KEY)
        log_to_stderr()

        async def connect() -> int:
            async with _gateways(options, configuration, service) as make:
                if listening is None:

                    def make_and_check(to_client: Send, to_upstream: Send, tasks: TaskGroup) -> Gateway:
                        tasks.start_soon(tell_of_refused_key, service, API_KEY)
                        return make(to_client, to_upstream, tasks)

                    return await StdioFront(behind.connect()).run(make_and_check)
                return await _listen(options, listening, behind, make, service)

        return anyio.run(connect)


def _behind(options: argparse.Namespace) -> ServerBehind:
    ways = [way for way in (options.command, options.upstream, options.servers) if way]
    if len(ways) != 1:
        raise WrongInputError("say what stands behind: -- COMMAND…, --upstream URL, or --servers FILE")
    if options.header and not options.upstream:
        raise WrongInputError("--header goes along with --upstream URL")
    if options.servers:
        return ServerBehind(read_servers(options.servers, os.environ), restart=options.restart)
    if options.upstream:
        headers = [header.partition(":") for header in options.header]
        given = {name.strip(): value.strip() for name, _, value in headers}
        return ServerBehind(HttpServer.at(options.upstream, given, passes_headers=True), restart=False)
    if shutil.which(options.command[0]) is None:
        raise WrongInputError(
            f"{options.command[0]}: there is no such command; what follows '--' starts the MCP server"
        )
    return ServerBehind(CommandServer(tuple(options.command)), restart=options.restart)


def _listening(options: argparse.Namespace) -> socket.socket:
    from retrycontract.mcp.visiting import bound_socket

    listening = bound_socket(options.listen)
    # Whoever reaches a command calls its tools with our rights; a remote server asks for credentials itself.
    is_open = not ip_address(listening.getsockname()[0]).is_loopback and (not options.upstream or options.header)
    if is_open and not os.environ.get(TOKEN, "").strip():
        raise WrongInputError(
            f"--listen {options.listen} is open to others: put a token that they have to send into {TOKEN}"
        )
    listening.listen(BACKLOG)  # at once: whoever reads our first line may come before the rest is loaded
    return listening


async def _listen(
    options: argparse.Namespace,
    listening: socket.socket,
    behind: ServerBehind,
    make: Callable[..., Gateway],
    service: AsyncClient | None,
) -> int:
    import anyio

    from retrycontract.front.memory import settle
    from retrycontract.judging.asking import tell_of_refused_key
    from retrycontract.mcp.listener import GatewayApp, ListenSettings, serve
    from retrycontract.mcp.process import wait_for_signal

    settings = ListenSettings(
        os.environ.get(TOKEN, "").strip(), frozenset(options.allow_host), options.max_body, options.max_sessions,
        options.idle,
    )  # fmt: skip
    host, port = listening.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    print(f"retrycontract mcp-gateway on http://{address}/mcp", file=sys.stderr, flush=True)  # noqa: T201
    end = settle()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell_of_refused_key, service, API_KEY)
        await serve(listening, GatewayApp(behind.connect, make, settings, tasks), wait_for_signal)
        tasks.cancel_scope.cancel()
    end()
    return 0


@asynccontextmanager
async def _gateways(
    options: argparse.Namespace, configuration: RetryConfiguration, service: AsyncClient | None
) -> AsyncIterator[Callable[..., Gateway]]:
    """Give what makes a gateway for each client, with calls of its own."""
    from retrycontract.contract.redaction.sanitizer import ValueSanitizer
    from retrycontract.mcp.checkpoint import Checkpoint
    from retrycontract.mcp.gateway import Gateway
    from retrycontract.mcp.results import ResultContract
    from retrycontract.mcp.tracing import RequestSpans

    wait = options.wait if service else 0
    sanitizer = ValueSanitizer(configuration)
    # One for all clients: its figures are the servers'.
    results = None if options.results == "off" else ResultContract(sanitizer, enforces=options.results == "enforce")

    def make(to_client: Send, to_upstream: Send, tasks: TaskGroup) -> Gateway:
        judge = _judge(options, configuration, service)
        checkpoint = Checkpoint(judge, sanitizer, wait=wait, silent_wait=options.silent_wait)
        spans = RequestSpans(sanitizer, "tcp" if options.listen else "pipe")
        return Gateway(to_client, to_upstream, judge, checkpoint, tasks, results, spans)

    async with service or nullcontext():
        yield make


def run_server(options: argparse.Namespace) -> int:
    """Serve the contract's own tools; raises ConfigurationError, OSError and ValueError for wrong use."""
    import anyio

    from retrycontract.contract.outputs import Kind
    from retrycontract.judging.asking import service_at, settled, tell_of_refused_key
    from retrycontract.mcp.process import serve
    from retrycontract.mcp.server import ContractServer

    configuration, service = _configuration(options), service_at(options.url, API_KEY)
    send_as_asked("mcp,otel")
    tools, extractions = _read(options.tools), _read(options.extractions)
    if not (tools or extractions or options.url):
        raise WrongInputError("name the tools to check with --tools FILE, or a service that knows them with --url")

    async def connect(client: tuple[Any, Any]) -> None:
        async with service or nullcontext(), anyio.create_task_group() as tasks:
            tasks.start_soon(tell_of_refused_key, service, API_KEY)
            judge = _judge(options, configuration, service)
            refused = await settled(judge.import_tools(tools)) if tools else {}
            refused |= await settled(judge.import_tools(extractions, Kind.EXTRACTION)) if extractions else {}
            for name, reason in refused.items():
                logger.warning("Tool %r cannot be checked: %s", name, reason)
            known = [tool for tool in tools if tool.name not in refused]
            server = ContractServer(
                judge, known, has_desk=bool(options.url), silent_wait=options.silent_wait
            ).as_server()
            await server.run(*client, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    return serve(connect)


def _configuration(options: argparse.Namespace) -> RetryConfiguration:
    configuration = configuration_of(options.config, os.environ)
    # Strictness is a tool's own and goes along with its registration; a configuration has no such setting.
    asked = {name: value for name, value in _asked_settings(options).items() if name != "strict"}
    return replace(configuration, **asked)


def _read(path: Path | None) -> list[DeclaredTool]:
    if path is None:
        return []
    from retrycontract.contract.outputs.json_text import parse_json
    from retrycontract.contract.schemas.document import MAX_REASON, excerpt
    from retrycontract.contract.schemas.tool_lists import read_tool_list

    value, fault = parse_json(path.read_bytes())
    if fault is not None:
        raise WrongInputError(f"{path} is not JSON: {excerpt(fault.reason, MAX_REASON)}")
    try:
        return read_tool_list(value)
    except ValueError as wrong:
        raise WrongInputError(f"{path}: {wrong}") from None


def _judge(options: argparse.Namespace, configuration: RetryConfiguration, service: AsyncClient | None) -> Judge:
    from retrycontract.mcp.checkpoint import connection_details

    settings, details = _asked_settings(options), connection_details(options.session, options.model)
    if service is None:
        from anyio.to_thread import run_sync

        from retrycontract.in_process import RetryContract
        from retrycontract.judging import InProcessJudge

        contract = RetryContract(configuration=configuration)
        # In a thread: hostile schemas take their time, and other calls go on meanwhile.
        return InProcessJudge(contract, "mcp", details=details, settings=settings, run=run_sync)
    from retrycontract.judging.service_judge import ServiceJudge

    return ServiceJudge(service, "mcp", details=details, settings=settings, is_patient=False)


def _asked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Give what the command line says of every tool; what it does not say is left to others."""
    settings: dict[str, Any] = {"strict": False} if options.lenient else {}
    if options.observe:
        settings["mode"] = "observe"
    if options.max_attempts is not None:
        settings["max_attempts"] = options.max_attempts
    return settings
