"""What can go wrong between an agent and the service, and what to do then.

    ClientError
    ├── AddressError                  the service's address is none
    ├── MissingKeyError               no API key was given
    ├── UnreachableError              no answer came, however often it was asked
    ├── RefusedError                  the service said no: status, code, detail, errors with pointers
    │   ├── InvalidRequestError       400, 415, 422
    │   ├── NotAuthenticatedError     401, 403
    │   ├── NotFoundError             404
    │   ├── ConflictError             409: the call has ended, is of another tool, or several could be meant
    │   ├── TooLargeError             413
    │   └── UnavailableError          429, 500 and above
    ├── UnexpectedAnswerError         what answered is not this service, or speaks another version
    ├── CorrectionError               a correction cannot be applied to what was sent
    ├── VerdictPendingError                an attempt was not judged in the time that there was
    ├── NoConversationError           a guarded function was called outside of any session
    └── ToolDeclarationError          a function or type cannot be described as a tool

What a model got wrong is never an exception: it is an Outcome. No message holds the API key or a value that was sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from retrycontract.client.exchange import Reply
from retrycontract.contract.errors import WrongInputError
from retrycontract.contract.json_types import sequence
from retrycontract.contract.lifecycle import CallState


class ClientError(Exception):
    """Stand for everything that this package raises on its own account."""


class AddressError(ClientError, WrongInputError):
    """Raised when the service's address is none."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}: give url=, or set RETRYCONTRACT_URL, as https://desk.example")


class MissingKeyError(ClientError):
    """Raised when no API key was given, or one that cannot be one."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}: {NEW_KEY}")


class UnreachableError(ClientError):
    """Raised when the service gave no answer; `url` is where it was looked for, `reason` what happened last."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"no answer from {url} ({reason}): is the service running there? Start it with 'retrycontract up', or "
            "say where it is with RETRYCONTRACT_URL"
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """Name one fault of a request: where it is, its code and what is wrong."""

    pointer: str
    code: str
    detail: str


class RefusedError(ClientError):
    """Raised when the service refuses a request: `status`, a stable `code`, `detail` and `errors` with pointers."""

    advice = ""

    def __init__(self, reply: Reply) -> None:
        problem = _problem(reply)
        self.status = reply.status
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail") or "The answer says nothing more; a proxy may have given it.")
        # A proxy or another service may have written something else there.
        faults = [fault for fault in sequence(problem, "errors") if isinstance(fault, dict)]
        self.errors = tuple(
            Fault(*(str(fault.get(name, "")) for name in ("pointer", "code", "detail"))) for fault in faults
        )
        lines = [f"{self.detail} (HTTP {self.status}{self.code and ', '}{self.code})"]
        lines += [f"  {fault.pointer or '(root)'}: {fault.detail}" for fault in self.errors]
        super().__init__("\n".join([*lines, self.advice] if self.advice else lines))

    @property
    def told(self) -> str:
        """Give it in one line for a model or a gateway's user, who see no `errors`: each place and what is wrong."""
        faults = "; ".join(f"{fault.pointer or 'the whole'}: {fault.detail}" for fault in self.errors)
        return f"{faults}. Correct this and send it again." if faults else self.detail


class InvalidRequestError(RefusedError):
    """Raised when a request is malformed; `errors` name the places."""


class NotAuthenticatedError(RefusedError):
    """Raised when the API key is missing, unknown, revoked or expired."""

    advice = "Make a key with 'retrycontract agent create NAME', and give it as api_key= or in RETRYCONTRACT_API_KEY."


class NotFoundError(RefusedError):
    """Raised when this agent has no such call, guidance or tool version."""

    advice = "Agents see their own calls only: check the id, RETRYCONTRACT_URL and whose key RETRYCONTRACT_API_KEY is."


class ConflictError(RefusedError):
    """Raised when an attempt fits no call: `call_id` and `state` name the one meant, `candidates` those possible."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        problem = _problem(reply)
        self.call_id: str | None = problem.get("call_id")
        self.state: str | None = problem.get("state")
        self.candidates: tuple[str, ...] = tuple(map(str, sequence(problem, "candidates")))
        if self.candidates:
            self.args = (f"{self.args[0]}\n  candidates: {', '.join(self.candidates)}",)


class TooLargeError(RefusedError):
    """Raised when a request is larger than the service takes, without its output, too; `limit` in bytes, or None."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        limit = _problem(reply).get("limit")
        self.limit = limit if isinstance(limit, int) else None


class UnavailableError(RefusedError):
    """Raised when the service failed, or was still too busy when patience ended; `retry_after` seconds are asked."""

    advice = "Try again later; 'retrycontract doctor' tells the service's operator what is wrong."

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.retry_after = reply.retry_after


class UnexpectedAnswerError(ClientError):
    """Raised for an answer that this client cannot read."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        self.url, self.status = url, status
        super().__init__(
            f"{url} answered HTTP {status} with {reason}: is it the address of a retrycontract service, and of this "
            "client's version?"
        )


class CorrectionError(ClientError, ValueError):
    """Raised when a correction cannot be applied: its base is not known here, or does not fit."""


class VerdictPendingError(ClientError):
    """Raised when an attempt had no verdict in its caller's time, or its call ended before; `call_id` is the call."""

    def __init__(self, call_id: str, state: CallState | None = None) -> None:
        self.call_id = call_id
        super().__init__(
            f"call {call_id} ended ({state}) before its verdict: run nothing"
            if state is not None and state.has_ended
            else f"call {call_id} has no verdict yet: run nothing. client.wait_for_verdict({call_id!r}) asks on; a "
            "longer wait= or timeout= gives more time. Where that does not help, see whether the service's worker runs"
        )


class NoConversationError(ClientError):
    """Raised when a guarded function is called outside of a session, where no retry would find its call."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is guarded: call it inside 'with client.session():', one for each conversation")


class ToolDeclarationError(ClientError):
    """Raised for a function or type that no JSON Schema can be made of; `name` is its name."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"{name} cannot be described as a tool: {reason}")


NEW_KEY = "give api_key=, or set RETRYCONTRACT_API_KEY; 'retrycontract agent create NAME' makes a key"

REFUSALS: dict[int, type[RefusedError]] = {
    400: InvalidRequestError,
    401: NotAuthenticatedError,
    403: NotAuthenticatedError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: UnavailableError,
}


def refusal(reply: Reply) -> RefusedError:
    """Give the error for an answer of 400 and above."""
    kind = REFUSALS.get(reply.status, UnavailableError if reply.status >= 500 else RefusedError)
    return kind(reply)


def _problem(reply: Reply) -> dict[str, Any]:
    """Read a problem document (RFC 9457); what is none says nothing."""
    try:
        problem = json.loads(reply.body)
    # Whatever stands before the service may have answered: JSON that nests deeper than Python's parser goes, too.
    except (ValueError, RecursionError):
        return {}
    return problem if isinstance(problem, dict) else {}
