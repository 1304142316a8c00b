"""Which attempt continues which call: MCP gives a call no id that survives a retry."""

from __future__ import annotations

import uuid
from collections import deque
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.lifecycle import Status
from retrycontract.judging import Verdict


def connection_details(session: str, model: str | None = None) -> dict[str, Any]:
    """Give what goes along with every attempt of a connection.

    The session is this connection's alone: an earlier one's calls are not ours. One turn for all of it, so that a call
    is continued by its call_id only. MCP names no model: whoever starts the connection may.
    """
    return {"session_id": f"{session}-{uuid.uuid4().hex}", "turn": 0} | ({"model": model} if model else {})


# Compared by identity: two calls of one tool may read alike, and the right one has to be taken out of the queue.
@dataclass(slots=True, eq=False)
class ConnectionCall:
    """Hold a call between its attempts."""

    tool_name: str
    call_id: str | None = None
    is_blocked: bool = False
    has_ended: bool = False

    def take_over(self, verdict: Verdict) -> None:
        """Note where an attempt has left the call."""
        self.call_id = verdict.call_id
        self.is_blocked = verdict.status is Status.BLOCKED
        self.has_ended = verdict.status is Status.VALID


class OpenCalls:
    """Hand out the calls of one connection.

    A call of a tool continues the one of the same tool that failed longest ago and that nobody is trying at the
    moment; requests that are open at the same time are therefore always different calls.
    """

    def __init__(self) -> None:
        self._idle: dict[str, deque[ConnectionCall]] = {}

    def take(self, tool_name: str, call_id: str | None = None) -> ConnectionCall:
        """Take out the call to continue, the one with that id if one is given; or begin a new one."""
        # The one that failed longest ago first: parallel calls fail in their order and are retried in it.
        waiting = self._idle.get(tool_name, deque())
        call = next((call for call in waiting if call_id in (None, call.call_id)), None)
        if call is None:
            return ConnectionCall(tool_name, call_id)
        waiting.remove(call)
        if not waiting:
            del self._idle[tool_name]
        return call

    def idle(self) -> list[ConnectionCall]:
        """List the calls that wait for their next attempt."""
        return [call for waiting in self._idle.values() for call in waiting]

    def put_back(self, call: ConnectionCall) -> None:
        """Let the next attempt continue a call, unless the call has ended or never began."""
        if call.call_id is not None and not call.has_ended:
            self._idle.setdefault(call.tool_name, deque()).append(call)
