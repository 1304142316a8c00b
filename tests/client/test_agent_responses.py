"""The agent-response log through both clients."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from retrycontract.client import UnexpectedAnswerError
from retrycontract.contract.webhooks import ResponseStatus
from tests.client.scripted import ERROR, Script, answer

LINE: dict[str, Any] = {
    "call_id": "call-1",
    "tool": "agent_response",
    "task_id": "t",
    "turn": 2,
    "status": "SCHEMA_VIOLATION",
    "raw": {"action": 5},
    "violations": [ERROR],
    "correction_attempt": 1,
    "at": "2027-03-14T12:00:00Z",
    "links": {},
}


def test_the_log_is_read_page_by_page(scripted: Callable[..., Script]) -> None:
    service = scripted(
        answer(200, {"responses": [LINE], "next": "/api/v1/agent-responses?cursor=call-1.2"}),
        answer(200, {"responses": [LINE | {"status": "SUCCESS", "violations": []}], "next": None}),
    )
    since = datetime(2027, 3, 14, tzinfo=UTC)
    with service.client() as client:
        first, second = list(client.agent_responses(task_id="t", status=ResponseStatus.SUCCESS, since=since, turn=None))
    assert service.lines == [
        "GET /agent-responses?task_id=t&status=SUCCESS&since=2027-03-14T00%3A00%3A00%2B00%3A00&limit=100",
        "GET /agent-responses?cursor=call-1.2",
    ]
    assert (first.status, first.correction_attempt, first.at.hour) == ("SCHEMA_VIOLATION", 1, 12)
    assert (first.violations[0].field_path, second.status, second.violations) == ("/mode", "SUCCESS", ())


def test_the_key_stays_with_the_service(scripted: Callable[..., Script]) -> None:
    service = scripted(answer(200, {"responses": [], "next": "http://elsewhere/api/v1/agent-responses?"}))
    with service.client() as client, pytest.raises(UnexpectedAnswerError):
        list(client.agent_responses())
