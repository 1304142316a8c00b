"""Structured extraction: the model validates, looks at an example and submits, until what it submits conforms."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, Unpack, overload

from retrycontract.contract import pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.feedback.feedback_forms import MAX_FEEDBACK_LENGTH, FeedbackForm, FeedbackOptions
from retrycontract.contract.feedback.feedback_text import once_answered
from retrycontract.contract.json_types import Schema
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.contract.schemas.examples import example_of
from retrycontract.contract.tool import DATA, FREE, Tool, data_input
from retrycontract.judging import Contract, Examiner, Verdict, as_text, configuration_of, judge_for
from retrycontract.judging.judge import Steps, drive, drive_async
from retrycontract.loops.asking import Asker, AskingOptions, ExtractionMetrics, conversation, known_options
from retrycontract.loops.engine import Exhausted, Run, Trial, budget
from retrycontract.loops.models import (
    Completion,
    Message,
    Model,
    OfferedTool,
    ToolCall,
    as_message,
    as_model,
    as_written,
)

VALIDATE, EXAMPLE, SUBMIT = TOOL_NAMES = ("validate", "example", "submit")
MAX_SCHEMA = 100_000  # characters of a schema that is told in words
TASK = (
    "Extract the data that is asked for. Call submit with the data to end the task; validate says what is wrong with "
    "data before you submit it, and example gives a sample that conforms."
)


def offered(schema: Schema) -> tuple[OfferedTool, ...]:
    """Declare the tools; `data` has the schema itself where it can stand inside another one."""
    takes = data_input(schema)
    # An object without members, as Anthropic demands a schema of every tool.
    nothing: Schema = {"type": "object", "properties": {}}
    return (
        OfferedTool(VALIDATE, "Say what is wrong with the data, without ending the task.", takes),
        OfferedTool(EXAMPLE, "Give a sample that conforms to the schema.", nothing),
        OfferedTool(SUBMIT, "End the task with the data.", takes),
    )


def instructions(prompt: str | Sequence[Message], tools: Sequence[OfferedTool], schema: Schema) -> Iterator[Message]:
    """Write the first messages: how it is done, the schema where the tools don't have it, and the task."""
    takes = tools[0].parameters
    has_schema = isinstance(takes, dict) and takes["properties"][DATA] != FREE
    told = "" if has_schema else f"\n\nThe data's JSON Schema:\n{json.dumps(schema, ensure_ascii=False)[:MAX_SCHEMA]}"
    yield {"role": "system", "content": TASK + told}
    if isinstance(prompt, str):
        yield {"role": "user", "content": prompt}
    else:
        yield from conversation(prompt)


def data_of(arguments: Any) -> Any:
    """Take the data out of a call's arguments, text or parsed; what cannot be read is judged as it is."""
    value, fault = parse_json(arguments) if isinstance(arguments, str) else (arguments, None)
    if fault is not None:
        return arguments
    if isinstance(value, dict) and value.keys() == {DATA}:
        return as_text(value[DATA])
    return as_text(value)  # without the wrapper, as some models call


TURNS_PER_ATTEMPT = 3  # validate, example, submit: who needs more of them is going round in circles
MAX_LOCATED = 100  # errors of pydantic that are passed on
NO_CALL = "Nothing was submitted. Call the tool 'submit' with the data: nothing else ends the extraction."
NOT_LOOKED_AT = "Not looked at: no attempt was left before it."
CONFORMS = "The data conforms. Call submit with the same data to end the extraction."

T = TypeVar("T", covariant=True)


class PydanticModel(Protocol[T]):
    """Describe what is used of a pydantic model; pydantic itself is not needed here."""

    def model_json_schema(self) -> dict[str, Any]:
        """Give the JSON Schema."""

    def model_validate(self, value: Any) -> T:
        """Make an instance."""


