"""A service that answers from a script, and a clock that moves when somebody sleeps or is held."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from tests.client.flavours import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "rc_1f2e3d4c_" + "not-a-real-key"
URL = "http://desk.example"

PENDING: dict[str, Any] = {
    "call_id": "call-1",
    "state": "pending",
    "status": None,
    "attempt": 1,
    "max_attempts": 3,
    "attempt_number": 1,
    "errors": [],
    "warnings": [],
    "tool_result": None,
    "rendered": None,
    "links": {},
}
VALID = PENDING | {"state": "valid", "status": "valid"}
ERROR = {
    "error_code": "VAL-008",
    "field_path": "/mode",
    "message": "Invalid enum value 'raed'",
    "severity": "error",
    "expected_value": "read",
    "actual_value": '"raed"',
    "keyword": "enum",
    "hint": None,
}
RETRY = PENDING | {
    "state": "retrying",
    "status": "retry",
    "errors": [ERROR],
    "warnings": [ERROR | {"severity": "warning", "field_path": "/old"}],
    "tool_result": {
        "role": "tool",
        "tool_call_id": "t1",
        "content": "Validation failed",
        "is_error": True,
        "metadata": {"call_id": "call-1"},
    },
}
WAITING: dict[str, Any] = {"call_id": "call-1", "state": "blocked", "guidance": None, "expiry": None, "links": {}}
HINT = {
    "id": 1,
    "decision": "hint",
    "text": "A person answered",
    "operator_text": "Use read.",
    "arguments": None,
    "patch": None,
    "base": {"attempt": 1, "hash": "0" * 64},
    "granted": 2,
    "next_attempt": 4,
    "max_attempts": 5,
    "given_at": "2027-03-14T12:00:00Z",
    "acknowledged": False,
}


def guided(state: str = "guided", **changes: Any) -> dict[str, Any]:
    """Give what a wait is answered once a person has decided."""
    return WAITING | {"state": state, "guidance": HINT | changes}


def answer(status: int, body: Any = None, **headers: str) -> httpx2.Response:
    """Give an answer; underscores in names of headers stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, headers=named, json=body)


def problem(status: int, code: str, detail: str = "Do this.", headers: Any = None, **extra: Any) -> httpx2.Response:
    """Give a problem document as the service writes it."""
    document = {"type": f"urn:{code}", "title": "T", "status": status, "code": code, "detail": detail, **extra}
    content = json.dumps(document).encode()
    return httpx2.Response(
        status, headers={"Content-Type": "application/problem+json", **(headers or {})}, content=content
    )


@dataclass
class Script:
    """Answer each request with the next entry; the last one stays. An exception is raised in place of an answer."""

    flavour: str
    answers: list[httpx2.Response | Exception]
    requests: list[httpx2.Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 1_000.0
    holds: bool = True  # 202 comes when the time is over; False: at once, as from a service that stops

    @property
    def bodies(self) -> list[Any]:
        """List the bodies that were sent."""
        return [json.loads(request.content) if request.content else None for request in self.requests]

    @property
    def lines(self) -> list[str]:
        """List what was asked: method and path."""
        return [
            f"{request.method} {request.url.raw_path.decode().removeprefix('/api/v1')}" for request in self.requests
        ]

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        """Take a request in; one that is held moves the clock."""
        self.requests.append(request)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        if found.status_code == 202 and self.holds:
            self.now += int(request.headers["prefer"].removeprefix("wait="))
        return httpx2.Response(found.status_code, headers=found.headers, content=found.content)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds

    async def sleep_in_loop(self, seconds: float) -> None:
        """Let time pass for the asynchronous client."""
        self.sleep(seconds)

    @contextmanager
    def client(self, **options: Any) -> Iterator[Any]:
        """Open a client that talks to this script; its chance always says 1."""
        given = {
            "transport": httpx2.MockTransport(self.handle),
            "clock": lambda: self.now,
            "sleep": self.sleep if self.flavour == "sync" else self.sleep_in_loop,
            "random": lambda: 1.0,
            **options,
        }
        with opened(self.flavour, URL, KEY, **given) as client:
            yield client
