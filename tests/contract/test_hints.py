from __future__ import annotations

import pytest

from retrycontract import ErrorCode, ValidationError
from retrycontract.contract.feedback.hints import advise, hint_line


def advice(code: ErrorCode, message: str = "m", path: str = "/a/tags/0", **fields: str | None) -> str:
    return advise(ValidationError(code, path, message, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (ErrorCode.REQUIRED_FIELD_MISSING, "", "provide the missing 'tags/0' field"),
        (ErrorCode.TYPE_MISMATCH, "", "correct the type of 'tags/0'"),
        (ErrorCode.CONSTRAINT_VIOLATION, "", "change 'tags/0' to meet its constraint"),
        (ErrorCode.INVALID_JSON_SYNTAX, "", "send one complete, valid JSON value and nothing else"),
        (ErrorCode.UNKNOWN_FIELD, "", "remove 'tags/0'"),
        (ErrorCode.ARRAY_LENGTH_VIOLATION, "Array length 4 exceeds maximum 3", "reduce 'tags/0' length"),
        (ErrorCode.ARRAY_LENGTH_VIOLATION, "Array length 1 is below minimum 3", "increase 'tags/0' length"),
        (ErrorCode.ARRAY_LENGTH_VIOLATION, "", "change the number of items in 'tags/0'"),
        (ErrorCode.PATTERN_MISMATCH, "", "rewrite 'tags/0' to match its pattern"),
        (ErrorCode.INVALID_ENUM_VALUE, "", "change 'tags/0' to one of the allowed values"),
        (ErrorCode.STRING_LENGTH_VIOLATION, "String length 4 exceeds maximum 3", "reduce 'tags/0' length"),
        (ErrorCode.STRING_LENGTH_VIOLATION, "String length 1 is below minimum 3", "increase 'tags/0' length"),
        (ErrorCode.STRING_LENGTH_VIOLATION, "", "change the length of 'tags/0'"),
        (ErrorCode.FORMAT_VIOLATION, "", "correct the format of 'tags/0'"),
        (ErrorCode.NUMBER_RANGE_VIOLATION, "", "bring 'tags/0' into its range"),
        (ErrorCode.UNIQUE_CONSTRAINT_VIOLATION, "", "remove the repeated items of 'tags/0'"),
        (ErrorCode.DEPENDENCY_VIOLATION, "", "send 'tags/0' along with the fields that need it"),
        (ErrorCode.MUTUAL_EXCLUSIVITY_VIOLATION, "", "keep only one of the alternatives in 'tags/0'"),
        (ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "correct 'tags/0' as a whole"),
    ],
)
def test_an_error_without_a_hint_gets_that_of_its_code(code: ErrorCode, message: str, said: str) -> None:
    assert advice(code, message) == said


def test_the_errors_own_hint_comes_first_and_loses_its_full_stop() -> None:
    assert advice(ErrorCode.TYPE_MISMATCH, hint="send a date.") == "send a date"


def test_what_was_expected_is_said_where_it_is_known() -> None:
    assert advice(ErrorCode.TYPE_MISMATCH, expected_value="array of string") == "send 'tags/0' as array of string"
    assert advice(ErrorCode.FORMAT_VIOLATION, expected_value="string in format date") == (
        "send 'tags/0' as string in format date"
    )


def test_a_misspelt_choice_gets_its_correction() -> None:
    assert advice(ErrorCode.INVALID_ENUM_VALUE, expected_value="one of: north, south", actual_value='"nroth"') == (
        "change 'tags/0' to one of the allowed values (did you mean 'north'?)"
    )


@pytest.mark.parametrize("code", ErrorCode)
def test_the_whole_document_has_no_name_to_quote(code: ErrorCode) -> None:
    said = advice(code, path="")
    assert "'" not in said
    assert "{" not in said


@pytest.mark.parametrize("code", ErrorCode)
def test_a_field_whose_name_looks_like_a_placeholder_is_no_placeholder(code: ErrorCode) -> None:
    assert "{name}{expected}" in advice(code, path="/{name}{expected}") or code is ErrorCode.INVALID_JSON_SYNTAX


def test_advice_that_two_errors_share_is_given_once() -> None:
    advice = "put 'email' inside 'contact'"
    errors = [
        ValidationError(ErrorCode.UNKNOWN_FIELD, "/email", "m", hint=advice),
        ValidationError(ErrorCode.REQUIRED_FIELD_MISSING, "/contact", "m", hint=advice),
    ]
    assert hint_line(errors, full=True) == "Please put 'email' inside 'contact'."
