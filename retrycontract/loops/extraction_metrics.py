"""What an extraction cost: attempts, time and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from retrycontract.contract.json_types import Schema
from retrycontract.contract.outputs.extraction_inputs import DATA, FREE, data_input
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.judging import as_text
from retrycontract.loops.engine import Run
from retrycontract.loops.model import Completion, Message, OfferedTool

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ExtractionMetrics:
    """Count attempts, turns, seconds and tokens; `is_estimated` when a provider reported no usage.

    Where it did not, the tokens are a quarter of the characters.
    """

    attempts: int
    turns: int
    wall_seconds: float
    tokens_in: int
    tokens_out: int
    is_estimated: bool


def measure(run: Run, seconds: float, sent: int) -> ExtractionMetrics:
    """Sum up a run; `sent` are the characters of all messages, as often as they were sent."""
    usages = [completion.usage for completion in run.completions]
    reported = [usage for usage in usages if usage is not None]
    is_estimated = len(reported) < len(usages) or not usages
    if is_estimated:
        written = sum(_written(completion) for completion in run.completions)
        given, taken = sent // CHARACTERS_PER_TOKEN, written // CHARACTERS_PER_TOKEN
    else:
        given, taken = sum(use.input_tokens for use in reported), sum(use.output_tokens for use in reported)
    return ExtractionMetrics(run.attempts, run.calls, seconds, given, taken, is_estimated)


def _written(completion: Completion) -> int:
    arguments = (call.arguments for call in completion.tool_calls)
    return len(completion.text) + sum(len(each if isinstance(each, str) else json.dumps(each)) for each in arguments)


VALIDATE, EXAMPLE, SUBMIT = TOOL_NAMES = ("validate", "example", "submit")
MAX_SCHEMA = 100_000  # characters of a schema that is told in words
TASK = (
    "Extract the data that is asked for. Call submit with the data to end the task; validate says what is wrong with "
    "data before you submit it, and example gives a sample that conforms."
)


def offered(schema: Schema) -> tuple[OfferedTool, ...]:
    """Declare the tools; `data` has the schema itself where it can stand inside another one."""
    takes = data_input(schema)
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
        yield from prompt


def data_of(arguments: Any) -> Any:
    """Take the data out of a call's arguments, text or parsed; what cannot be read is judged as it is."""
    value, fault = parse_json(arguments) if isinstance(arguments, str) else (arguments, None)
    if fault is not None:
        return arguments
    if isinstance(value, dict) and value.keys() == {DATA}:
        return as_text(value[DATA])
    return as_text(value)  # without the wrapper, as some models call
