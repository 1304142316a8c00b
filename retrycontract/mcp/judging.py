"""What the gateway needs of whoever judges calls: the contract in this process, or the service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from retrycontract.client import CallSummary, Guidance
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.json_types import Schema
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.schemas.tool_lists import DeclaredTool
from retrycontract.contract.tool import Tool


class CallEndedError(LookupError):
    """Raised for a `call_id` that takes no more attempts; without it a new call begins."""


class NoVerdictError(Exception):
    """Raised when nobody could judge an attempt; says why, in words that may reach the model."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """Hold the verdict on one attempt; `result` is what the model reads unless the attempt is valid."""

    call_id: str
    status: Status
    result: ToolResult | None = None


def as_text(arguments: str) -> str:
    """Write arguments that are one string as JSON text: where JSON text is expected it would be read as such."""
    return json.dumps(arguments)


class Judge(Protocol):
    """Judge attempts, and hand over what a person answers."""

    async def register(self, tools: Sequence[DeclaredTool], kind: Kind = Kind.TOOL_CALL) -> dict[str, str]:
        """Take the tools' schemas; gives the names of those that cannot be judged, with the reason."""

    async def rule(self, tool_name: str, arguments: Any, *, call_id: str | None, kind: Kind = Kind.TOOL_CALL) -> Ruling:
        """Judge one attempt; raises CallEndedError and NoVerdictError."""

    async def known_tools(self) -> dict[str, str]:
        """Give the names of the tools that somebody else has registered, with what is said of each."""

    async def extractions(self) -> list[str]:
        """Name the extractions that are registered; raises NoVerdictError."""

    async def extraction(self, name: str) -> Tool:
        """Give a registered extraction as it is judged; raises NoVerdictError."""

    async def schema_of(self, name: str) -> Schema:
        """Give the schema of a registered tool; raises NoVerdictError."""

    async def guidance(self, call_id: str, *, wait: float) -> Guidance | None:
        """Wait at most so many seconds for the answer to a Blocked call; raises NoVerdictError.

        Without a `decision` its `text` says that the time for an answer is over.
        """

    async def open_calls(self) -> list[CallSummary] | None:
        """List the open calls of the agent; None when nobody but the connection itself knows them."""
