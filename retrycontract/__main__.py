"""The command line: `retrycontract check --schema S.json OUTPUT.json`, and the contract in front of MCP servers."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from retrycontract.config.configuration_file import DEFAULT_PATH, load_configuration
from retrycontract.contract.configuration import ConfigurationError
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.tool import Tool
from retrycontract.in_process import Outcome, RetryContract
from retrycontract.mcp.command_line import add_commands

VALID, INVALID, WRONG_USE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; exit status 0 for success or valid, 1 for not valid, 2 for wrong use."""
    options = _parser().parse_args(arguments)
    try:
        return COMMANDS[options.command](options)
    except (OSError, ValueError) as error:
        _wrong_use(error)


def _check(options: argparse.Namespace) -> int:
    if options.config is not None:
        options.config.stat()  # a file that was asked for must be there, the default one need not
    configuration = load_configuration(options.config or DEFAULT_PATH, os.environ)
    schema = _read_json(options.schema)
    output = sys.stdin.buffer.read() if options.output == "-" else Path(options.output).read_bytes()
    tool = Tool(name=options.tool, input_schema=schema, strict=not options.lenient)
    contract = RetryContract([tool], configuration)
    outcome = contract.check(options.tool, "", output)
    print(_as_json(outcome) if options.format == "json" else _as_text(outcome))
    return VALID if outcome.status == "valid" else INVALID


def _speak_mcp(options: argparse.Namespace) -> int:
    try:
        from retrycontract.mcp.commands import run_gateway, run_server  # the extra may be missing
    except ModuleNotFoundError as error:
        raise ValueError(f'this needs the package {error.name}: pip install "retrycontract[mcp]"') from error
    return run_gateway(options) if options.command == "mcp-gateway" else run_server(options)


COMMANDS = {"check": _check, "mcp-gateway": _speak_mcp, "mcp": _speak_mcp}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="retrycontract", description="Check what an LLM wrote against its contract.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="check an output and print the feedback that a model would read")
    check.add_argument("output", metavar="OUTPUT.json", help="the output to check; '-' reads standard input")
    check.add_argument("--schema", required=True, type=Path, metavar="S.json", help="the JSON Schema")
    check.add_argument("--tool", default="tool", help="the tool's name in the feedback")
    check.add_argument("--format", choices=("text", "json"), default="text")
    check.add_argument("--lenient", action="store_true", help="only warn about fields that the schema does not declare")
    check.add_argument("--config", type=Path, metavar="FILE", help=f"configuration file (default: {DEFAULT_PATH})")
    add_commands(commands)
    return parser


def _read_json(path: Path) -> Any:
    value, fault = parse_json(path.read_bytes())
    if fault is not None:
        raise ValueError(f"{path} is not JSON: {fault.reason}")
    return value


def _as_text(outcome: Outcome) -> str:
    if outcome.tool_result is not None:
        return outcome.tool_result.content
    warnings = "".join(f"\n{warning.field_path or '(root)'}: {warning.message}" for warning in outcome.warnings)
    return f"valid{warnings}"


def _as_json(outcome: Outcome) -> str:
    feedback = outcome.tool_result.content if outcome.tool_result else ""
    return json.dumps(
        {
            "valid": outcome.status == "valid",
            "errors": [error.to_json() for error in outcome.errors],
            "feedback": feedback,
            "characters": len(feedback),
        },
        indent=2,
    )


def _wrong_use(error: Exception) -> NoReturn:
    match error:
        case InvalidSchema():
            reason = f"the schema is invalid at {error.pointer or '(root)'}: {error.reason}"
        case ConfigurationError():
            reason = str(error)
        case OSError():
            reason = f"{error.filename}: {error.strerror}"
        case _:
            reason = str(error)
    print(f"retrycontract: {reason}", file=sys.stderr)
    sys.exit(WRONG_USE)


if __name__ == "__main__":
    sys.exit(main())
