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
Trial that had an output; its `feedback` is what the model should read), `guidance` (what a person said of the call),
`account` (what was read, said and spent). With a call_id a run goes on where an earlier one stopped.
A loop that needs more than one attempt for each completion calls `run.ask`, `run.submit` and `run.settle` itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from retrycontract.contract.checks.failure import blocks
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_forms import PLAIN, FeedbackOptions
from retrycontract.contract.feedback.feedback_text import shown_name, shown_pointer
from retrycontract.contract.feedback.guidance import earlier_words
from retrycontract.contract.lifecycle import Status
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tool import Tool
from retrycontract.judging import Judge, ModelOutput, Verdict, as_text
from retrycontract.judging.judge import Steps
from retrycontract.loops import asking
from retrycontract.loops.asking import Account, Asker, ExtractionMetrics, measure
from retrycontract.loops.failures import ApiFailure, ModelUnusableError, failure_of
from retrycontract.loops.models import Completion, Message, OfferedTool

MAX_LOGGED = 5  # errors named in one line of the log
MOST_ATTEMPTS = 10  # as configurations have it; whoever needs more needs a person
NOT_HELD = (
    "A person has answered attempt {number} of this call, and what was sent then is not held here: begin a new call."
)

logger = logging.getLogger("retrycontract.loops")


