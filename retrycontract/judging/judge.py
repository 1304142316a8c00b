"""The port to whoever judges a model's outputs, the verdict that comes back, and the steps that it is asked in.

What asks is a generator, written once and driven twice: in the caller's thread, and in an event loop. It yields steps,
callables without arguments that touch the world outside (a model, a service, the clock), and is sent what each
returned, or is thrown what it raised. In an event loop a step may return an awaitable.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from retrycontract.checking import compiled_or_apart
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import examine, redacted_output
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackOptions
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.tool_lists import DeclaredTool, refuse_slips
from retrycontract.contract.tool import Tool
from retrycontract.languages import compiler_of

if TYPE_CHECKING:  # the client needs an HTTP package that the base install does not bring
    from retrycontract.client import CallSummary, Guidance

T = TypeVar("T")

Step: TypeAlias = Callable[[], Any]
Steps: TypeAlias = Generator[Step, Any, T]


class AsynchronousError(TypeError):
    """Raised when a model, client or callback of a synchronous loop has to be awaited."""

    def __init__(self) -> None:
        super().__init__(
            "a synchronous loop was given something that must be awaited: hand in a synchronous model, client and "
            "callbacks, or use the loop whose name ends in _async"
        )


def drive(steps: Steps[T]) -> T:
    """Take every step in this thread and return the loop's result; raises AsynchronousError."""
    try:
        step = next(steps)
        while True:
            try:
                if inspect.isawaitable(result := step()):
                    if hasattr(result, "close"):
                        result.close()  # else Python warns that it was never awaited
                    raise AsynchronousError  # noqa: TRY301 - told to the loop like what a step raises
            except Exception as error:  # noqa: BLE001 - the loop decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as done:
        found: T = done.value
        return found


async def drive_async(steps: Steps[T]) -> T:
    """Take every step in the running event loop and return the loop's result."""
    try:
        step = next(steps)
        while True:
            try:
                result = step()
                result = await result if inspect.isawaitable(result) else result
            # Not BaseException: a cancellation is for the task, and no loop may go on after it.
            except Exception as error:  # noqa: BLE001 - the loop decides what it means
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as done:
        found: T = done.value
        return found


# Takes a function without arguments; returns its result, or an awaitable of it: asyncio.to_thread, anyio's run_sync.
Runner = Callable[[Callable[[], Any]], Any]
# The traceparent of what this task does, which goes along with each attempt that it submits to a service.
TRACE: ContextVar[str | None] = ContextVar("TRACE", default=None)


