"""Correct an agent's response: ask for it again in turns that are about nothing else."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack

from retrycontract.contract import events
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.echo import NOTE, echo
from retrycontract.contract.json_types import Schema
from retrycontract.contract.kinds import Kind
from retrycontract.contract.outputs.no_attempt import without_thoughts
from retrycontract.contract.tool import Tool
from retrycontract.in_process import RetryContract
from retrycontract.judging import Contract, Examiner, configuration_of, judge_for
from retrycontract.judging.steps import Steps, drive, drive_async
from retrycontract.loops.adapters import as_model
from retrycontract.loops.agent_responses import (
    AGENT_RESPONSE_SCHEMA,
    NAME,
    AgentResponse,
    ResponseRecord,
    reply_of,
    status_of,
    typed,
)
from retrycontract.loops.engine import DELAY, Asker, Exhausted, Run, Trial, pursue
from retrycontract.loops.model import Completion, Message, Model

MAX_FORMATTING_RETRIES = 2  # a model that is wrong after a correction and two retries will not come right by itself
MAX_ECHO = 16_000  # characters of the reply that its correction shows
MAX_SCHEMA = 16_000  # characters of the schema; a longer one is left to the violations, which name its failing parts
ONLY_JSON = (
    "Return ONLY a valid JSON object conforming to the schema. Do not include markdown fences or prose."
)  # fmt: skip
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
    """Raised when the last correction was wrong, too; `attempts` counts model calls, `answer` is what a person said."""

    def __init__(self, attempts: int, last_raw: Any, violations: tuple[ValidationError, ...], answer: str = "") -> None:
        self.attempts, self.last_raw, self.violations, self.answer = attempts, last_raw, violations, answer
        found = f"{len(violations)} violation{'' if len(violations) == 1 else 's'} left"
        super().__init__(
            f"the response does not conform after {attempts} answers of the model ({found}); a person is needed"
        )


class CorrectionOptions(TypedDict, total=False):
    """How a reply is corrected; all of it is optional.

    `task_id` and `turn` say which reply of which task this is: a service and a log need both. `on_attempt` gets a
    ResponseRecord for every reply, `on_human_intervention` the event when the attempts are used up.
    """

    schema: Schema
    name: str
    max_retries: int
    contract: Contract | None
    wait_for_guidance: float | None
    task_id: str | None
    turn: int | None
    on_attempt: Callable[[ResponseRecord], None] | None
    on_human_intervention: Callable[[HumanInterventionRequired], None] | None
    clock: Callable[[], datetime]
    sleep: Callable[[float], Any]
    delay: float


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
        self._options = options
        self._schema = options.get("schema", AGENT_RESPONSE_SCHEMA)
        self._retries = options.get("max_retries", MAX_FORMATTING_RETRIES)
        self._contract = options.get("contract")
        self._task_id, self._turn = options.get("task_id"), options.get("turn")
        if self._retries < 0:
            raise ValueError("max_retries must not be negative")
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
        run = self._run(model, max_attempts=self._retries + 2)
        yield from run.begin()
        verdict = yield from run.submit(reply_of(raw), raw=raw)
        if verdict.is_valid:
            return typed(verdict.value, self._schema)
        return (yield from self._corrected(run, ()))

    def asked(self, model: Model, messages: Sequence[Message]) -> Steps[Any]:
        """Ask for the reply, then for its corrections."""
        run = self._run(model, max_attempts=self._retries + 1)
        yield from run.begin()
        return (yield from self._corrected(run, tuple(messages)))

    def _run(self, model: Model, *, max_attempts: int) -> Run:
        options = self._options
        asker = Asker(model, options["sleep"], options.get("delay", DELAY), options.get("wait_for_guidance"))
        details = {"task_id": self._task_id, "turn": self._turn}
        judge = judge_for(self._contract, origin="loop", max_attempts=max_attempts, details=details)
        return Run(self._tool, asker, judge, self._note)

    def _corrected(self, run: Run, messages: tuple[Message, ...]) -> Steps[Any]:
        try:
            settled = run.verdict if not run.is_blocked else (yield from run.settle())
            verdict = settled if settled and settled.is_valid else (yield from pursue(run, self._ask(messages), _text))
        except Exhausted as end:
            raise self._exhausted(run, end) from None
        return typed(verdict.value, self._schema)

    def _ask(self, messages: tuple[Message, ...]) -> Callable[[Run], Sequence[Message]]:
        def compose(run: Run) -> Sequence[Message]:
            mistake = run.last_mistake
            if mistake is None:
                return messages
            prompt = self._prompt(mistake)
            words = [prompt, run.guidance] if run.guidance else [prompt]
            return (*messages, {"role": "user", "content": "\n\n".join(words)})

        return compose

    def _prompt(self, mistake: Trial) -> str:
        return correction_prompt(mistake.raw, mistake.feedback, schema=self._schema, examiner=self._examiner)

    def _note(self, trial: Trial) -> None:
        """Log a reply; without one there is nothing to log."""
        on_attempt = self._options.get("on_attempt")
        if on_attempt is None or trial.api_error is not None:
            return
        assert self._task_id is not None
        assert self._turn is not None
        findings = self._examiner.examine(trial.output)
        on_attempt(
            ResponseRecord(
                task_id=self._task_id,
                turn=self._turn,
                status=status_of(trial),
                raw=self._examiner.redacted(findings, trial.output),
                violations=trial.errors,
                correction_attempt=trial.number - 1,
                at=self._options.get("clock", _now)(),
            )
        )

    def _exhausted(self, run: Run, end: Exhausted) -> FormattingCorrectionExhaustedError:
        last = run.last_mistake
        raw, violations = (last.raw, last.errors) if last else (None, end.history[-1].errors)
        event = HumanInterventionRequired(self._task_id, self._turn, run.calls, violations)
        logger.warning(event.event, extra={"reason": event.reason, "task_id": event.task_id, "turn": event.turn})
        if tell := self._options.get("on_human_intervention"):
            tell(event)
        return FormattingCorrectionExhaustedError(run.calls, raw, violations, end.answer)


def correction_prompt(raw: Any, violations: str, *, schema: Schema, examiner: Examiner) -> str:
    """Write the correction turn: the violations, the reply as data, the schema, and nothing of earlier reasoning."""
    written = json.dumps(schema, ensure_ascii=False)
    parts = [violations, f"Your reply was this. {NOTE}", echo(reply_of(raw), examiner.sanitizer, limit=MAX_ECHO)]
    parts += [f"The schema:\n{written}"] if len(written) <= MAX_SCHEMA else []
    return "\n\n".join([*parts, ONLY_JSON])


def _text(completion: Completion) -> str:
    return without_thoughts(completion.text)


def _now() -> datetime:
    return datetime.now(UTC)
