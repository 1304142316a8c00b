from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import ErrorCode, ErrorSeverity, ValidationError

TEXT = st.text(max_size=20)
ERRORS = st.builds(
    ValidationError,
    error_code=st.sampled_from(ErrorCode),
    field_path=TEXT,
    message=TEXT,
    severity=st.sampled_from(ErrorSeverity),
    expected_value=st.none() | TEXT,
    actual_value=st.none() | TEXT,
    keyword=TEXT,
    hint=st.none() | TEXT,
    patch=st.lists(st.fixed_dictionaries({"op": st.just("replace"), "path": TEXT, "value": st.integers()})).map(tuple),
)


def test_severities_sort_from_info_to_error() -> None:
    assert sorted(ErrorSeverity) == [ErrorSeverity.INFO, ErrorSeverity.WARNING, ErrorSeverity.ERROR]
    assert [severity.value for severity in sorted(ErrorSeverity)] == [0, 1, 2]


@given(ERRORS)
def test_an_error_survives_json_without_loss(error: ValidationError) -> None:
    assert ValidationError.from_json(json.loads(json.dumps(error.to_json()))) == error


def test_only_code_path_and_message_are_needed() -> None:
    error = ValidationError(ErrorCode.TYPE_MISMATCH, "/a", "Type mismatch: expected string, got null")
    assert error.severity is ErrorSeverity.ERROR
    assert (error.expected_value, error.actual_value, error.hint, error.patch) == (None, None, None, ())


def test_an_error_from_another_version_lacks_the_optional_fields() -> None:
    data = {"error_code": "VAL-001", "field_path": "/a", "message": "m", "severity": "warning"}
    assert ValidationError.from_json(data) == ValidationError(
        ErrorCode.REQUIRED_FIELD_MISSING, "/a", "m", ErrorSeverity.WARNING
    )


def test_an_error_cannot_be_changed() -> None:
    error = ValidationError(ErrorCode.TYPE_MISMATCH, "/a", "m")
    with pytest.raises(dataclasses.FrozenInstanceError):
        error.message = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "exception"),
    [
        pytest.param({"error_code": "VAL-099"}, ValueError, id="unknown-code"),
        pytest.param({"severity": "fatal"}, KeyError, id="unknown-severity"),
    ],
)
def test_what_is_no_error_is_refused(change: dict[str, str], exception: type[Exception]) -> None:
    data = ValidationError(ErrorCode.TYPE_MISMATCH, "/a", "m").to_json() | change
    with pytest.raises(exception):
        ValidationError.from_json(data)
