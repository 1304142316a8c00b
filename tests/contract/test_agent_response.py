"""A structured answer of an agent: what stands around its one JSON value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import ErrorCode, ErrorSeverity, Tool, ValueSanitizer
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tool import CompiledTool
from retrycontract.loops import Invalid, validate

SCHEMA = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
VALUE = '{"path": "a"}'


def check(response: Any, *, schema: Any = SCHEMA, finish_reason: str | None = None) -> Findings:
    contract = CompiledTool.of(Tool(name="answer", input_schema=schema, kind=Kind.AGENT_RESPONSE))
    return examine(response, contract, ValueSanitizer(), tool_name="answer", finish_reason=finish_reason)


@pytest.mark.parametrize(
    ("response", "keyword"),
    [
        (f"```json\n{VALUE}\n```", "fenced"),
        (f"  ```\r\n{VALUE}\r\n```\r\n", "fenced"),
        (f"```json\n{VALUE}", "fenced"),
        (f"```{VALUE}```", "fenced"),
        (f"Here you are:\n\n```json\n{VALUE}\n```\n\nAsk me for more!", "fenced"),
        (f"Here you are: {VALUE}", "prose"),
        (f'{VALUE}\nThat\'s it: "fine".', "prose"),
        (f"The answer is {VALUE}.".encode(), "prose"),
    ],
)
def test_one_value_in_a_fence_or_between_words_is_taken_out_and_noted(response: Any, keyword: str) -> None:
    found = check(response)
    (note,) = found.errors
    assert (found.is_valid, found.parsed, found.is_parsed) == (True, {"path": "a"}, True)
    assert (note.error_code, note.severity, note.keyword) == (
        ErrorCode.INVALID_JSON_SYNTAX, ErrorSeverity.INFO, keyword,
    )  # fmt: skip
    assert found.warnings == (note,)


def test_the_note_goes_along_with_the_errors_of_the_value() -> None:
    found = check('Here: {"path": 1}')
    assert [(error.field_path, error.severity.name) for error in found.errors] == [("/path", "ERROR"), ("", "INFO")]


@pytest.mark.parametrize("scalar", ['"a"', "3", "null", "true"])
def test_a_scalar_is_a_value_in_a_fence_only(scalar: str) -> None:
    assert check(f"```\n{scalar}\n```", schema=True).is_valid
    assert not check(f"It is {scalar} I think", schema=True).is_valid


@pytest.mark.parametrize(
    "response",
    [
        f"{VALUE} or rather {VALUE}",
        f"As [1] says: {VALUE}",
        f"{VALUE}}}",
        f"```\n{VALUE}\n```\n```\nprint(1)\n```",
        f"```\n{VALUE}\n// and so on\n```",
        f"Use {{this}}: {VALUE}",
        f'"He said {VALUE} to me"',
        '{"path": {"path": "a"} oops}',
        'Here: {"path": "a", "path": "b"}',
        'Here: {"path": NaN}',
        'Here: {"path": "\\ud800"}',
        "Here: {'path': 'a'}",
        "I could not find it.",
        "```json\n```",
        "```",
        "",
        "Here: " + "[" * 100_000,
        '" ' + "[" * 100_000,
        'x " ' + "[" * 100_000,
        b"\xff" + VALUE.encode() + b"{",
    ],
    ids=lambda response: repr(response)[:40],
)
def test_where_something_might_be_lost_nothing_is_taken_out(response: Any) -> None:
    found = check(response)
    (error,) = found.errors
    assert (error.error_code, error.severity) == (ErrorCode.INVALID_JSON_SYNTAX, ErrorSeverity.ERROR)
    assert (found.is_valid, found.is_parsed) == (False, False)


@pytest.mark.parametrize(
    "response",
    [
        f"Do not send {VALUE}. Send nothing.", f"Don’t ever run this: {VALUE}",
        f"You must not use\n```json\n{VALUE}\n```",
        "As shown in [1] I cannot do that.", "I read [12], and I can't answer.",
    ],
)  # fmt: skip
def test_a_value_that_words_withhold_and_a_footnote_are_no_response(response: str) -> None:
    found = check(response, schema=True)
    assert [(error.keyword, error.severity) for error in found.errors] == [("refused", ErrorSeverity.ERROR)]
    assert not found.is_parsed


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ('Here: {"path": "do not send [x]"}', {"path": "do not send [x]"}),
        ('Go on.\n\n```json\n{"path": "never use {x}"}\n```', {"path": "never use {x}"}),
        ("The answer is [1].", [1]),
        ("Here it is: [1]", [1]),
    ],
)
def test_a_value_that_nothing_withholds_is_one(response: str, value: Any) -> None:
    assert check(response, schema=True).parsed == value
    assert not check("See [1] for details", schema=True).is_valid


@pytest.mark.parametrize("kind", [Kind.AGENT_RESPONSE, Kind.TOOL_CALL, Kind.EXTRACTION])
@pytest.mark.parametrize(
    "response",
    [
        b'{"path": "caf\xe9"}', b'Here: {"path": "caf\xe9"}', b'```json\n{"path": "caf\xe9"}\n```',
        b'caf\xe9: {"path": "a"}', b'{"path": "a\xed\xa0\x80"}', '{"path": "é"}'.encode("utf-16"),
    ],
)  # fmt: skip
def test_bytes_that_are_not_utf_8_are_told_so_and_nothing_is_taken_out_of_them(response: bytes, kind: Kind) -> None:
    contract = CompiledTool.of(Tool(name="answer", input_schema=SCHEMA, kind=kind))
    found = examine(response, contract, ValueSanitizer(), tool_name="answer")
    assert [(error.error_code, error.keyword) for error in found.errors] == [
        (ErrorCode.INVALID_JSON_SYNTAX, "encoding")
    ]
    assert (found.is_valid, found.is_parsed) == (False, False)
    assert isinstance(validate(response, schema=SCHEMA), Invalid)


@pytest.mark.parametrize("response", ['```json\n{"path": "a', 'Here you are:\n{"path": "a', "```\n[1, "])
def test_a_value_that_was_cut_off_within_its_fence_or_after_words_is_told_as_cut_off(response: str) -> None:
    assert check(response).errors[0].keyword == "truncated"


def test_a_plain_value_has_no_note() -> None:
    assert check(VALUE).errors == ()
    assert check({"path": "a"}).errors == ()
    assert [error.field_path for error in check({"path": 1}).errors] == ["/path"]


@given(st.text(alphabet='`{}[]":, \n1aj') | st.binary(max_size=40))
def test_whatever_an_agent_answers_is_judged(response: str | bytes) -> None:
    found = check(response, schema=True)
    assert found.is_valid is found.is_parsed