@dataclass(frozen=True, slots=True)
class Trial:
    """Hold one attempt as the loop's history tells it; `output` is None where the model gave none.

    `raw` is what the model wrote, its words and secrets and all. `api_error` says why the model could not be asked.
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


@dataclass(slots=True)
class Run:
    """Follow one call from its first attempt, or from where an earlier run left it, to its end."""

    tool: Tool
    asker: Asker
    judge: Judge
    on_trial: Callable[[Trial], None] = lambda _: None
    feedback: FeedbackOptions = PLAIN
    call_id: str | None = None
    uncounted: int = 0  # attempts that were made before the model is asked, and take none of its answers
    history: list[Trial] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    guidance: str = ""
    words: str = ""  # a person's own: each attempt that they granted is told
    verdict: Verdict | None = None
    earlier: Trial | None = None  # the newest attempt of the run before
    started: float = 0.0
    answers: int = 0  # of the model, as the caller or the configuration says

    @property
    def attempts(self) -> int:
        """Count the attempts of the call, those of an earlier run and API errors among them."""
        return (self.earlier.number if self.earlier else 0) + len(self.history)

    @property
    def calls(self) -> int:
        """Count the requests to the model."""
        return self.account.calls

    @property
    def is_blocked(self) -> bool:
        """Tell whether no attempt is left until a person answers."""
        return self.verdict is not None and self.verdict.status is Status.BLOCKED

    @property
    def last_mistake(self) -> Trial | None:
        """Give the newest attempt with an output: its feedback is what the model should read."""
        return next((trial for trial in reversed(self.history) if trial.api_error is None), self.earlier)

    @property
    def metrics(self) -> ExtractionMetrics:
        """Sum up what the run has cost until now."""
        return measure(self.account, attempts=self.attempts, seconds=self.asker.clock() - self.started)

    def begin(self) -> Steps[Verdict | None]:
        """Register the tool and go on with a call that is named: a Verdict when a person settled it meanwhile.

        Raises what registration raises, InvalidSchema among it, Exhausted for a call that is still Blocked, and what
        the judge raises for a call that it does not have.
        """
        self.started = self.asker.clock()
        configured = yield from self.judge.register(self.tool)
        self.answers = self.judge.max_attempts or configured
        if self.uncounted:
            # To the judge the reply that came is an attempt as well, and needs room beside the answers that are still
            # to come.
            self.judge.max_attempts = min(self.answers + self.uncounted, MOST_ATTEMPTS)
        if self.call_id is None:
            return None
        self.verdict = found = yield from self.judge.resume(self.call_id, self.tool.name)
        if found.status in (Status.VALID, Status.UNAVAILABLE):
            raise ValueError(f"the call {self.call_id!r} has ended: leave call_id out to begin a new one")
        self.earlier = Trial(found.attempt, found.status, None, "", found.errors, found.feedback)
        # An answer may have come while nobody ran: it is taken at once, also by who would not wait for one.
        return (yield from self.settle(self.asker.wait_for_guidance or 0.0))

    def ask(self, messages: Sequence[Message], tools: Sequence[OfferedTool] = ()) -> Steps[Completion | None]:
        """Ask the model once, longer where API errors have a patience of their own; None after one that was counted.

        Raises ModelUnusableError where asking again cannot help.
        """
        complete = partial(self.asker.model.complete, messages)
        errors = 0
        while True:
            self.account.note_request(messages, tools)
            began = self.asker.clock()
            try:
                completion: Completion = yield (partial(complete, tools=tools) if tools else complete)
            except Exception as error:
                failure = failure_of(error, now=asking.now())
                # No failure of the call but a bug of the caller's: their error goes on, and leaves no open call behind.
                if failure is None:
                    yield from self.give_up()
                    raise
                errors += 1
                self.account.api_errors += 1
                if failure.is_final:
                    # Counted although nothing follows: else the call would stay open at the service.
                    yield from self.submit(None, api_error=failure.reason, gives_up=True)
                    raise ModelUnusableError(failure.reason, failure.status) from error
                if not (yield from self._waited(failure, errors)):
                    return None
            else:
                self.account.note_answer(messages, completion, self.asker.clock() - began)
                return completion

    def submit(
        self,
        output: Any,
        *,
        raw: str = "",
        finish_reason: str | None = None,
        callback_error: str | None = None,
        api_error: str | None = None,
        gives_up: bool = False,
    ) -> Steps[Verdict]:
        """Have one attempt judged and counted; with `callback_error` it fails, and without an output it says why."""
        call_id = self.verdict.call_id if self.verdict else None
        # No output came of it: what the turns before it took is told with the first attempt that follows.
        report = {} if api_error is not None else self.account.report(self.asker.model)
        verdict = yield from self.judge.judge(
            ModelOutput(
                self.tool.name, output, self.tool.kind, call_id, finish_reason, callback_error, api_error, gives_up,
                report, self.feedback,
            )
        )  # fmt: skip
        self.verdict = verdict
        if api_error is None:  # else the model has not read it yet
            self.guidance = earlier_words(self.words)
        trial = Trial(self.attempts + 1, verdict.status, output, raw, verdict.errors, verdict.feedback, api_error)
        self.history.append(trial)
        self.on_trial(trial)
        if verdict.status is Status.RETRY:
            _log(trial, self.tool)
        return verdict

    def settle(self, wait: float | None = None) -> Steps[Verdict | None]:
        """Wait for a person where no attempt is left: a Verdict when they settled it, None when the model may go on.

        What they said is then in `guidance`. Raises Exhausted when nobody helped.
        """
        if self.verdict is not None and self.verdict.status is Status.UNAVAILABLE:
            raise Exhausted(self.history)
        while self.is_blocked:
            assert self.verdict is not None
            # A wait of 0 is one, too: it takes an answer that is there already.
            waits = self.asker.wait_for_guidance if wait is None else wait
            answer = yield from self.judge.guidance(self.verdict.call_id, waits)
            if answer is None or answer.decision is None or answer.decision.status is Status.BLOCKED:
                raise Exhausted(self.history, answer.text if answer else "")
            decided = answer.decision.entry
            if decided.keeps_output:
                # A file's text as it was sent, any other output as it was read.
                if self.tool.kind is not Kind.SOURCE_FILE:
                    value = _of_the_answer(answer)
                else:
                    sent = [trial.output for trial in self.history if trial.number == answer.base_attempt]
                    value = answer.base if answer.base is not None else next(iter(sent), None)
                if value is None:
                    raise Exhausted(self.history, NOT_HELD.format(number=answer.base_attempt))
                return self.verdict.accepted(value)
            corrected = None
            if decided.takes_arguments:
                corrected = answer.corrected if answer.patch is None else _of_the_answer(answer)
            if corrected is None:  # a correction of what is not held here is read as a hint
                self.verdict, self.guidance = self.verdict.reopened(answer.max_attempts), answer.text
                self.words = answer.operator_text or self.words
                return None
            # Written as the model would: a file is text already, text in data would be read as JSON.
            verdict = yield from self.submit(corrected if self.tool.kind is Kind.SOURCE_FILE else as_text(corrected))
            if verdict.is_valid:
                return verdict
        return None

    def give_up(self) -> Steps[None]:
        """End a call that nobody will continue, so that it does not stay open."""
        if self.verdict is not None and self.verdict.status is Status.RETRY:
            yield from self.judge.cancel(self.verdict.call_id)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Let whatever ends the run carry its history and metrics, and how the call can be gone on with."""
        try:
            yield
        except ModelUnusableError as error:
            error.history, error.metrics = tuple(self.history), self.metrics
            raise
        except Exception as error:
            if hasattr(error, "call_id") and self.verdict is not None:  # a loop's own
                error.call_id = self.verdict.call_id
                if self.is_blocked and self.verdict.escalation is None:  # so that there is somebody to answer
                    error.add_note(f"The call waits for a person; go on then with call_id={error.call_id!r}")
            # Of a foreign one the class is the caller's, so that only a note can be added.
            error.add_note(f"after {self.attempts} attempts and {self.calls} turns: {self.metrics}")
            raise

    def _waited(self, failure: ApiFailure, number: int) -> Steps[bool]:
        """Wait after an API error; False where it has cost an attempt."""
        pause = self.asker.pause(failure, number, self.account.waited)
        if pause is not None:
            self.account.waited += pause
            logger.info("[API RETRY %d] %s: %s", number, shown_name(self.tool.name), failure.reason)
            yield partial(self.asker.sleep, pause)
            return True
        # With a patience of its own, which is at its end, no attempt of the model's is left to be spent on it.
        gives_up = self.asker.patience is not None
        verdict = yield from self.submit(None, api_error=failure.reason, gives_up=gives_up)
        if verdict.status is Status.RETRY:
            yield partial(self.asker.sleep, self.asker.usual_pause(failure))
        return False


