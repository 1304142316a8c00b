"""Which attempt continues which call: MCP gives a call no id that survives a retry."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from retrycontract.contract.lifecycle import Status
from retrycontract.mcp.judging import Ruling

KEPT_ATTEMPTS = 20  # a person answers one of the last; each may be a megabyte


@dataclass(slots=True, eq=False)
class OpenCall:
    """Hold a call between its attempts, and what the model sent: secrets in it are stored nowhere else."""

    tool_name: str
    call_id: str | None = None
    is_blocked: bool = False
    has_ended: bool = False
    sent: deque[tuple[int, Any]] = field(default_factory=lambda: deque(maxlen=KEPT_ATTEMPTS))

    def take_over(self, ruling: Ruling) -> None:
        """Note where an attempt has left the call."""
        self.call_id = ruling.call_id
        self.is_blocked = ruling.status is Status.BLOCKED
        self.has_ended = ruling.status is Status.VALID

    def arguments_of(self, attempt: int | None) -> Any:
        """Give what an attempt sent, by default the last one; raises LookupError when that is forgotten."""
        if attempt is None and self.sent:
            return self.sent[-1][1]
        for number, arguments in self.sent:
            if number == attempt:
                return arguments
        raise LookupError(f"attempt {attempt} was not sent through this connection")


class OpenCalls:
    """Hand out the calls of one connection.

    A call of a tool continues the one of the same tool that failed longest ago and that nobody is trying at the
    moment; requests that are open at the same time are therefore always different calls.
    """

    def __init__(self) -> None:
        self._idle: dict[str, deque[OpenCall]] = {}

    def take(self, tool_name: str, call_id: str | None = None) -> OpenCall:
        """Take out the call to continue, the one with that id if one is given; or begin a new one."""
        waiting = self._idle.get(tool_name, deque())
        call = next((call for call in waiting if call_id in (None, call.call_id)), None)
        if call is None:
            return OpenCall(tool_name, call_id)
        waiting.remove(call)
        if not waiting:
            del self._idle[tool_name]
        return call

    def idle(self) -> list[OpenCall]:
        """List the calls that wait for their next attempt."""
        return [call for waiting in self._idle.values() for call in waiting]

    def put_back(self, call: OpenCall) -> None:
        """Let the next attempt continue a call, unless the call has ended or never began."""
        if call.call_id is not None and not call.has_ended:
            self._idle.setdefault(call.tool_name, deque()).append(call)
