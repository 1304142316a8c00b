"""Wait for a person without letting the client lose patience."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from retrycontract.client import Guidance
from retrycontract.mcp.judging import Judge, NoVerdictError

TICK = 5.0  # seconds between signs of life; clients give up after 30 to 60 without one

Tick = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Patience:
    """Say until when a client waits, on the event loop's clock, and what tells it that we are still there."""

    until: float
    tick: Tick

    @classmethod
    def of(cls, seconds: float, tick: Tick) -> Patience:
        """Begin to wait now."""
        return cls(anyio.current_time() + seconds, tick)

    @property
    def left(self) -> float:
        """Give the seconds that remain."""
        return max(self.until - anyio.current_time(), 0)


async def ask(judge: Judge, call_id: str, patience: Patience) -> Guidance | None:
    """Wait for the answer to a Blocked call, with a sign of life every few seconds; raises NoVerdictError."""
    answer, failure = None, None
    async with anyio.create_task_group() as signs:
        signs.start_soon(_keep_ticking, patience.tick)
        try:
            answer = await judge.guidance(call_id, wait=patience.left)
        except NoVerdictError as error:  # it would leave the group as one of several
            failure = error
        signs.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return answer


async def _keep_ticking(tick: Tick) -> None:
    while True:
        await tick()
        await anyio.sleep(TICK)
