"""docs/format.md shows what the code writes."""

from __future__ import annotations

import re
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from retrycontract import RetryConfiguration, RetryContract, Tool, parse_feedback
from retrycontract.config.installed_formatters import GROUP
from retrycontract.contract.configuration import RANGES
from retrycontract.contract.feedback.answer import write_feedback
from retrycontract.contract.feedback.feedback_text import (
    BLOCKED_TEXT,
    HELD_TEXT,
    LAST_ATTEMPT_TEXT,
    MAX_NAME,
    MAX_POINTER,
    WITHOUT_DESK,
    ParsedFeedback,
)
from retrycontract.contract.feedback.formatter import SHORT_POINTER, Feedback
from retrycontract.contract.feedback.tool_result import FORMAT, MAX_LISTED
from tests.contract.test_formatter import ONE_ERROR, TWO_ERRORS

DOCUMENT = (Path(__file__).resolve().parent.parent / "docs" / "format.md").read_text(encoding="utf-8")
READ_FILE: dict[str, Any] = {
    "properties": {
        "path": {"type": "string"},
        "encoding": {"enum": ["utf-8", "ascii"]},
        "lines": {"type": "integer", "minimum": 1},
    },
    "required": ["path"],
}
WEATHER = {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
ORDER = {"properties": {"items": {"items": {"required": ["sku"], "properties": {"sku": {"type": "string"}}}}}}


def told(schema: Any, *calls: Any, name: str = "read_file", attempts: int = 3) -> str:
    """The answer to the last of several attempts."""
    configuration = RetryConfiguration(max_attempts=attempts)
    contract = RetryContract([Tool(name=name, input_schema=schema)], configuration)
    last = [contract.check(name, "call_1", call) for call in calls][-1]
    return write_feedback(
        name, last.errors, attempt=last.attempt, max_attempts=attempts, configuration=configuration,
        blocked=last.status == "blocked", previous=last.history[:-1],
    )  # fmt: skip


EXAMPLES = {
    "several": TWO_ERRORS,
    "one": ONE_ERROR,
    "progress": told(READ_FILE, {"encoding": "uft8"}, {"lines": 0}),
    "unchanged": told(READ_FILE, {}, {}, attempts=4),
    "blocked": told(READ_FILE, {}, {}, {}),
    "no JSON": told(WEATHER, "{'city': 'Paris', 'days': True}", name="get_weather"),
    "like": told(ORDER, {"items": [{}] * 600}, name="order"),
}


def shown() -> list[str]:
    return re.findall(r"```text\n(.*?)\n```", DOCUMENT, re.DOTALL)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_what_the_code_writes(name: str) -> None:
    assert EXAMPLES[name] in shown()


def test_no_other_example_is_shown() -> None:
    assert set(shown()) == set(EXAMPLES.values())
    assert all(parse_feedback(text).pointers for text in shown())


def test_the_example_of_a_formatter_works(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert example is not None
    assert len(re.findall(r"^.+$", example.group(1), re.MULTILINE)) <= 10
    exec(example.group(1), {})
    assert capsys.readouterr().out.endswith("\n\nBitte: provide the missing 'path' field.\n")


@pytest.mark.parametrize("kind", [Feedback, ParsedFeedback])
def test_every_part_of_what_is_given_is_named(kind: Any) -> None:
    assert [name for name in kind.__slots__ if f"`{name}`" not in DOCUMENT] == []


def test_the_fixed_words_and_the_numbers_are_those_of_the_code() -> None:
    assert FORMAT in DOCUMENT
    assert f"`{GROUP}`" in DOCUMENT
    assert f'"{LAST_ATTEMPT_TEXT}"' in DOCUMENT
    assert all(text.startswith(begin) for text, begin in
               ((BLOCKED_TEXT, "This call is now Blocked:"), (HELD_TEXT, "The output is valid now,")))  # fmt: skip
    assert all(sentence in DOCUMENT for sentence in astuple(WITHOUT_DESK))
    low, high = RANGES["max_message_length"]
    assert f"{RetryConfiguration().max_message_length} characters; {low}–{high}" in DOCUMENT
    for number in (f"over {MAX_POINTER} ", f"over {SHORT_POINTER} ", f"over {MAX_NAME} "):
        assert number in DOCUMENT


def test_the_bounds_of_metadata_are_those_that_the_document_names() -> None:
    schema = {"properties": {f"p{at}": {"type": "integer"} for at in range(1_600)}}
    outcome = RetryContract([Tool(name="big", input_schema=schema)]).check(
        "big", "c", {f"p{at}": "x" for at in range(1_600)}
    )
    assert outcome.tool_result is not None
    twin = outcome.tool_result.metadata
    assert len(outcome.errors) == len(twin["errors"]) + twin["errors_left_out"] == 1_001
    assert "`metadata.errors_left_out`" in DOCUMENT
    assert f"the first {MAX_LISTED}" in DOCUMENT