class NotJudgedError(Exception):
    """Raised when a service has not judged an attempt in the time that its judge waits."""


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Hold one attempt: what a model wrote for a tool.

    `call_id` continues a call, None begins one. `failure` is the reason of a check of the caller's own, or says why
    there is no output: with it the attempt fails. `api_error` says that the model could not be asked, and with
    `gives_up` that it will not be asked again. `generation` tells how the output came about, by the names of
    `Generation`, and `feedback` how its feedback is written.
    """

    tool_name: str
    value: Any
    kind: Kind = Kind.TOOL_CALL
    call_id: str | None = None
    finish_reason: str | None = None
    failure: str | None = None
    api_error: str | None = None
    gives_up: bool = False
    generation: Mapping[str, Any] = field(default_factory=dict)
    feedback: FeedbackOptions = PLAIN


@dataclass(frozen=True, slots=True)
class Verdict:
    """Say what became of one attempt.

    `value` is the parsed output when valid, `tool_result` what the model reads when not, and `escalation` the text for
    a person where no service keeps it.
    """

    call_id: str
    status: Status
    attempt: int
    max_attempts: int
    errors: tuple[ValidationError, ...] = ()
    tool_result: ToolResult | None = None
    value: Any = None
    escalation: str | None = None

    @classmethod
    def of(cls, outcome: Any, value: Any, *, escalation: str | None = None) -> Verdict:
        """Read an outcome of the library or of the client: both have the same fields."""
        return cls(
            outcome.call_id, outcome.status, outcome.attempt, outcome.max_attempts, outcome.errors,
            outcome.tool_result, value, escalation,
        )  # fmt: skip

    @property
    def is_valid(self) -> bool:
        """Tell whether the output may be used."""
        return self.status is Status.VALID

    @property
    def feedback(self) -> str:
        """Give the text that the model should read; empty when valid."""
        return self.tool_result.content if self.tool_result else ""

    def accepted(self, value: Any) -> Verdict:
        """Give the verdict on an output that a person accepted as it is."""
        return replace(self, status=Status.VALID, value=value, tool_result=None)

    def reopened(self, max_attempts: int) -> Verdict:
        """Give the verdict of a call to which a person granted attempts; `max_attempts` counts all of the call."""
        return replace(self, status=Status.RETRY, max_attempts=max_attempts)


class Judge(Protocol):
    """Judge attempts and pass on what a person answers.

    Every method is a generator of steps (steps.py): `drive` takes them in a thread, `drive_async` in an event loop.
    A judge that asks a service raises what its client raises. `max_attempts` is what a call begins with; None leaves it
    to the configuration.
    """

    max_attempts: int | None

    def register(self, tool: Tool) -> Steps[int]:
        """Register a tool with all its settings, and give the attempts that are configured for it.

        Raises InvalidSchema, or what the client raises for one.
        """

    def import_tools(self, tools: Sequence[DeclaredTool], kind: Kind = Kind.TOOL_CALL) -> Steps[dict[str, str]]:
        """Register tools as others declare them; gives the names of those that cannot be judged, with the reason."""

    def judge(self, output: ModelOutput) -> Steps[Verdict]:
        """Judge one attempt; raises UnknownCallError (in process), NotJudgedError or ClientError (service)."""

    def is_quick(self, tool_name: str, value: Any) -> bool:
        """Tell whether an output is judged in no time, without leaving the caller's thread."""

    def resume(self, call_id: str, tool_name: str) -> Steps[Verdict]:
        """Give the verdict on the newest attempt; raises as `judge` does, and ValueError for another tool's call."""

    def guidance(self, call_id: str, wait: float | None) -> Steps[Guidance | None]:
        """Wait at most `wait` seconds for a person's answer to a Blocked call, and acknowledge it.

        None when nobody answered, nobody is there, or `wait` is None. Without a `decision`, `text` says that the time
        for an answer is over.
        """

    def cancel(self, call_id: str) -> Steps[None]:
        """End a call that nobody will continue."""

    def tools(self, kind: Kind | None = None) -> Steps[dict[str, str]]:
        """Name the registered tools, or those of one kind, with their descriptions."""

    def tool(self, name: str) -> Steps[Tool]:
        """Read a registered tool with its schema; raises KeyError (in process) or ClientError (service)."""

    def open_calls(self) -> Steps[list[CallSummary] | None]:
        """List the agent's open calls; None where only whoever submits them knows them."""


def refuse_other(call_id: str, tool_name: str, wanted: str) -> None:
    """Raise ValueError where a call is of another tool: its answers would go to a model that never asked."""
    # An older service does not say, and a name that looks like a secret is not stored as it came.
    if tool_name and tool_name != wanted and "[REDACTED" not in tool_name:
        raise ValueError(f"the call {call_id!r} is of {tool_name!r}, not of {wanted!r}: leave call_id out")


def as_text(value: Any) -> Any:
    """Write a parsed value as it is submitted: a string becomes JSON text, since text would be read as JSON."""
    return json.dumps(value) if isinstance(value, str) else value


class Examiner:
    """Check outputs for one tool and count nothing; raises InvalidSchema.

    A tool that `is_kept` by a service was admitted there.
    """

    def __init__(self, tool: Tool, configuration: RetryConfiguration | None = None, *, is_kept: bool = False) -> None:
        if not is_kept:
            refuse_slips(tool.input_schema)
        self.tool = compiled_or_apart(tool, compiler_of)
        self.sanitizer = ValueSanitizer(configuration or RetryConfiguration())

    def examine(self, output: Any, finish_reason: str | None = None) -> Findings:
        """Find everything wrong with an output; never raises on what a model wrote."""
        name = self.tool.tool.name
        return examine(output, self.tool, self.sanitizer, tool_name=name, finish_reason=finish_reason)

    def redacted(self, findings: Findings, output: Any) -> Any:
        """Give what may be stored or shown of an output."""
        return redacted_output(findings, output, self.tool, self.sanitizer)
