"""What the gateway needs of whoever judges calls: the contract in this process, or the service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from retrycontract.contract.lifecycle import Decision, Status
from retrycontract.contract.tool_lists import DeclaredTool
from retrycontract.contract.tool_result import ToolResult


class CallEndedError(LookupError):
    """Raised for a `call_id` that takes no more attempts; without it a new call begins."""


class NoVerdictError(Exception):
    """Raised when nobody could judge an attempt; says why, in words that may reach the model."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """Hold the verdict on one attempt; `result` is what the model reads unless the attempt is valid."""

    call_id: str
    status: Status
    number: int
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """Hold a person's answer to a Blocked call; `text` is written for the model, `words` are the person's own."""

    decision: Decision
    text: str
    words: str = ""
    arguments: Any = None
    patch: list[dict[str, Any]] | None = None
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Expiry:
    """Say that the time for an answer is over; `text` tells the model."""

    text: str


def as_text(arguments: str) -> str:
    """Write arguments that are one string as JSON text: where JSON text is expected it would be read as such."""
    return json.dumps(arguments)


class Judge(Protocol):
    """Judge attempts, and hand over what a person answers."""

    async def register(self, tools: Sequence[DeclaredTool]) -> dict[str, str]:
        """Take the tools' schemas; gives the names of those that cannot be judged, with the reason."""

    async def rule(self, tool_name: str, arguments: Any, *, call_id: str | None) -> Ruling:
        """Judge one attempt; raises CallEndedError and NoVerdictError."""

    async def guidance(self, call_id: str, *, wait: float) -> Guidance | Expiry | None:
        """Wait at most so many seconds for the answer to a Blocked call; raises NoVerdictError."""
