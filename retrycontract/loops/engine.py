"""The one engine of all loops: ask, judge, feed back, ask again, within one budget and with one history.

A loop says what it checks (a `Tool`), what it asks and how it reads an answer; the engine asks, counts, waits after
API errors, submits every attempt to the contract and, where that is a service, waits for a person's guidance:

    run = Run(tool, asker, judge_for(contract, origin="loop", max_attempts=3, details={}))
    yield from run.begin()                                      # registers the tool
    verdict = yield from pursue(run, compose, read)              # compose(run) -> messages; read(completion) -> output

All of these are generators that yield steps (steps.py): `drive(loop())` takes them in the caller's thread,
`drive_async(loop())` in an event loop. So a loop is written once, with two thin functions around it.

`pursue` returns the Verdict that ended well: `verdict.value` is the parsed output, `run.attempts` counts the attempts.
It raises Exhausted when no attempt is left and no person helped; a loop turns that into an error of its own. What a
loop wants to know beside that stands in the Run: `history` (every Trial with its errors), `last_mistake` (the newest
Trial that had an output; its `feedback` is what the model should read), `guidance` (what a person said since then).
A loop that needs more than one attempt for each completion calls `run.ask`, `run.submit` and `run.settle` itself.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_text import shown_pointer
from retrycontract.contract.kinds import Kind
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.tool import Tool
from retrycontract.judging import Judge, ModelOutput, Verdict, as_text
from retrycontract.judging.steps import Steps
from retrycontract.loops.failures import ApiFailure, ModelUnusableError, failure_of
from retrycontract.loops.model import Completion, Message, Model, OfferedTool

DELAY = 1.0  # seconds after an API error; long enough for a hiccup, and the budget is small anyway
MAX_LOGGED = 5  # errors named in one line of the log

logger = logging.getLogger("retrycontract.loops")


@dataclass(frozen=True, slots=True)
class Trial:
    """Hold one attempt as the loop's history tells it; `output` is None where the model gave none.

    `raw` is what the model wrote, secrets and all. `api_error` says why the model could not be asked.
    """

    number: int
    status: Status
    output: Any = field(repr=False)
    raw: str = field(repr=False)
    errors: tuple[ValidationError, ...]
    feedback: str
    api_error: str | None = None


class Exhausted(Exception):  # noqa: N818 - each loop turns it into an error of its own
    """Raised when no attempt is left and no person helped; `answer` is what a person said instead."""

    def __init__(self, history: Sequence[Trial], answer: str = "") -> None:
        self.history, self.answer = tuple(history), answer
        super().__init__(f"no attempt is left after {len(self.history)}")


@dataclass(frozen=True, slots=True)
class Asker:
    """Hold how the model is asked: after an API error it is given `delay` seconds.

    `sleep` may return an awaitable in an event loop. `wait_for_guidance` is how many seconds a Blocked call waits for a
    person, each time; without a service nobody is asked.
    """

    model: Model
    sleep: Callable[[float], Any] = time.sleep
    delay: float = DELAY
    wait_for_guidance: float | None = None


@dataclass(slots=True)
class Run:
    """Follow one call from its first attempt to its end."""

    tool: Tool
    asker: Asker
    judge: Judge
    on_trial: Callable[[Trial], None] = lambda _: None
    history: list[Trial] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    calls: int = 0
    guidance: str = ""
    verdict: Verdict | None = None

    @property
    def attempts(self) -> int:
        """Count the attempts that were judged, API errors among them."""
        return len(self.history)

    @property
    def is_blocked(self) -> bool:
        """Tell whether no attempt is left until a person answers."""
        return self.verdict is not None and self.verdict.status is Status.BLOCKED

    @property
    def last_mistake(self) -> Trial | None:
        """Give the newest attempt with an output: its feedback is what the model should read."""
        return next((trial for trial in reversed(self.history) if trial.api_error is None), None)

    def begin(self) -> Steps[None]:
        """Register the tool; raises what registration raises, InvalidSchema among it."""
        yield from self.judge.register(self.tool)

    def ask(self, messages: Sequence[Message], tools: Sequence[OfferedTool] = ()) -> Steps[Completion | None]:
        """Ask the model once; None after an API error, which was counted and waited for.

        Raises ModelUnusableError where asking again cannot help.
        """
        complete = partial(self.asker.model.complete, messages)
        self.calls += 1
        try:
            completion: Completion = yield (partial(complete, tools=tools) if tools else complete)
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            yield from self._failed(failure, error)
            return None
        self.completions.append(completion)
        return completion

    def submit(
        self,
        output: Any,
        *,
        raw: str = "",
        finish_reason: str | None = None,
        callback_error: str | None = None,
        api_error: str | None = None,
    ) -> Steps[Verdict]:
        """Have one attempt judged and counted; with `callback_error` it fails, and without an output it says why."""
        call_id = self.verdict.call_id if self.verdict else None
        failure = callback_error or api_error
        attempt = ModelOutput(self.tool.name, output, self.tool.kind, call_id, finish_reason, failure)
        verdict = yield from self.judge.judge(attempt)
        self.verdict = verdict
        self.guidance = self.guidance if api_error else ""  # the model has not read it yet
        trial = Trial(self.attempts + 1, verdict.status, output, raw, verdict.errors, verdict.feedback, api_error)
        self.history.append(trial)
        self.on_trial(trial)
        if verdict.status is Status.RETRY:
            _log(trial)
        return verdict

    def settle(self) -> Steps[Verdict | None]:
        """Wait for a person where no attempt is left: a Verdict when they settled it, None when the model may go on.

        What they said is then in `guidance`. Raises Exhausted when nobody helped.
        """
        while self.is_blocked:
            assert self.verdict is not None
            answer = yield from self.judge.guidance(self.verdict.call_id, self.asker.wait_for_guidance)
            if answer is None or answer.decision is None or answer.decision.status is Status.BLOCKED:
                raise Exhausted(self.history, answer.text if answer else "")
            decided = answer.decision.entry
            if decided.keeps_output:
                return self.verdict.accepted(answer.arguments)
            if not decided.takes_arguments:
                self.verdict, self.guidance = self.verdict.reopened(answer.max_attempts), answer.text
                return None
            verdict = yield from self.submit(self._as_submitted(answer.arguments))
            if verdict.is_valid:
                return verdict
        return None

    def give_up(self) -> Steps[None]:
        """End a call that nobody will continue, so that it does not stay open."""
        if self.verdict is not None and self.verdict.status is Status.RETRY:
            yield from self.judge.cancel(self.verdict.call_id)

    def _as_submitted(self, corrected: Any) -> Any:
        """Write a corrected value as the model would: a file is text already, text in data would be read as JSON."""
        return corrected if self.tool.kind is Kind.SOURCE_FILE else as_text(corrected)

    def _failed(self, failure: ApiFailure, error: Exception) -> Steps[None]:
        if failure.is_final:
            yield from self.give_up()
            raise ModelUnusableError(failure.reason, failure.status) from error
        verdict = yield from self.submit(None, api_error=f"the model could not be asked, {failure.reason}")
        if verdict.status is Status.RETRY:
            yield partial(self.asker.sleep, self.asker.delay)


def _log(trial: Trial) -> None:
    """Write the line of a retry; the structured events are the contract's."""
    if trial.api_error is not None:
        logger.info("[RETRY %d] API error: %s", trial.number, trial.api_error)
        return
    said = [f"{shown_pointer(error.field_path)} ({error.error_code})" for error in trial.errors[:MAX_LOGGED]]
    more = [f"and {len(trial.errors) - MAX_LOGGED} more"] if len(trial.errors) > MAX_LOGGED else []
    logger.info("[RETRY %d] Validation: %s", trial.number, "; ".join(said + more))


def pursue(run: Run, compose: Callable[[Run], Sequence[Message]], read: Callable[[Completion], Any]) -> Steps[Verdict]:
    """Ask until an output conforms or a person settles it; raises Exhausted, and what the model's own code raises."""
    while True:
        completion = yield from run.ask(compose(run))
        if completion is not None:
            output, reason = read(completion), completion.finish_reason
            verdict = yield from run.submit(output, raw=completion.text, finish_reason=reason)
            if verdict.is_valid:
                return verdict
        settled = yield from run.settle()
        if settled is not None:
            return settled
