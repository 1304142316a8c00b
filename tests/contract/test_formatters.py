"""Custom formatters: chosen by name, held to the structure, passed over when they break it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from retrycontract import ErrorCode, RetryContract, Tool, ValidationError, parse_feedback
from retrycontract.config.installed_formatters import gather_formatters
from retrycontract.contract.feedback.formatter import ErrorFormatter, Feedback, Formatter, Formatters
from tests.contract.polite_words import polite_words as polite_words

ERRORS = (
    ValidationError(ErrorCode.REQUIRED_FIELD_MISSING, "/path", "Required field 'path' is missing"),
    ValidationError(ErrorCode.TYPE_MISMATCH, "/mode", "Type mismatch: expected string, got null"),
)
STANDARD = ErrorFormatter().format_errors("read", ERRORS, 1, 3)


def feedback(name: str = "read", text: str = STANDARD, **fields: Any) -> Feedback:
    return Feedback(
        name=name, kind="tool", attempt=1, max_attempts=3, errors=ERRORS, max_length=2000, text=text, **fields
    )


def says(word: str) -> Formatter:
    return lambda given: given.text.replace("Please", word)


def test_the_exact_name_counts_then_the_first_glob_that_matches() -> None:
    formatters = Formatters({"re*": says("First"), "r*": says("Second"), "read": says("Exact")})
    assert [formatters.word(feedback(name)).count(word) for name, word in
            [("read", "Exact"), ("reap", "First"), ("rob", "Second"), ("write", "Please")]] == [1, 1, 1, 1]  # fmt: skip


def fails(_: Feedback) -> str:
    raise KeyError("sk-secret")


BREAKS: dict[str, tuple[Callable[[Feedback], Any], str]] = {
    "raises": (fails, "it raised KeyError"),
    "no-text": (lambda _: None, "it returned NoneType, not str"),
    "too-long": (lambda given: given.text + "x" * 2000, "characters, allowed are 2000"),
    "surrogate": (lambda given: given.text + "\ud800", "lone surrogate"),
    "other-format": (lambda _: "Nope.", "cannot be read"),
    "other-subject": (lambda given: given.text.replace("for tool", "for job"), "changes the subject"),
    "other-name": (lambda given: given.text.replace("'read'", "'rm'"), "changes the name"),
    "other-attempt": (lambda given: given.text.replace("1/3", "2/3"), "changes the attempt"),
    "fewer-errors": (lambda given: given.text.replace("• /path", "- /path"), "changes the errors"),
    "another-code": (lambda given: given.text.replace("VAL-001", "VAL-009"), "changes the errors"),
    "says-blocked": (lambda given: given.text + "\n\nThis call is now Blocked: nothing was executed and a person has "
                     "been asked for guidance. Do not retry it yourself; continue when guidance arrives.",
                     "changes the is_blocked"),
    "no-hint": (lambda given: given.text[: given.text.index("Please")], "has no hint line"),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_a_formatter_that_breaks_the_structure_is_passed_over_and_told_of(name: str) -> None:
    formatter, reason = BREAKS[name]
    told: list[tuple[str, str]] = []
    formatters = Formatters({"*": formatter}, lambda *report: told.append(report))
    assert formatters.word(feedback()) == STANDARD
    assert [tool for tool, _ in told] == ["read"]
    assert reason in told[0][1]
    assert "secret" not in told[0][1]


def test_a_formatter_is_given_all_that_the_standard_text_is_made_of() -> None:
    seen: list[Feedback] = []
    schema = {"properties": {"path": {"type": "string"}}, "required": ["path"]}

    def look(given: Feedback) -> str:
        seen.append(given)
        return given.text

    contract = RetryContract([Tool(name="read", input_schema=schema, max_attempts=2)], formatters={"read": look})
    contract.check("read", "call_1", {})
    blocked = contract.check("read", "call_1", {"path": 1})
    first, second = seen
    assert (first.name, first.kind, first.attempt, first.max_attempts) == ("read", "tool", 1, 2)
    assert (first.previous, first.is_blocked, first.max_length) == ((), False, 2000)
    assert (second.is_blocked, [record.number for record in second.previous]) == (True, [1])
    assert second.errors == blocked.errors


def test_the_contract_answers_in_the_words_of_the_tools_formatter() -> None:
    contract = RetryContract([Tool(name="read", input_schema={"required": ["a"]})], formatters={"read": says("Kindly")})
    outcome = contract.check("read", "call_1", {})
    assert outcome.tool_result is not None
    assert outcome.tool_result.content.endswith("\n\nKindly provide the missing 'a' field.")
    assert parse_feedback(outcome.tool_result.content).pointers == ("/a",)


def test_a_failing_formatter_is_logged_without_what_it_said(caplog: pytest.LogCaptureFixture) -> None:
    contract = RetryContract([Tool(name="read", input_schema={"required": ["a"]})], formatters={"read": fails})
    with caplog.at_level(logging.WARNING, "retrycontract"):
        outcome = contract.check("read", "call_1", {})
    assert outcome.tool_result is not None
    assert outcome.tool_result.content.endswith("Please provide the missing 'a' field.")
    record = next(record for record in caplog.records if record.message == "Custom formatter passed over")
    assert vars(record) | {"tool_name": "read", "reason": "it raised KeyError"} == vars(record)
    assert "sk-secret" not in caplog.text


@pytest.mark.usefixtures("polite_words")
def test_formatters_of_installed_packages_are_found_and_broken_ones_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "retrycontract"):
        installed = gather_formatters()
    assert "Kindly" in installed.word(feedback())
    assert "Please" in installed.word(feedback("write"))
    assert [vars(record)["reason"] for record in caplog.records] == ["it cannot be loaded: AttributeError"]
    assert "Do" in gather_formatters({"rea*": says("Do")}).word(feedback())
