"""Calls that are Blocked behind the gateway, and the person who answers them meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from anyio.to_thread import run_sync
from mcp import Client

from tests.gateway.connections import twin_of
from tests.serving.desk import Desk

WRONG = {"path": "report.txt", "encoding": "uft8"}


async def two_failures(client: Client, wrong: dict[str, Any] = WRONG, tool: str = "read_file") -> str:
    """Fail twice and give the call's id."""
    ids = {twin_of(await client.call_tool(tool, wrong))["call_id"] for _ in range(2)}
    (call_id,) = ids
    return str(call_id)


async def third_failure_while(
    client: Client, answer: Callable[[], Any], wrong: dict[str, Any] = WRONG, tool: str = "read_file"
) -> Any:
    """Fail a third time, let a person answer while the gateway waits, and give the result."""
    waited_for = anyio.Event()
    found: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        assert message == "The call is Blocked; a person has been asked and is waited for."
        waited_for.set()

    async def call() -> None:
        found.append(await client.call_tool(tool, wrong, progress_callback=progress))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await waited_for.wait()
        await run_sync(answer)
    return found[0]


def answered_with(desk: Desk, call_id: str, **fields: str) -> Callable[[], None]:
    def answer() -> None:
        desk.answer(call_id, **fields)

    return answer
