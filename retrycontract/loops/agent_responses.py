"""Agents' responses: what one is, how it is logged, and how it is corrected in turns that are about nothing else."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Literal, Unpack

from retrycontract.contract import events
from retrycontract.contract.checks.failure import blocks
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_forms import FeedbackForm, FeedbackOptions
from retrycontract.contract.feedback.feedback_text import once_answered
from retrycontract.contract.json_types import Schema
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.schemas.document import read_document
from retrycontract.contract.tool import Tool
from retrycontract.contract.webhooks import ResponseStatus, response_status
from retrycontract.in_process import RetryContract
from retrycontract.judging import Contract, Examiner, configuration_of, judge_for
from retrycontract.judging.judge import Steps, drive, drive_async
from retrycontract.loops.asking import Asker, AskingOptions, ExtractionMetrics, conversation, known_options
from retrycontract.loops.engine import MOST_ATTEMPTS, Exhausted, Run, Trial, budget, pursue
from retrycontract.loops.models import Message, Model, as_model

NAME = "agent_response"
AGENT_RESPONSE_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "action": {"type": "string"},
        "parameters": {"type": "object"},
        "reasoning": {"type": "string"},
    },
    "required": ["action", "parameters"],
    "additionalProperties": False,
}

REQUIRED = {"action", "parameters"}


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """Hold a reply of the standard schema: what the agent wants done, with what, and why."""

    action: str
    parameters: dict[str, Any]
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Valid:
    """Hold a reply that conforms: an AgentResponse, or the parsed value where another schema was given."""

    parsed: Any


@dataclass(frozen=True, slots=True)
class Invalid:
    """Say what is wrong with a reply; `raw` is the reply as it came."""

    error: Literal["INVALID_JSON", "SCHEMA_VIOLATION"]
    violations: tuple[ValidationError, ...]
    raw: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """Hold one line of the agent-response log; `raw` is redacted, `correction_attempt` 0 for the reply itself.

    A correction turn for which the model could not be asked leaves no line: there was no response.
    """

    task_id: str
    turn: int
    status: ResponseStatus
    raw: Any
    violations: tuple[ValidationError, ...]
    correction_attempt: int
    at: datetime


def validate(raw: Any, *, schema: Schema = AGENT_RESPONSE_SCHEMA) -> Valid | Invalid:
    """Check a reply, text, bytes or a parsed value, against a schema; never raises on what a model wrote.

    Raises InvalidSchema for a schema that is none.
    """
    # As text: a dict cannot be the key of a cache.
    try:
        written = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        written = json.dumps(read_document(schema))  # which says what is wrong with it
    findings = _examiner(written).examine(raw)
    if findings.is_valid:
        return Valid(typed(findings.parsed, schema))
    return Invalid("INVALID_JSON" if _is_malformed(findings.errors) else "SCHEMA_VIOLATION", findings.errors, raw)


def status_of(trial: Trial) -> ResponseStatus:
    """Tell how an attempt is logged."""
    return response_status(is_valid=trial.status is Status.VALID, is_parsed=not _is_malformed(trial.errors))


def typed(value: Any, schema: Schema) -> Any:
    """Give the value its type; what a person accepted as it is may not have it."""
    if schema == AGENT_RESPONSE_SCHEMA and isinstance(value, dict) and set(value) - {"reasoning"} == REQUIRED:
        return AgentResponse(**value)
    return value


@lru_cache(maxsize=64)
def _examiner(schema: str) -> Examiner:
    return Examiner(Tool(kind=Kind.AGENT_RESPONSE, name=NAME, input_schema=json.loads(schema)))


def _is_malformed(errors: Sequence[ValidationError]) -> bool:
    return any(blocks(error) and error.error_code is ErrorCode.INVALID_JSON_SYNTAX for error in errors)


MAX_FORMATTING_RETRIES = 2  # a model that is wrong after a correction and two retries will not come right by itself
logger = logging.getLogger("retrycontract.loops")


@dataclass(frozen=True, slots=True)
class HumanInterventionRequired:
    """Tell that the model will not get its reply right by itself; `event` and `reason` name it in logs."""

    task_id: str | None
    turn: int | None
    attempts: int
    violations: tuple[ValidationError, ...]
    event: str = events.HUMAN_INTERVENTION
    reason: str = events.CORRECTION_EXHAUSTED


class FormattingCorrectionExhaustedError(Exception):
    """Raised when the last correction was wrong, too; `attempts` counts model calls, `answer` is what a person said.

    `history` holds every reply with its errors, `metrics` what it cost; `call_id` goes on with the call.
    """

    call_id: str | None = None

    def __init__(
        self,
        attempts: int,
        last_raw: Any,
        violations: tuple[ValidationError, ...],
        answer: str = "",
        history: tuple[Trial, ...] = (),
        metrics: ExtractionMetrics | None = None,
    ) -> None:
        self.attempts, self.last_raw, self.violations, self.answer = attempts, last_raw, violations, answer
        self.history, self.metrics = history, metrics
        found = f"{len(violations)} violation{'' if len(violations) == 1 else 's'} left"
        super().__init__(
            f"the response does not conform after {attempts} answers of the model ({found}); a person is needed"
        )


class CorrectionOptions(AskingOptions, total=False):
    """How a reply is corrected; all of it is optional.

    `max_attempts` counts the answers of the model in all, `max_retries` those after the first.

    `task_id` and `turn` say which reply of which task this is: a service and a log need both. `on_attempt` gets a
    ResponseRecord for every reply, `on_human_intervention` the event when the attempts are used up.
    """

    schema: Schema
    name: str
    max_retries: int
    contract: Contract | None
    task_id: str | None
    turn: int | None
    on_attempt: Callable[[ResponseRecord], None] | None
    on_human_intervention: Callable[[HumanInterventionRequired], None] | None
    clock: Callable[[], datetime]


def correct_with_retry(
    model: Model | Callable[..., Any], raw: Any, **options: Unpack[CorrectionOptions]
) -> AgentResponse | Any:
    """Correct a reply that came already: a correction turn, then up to `max_retries` retries.

    Gives the AgentResponse, or the parsed value where another schema was given; a reply that conforms costs no call.
    Raises FormattingCorrectionExhaustedError, and ModelUnusableError where the model can never be asked.
    """
    return drive(_Correction({"sleep": time.sleep, **options}).of(as_model(model), raw))


async def correct_with_retry_async(
    model: Model | Callable[..., Any], raw: Any, **options: Unpack[CorrectionOptions]
) -> AgentResponse | Any:
    """Do what `correct_with_retry` does in an event loop."""
    return await drive_async(_Correction({"sleep": asyncio.sleep, **options}).of(as_model(model), raw))


def respond_with_correction(
    model: Model | Callable[..., Any], messages: Sequence[Message], **options: Unpack[CorrectionOptions]
) -> AgentResponse | Any:
    """Ask for a reply and correct it: `max_retries` + 1 answers in all, the reply itself counted.

    Gives and raises what `correct_with_retry` does.
    """
    return drive(_Correction({"sleep": time.sleep, **options}).asked(as_model(model), messages))


async def respond_with_correction_async(
    model: Model | Callable[..., Any], messages: Sequence[Message], **options: Unpack[CorrectionOptions]
) -> AgentResponse | Any:
    """Do what `respond_with_correction` does in an event loop."""
    return await drive_async(_Correction({"sleep": asyncio.sleep, **options}).asked(as_model(model), messages))


class _Correction:
    """Hold one correction: what it checks, and whom it tells."""

    def __init__(self, options: CorrectionOptions) -> None:
        self._options = known_options(options, CorrectionOptions)
        self._schema = options.get("schema", AGENT_RESPONSE_SCHEMA)
        self._contract = options.get("contract")
        retries = options.get("max_retries")
        if retries is not None and retries < 0:
            raise ValueError("max_retries must not be negative")
        self._answers = options.get("max_attempts", None if retries is None else retries + 1)
        self._task_id, self._turn = options.get("task_id"), options.get("turn")
        # Whatever is no contract of this process is the client of a service, which keeps every reply.
        is_kept = options.get("on_attempt") or not isinstance(self._contract, RetryContract | None)
        if is_kept and (self._task_id is None or self._turn is None):
            raise TypeError("task_id= and turn= are needed where replies are logged or a service keeps them")
        # A loop cannot go on with what is only observed.
        self._tool = Tool(
            name=options.get("name", NAME), input_schema=self._schema, kind=Kind.AGENT_RESPONSE, mode="enforce"
        )
        self._examiner = Examiner(self._tool, configuration_of(self._contract))

    def of(self, model: Model, raw: Any) -> Steps[Any]:
        """Judge the reply that came, then ask for corrections; it takes no part in their budget."""
        run = self._run(model, uncounted=1)
        with run.ending():
            # A call that is taken up again has had this reply judged by an earlier run.
            if run.call_id is None:
                yield from run.begin()
                verdict = yield from run.submit(raw, raw=raw)
                if verdict.is_valid:
                    return typed(verdict.value, self._schema)
            return (yield from self._corrected(run, ()))

    def asked(self, model: Model, messages: Sequence[Message]) -> Steps[Any]:
        """Ask for the reply, then for its corrections."""
        run = self._run(model)
        with run.ending():
            return (yield from self._corrected(run, conversation(messages)))

    def _run(self, model: Model, *, uncounted: int = 0) -> Run:
        most = budget(self._answers, most=MOST_ATTEMPTS - uncounted)
        details = {**self._options.get("details", {}), "task_id": self._task_id, "turn": self._turn}
        judge = judge_for(self._contract, origin="loop", max_attempts=most, details=details)
        return Run(
            self._tool, Asker.of(model, self._options), judge, self._note, FeedbackOptions(FeedbackForm.CORRECTION),
            self._options.get("call_id"), uncounted,
        )  # fmt: skip

    def _corrected(self, run: Run, messages: tuple[Message, ...]) -> Steps[Any]:
        try:
            settled = yield from (run.begin() if run.verdict is None else run.settle())

            def compose(run: Run) -> Sequence[Message]:
                mistake = run.last_mistake
                if mistake is None:
                    return messages
                words = [once_answered(mistake.feedback), run.guidance] if run.guidance else [mistake.feedback]
                # The newest mistake alone: a correction turn is about the last reply, not about what led to it.
                return (*messages, {"role": "user", "content": "\n\n".join(words)})

            verdict = settled or (yield from pursue(run, compose, lambda said: said.text))
        except Exhausted as end:
            last = run.last_mistake
            raw, violations = (last.raw, last.errors) if last else (None, ())
            answers = run.calls or run.attempts  # none were asked for where a call was only looked up again
            event = HumanInterventionRequired(self._task_id, self._turn, answers, violations)
            # For a model that cannot be asked nobody is asked either: there is nothing that a person could say.
            # Nobody can help where the model cannot be asked, and who resumes a Blocked call has asked before.
            if run.history and run.verdict is not None and run.verdict.status is not Status.UNAVAILABLE:
                told = {"reason": event.reason, "task_id": event.task_id, "turn": event.turn}
                logger.warning(event.event, extra=told)
                if tell := self._options.get("on_human_intervention"):
                    tell(event)
            raise FormattingCorrectionExhaustedError(
                answers, raw, violations, end.answer, end.history, run.metrics
            ) from None
        return typed(verdict.value, self._schema)

    def _note(self, trial: Trial) -> None:
        """Log a reply; without one there is nothing to log."""
        on_attempt = self._options.get("on_attempt")
        if on_attempt is None or trial.api_error is not None:
            return
        assert self._task_id is not None
        assert self._turn is not None
        # The judge may be a service, whose verdict holds no redacted output for the log.
        findings = self._examiner.examine(trial.output)
        on_attempt(
            ResponseRecord(
                task_id=self._task_id,
                turn=self._turn,
                status=status_of(trial),
                raw=self._examiner.redacted(findings, trial.output),
                violations=trial.errors,
                correction_attempt=trial.number - 1,
                at=self._options.get("clock", partial(datetime.now, UTC))(),
            )
        )
