"""Run the commands `mcp-gateway` and `mcp`: put together what their options ask for."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrycontract.config.configuration_file import DEFAULT_PATH, load_configuration
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import WrongInputError
from retrycontract.mcp.upstream import UpstreamProcess

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from retrycontract.client import AsyncClient
    from retrycontract.contract.schemas.tool_lists import DeclaredTool
    from retrycontract.judging import Judge
    from retrycontract.mcp.gateway import Gateway, Send

logger = logging.getLogger("retrycontract.mcp")

API_KEY: Final = "RETRYCONTRACT_API_KEY"
# What a command line that says nothing means. A person at a desk needs minutes, which a client waits that hears from us
# meanwhile; most others give up after 60 seconds.
DEFAULTS: Final = {
    "session": "mcp", "wait": 300.0, "silent_wait": 45.0, "max_attempts": None, "config": None, "url": None,
    "model": None,
}  # fmt: skip


def run_gateway(options: argparse.Namespace) -> int:
    """Stand in front of one upstream; raises ConfigurationError, OSError and ValueError for wrong use."""
    configuration = _configuration(options)
    command = shutil.which(options.upstream[0])
    if command is None:
        raise WrongInputError(
            f"{options.upstream[0]}: there is no such command; what follows '--' starts the MCP server"
        )  # fmt: skip
    # The upstream gets our environment, since clients configure it through us, but not our key.
    environment = {name: value for name, value in os.environ.items() if name != API_KEY}
    with UpstreamProcess([command, *options.upstream[1:]], environment) as upstream:
        # Imported while the upstream starts: most of what we need takes as long as it does.
        import anyio

        from retrycontract.contract.redaction.sanitizer import ValueSanitizer
        from retrycontract.mcp.checkpoint import Checkpoint
        from retrycontract.mcp.gateway import Gateway
        from retrycontract.mcp.process import GatewayProcess, log_to_stderr

        service = _service(options)
        log_to_stderr()

        async def connect() -> int:
            async with _judge(options, configuration, service) as judge:
                wait = options.wait if service else 0
                sanitizer = ValueSanitizer(configuration)
                checkpoint = Checkpoint(judge, sanitizer, wait=wait, silent_wait=options.silent_wait)

                def make(to_client: Send, to_upstream: Send, tasks: TaskGroup) -> Gateway:
                    return Gateway(to_client, to_upstream, judge, checkpoint, tasks)

                return await GatewayProcess(upstream, restart=options.restart).run(make)

        return anyio.run(connect)


def run_server(options: argparse.Namespace) -> int:
    """Serve the contract's own tools; raises ConfigurationError, OSError and ValueError for wrong use."""
    from retrycontract.contract.kinds import Kind
    from retrycontract.judging.asking import settled
    from retrycontract.mcp.process import serve
    from retrycontract.mcp.server import ContractServer

    configuration, service = _configuration(options), _service(options)
    tools, extractions = _read(options.tools), _read(options.extractions)
    if not (tools or extractions or options.url):
        raise WrongInputError("name the tools to check with --tools FILE, or a service that knows them with --url")

    async def connect(client: tuple[Any, Any]) -> None:
        async with _judge(options, configuration, service) as judge:
            refused = await settled(judge.import_tools(tools)) if tools else {}
            refused |= await settled(judge.import_tools(extractions, Kind.EXTRACTION)) if extractions else {}
            for name, reason in refused.items():
                logger.warning("Tool %r cannot be checked: %s", name, reason)
            known = [tool for tool in tools if tool.name not in refused]
            server = ContractServer(judge, known, has_desk=bool(options.url)).as_server()
            await server.run(*client, server.create_initialization_options())

    return serve(connect)


def _configuration(options: argparse.Namespace) -> RetryConfiguration:
    if options.config is not None:
        options.config.stat()  # a file that was asked for must be there, the default one need not
    configuration = load_configuration(options.config or DEFAULT_PATH, os.environ)
    # Strictness is a tool's own and goes along with its registration; a configuration has no such setting.
    asked = {name: value for name, value in _asked_settings(options).items() if name != "strict"}
    return replace(configuration, **asked)


def _read(path: Path | None) -> list[DeclaredTool]:
    if path is None:
        return []
    from retrycontract.contract.outputs.json_text import parse_json
    from retrycontract.contract.schemas.tool_lists import read_tool_list

    value, fault = parse_json(path.read_bytes())
    if fault is not None:
        raise WrongInputError(f"{path} is not JSON: {fault.reason}")
    try:
        return read_tool_list(value)
    except ValueError as wrong:
        raise WrongInputError(f"{path}: {wrong}") from None


def _service(options: argparse.Namespace) -> AsyncClient | None:
    if not options.url:
        return None
    from retrycontract.client import AsyncClient, MissingKeyError
    from retrycontract.judging.asking import PATIENCE

    try:
        return AsyncClient(options.url, patience=PATIENCE)
    except MissingKeyError as error:
        raise WrongInputError(f"--url needs the agent's key in {API_KEY}: {error}") from None


@asynccontextmanager
async def _judge(
    options: argparse.Namespace, configuration: RetryConfiguration, service: AsyncClient | None
) -> AsyncIterator[Judge]:
    from retrycontract.mcp.open_calls import connection_details

    settings, details = _asked_settings(options), connection_details(options.session, options.model)
    if service is None:
        from anyio.to_thread import run_sync

        from retrycontract.in_process import RetryContract
        from retrycontract.judging import InProcessJudge

        contract = RetryContract(configuration=configuration)
        # In a thread: hostile schemas take their time, and other calls go on meanwhile.
        yield InProcessJudge(contract, "mcp", details=details, settings=settings, run=run_sync)
        return
    from retrycontract.judging.service_judge import ServiceJudge

    async with service:
        yield ServiceJudge(service, "mcp", details=details, settings=settings, is_patient=False)


def _asked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Give what the command line says of every tool; what it does not say is left to others."""
    settings: dict[str, Any] = {"strict": False} if options.lenient else {}
    if options.observe:
        settings["mode"] = "observe"
    if options.max_attempts is not None:
        settings["max_attempts"] = options.max_attempts
    return settings
