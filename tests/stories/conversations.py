"""Conversations of one agent that know nothing of each other and number their tool calls alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import httpx2
from django.test import Client as DjangoClient

from retrycontract.client import Client, Outcome

TRANSFER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}},
    "required": ["amount", "to"],
}


class InThisProcess(httpx2.BaseTransport):
    """Hand requests to the application in this process, within the test's own transaction."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        response = DjangoClient(raise_request_exception=False).generic(
            request.method, request.url.raw_path.decode(), request.read(), "application/json",
            headers=dict(request.headers),
        )  # fmt: skip
        return httpx2.Response(response.status_code, headers=dict(response.headers), content=response.content)


ANSWERED_WITHIN = 300  # seconds; one person answers all, on a machine that others use, too
Submit = Callable[[Client, str, dict[str, Any], "Outcome | None"], Outcome]


def continuing(client: Client, tool_call_id: str, arguments: dict[str, Any], before: Outcome | None) -> Outcome:
    """Name the call that goes on, as an agent without a session does."""
    return client.submit("transfer", tool_call_id, arguments, call_id=before.call_id if before else None)


def forgetting(client: Client, tool_call_id: str, arguments: dict[str, Any], _: Outcome | None) -> Outcome:
    """Name nothing at all."""
    return client.submit("transfer", tool_call_id, arguments, max_attempts=1)


def counting(client: Client, tool_call_id: str, arguments: dict[str, Any], _: Outcome | None) -> Outcome:
    """Count turns, but of no session."""
    turn = int(tool_call_id.removeprefix("c"))
    return client.submit("transfer", tool_call_id, arguments, turn=turn, max_attempts=1)


WAYS: Final[dict[str, Submit]] = {"call ids": continuing, "nothing": forgetting, "turns alone": counting}


@dataclass
class Conversation:
    """Ask for a transfer to somebody until it is valid; the amount stays wrong until a person corrects it.

    Without a way of its own it submits to a session.
    """

    client: Client
    to: str
    way: Submit | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self._session = self.client.session()

    def attempt(self) -> Outcome:
        """Submit the next attempt: the ids are c1, c2, as in every conversation."""
        tool_call_id, arguments = f"c{next(self.numbers)}", {"amount": "ten", "to": self.to}
        if self.way is None:
            self.outcomes.append(self._session.submit("transfer", tool_call_id, arguments))
        else:
            before = self.outcomes[-1] if self.outcomes else None
            self.outcomes.append(self.way(self.client, tool_call_id, arguments, before))
        return self.outcomes[-1]

    @property
    def calls(self) -> list[str]:
        """Give the calls that it took part in."""
        return list(dict.fromkeys(outcome.call_id for outcome in self.outcomes))

    def transferred(self) -> list[Any]:
        """Take over what a person answered to each of its Blocked calls, and give what would be run."""
        blocked = [outcome for outcome in self.outcomes if outcome.status == "blocked"]
        given = [self.client.wait_for_guidance(outcome, timeout=ANSWERED_WITHIN) for outcome in blocked]
        assert all(guidance.decision for guidance in given), "a person answers every call"
        return [
            self.client.submit("transfer", "c9", guidance.arguments, call_id=guidance.call_id).arguments
            for guidance in given
        ]