class Rejected(Exception):  # noqa: N818 - the name of the interface
    """Raise this in `on_submit` to reject what was submitted, with the reason that the model reads."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class MaxRetriesExceeded(Exception):  # noqa: N818 - the name of the interface
    """Raised when the extraction failed: every attempt with its errors, the model's raw text, and what it cost.

    `answer` is what a person said where the contract is a service, and `call_id` what goes on with the call.
    """

    call_id: str | None = None

    def __init__(
        self, attempts: int, history: tuple[Trial, ...], raw_output: str, metrics: ExtractionMetrics, answer: str = ""
    ) -> None:
        self.attempts, self.history, self.raw_output = attempts, history, raw_output
        self.metrics, self.answer = metrics, answer
        super().__init__(f"nothing that conforms was submitted in {attempts} attempts and {metrics.turns} turns")


class ExtractionOptions(AskingOptions, total=False):
    """How an extraction is done; all of it is optional. `max_feedback_length` is in characters."""

    on_submit: Callable[[Any], Any] | None
    max_feedback_length: int
    name: str
    strict: bool
    contract: Contract | None
    clock: Callable[[], float]


@overload
def extract(
    model: Model | Callable[..., Any], schema: PydanticModel[T], prompt: str | Sequence[Message],
    **options: Unpack[ExtractionOptions],
) -> tuple[T, ExtractionMetrics]: ...  # fmt: skip
@overload
def extract(
    model: Model | Callable[..., Any], schema: Schema, prompt: str | Sequence[Message],
    **options: Unpack[ExtractionOptions],
) -> tuple[Any, ExtractionMetrics]: ...  # fmt: skip
def extract(
    model: Model | Callable[..., Any], schema: Any, prompt: str | Sequence[Message],
    **options: Unpack[ExtractionOptions],
) -> tuple[Any, ExtractionMetrics]:  # fmt: skip
    """Extract a value of a JSON Schema, or an instance of a pydantic model, and tell what it cost.

    `on_submit` gets the value and may raise Rejected. Raises MaxRetriesExceeded, ModelUnusableError where the model
    can never be asked, InvalidSchema, and whatever else `on_submit` raises.
    """
    return drive(_Extraction(model, schema, prompt, {"sleep": time.sleep, **options}).steps())


@overload
async def extract_async(
    model: Model | Callable[..., Any], schema: PydanticModel[T], prompt: str | Sequence[Message],
    **options: Unpack[ExtractionOptions],
) -> tuple[T, ExtractionMetrics]: ...  # fmt: skip
@overload
async def extract_async(
    model: Model | Callable[..., Any], schema: Schema, prompt: str | Sequence[Message],
    **options: Unpack[ExtractionOptions],
) -> tuple[Any, ExtractionMetrics]: ...  # fmt: skip
async def extract_async(
    model: Model | Callable[..., Any], schema: Any, prompt: str | Sequence[Message],
    **options: Unpack[ExtractionOptions],
) -> tuple[Any, ExtractionMetrics]:  # fmt: skip
    """Do what `extract` does in an event loop; `on_submit` may be a coroutine function."""
    return await drive_async(_Extraction(model, schema, prompt, {"sleep": asyncio.sleep, **options}).steps())


class _Extraction:
    """Hold one extraction: what it checks, and the conversation so far."""

    def __init__(
        self, model: Model | Callable[..., Any], schema: Any, prompt: str | Sequence[Message],
        options: ExtractionOptions,
    ) -> None:  # fmt: skip
        self._options = known_options(options, ExtractionOptions)
        self._instance_of = schema.model_validate if hasattr(schema, "model_json_schema") else None
        declared = schema.model_json_schema() if self._instance_of else schema
        title = declared.get("title") if isinstance(declared, dict) else None
        if not (isinstance(title, str) and 0 < len(title) <= 300 and title.isprintable()):
            title = "extraction"
        contract, name = options.get("contract"), options.get("name") or title
        most = budget(options.get("max_attempts"))
        tool = Tool(
            kind=Kind.EXTRACTION, name=name, input_schema=declared,
            strict=options.get("strict", True), checks=(self._located_errors,) if self._instance_of else (),
            mode="enforce",  # a loop cannot go on with what is only observed
        )  # fmt: skip
        self._examiner = Examiner(tool, configuration_of(contract))
        self._tools = offered(declared)
        self._messages: list[Message] = [*instructions(prompt, self._tools, declared)]
        asker = Asker.of(as_model(model), {**options, "timer": options.get("clock", time.monotonic)})
        judge = judge_for(contract, origin="loop", max_attempts=most, details=options.get("details", {}))
        feedback = FeedbackOptions(
            FeedbackForm.EXTRACTION, options.get("max_feedback_length", MAX_FEEDBACK_LENGTH)
        )  # fmt: skip
        self._run = Run(tool, asker, judge, feedback=feedback, call_id=options.get("call_id"))
        self._max_turns = 0

    def steps(self) -> Steps[tuple[Any, ExtractionMetrics]]:
        """Take turns until something that conforms is submitted; raises MaxRetriesExceeded."""
        run = self._run
        with run.ending():
            try:
                verdict = (yield from run.begin()) or (yield from self._turns())
            except Exhausted as end:
                # Turn by turn its words, and the arguments of its calls where it said none.
                said = [
                    completion.text or "\n".join(str(call.arguments) for call in completion.tool_calls)
                    for completion in run.account.completions
                ]
                raw = "\n\n".join(filter(None, said))
                raise MaxRetriesExceeded(run.attempts, end.history, raw, run.metrics, end.answer) from None
            return self._value(verdict.value), run.metrics

    def _turns(self) -> Steps[Verdict]:
        run = self._run
        self._max_turns = TURNS_PER_ATTEMPT * run.answers
        if run.earlier is not None:  # an earlier run's: this conversation begins with what was wrong there
            earlier = run.earlier.feedback
            told = [once_answered(earlier), run.guidance] if run.guidance else [earlier]
            self._messages.append({"role": "user", "content": "\n\n".join(told)})
        # An API error is no turn of the model's.
        # Looking at examples and valid trials use no attempt: without this bound a model could do that for ever.
        while run.calls - run.account.api_errors < self._max_turns:
            completion = yield from run.ask(tuple(self._messages), self._tools)
            settled = None if completion is None else (yield from self._answer(completion))
            if settled is None:
                # A person is asked where no attempt is left: what they say is the next message.
                was_blocked, settled = run.is_blocked, (yield from run.settle())
                if was_blocked and settled is None:
                    assert run.verdict is not None
                    # Their answer grants attempts, and each of them comes with its turns.
                    granted = run.verdict.max_attempts - run.verdict.attempt
                    self._max_turns = run.calls - run.account.api_errors + TURNS_PER_ATTEMPT * granted
                    self._messages.append({"role": "user", "content": run.guidance})
            if settled is not None:
                return settled
        yield from run.give_up()
        raise Exhausted(run.history)

    def _answer(self, completion: Completion) -> Steps[Verdict | None]:
        """Answer each tool call of a turn, in order; a turn without one is an attempt, too."""
        self._messages.append(as_message(completion))
        if not completion.tool_calls:
            yield from self._run.submit(None, raw=completion.text, callback_error=NO_CALL)
            self._messages.append({"role": "user", "content": self._told()})
            return None
        for call in completion.tool_calls:
            text, is_error, settled = yield from self._answer_call(call, completion)
            if settled is not None:
                return settled
            self._messages.append({"role": "tool", "tool_call_id": call.id, "content": text, "is_error": is_error})
        return None

    def _answer_call(self, call: ToolCall, completion: Completion) -> Steps[tuple[str, bool, Verdict | None]]:
        if self._run.is_blocked:
            # Every call of a turn needs an answer, or the provider refuses the conversation.
            return NOT_LOOKED_AT, True, None
        match call.name:
            # With a guard, as a bare name in a pattern would be bound instead of compared.
            case name if name == EXAMPLE:
                return example_of(self._examiner.tool).told, False, None
            case name if name in (VALIDATE, SUBMIT):
                output, reason = data_of(call.arguments), completion.finish_reason
                findings = self._examiner.examine(output, reason)
                if findings.is_valid and call.name == VALIDATE:
                    return CONFORMS, False, None
                rejection = (yield from self._rejection(findings.parsed)) if findings.is_valid else None
                written = as_written(call.arguments)
                raw = f"{completion.text}\n{written}" if completion.text else written
                verdict = yield from self._run.submit(output, raw=raw, finish_reason=reason, callback_error=rejection)
                return ("", False, verdict) if verdict.is_valid else (self._told(), True, None)
        reason = f"There is no tool of that name; call {', '.join(TOOL_NAMES)}."
        yield from self._run.submit(None, raw=completion.text, callback_error=reason)
        return self._told(), True, None

    def _rejection(self, value: Any) -> Steps[str | None]:
        on_submit = self._options.get("on_submit")
        if on_submit is None:
            return None
        try:
            # As a step, so that a coroutine function is awaited in an event loop.
            yield partial(on_submit, self._value(value))
        except Rejected as rejected:
            return rejected.reason or "it was rejected"
        except Exception:
            yield from self._run.give_up()  # nobody will go on with the call
            raise
        return None

    def _told(self) -> str:
        """Give the newest attempt's feedback, as whoever judged it has written it."""
        return self._run.history[-1].feedback

    def _value(self, value: Any) -> Any:
        return self._instance_of(value) if self._instance_of else value

    def _located_errors(self, value: Any) -> Iterator[ValidationError]:
        """Pass on what pydantic finds beyond the schema: its own validators."""
        assert self._instance_of is not None
        try:
            self._instance_of(value)
        except ValueError as error:
            if not hasattr(error, "errors"):
                raise
            # Without the input, which may hold a secret and has no place in an error.
            for found in error.errors(include_input=False, include_url=False)[:MAX_LOCATED]:
                pointer = pointers.from_tokens([str(part) for part in found["loc"]])
                # What pydantic puts before a validator's own words.
                said = found["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
                yield ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, pointer, said, keyword="plugin")
