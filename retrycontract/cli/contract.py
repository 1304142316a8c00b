"""The contract from a shell: check a file, and stand before models and MCP servers. Needs no service."""

from __future__ import annotations

import json
import math
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from retrycontract.config.configuration_file import DEFAULT_PATH, configuration_of
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.schemas.document import MAX_REASON, excerpt
from retrycontract.contract.schemas.tool_lists import KEYWORDS
from retrycontract.contract.tool import Tool
from retrycontract.in_process import Outcome, RetryContract

VALID, INVALID = 0, 1
ANSWER_SECONDS = 30  # more than a hook waits for a person, for the service to answer


class _Seconds(click.FloatRange):
    """Take a number of seconds, a year at most."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Give the number; click's own ranges let `nan` through."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


YEAR = 31_536_000
MOST_BYTES = 1024**3
SECONDS, SOME_SECONDS = _Seconds(0, YEAR), _Seconds(0, YEAR, min_open=True)


@click.command()
@click.argument("output", metavar="OUTPUT.json")
@click.option("--schema", required=True, type=Path, metavar="S.json", help="The JSON Schema.")
@click.option("--tool", default="tool", show_default=True, help="The tool's name in the feedback.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--lenient", is_flag=True, help="Only warn about fields that the schema does not declare.")
@click.option("--config", type=Path, metavar="FILE", help=f"Configuration file; default: {DEFAULT_PATH}")
def check(output: str, schema: Path, tool: str, form: str, as_json: bool, lenient: bool, config: Path | None) -> int:
    """Check an output against a schema.

    Prints the feedback that a model would read. OUTPUT.json is a file, or - for standard input.
    Exit status: 0 valid, 1 not valid, 2 wrong use.

    \b
    retrycontract check --schema schema.json output.json
    model | retrycontract check --schema schema.json --json -
    """
    configuration = configuration_of(config, os.environ)
    declared, fault = parse_json(schema.read_bytes())
    if fault is not None:
        raise WrongInputError(f"{schema} is not JSON: {excerpt(fault.reason, MAX_REASON)}")
    if isinstance(declared, dict) and declared and not declared.keys() & KEYWORDS:
        raise WrongInputError(f"{schema} holds no keyword of JSON Schema: is it the output? --schema names the schema")
    text = sys.stdin.buffer.read() if output == "-" else Path(output).read_bytes()
    try:
        contract = RetryContract((), configuration)
        # Who asks what is wrong with an output is told, though its tool may only be observed.
        warnings = contract.register(Tool(name=tool, input_schema=declared, strict=not lenient, mode="enforce"))
    except InvalidSchema as wrong:
        raise WrongInputError(f"the schema is invalid at {wrong}") from None
    for warning in warnings:
        click.echo(f"{schema}, at {warning}", err=True)
    outcome = contract.check(tool, "check", text)
    if as_json or form == "json":
        click.echo(_as_json(outcome))
    elif outcome.tool_result is not None:
        click.echo(outcome.tool_result.content)
    else:
        said = "".join(f"\n{warning.field_path or '(root)'}: {warning.message}" for warning in outcome.warnings)
        click.echo(f"valid{said}")
    return VALID if outcome.status == "valid" else INVALID


@click.command()
@click.option("--upstream", required=True, metavar="URL", help="The API to stand before: https://api.openai.com, …")
@click.option("--listen", default="127.0.0.1:8400", show_default=True, metavar="HOST:PORT")
@click.option(
    "--mode",
    type=click.Choice(["observe", "enforce"]),
    default="observe",
    show_default=True,
    help="Only report what is wrong, or have it mended. The configuration file may say otherwise by tool.",
)
@click.option("--url", metavar="URL", help="The service with the desk; RETRYCONTRACT_API_KEY holds its key.")
@click.option("--lenient", is_flag=True, help="Let fields pass that a schema does not declare.")
@click.option(
    "--broken-schemas",
    type=click.Choice(["pass", "refuse"]),
    default="pass",
    show_default=True,
    help="What becomes of a request whose schema is no valid one.",
)
@click.option(
    "--stall",
    type=SOME_SECONDS,
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the upstream may be silent.",
)
@click.option(
    "--max-request", type=click.IntRange(1, MOST_BYTES), default=64 * 1024 * 1024, show_default=True, metavar="BYTES"
)
@click.option(
    "--max-answer",
    type=click.IntRange(1, MOST_BYTES),
    default=8 * 1024 * 1024,
    show_default=True,
    metavar="BYTES",
    help="How much of an answer is held to be judged.",
)
@click.option(
    "--wait", type=SECONDS, default=0.0, show_default=True, metavar="SECONDS",
    help="How long an answer waits for a person, with --url.",
)  # fmt: skip
@click.option("--rescue", is_flag=True, help="Take calls that are written as text.")
@click.option(
    "--repeats", type=click.IntRange(0, 1_000), default=3, show_default=True, metavar="N",
    help="Equal calls in a row that are told of; 0: never.",
)  # fmt: skip
@click.option("--tell-repeats", is_flag=True, help="Tell the model of them as well.")
@click.option("--config", type=Path, metavar="FILE", help=f"Configuration file; default: {DEFAULT_PATH}")
def proxy(**options: Any) -> int:
    """Put the contract in front of a model's API.

    Clients of OpenAI's or Anthropic's API change their base URL, and nothing else.

    \b
    retrycontract proxy --upstream https://api.openai.com
    OPENAI_BASE_URL=http://127.0.0.1:8400/v1 my-agent
    """
    try:
        from retrycontract.proxy import commands  # the extra may be missing
    except ModuleNotFoundError as error:
        raise WrongInputError('this needs httpx2 and uvicorn: pip install "retrycontract[proxy]"') from error
    return commands.run(options)


def _of_the_contract(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that both MCP commands share."""
    for option in (
        click.option("--lenient", is_flag=True, help="Let fields pass that a schema does not declare."),
        click.option("--observe", is_flag=True, help="Check and record everything, block nothing."),
        click.option("--max-attempts", type=int, metavar="N", help="Attempts before a call is Blocked: 1 to 10."),
        click.option("--config", type=Path, metavar="FILE", help=f"Configuration file; default: {DEFAULT_PATH}"),
        click.option("--session", metavar="NAME", help="What the service calls this conversation."),
        click.option("--model", metavar="NAME", help="The model that calls, for the service's figures."),
        click.option("--url", metavar="URL", help="The service to use; RETRYCONTRACT_API_KEY holds its key."),
    ):
        command = option(command)
    return command


