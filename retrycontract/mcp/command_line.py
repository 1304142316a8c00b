"""What the commands `mcp-gateway` and `mcp` take; the SDK is imported only when one of them runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from retrycontract.config.configuration_file import DEFAULT_PATH

API_KEY = "RETRYCONTRACT_API_KEY"
WAIT = 300.0  # seconds; as long as a person at a desk needs, and within what a client with progress waits


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare both commands."""
    gateway = commands.add_parser("mcp-gateway", help="put the contract in front of an MCP server (stdio)")
    _add_service(gateway)
    gateway.add_argument(
        "--wait", type=float, default=WAIT, metavar="SECONDS",
        help="how long a Blocked call waits for a person, with --url (default: %(default)g)",
    )  # fmt: skip
    gateway.add_argument("upstream", nargs="+", metavar="COMMAND", help="how to start the server, after '--'")

    server = commands.add_parser("mcp", help="serve the contract's own tools to an MCP client (stdio)")
    _add_service(server)
    server.add_argument("--tools", type=Path, metavar="FILE", help="tool list, as OpenAI, Anthropic or MCP write it")
    server.add_argument(
        "--extractions", type=Path, metavar="FILE", help="the same for data to extract, with its schemas"
    )


def _add_service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", metavar="URL", help=f"the service to use; its key is read from {API_KEY}")
    parser.add_argument("--session", default="mcp", metavar="NAME", help="what the service calls this connection")
    parser.add_argument("--config", type=Path, metavar="FILE", help=f"configuration file (default: {DEFAULT_PATH})")
    parser.add_argument("--max-attempts", type=int, metavar="N", help="attempts before a call is Blocked (1 to 10)")
    parser.add_argument("--observe", action="store_true", help="check and record everything, block nothing")
    parser.add_argument("--lenient", action="store_true", help="let fields pass that a schema does not declare")
