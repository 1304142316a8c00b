"""A JSON file is told what a JSON argument is told: every sort of slip, with its place and what to write instead."""

from __future__ import annotations

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.outputs import Kind

SLIPS = [
    '{"a": 1,\n"b": tru,\n"c": [1 2],\n"d": \'x\'}',
    '{"a": 1,\n}',
    '{\n "a": 1 // x\n}',
    '{"a": 007}',
    "{'a': None}",
    '{"a": 1}}',
    '{"a": "b\n"}',
]


def errors(text: str, kind: Kind, schema: dict[str, str]) -> tuple[ValidationError, ...]:
    return RetryContract(tools=[Tool(name="f", kind=kind, input_schema=schema)]).check("f", "c", text).errors


def of_file(text: str) -> ValidationError:
    (error,) = errors(f"```json\n{text}\n```", Kind.SOURCE_FILE, {"type": "string", "x-language": "json"})
    return error


@pytest.mark.parametrize("text", SLIPS)
def test_a_file_is_told_what_an_argument_is_told(text: str) -> None:
    argument = errors(text, Kind.TOOL_CALL, {})[0]
    error = of_file(text)
    assert argument.hint
    assert (error.message, error.hint) == (argument.message, f"{argument.hint}; send the whole file again")


def test_each_place_is_told_once() -> None:
    error = of_file(SLIPS[0])
    assert error.message == (
        "Invalid JSON: a text without quotes at line 2, column 6 and no comma between two entries at line 3, column 9"
    )
    assert "write strings and keys in double quotes (line 4, column 6)" in str(error.hint)
    assert str(error.actual_value).startswith('1 | {"a": 1,\n2 | "b": ‸tru,')


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"a": 1, "a": 2}', "write each key once and send the whole file again"),
        ('{"a": NaN}', "write a number or null and send the whole file again"),
        ('{"a": "\\ud800"}', "write complete Unicode characters and send the whole file again"),
        ('{"a": [1,', "send the whole file again, shorter: it was cut off"),
    ],
)
def test_what_has_no_words_of_its_own_has_those_of_its_kind(text: str, hint: str) -> None:
    assert of_file(text).hint == hint