_of_silent_clients = click.option(
    "--silent-wait", type=SECONDS, metavar="SECONDS",
    help="How long a person is waited for where the client does not ask for progress: 45.",
)  # fmt: skip


@click.command("mcp-gateway", context_settings={"ignore_unknown_options": True})
@_of_the_contract
@click.option("--wait", type=SECONDS, metavar="SECONDS", help="How long a Blocked call waits for a person, with --url.")
@_of_silent_clients
@click.option("--restart", is_flag=True, help="Start the server again when it ends, instead of ending with its status.")
@click.option(
    "--results", type=click.Choice(["off", "observe", "enforce"]),
    help="What becomes of results that do not fit their outputSchema: noted (observe), or held back (enforce).",
)  # fmt: skip
@click.option("--upstream", metavar="URL", help="A server that speaks streamable HTTP, instead of a command.")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="Send this to --upstream with each request.")
@click.option("--servers", type=Path, metavar="FILE", help="Several servers, as MCP clients configure them.")
@click.option("--listen", metavar="HOST:PORT", help="Serve clients over streamable HTTP, at /mcp, instead of stdio.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A name that --listen is reached by.")
@click.option(
    "--max-body", type=click.IntRange(1, MOST_BYTES), metavar="BYTES", help="Of one request to --listen: 4 MiB."
)
@click.option("--max-sessions", type=click.IntRange(1, 1_000_000), metavar="N", help="Open at the same time: 1000.")
@click.option("--idle", type=SOME_SECONDS, metavar="SECONDS", help="Unused, a session ends: 1800.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def mcp_gateway(**options: Any) -> int:
    """Put the contract in front of MCP servers.

    Over stdio, a client starts this command where it started the server; with --listen it is an address for many
    clients. Behind it stands a command, an address, or several servers, whose tools are then called NAME__TOOL.

    \b
    retrycontract mcp-gateway -- npx -y @modelcontextprotocol/server-filesystem .
    retrycontract mcp-gateway --upstream https://mcp.example/mcp
    retrycontract mcp-gateway --listen 127.0.0.1:8500 --servers servers.json
    """
    return _speak_mcp("run_gateway", options)


@click.command()
@_of_the_contract
@click.option("--tools", type=Path, metavar="FILE", help="Tool list, as OpenAI, Anthropic or MCP write it.")
@click.option("--extractions", type=Path, metavar="FILE", help="The same for data to extract, with its schemas.")
@_of_silent_clients
def mcp(**options: Any) -> int:
    """Serve the contract's own tools over MCP.

    \b
    retrycontract mcp --tools tools.json
    """
    return _speak_mcp("run_server", options)


@click.command()
@click.option("--url", required=True, metavar="URL", help="The service; RETRYCONTRACT_API_KEY holds the agent's key.")
@click.option("--wait", type=SECONDS, default=45.0, show_default=True, metavar="SECONDS", help="How long for a person.")
@click.option(
    "--unanswered", type=click.Choice(["deny", "ask"]), default="deny", show_default=True,
    help="What becomes of a call that nobody answers: ask leaves it to the agent's user.",
)  # fmt: skip
def hook(url: str, wait: float, unanswered: str) -> int:
    """Judge a coding agent's tool call before it runs.

    Reads the payload of a hook from standard input and prints the decision, in the shape of Claude Code's hooks. What
    cannot be checked is blocked: the exit status is 2, and the reason stands on stderr.

    \b
    retrycontract hook --url https://desk.example < payload.json
    """
    if not url.startswith(("http://", "https://")):
        raise WrongInputError(f"--url {url}: the service's address is http:// or https://…")
    key = os.environ.get("RETRYCONTRACT_API_KEY", "").strip()
    if not key:
        raise WrongInputError("RETRYCONTRACT_API_KEY is empty: it holds the agent's key")
    address = f"{url.rstrip('/')}/hooks?wait={wait:g}&unanswered={unanswered}"
    try:
        # Longer than the service may wait for a person: an answer that comes in time must not be cut off here.
        click.echo(_decision(address, key, wait + ANSWER_SECONDS))
    # Whatever it is: agents run the tool at every exit status but 2.
    except Exception as error:
        reason = " ".join(f"{error}".split()) or type(error).__name__
        raise click.ClickException(reason) from error
    return VALID


def _decision(address: str, key: str, timeout: float) -> str:
    """Have the payload on standard input judged, and give the service's decision as it was written."""
    # The standard library alone: a hook needs no extra of the package where the agent runs.
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(address, sys.stdin.buffer.read(), {"Authorization": f"Bearer {key}"})  # noqa: S310 - the caller's
    try:
        with urlopen(request, timeout=timeout) as answer:  # noqa: S310 - the same
            said: str = answer.read().decode()
    except HTTPError as refused:
        problem, fault = parse_json(refused.read(10_000).decode(errors="replace"))
        told = problem.get("detail") or problem.get("title") if fault is None and isinstance(problem, dict) else None
        place = address.partition("?")[0]
        raise WrongInputError(f"the service answers {refused.code}: {told or f'is {place} its address?'}") from None
    except (URLError, TimeoutError, ConnectionError) as away:
        raise WrongInputError(f"the service cannot be reached: {getattr(away, 'reason', away)}") from None
    value, fault = parse_json(said)
    # An agent takes anything else, a log-in page for one, for no decision, and runs the tool.
    if fault is not None or not isinstance(value, dict) or (value and "hookSpecificOutput" not in value):
        raise WrongInputError(f"the service at {address.partition('?')[0]} answers with no decision")
    return said


def _speak_mcp(runner: str, options: dict[str, Any]) -> int:
    from retrycontract.mcp import commands

    # click says None of an option that was not given, which must not stand above its default.
    given = {name: value for name, value in options.items() if value is not None}
    run: Callable[[Namespace], int] = getattr(commands, runner)
    try:
        return run(Namespace(**options | commands.DEFAULTS | given))
    except ModuleNotFoundError as error:
        # Whichever of the extra's packages was met first: they come together.
        raise WrongInputError('this needs the package mcp: pip install "retrycontract[mcp]"') from error


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