def budget(given: int | None, *, most: int = MOST_ATTEMPTS) -> int | None:
    """Take how many answers of the model a loop may have; None leaves it to the configuration."""
    if given is not None and not (isinstance(given, int) and 1 <= given <= most):
        raise ValueError(f"max_attempts counts the answers of the model in all: 1 to {most}, not {given!r}")
    return given


def _of_the_answer(answer: Any) -> Any:
    """Give the arguments that an answer leads to; None where they rest on what another process sent."""
    try:
        return answer.arguments
    # By its base class: the client, which defines it, brings an HTTP package that the loops do without.
    except ValueError:  # CorrectionError
        return None


def _log(trial: Trial, tool: Tool) -> None:
    """Write the line of a retry; the structured events are the contract's."""
    name = shown_name(tool.name)
    if trial.api_error is not None:
        logger.info("[RETRY %d] API error: %s: %s", trial.number, name, trial.api_error)
        return
    errors = [error for error in trial.errors if blocks(error)]
    # A compiler's words hold nothing worth hiding, data may.
    said = [
        error.message
        if tool.kind is Kind.SOURCE_FILE and error.keyword != "callback"
        else f"{shown_pointer(error.field_path)} ({error.error_code})"
        for error in errors[:MAX_LOGGED]
    ]
    more = [f"and {len(errors) - MAX_LOGGED} more"] if len(errors) > MAX_LOGGED else []
    logger.info("[RETRY %d] Validation: %s: %s", trial.number, name, "; ".join(said + more))


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
