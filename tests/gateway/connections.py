"""Connections to the gateway, as the SDK's own client makes them, and what the upstream was told."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage

from tests.serving.forked import forked

ROOT = Path(__file__).resolve().parents[2]
SERVER = str(ROOT / "tests/gateway/upstream.py")
SECONDS = 60  # what a story may take on a busy machine before it counts as hung

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}

Story = Callable[[Client], Awaitable[None]]


def upstream_command(*arguments: str) -> list[str]:
    """Give the command line of the tests' own upstream."""
    return forked(SERVER, *arguments)


def gateway_command(*options: str, upstream: Sequence[str] | None = None) -> list[str]:
    """Give the command line of a gateway in front of an upstream."""
    behind = upstream_command() if upstream is None else upstream
    return forked("-m", "retrycontract", "mcp-gateway", *options, *(("--", *behind) if behind else ()))


def run(
    story: Story,
    folder: Path,
    *options: str,
    upstream: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    **client: Any,
) -> str:
    """Run a story with a client of a gateway in front of an upstream; gives what the gateway wrote to stderr."""
    is_elsewhere = "--upstream" in options or "--servers" in options
    behind = () if is_elsewhere else upstream or upstream_command(str(folder))
    command, *arguments = gateway_command(*options, upstream=behind)
    return run_command(story, folder, command, *arguments, env=env, **client)


def run_command(
    story: Story, folder: Path, command: str, *arguments: str, env: dict[str, str] | None = None, **client: Any
) -> str:
    """Run a story with a client of any MCP server."""
    parameters = StdioServerParameters(command=command, args=list(arguments), env=env, cwd=ROOT)

    async def connect() -> None:
        with anyio.fail_after(SECONDS), (folder / "stderr").open("w") as log:
            async with Client(stdio_client(parameters, log), **client) as connected:
                await story(connected)

    anyio.run(connect)
    return (folder / "stderr").read_text()


def told(folder: Path, name: str) -> list[Any]:
    """Read what the upstream was told."""
    path = folder / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def text_of(result: Any) -> str:
    """Join the texts of a result, as a model reads them."""
    return "\n".join(block.text for block in result.content)


def twin_of(result: Any) -> Any:
    """Give what a result of ours says to machines."""
    assert result.structured_content is None, "it would be held to the tool's own output schema"
    return result.meta["retrycontract/feedback"]


async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    """Answer a server that asks for words of a model."""
    content = types.TextContent(type="text", text="yes")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def roots(context: Any) -> types.ListRootsResult:
    """Answer a server that asks for folders."""
    return types.ListRootsResult(roots=[types.Root(uri="file:///srv")])  # type: ignore[arg-type]


async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Answer a server that asks the user."""
    return types.ElicitResult(action="accept", content={"sure": True})


# What a client answers that is asked back, whatever it is asked.
ANSWERS_BACK: dict[str, Any] = {
    "sampling_callback": sample, "list_roots_callback": roots, "elicitation_callback": elicit,
}  # fmt: skip


async def cancel_a_slow_call(client: Client, folder: Path) -> None:
    """Make a call that tells its progress, another one beside it, and cancel the first; the upstream hears of it."""
    before, started = len(told(folder, "cancelled")), anyio.Event()

    async def progress(done: float, total: float | None, message: str | None) -> None:
        assert (done, total, message) == (1.0, 3.0, "a third")
        started.set()

    async def slow() -> None:
        await client.call_tool("slow", {}, progress_callback=progress)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slow)
        await started.wait()
        assert text_of(await client.call_tool("double", {"number": 4})) == '{"number": 8}'
        tasks.cancel_scope.cancel()
    while len(told(folder, "cancelled")) == before:
        await anyio.sleep(0.01)


async def together(client: Client, tool: str, arguments: Any, times: int) -> list[int]:
    """Make calls at the same time; gives the attempt that each is told to be."""
    results: list[Any] = [None] * times

    async def one(number: int) -> None:
        results[number] = await client.call_tool(tool, arguments)

    async with anyio.create_task_group() as tasks:
        for number in range(times):
            tasks.start_soon(one, number)
    return [twin_of(result)["attempt"] for result in results]


async def raw_answers(command: list[str], requests: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Send requests one after another and give the answers as JSON, read by no model of the SDK's."""
    answers = []
    # The whole environment: the SDK would leave out what servers tell of, as the time zone.
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ), cwd=ROOT)
    with anyio.fail_after(SECONDS):
        async with stdio_client(parameters) as (incoming, outgoing):
            for number, (method, params) in enumerate([("initialize", INITIALIZE), *requests]):
                request = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
                await outgoing.send(SessionMessage(request))
                received = await incoming.receive()
                assert isinstance(received, SessionMessage)
                answers.append(received.message.model_dump(mode="json", exclude_unset=True))
    return answers
