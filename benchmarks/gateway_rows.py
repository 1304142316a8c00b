"""What the MCP gateway adds to a tool call: beside the server itself, and with a desk beside the client alone."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.report import FOLDER, Goal, duration, machine, ratio, table
from benchmarks.service import embedded
from benchmarks.service_rows import Effort
from retrycontract.client import AsyncClient
from tests.gateway.connections import INITIALIZE, ROOT
from tests.gateway.upstream import READ_FILE

ASKED, AT_ONCE, BURSTS = 100, 50, 10  # calls one by one, calls at once, and how often in each round
SERVER = (sys.executable, str(ROOT / "tests/gateway/upstream.py"))
BARE = (sys.executable, str(ROOT / "tests/gateway/raw_upstream.py"))
GATEWAY = (sys.executable, "-m", "retrycontract", "mcp-gateway")
TOOL, RIGHT = "read_file", {"path": "/a"}
DIRECT, ALONE, DESK, SUBMIT = (
    "the server itself",
    "`mcp-gateway`",
    "`mcp-gateway --url`",
    "`AsyncClient.submit`, then the server itself",
)

Ask = Callable[[], Awaitable[object]]
Times = dict[str, list[float]]


def gateway_document(effort: Effort) -> str:
    """Write the part of the results."""
    with embedded() as site:
        one, many = anyio.run(_asked, site.service.url, site.keys[0], effort)
    goals = {ALONE: (DIRECT, Goal(1.0, " ms"), Goal(1.5)), DESK: (SUBMIT, None, Goal(1.0))}
    single, at_once = [], []
    for name in one:
        beside, most_added, most = goals.get(name, (None, None, None))
        added = (statistics.median(one[name]) - statistics.median(one[beside or name])) * 1_000
        told = [f"{added:.2f} ms" if beside else "", most_added.verdict(added) if most_added else ""]
        single.append((name, duration(statistics.median(one[name])), *told))
        times = statistics.median(a / b for a, b in zip(many[name], many[beside or name], strict=True))
        told = [ratio(times) if beside else "", most.verdict(times) if most else ""]
        at_once.append((name, duration(statistics.median(many[name])), *told))
    seconds, megabytes = _started()
    start = [
        ("processor time until the first call is answered", duration(seconds), Goal(0.4, " s").verdict(seconds)),
        ("memory beyond that of bare Python", f"{megabytes:.1f} MB", Goal(40, " MB").verdict(megabytes)),
    ]
    sections = [
        ("A call", table(("one after another", "p50", "added", "goal"), single)),
        (f"{AT_ONCE} calls", table((f"{AT_ONCE} at once", "p50", "of what it stands before", "goal"), at_once)),
        ("Start", table(("the gateway", "takes", "goal"), start)),
    ]
    text = "\n\n".join(f"## {title}\n\n{rows}" for title, rows in sections)
    return f"{_head()}\n\n{text}\n\n## Notes\n\n{(FOLDER / 'GATEWAY-NOTES.md').read_text(encoding='utf-8').strip()}\n"


async def _asked(url: str, key: str, effort: Effort) -> tuple[Times, Times]:
    """Ask all in turn, each over a connection that stays; the first round is not counted."""
    one: Times = {}
    many: Times = {}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(AsyncClient(url, api_key=key, patience=5))
        await client.register_tool(TOOL, READ_FILE)
        session = uuid.uuid4().hex

        async def submit() -> object:
            await client.submit(TOOL, uuid.uuid4().hex, RIGHT, session_id=session, turn=0)
            return await asks[DIRECT]()

        asks: dict[str, Ask] = {SUBMIT: submit}
        commands = {DIRECT: SERVER, ALONE: (*GATEWAY, "--", *SERVER), DESK: (*GATEWAY, "--url", url, "--", *SERVER)}
        log = stack.enter_context(Path(os.devnull).open("w"))  # noqa: SIM115 - the stack closes it
        for name, (program, *words) in commands.items():
            environment = {**os.environ, "RETRYCONTRACT_API_KEY": key}
            server = StdioServerParameters(command=program, args=words, env=environment, cwd=ROOT)
            connected = await stack.enter_async_context(Client(stdio_client(server, log), mode="legacy"))
            await connected.list_tools()
            asks[name] = partial(connected.call_tool, TOOL, RIGHT)
        asks = {name: asks[name] for name in (DIRECT, ALONE, SUBMIT, DESK)}
        for number in range(effort.rounds + 1):
            alone = await _in_turns(asks, max(ASKED // effort.share, 1), _one)
            at_once = await _in_turns(asks, max(BURSTS // effort.share, 1), _burst)
            for name in asks if number else ():
                one.setdefault(name, []).extend(alone[name])
                many.setdefault(name, []).extend(at_once[name])
    return one, many


async def _in_turns(asks: Mapping[str, Ask], times: int, how: Callable[[Ask], Awaitable[float]]) -> Times:
    taken: Times = {name: [] for name in asks}
    for number in range(times):
        # Each is as often the first as the last: what one leaves to be done falls to the next.
        for name in list(asks) if number % 2 else reversed(asks):
            taken[name].append(await how(asks[name]))
    return taken


async def _one(ask: Ask) -> float:
    began = perf_counter()
    await ask()
    return perf_counter() - began


async def _burst(ask: Ask) -> float:
    began = perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(ask)
    return perf_counter() - began


def _started() -> tuple[float, float]:
    """Give what a gateway's own process has used when the first call is answered: seconds, and memory in MB."""
    call = {"name": "text", "arguments": {"text": "a"}}
    asked = [("initialize", INITIALIZE), ("tools/list", {}), ("tools/call", call)]
    with tempfile.TemporaryDirectory() as folder:
        bare = _figures([*BARE, folder], asked)
        through = _figures([*GATEWAY, "--", *BARE, folder], asked)
    return through[0], through[1] - bare[1]


def _figures(command: list[str], asked: list[tuple[str, Any]]) -> tuple[float, float]:
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        folder = Path(f"/proc/{process.pid}")
        ticks = sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
        pages = int((folder / "statm").read_text().split()[1])
        process.stdin.close()
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _head() -> str:
    return f"""\
# The MCP gateway

`make bench ARGS="--only gateway"` on {datetime.now(UTC):%Y-%m-%d}: {machine()}; load of the machine:
{os.getloadavg()[0]:.1f}.

One client of the official SDK for Python asks each in turn over a pipe of its own; the server is written with the SDK,
too. Each is a process of its own on the machine that asks. Ratios are medians of bursts in turn."""
