"""What the contract in one process logs."""

from __future__ import annotations

import logging

import pytest

from retrycontract.contract.schemas.admission import SchemaWarning
from retrycontract.contract.tool import Tool
from tests.contract.in_process_desk import BAD, GOOD, contract, fail

FIELDS = ("tool_name", "error_count", "retry_attempt", "max_retries", "errors", "correlation_id", "duration_us")


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.message) for record in caplog.records]


def test_a_failure_is_one_warning_with_fields_and_a_retry_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "retrycontract"):
        contract().check("read_file", "id", BAD, correlation_id="c-1")
    assert events(caplog) == [("WARNING", "Tool validation failed"), ("INFO", "Tool call is retried")]
    for record in caplog.records:
        fields = {name: getattr(record, name) for name in FIELDS}
        assert fields.pop("duration_us") >= 0
        assert fields == {
            "tool_name": "read_file",
            "error_count": 2,
            "retry_attempt": 1,
            "max_retries": 3,
            "errors": [{"path": "/encoding", "code": "VAL-008"}, {"path": "/path", "code": "VAL-001"}],
            "correlation_id": "c-1",
        }


def test_an_escalation_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    fail(contract(), 3)
    assert events(caplog)[-2:] == [
        ("WARNING", "Tool validation failed"),
        ("WARNING", "Tool call escalated to a person"),
    ]


def test_an_observed_failure_is_logged_and_a_valid_attempt_is_not(caplog: pytest.LogCaptureFixture) -> None:
    contract().check("read_file", "id", GOOD)
    contract(strict=False).check("read_file", "id", '{"path": "a", "x": 1}')
    assert events(caplog) == []
    fail(contract(mode="observe"), 1)
    assert events(caplog) == [("WARNING", "Tool validation failed")]


def test_no_value_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ('{"path": ["tree-house"], "encoding": "tree-house"}', '{"path": "tree-house', '"tree-house"'):
            contract().check("read_file", "id", text, callback_error="tree-house")
    assert len(caplog.records) == 6
    assert "tree-house" not in str([vars(record) for record in caplog.records])


def test_a_secret_in_a_tools_name_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ" * 2
    contract().check(key, "id", {key: 1})
    assert key not in str([vars(record) for record in caplog.records])


def test_what_does_nothing_in_a_schema_is_logged_and_given_back(caplog: pytest.LogCaptureFixture) -> None:
    warnings = contract().register(Tool(name="t", input_schema={"requird": ["a"]}))
    said = "`requird` is no keyword and does nothing; did you mean `required`?"
    assert warnings == (SchemaWarning("/requird", said),)
    assert events(caplog) == [("WARNING", f"The schema of tool 't', at /requird: {said}")]
