"""The contract in one process: check, count, match and escalate, with no server at all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from time import perf_counter_ns
from types import NoneType
from typing import Any

from retrycontract.checking import compiled_or_apart
from retrycontract.config.installed_formatters import gather_formatters
from retrycontract.contract import events
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import Rejection
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.answer import examine, shown_output, write_answer
from retrycontract.contract.feedback.escalation import EscalationFormatter
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackOptions, ShownSchema
from retrycontract.contract.feedback.feedback_text import WITHOUT_DESK
from retrycontract.contract.feedback.formatter import Formatter
from retrycontract.contract.feedback.tool_result import ToolResult
from retrycontract.contract.forking import undivided
from retrycontract.contract.lifecycle import Budget, CallState, Move, Status, judge, move_unasked
from retrycontract.contract.matching import ID_OF_ITS_OWN, Submission, is_unfilled
from retrycontract.contract.outputs import Kind
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.document import SchemaWarning
from retrycontract.contract.schemas.tool_lists import refuse_slips
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.contract.tracker import (
    AttemptRecord,
    InMemoryRetryTracker,
    RetryTracker,
    TrackedCall,
    TrackedCalls,
    UnknownCallError,
)
from retrycontract.languages import compiler_of

logger = logging.getLogger("retrycontract")
# A library is silent until its user asks for logs; without a handler Python would print warnings.
logger.addHandler(logging.NullHandler())


def log_warnings(tool_name: str, warnings: Iterable[SchemaWarning]) -> None:
    """Tell in the log what the author of a tool's schema should know."""
    for warning in warnings:
        logger.warning("The schema of tool %r, at %s", tool_name, warning)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Say what became of one submission.

    `status` is "valid", "retry" or "blocked"; `arguments` is the parsed value when valid, `tool_result` the answer
    for the model when not, `escalation` the text for a person when blocked. With `is_observed` the tool is only
    observed: the errors stand, but execution may proceed. `history` has the call's failed attempts up to this
    one, which is whole; of earlier ones it has what the tracker keeps.
    """

    call_id: str
    status: Status
    attempt: int
    max_attempts: int
    errors: tuple[ValidationError, ...] = ()
    tool_result: ToolResult | None = None
    arguments: Any = None
    escalation: str | None = None
    is_observed: bool = False
    history: tuple[AttemptRecord, ...] = ()
    tool: str = ""

    @property
    def warnings(self) -> tuple[ValidationError, ...]:
        """List what should be fixed but did not block."""
        return Findings(self.errors).warnings


# What `check` takes, told at once: it would be kept with the call, and break its next attempt.
A_TEXT = ((str, NoneType), "a text, or None")
TAKEN: tuple[tuple[str, Any, str], ...] = (
    ("tool_name", str, "a text"),
    ("tool_call_id", str, "a text"),
    *((name, *A_TEXT) for name in ("call_id", "session_id")),
    ("turn", (int, NoneType), "a whole number, or None"),
    *((name, *A_TEXT) for name in ("correlation_id", "finish_reason", "said")),
    ("feedback", FeedbackOptions, "FeedbackOptions"),
    ("now", (datetime, NoneType), "a datetime, or None"),
)


class RetryContract:
    """Check tool calls against their schemas, count attempts and say when a person is needed.

    One instance is one conversation: an open call is continued by its `call_id`, or by its `tool_call_id`. Where one
    serves several conversations, give each a `session_id` of its own, which keeps them apart.

    Thread-safe, also in a process that is forked from this one: a fork waits for checks in other threads, for a second
    at most. `clock`, `new_id` and `tracker` can be handed in, and `formatters` by tool name or glob, which word
    the message anew. Raises InvalidSchema for a tool whose schema is wrong; never raises on what a model wrote.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        configuration: RetryConfiguration | None = None,
        *,
        tracker: RetryTracker | None = None,
        formatters: Mapping[str, Formatter] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: token_hex(16),
    ) -> None:
        if not isinstance(configuration, RetryConfiguration | None):
            raise TypeError(f"configuration is {configuration!r}: give a RetryConfiguration, or None")
        self._configuration = configuration or RetryConfiguration()
        self._sanitizer = ValueSanitizer(self._configuration)
        self._tracker: RetryTracker = tracker or InMemoryRetryTracker()
        self._formatters = gather_formatters(formatters)
        self._clock, self._new_id = clock, new_id
        self._tools: dict[str, CompiledTool] = {}
        self._calls = TrackedCalls(self._tracker.clear)
        for tool in tools:
            if isinstance(tool, Tool) and tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name!r}: one would replace the other")
            self.register(tool)

    @property
    def configuration(self) -> RetryConfiguration:
        """Give the settings that everything here is judged and told by."""
        return self._configuration

    def register(self, tool: Tool) -> tuple[SchemaWarning, ...]:
        """Add a tool, or replace the one of the same name; gives the warnings of its schema, which are logged, too.

        By a dear schema a child process judges, which is started for the first one and cut off after 2 s of its work.

        Raises InvalidSchema that names the fault, and ConfigurationError for `max_attempts` out of range.
        """
        if not isinstance(tool, Tool):
            raise TypeError(f"{tool!r} is no Tool: give Tool(name=…, input_schema=…)")
        if not tool.name.strip():
            raise ValueError("the name of a tool is empty: give the one that the model calls it by")
        if tool.max_attempts is not None:
            # For its check of the range alone; the result is not kept.
            replace(self._configuration, max_attempts=tool.max_attempts)
        refuse_slips(tool.input_schema)
        self._tools[tool.name] = compiled = self._compiled(tool)
        log_warnings(tool.name, compiled.warnings)
        return compiled.warnings

    def _compiled(self, tool: Tool) -> CompiledTool:
        return compiled_or_apart(tool, compiler_of)

    def is_judged_apart(self, tool_name: str) -> bool:
        """Tell whether outputs of a tool are judged in a child process, for which the caller's thread waits."""
        return tool_name in self._tools and self._tools[tool_name].check is not None

    @undivided()
    def check(
        self,
        tool_name: str,
        tool_call_id: str,
        arguments: str | bytes | Any,
        *,
        call_id: str | None = None,
        session_id: str | None = None,
        turn: int | None = None,
        correlation_id: str | None = None,
        finish_reason: str | None = None,
        callback_error: Rejection | None = None,
        max_attempts: int | None = None,
        said: str | None = None,
        feedback: FeedbackOptions = PLAIN,
        now: datetime | None = None,
    ) -> Outcome:
        """Judge one attempt: JSON text, bytes or a parsed value; `max_attempts` counts where it begins a call.

        `said` are the model's words where there is no output. `feedback` says what its text holds beside the errors.
        `callback_error` is what a check of your own has against it: a reason, or errors with codes and pointers.

        Raises UnknownCallError for a `call_id` that has ended, OtherToolError for one of another tool,
        AmbiguousCallError when several open calls of the session could be meant, and ConfigurationError for
        `max_attempts` out of range.
        """
        given = (
            tool_name, tool_call_id, call_id, session_id, turn, correlation_id, finish_reason, said, feedback, now,
        )  # fmt: skip
        for value, (name, kinds, what) in zip(given, TAKEN, strict=True):
            if not isinstance(value, kinds):
                raise TypeError(f"{name} is {value!r:.80}: give {what}")
        # Attempts that share a blank one would be counted as one call's.
        if not tool_call_id.strip():
            raise ValueError("tool_call_id tells attempts apart: give an id that is not blank")
        if session_id is not None and is_unfilled(session_id):
            raise ValueError(f"session_id {session_id!r:.80}: {ID_OF_ITS_OWN}")
        if max_attempts is not None:
            replace(self._configuration, max_attempts=max_attempts)  # which knows its range
        started = perf_counter_ns()
        submission = Submission(tool_name, tool_call_id, session_id, turn)
        tool = self._tools.get(tool_name)
        look = partial(
            examine,
            arguments,
            tool,
            self._sanitizer,
            tool_name=tool_name,
            known_tools=self._tools,
            finish_reason=finish_reason,
            callback_error=callback_error,
            said=said,
        )
        findings = look() if self._calls.begins_one(submission, call_id) else None
        # Looked at again: another thread may have begun the call while this output was checked.
        if findings is not None and findings.is_valid and self._calls.begins_one(submission, call_id):
            _log_faults(findings)
            return self._right_at_once(tool_name, findings, max_attempts or self._allowed(tool, tool_name))
        with self._calls.held(submission, call_id, partial(self._begin, submission, max_attempts)) as call:
            findings = findings or look()
            call.is_of_unknown_tool = tool is None
            call.tool_name, call.last_tool_call_id = tool_name, tool_call_id
            call.last_turn = call.last_turn if turn is None else turn
            # Before it is judged: the next attempt may be looked for while this one is.
            self._calls.keep_findable(call)
            outcome = self._conclude(call, tool, findings, arguments, now or self._clock(), feedback)
            call.last = outcome
        _log_faults(findings)
        self._log(call, outcome, correlation_id, (perf_counter_ns() - started) // 1000)
        return outcome

    def check_unasked(
        self, tool_name: str, *, call_id: str | None = None, max_attempts: int | None = None, gives_up: bool = False
    ) -> Outcome:
        """Count a try for which the model could not be asked: it is no mistake of the model's, and nobody reads of it.

        A call whose last try ends so is over, as it is with `gives_up`. Raises UnknownCallError.
        """
        submission = Submission(tool_name, self._new_id(), None, None)
        with self._calls.held(submission, call_id, partial(self._begin, submission, max_attempts)) as call:
            budget = Budget(self._tracker.increment_attempt(call.call_id), call.allowed)
            move = move_unasked(call.state, budget, gives_up=gives_up)
            call.state = move.state
            if move.state.has_ended:
                self._calls.end(call)
            return Outcome(call.call_id, move.status, *budget.shown, tool=call.tool_name)

    def last_outcome(self, call_id: str) -> Outcome:
        """Give what became of the newest attempt of an open call; raises UnknownCallError."""
        found = self._calls.get(call_id)
        if found is None or found.last is None:
            raise UnknownCallError(call_id)
        outcome: Outcome = found.last
        return outcome

    def _right_at_once(self, tool_name: str, findings: Findings, allowed: int) -> Outcome:
        """Count a call whose first attempt is valid; there is nothing of it to remember."""
        call_id = self._new_id()
        attempt = self._tracker.increment_attempt(call_id)
        self._tracker.clear(call_id)
        return Outcome(
            call_id, Status.VALID, attempt, allowed, findings.errors, arguments=findings.parsed, tool=tool_name
        )

    def _conclude(
        self,
        call: TrackedCall,
        tool: CompiledTool | None,
        findings: Findings,
        output: Any,
        now: datetime,
        feedback: FeedbackOptions,
    ) -> Outcome:
        budget = Budget(self._tracker.increment_attempt(call.call_id), call.allowed)
        configuration = self._configuration.for_tool(call.tool_name)
        verdict = judge(
            call.state,
            budget,
            valid=findings.is_valid,
            mode=(tool.tool.mode if tool else None) or configuration.mode,
            hold=tool is not None and tool.tool.hold,
        )
        # Read here: the attempt is not recorded yet, and the call's end would forget what came before it.
        previous = [] if findings.is_valid else self._tracker.get_history(call.call_id)
        if not findings.is_valid and self._configuration.track_history:
            self._tracker.record_error(call.call_id, findings.errors, at=now)
        if not findings.is_valid and not call.first_output:
            call.first_output = shown_output(findings, output, tool, self._sanitizer)
            call.first_tool_call_id = call.last_tool_call_id
        call.state = verdict.state
        if verdict.state.has_ended:
            self._calls.end(call)
        kind = tool.tool.kind if tool else Kind.TOOL_CALL
        result = write_answer(
            findings,
            verdict,
            budget,
            tool_name=self._shown_name(call),
            tool_call_id=call.last_tool_call_id,
            configuration=configuration,
            kind=kind,
            previous=previous,
            formatters=self._formatters,
            options=feedback,
            shown=ShownSchema(tool.tool.input_schema, tool.schema.index) if tool else None,
            output=output,
            endings=WITHOUT_DESK,
        )
        escalation = None
        if verdict.status is Status.BLOCKED:
            escalation = self._escalation(call, budget, verdict, now, kind, is_parsed=findings.is_parsed)
        outcome = _outcome(call, findings, verdict, budget, result, escalation)
        if findings.is_valid or not self._configuration.track_history:
            return outcome
        return replace(outcome, history=(*previous, AttemptRecord(budget.made, findings.errors, now)))

    def _allowed(self, tool: CompiledTool | None, name: str) -> int:
        return (tool.tool.max_attempts if tool else None) or self._configuration.for_tool(name).max_attempts

    def _shown_name(self, call: TrackedCall) -> str:
        """Give the tool's name; what nobody registered may be anything, a secret too."""
        return call.tool_name if call.tool_name in self._tools else self._sanitizer.redact_name(call.tool_name)

    def _escalation(
        self, call: TrackedCall, budget: Budget, verdict: Move, now: datetime, kind: Kind, *, is_parsed: bool
    ) -> str:
        return EscalationFormatter().format_escalation(
            self._shown_name(call),
            call.first_tool_call_id or call.last_tool_call_id,
            self._tracker.get_history(call.call_id),
            budget.shown[0],
            original_call=call.first_output,
            now=now,
            held_attempt=budget.made if verdict.is_held else None,
            kind=kind,
            is_parsed=is_parsed,
        )

    def _begin(self, submission: Submission, max_attempts: int | None) -> TrackedCall:
        name = submission.tool_name
        return TrackedCall(
            self._new_id(),
            name,
            submission.session_id,
            max_attempts or self._allowed(self._tools.get(name), name),
            # Known from the start: another thread may look for this call before its first attempt is judged.
            last_turn=submission.turn,
            last_tool_call_id=submission.tool_call_id,
        )

    def _log(self, call: TrackedCall, outcome: Outcome, correlation_id: str | None, duration_us: int) -> None:
        if not outcome.errors or (outcome.status is Status.VALID and not outcome.is_observed):
            return
        fields = events.failure_fields(
            self._sanitizer.redact_name(call.tool_name),
            outcome.errors,
            attempt=outcome.attempt,
            max_attempts=outcome.max_attempts,
            correlation_id=correlation_id,
            duration_us=duration_us,
        )
        logger.warning(events.FAILED, extra=fields)
        if outcome.status is Status.RETRY:
            logger.info(events.RETRIED, extra=fields)
        elif self._tracker.get_current_attempt(call.call_id) == outcome.max_attempts:  # not what is tried while Blocked
            logger.warning(events.ESCALATED, extra=fields)


def _log_faults(findings: Findings) -> None:
    for fault in findings.faults:
        logger.error("A check of the tool could not run: %s", fault)


def _outcome(
    call: TrackedCall,
    findings: Findings,
    verdict: Move,
    budget: Budget,
    result: ToolResult | None,
    escalation: str | None,
) -> Outcome:
    attempt, allowed = budget.shown
    return Outcome(
        call_id=call.call_id,
        status=verdict.status,
        attempt=attempt,
        max_attempts=allowed,
        errors=findings.errors,
        tool_result=result,
        arguments=findings.parsed if verdict.status is Status.VALID else None,
        escalation=escalation,
        is_observed=verdict.state is CallState.OBSERVED,
        tool=call.tool_name,
    )
