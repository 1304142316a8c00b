"""What the service answered, as values; the words are those of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from retrycontract.client.errors import CorrectionError, VerdictPendingError
from retrycontract.client.exchange import content_of
from retrycontract.contract.decisions import Decision
from retrycontract.contract.errors import ErrorSeverity, ValidationError
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.patches import Operation, PatchError, apply_patch
from retrycontract.contract.schemas.document import SchemaWarning
from retrycontract.contract.webhooks import ResponseStatus

VALID = "The call is valid."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """Hold one page of a list, and the address of the page that follows, below /api/v1."""

    rows: tuple[T, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Name a list: the address of its first page, below /api/v1, and how each page is read."""

    path: str
    reader: Callable[[Any], Listed[T]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Say what became of one attempt.

    `status` is "valid", "retry" or "blocked", and None while it is not judged; `arguments` is the parsed value (the
    text of a file that is no JSON) when valid, `tool_result` the answer for the model when not. `attempt_number` counts
    every attempt of the call, `attempt` is the number that the model reads. `errors` are the first, at most 100;
    `errors_left_out` counts the others.
    """

    call_id: str
    status: Status | None
    state: CallState
    attempt: int
    max_attempts: int
    attempt_number: int
    errors: tuple[ValidationError, ...] = ()
    tool_result: ToolResult | None = None
    arguments: Any = field(default=None, repr=False)  # the agent's own, secrets and all
    tool: str = ""
    errors_left_out: int = 0

    @property
    def warnings(self) -> tuple[ValidationError, ...]:
        """List what should be fixed but did not block."""
        return tuple(error for error in self.errors if error.severity is not ErrorSeverity.ERROR)

    @property
    def is_observed(self) -> bool:
        """Tell whether the tool is only observed: the errors stand, but execution may proceed."""
        return self.state is CallState.OBSERVED


@dataclass(frozen=True, slots=True)
class Guidance:
    """Say what a person answered, and `text`, what the model should read.

    `decision` is None while nobody has answered: then `state` says where the call stands, and when its time is over
    `text` says so. `base_attempt` is the attempt that was answered.
    """

    call_id: str
    state: CallState
    decision: Decision | None = None
    text: str = ""
    operator_text: str = ""
    granted: int = 0
    max_attempts: int = 0
    base_attempt: int | None = None
    corrected: Any = None
    patch: tuple[Operation, ...] | None = None
    base: str | None = field(default=None, repr=False)  # what this client sent as that attempt, secrets and all

    @property
    def arguments(self) -> Any:
        """Give the arguments that count now: the corrected ones, the accepted ones, or None where the model's turn is.

        Raises CorrectionError when they rest on an attempt that this client did not send.
        """
        if self.decision is None:
            return None
        if self.decision.entry.takes_arguments:
            return self.corrected if self.patch is None else self.applied_to(self._sent())
        return self._sent() if self.decision.entry.keeps_output else None

    def applied_to(self, arguments: Any) -> Any:
        """Apply the correction's patch to the arguments of `base_attempt`; raises CorrectionError."""
        try:
            return apply_patch(arguments, self.patch or ())
        except PatchError as error:
            raise CorrectionError(
                f"the correction of call {self.call_id} does not fit attempt {self.base_attempt} "
                f"({error}): ask for a hint instead, or let the model write the arguments anew"
            ) from None

    def _sent(self) -> Any:
        if self.base is None:
            raise CorrectionError(
                f"the answer to call {self.call_id} rests on attempt {self.base_attempt}, and this client does not "
                "hold what was sent then: give it to guidance.applied_to(arguments)"
            )
        return content_of(self.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement(Outcome, Generic[T]):
    """Say what to do now: run the tool ("valid"), let the model try again ("retry"), or stop ("blocked").

    `tool_result` is the answer for the model; that of a valid call says that it is valid. Annotate the variable to have
    typed arguments: `outcome: Settlement[Flight] = session.settle(…)`.
    """

    status: Status
    tool_result: ToolResult
    arguments: T = field(repr=False)


def settled(outcome: Outcome, tool: str, tool_call_id: str) -> Settlement[Any]:
    """Give an outcome that was judged as what is left to do; raises VerdictPendingError for one that was not."""
    if outcome.status is None:
        raise VerdictPendingError(outcome.call_id, outcome.state)
    metadata = {"call_id": outcome.call_id, "status": outcome.status.value}
    told = outcome.tool_result or ToolResult(tool_call_id, VALID, is_error=False, name=tool, metadata=metadata)
    given = {each.name: getattr(outcome, each.name) for each in fields(outcome)}
    return Settlement(**given | {"tool_result": told})


def answered(outcome: Outcome, guidance: Guidance) -> Outcome:
    """Give a Blocked outcome as a person's answer leaves it, or the end of the wait for one."""
    status = Status.BLOCKED if guidance.decision is None else guidance.decision.status
    if status is Status.VALID:
        return replace(
            outcome, status=Status.VALID, state=guidance.state, arguments=guidance.arguments, tool_result=None
        )
    budget = guidance.max_attempts if status is Status.RETRY else outcome.max_attempts
    result = outcome.tool_result
    if result is not None:
        # With what words values it would double the client's import.
        from retrycontract.contract.feedback.feedback_text import once_answered

        # The model reads what was wrong and then what the person says, as one answer to its call.
        told = f"{once_answered(result.content)}\n\n{guidance.text}" if guidance.text else result.content
        result = replace(result, content=told, metadata=result.metadata | {"status": status, "max_attempts": budget})
    return replace(outcome, status=status, state=guidance.state, max_attempts=budget, tool_result=result)


@dataclass(frozen=True, slots=True)
class CallSummary:
    """Say where one of the agent's calls stands, without its history."""

    call_id: str
    kind: str
    tool: str
    state: CallState
    session_id: str | None
    task_id: str | None
    correlation_id: str | None
    model: str | None
    attempts_made: int
    attempts_allowed: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class LoggedResponse:
    """Hold one line of the agent-response log; `raw` is redacted, `correction_attempt` 0 for the reply itself."""

    call_id: str
    tool: str
    task_id: str | None
    turn: int | None
    status: ResponseStatus
    raw: Any
    violations: tuple[ValidationError, ...]
    correction_attempt: int
    at: datetime


@dataclass(frozen=True, slots=True)
class KnownTool:
    """Hold a tool that the service knows; without its schema where many are listed."""

    name: str
    kind: str
    description: str
    strict: bool
    version: int
    schema_hash: str
    input_schema: Any = None


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """Say what became of a tool: `created` when it is new, `changed` when its schema made a new version.

    `max_attempts` is what its calls have that name none themselves; `warnings` tell what does nothing in the schema, or
    makes it dear to judge by. An older service gives none.
    """

    name: str
    version: int
    schema_hash: str
    created: bool
    changed: bool
    max_attempts: int
    warnings: tuple[SchemaWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """Name a tool of a list that was not registered: calls of it are judged as calls of an unknown tool."""

    name: str
    pointer: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class ImportedTools:
    """Say what became of a tool list."""

    registered: tuple[RegisteredTool, ...]
    refused: tuple[RefusedTool, ...]


@dataclass(frozen=True, slots=True)
class DryRun:
    """Hold the verdict on an output that was only tried, and the exact text that a model would read.

    `errors` are the first, at most 100; `errors_left_out` counts the others.
    """

    is_valid: bool
    errors: tuple[ValidationError, ...]
    feedback: str
    characters: int
    tokens_estimate: int
    errors_left_out: int = 0
