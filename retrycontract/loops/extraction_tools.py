"""The three tools that a model extracts with, and what it is told of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from retrycontract.contract.json_types import Schema
from retrycontract.contract.outputs.extraction_inputs import DATA, FREE, data_input
from retrycontract.contract.outputs.json_text import parse_json
from retrycontract.judging import as_text
from retrycontract.loops.asking import conversation
from retrycontract.loops.model import Message, OfferedTool

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
