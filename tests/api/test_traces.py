"""The trace that a request belongs to: from the header to the history, the answer and every log line."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from django.utils import timezone

from retrycontract.logs import json_formatter
from retrycontract.store.models import Attempt
from retrycontract.usecases.sweep import judge_waiting
from tests.api.conftest import Door
from tests.factories import RIGHT, WRONG, make_tool

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Lines(logging.Handler):
    """Keep what is logged, as the JSON that the service would write at that moment."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(json_formatter())
        self.lines: list[dict[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def lines() -> Iterator[list[dict[str, str]]]:
    handler = Lines()
    loggers = [logging.getLogger(name) for name in ("retrycontract", "django")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.lines
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.fixture(autouse=True)
def _tool(door: Door) -> None:
    make_tool(door.agent)


def submit(door: Door, **headers: str) -> str:
    body = {"tool": "deploy", "tool_call_id": "id", "arguments": WRONG}
    call_id: str = door.post("/calls", body, **headers).body["call_id"]
    return call_id


def test_a_trace_is_stored_with_its_attempt_and_returned(door: Door) -> None:
    reply = door.post("/calls", {"tool": "deploy", "tool_call_id": "id", "arguments": RIGHT}, traceparent=TRACE)
    assert reply.headers["traceparent"] == TRACE
    history = door.get(f"/calls/{reply.body['call_id']}")
    assert [attempt["traceparent"] for attempt in history.body["attempts"]] == [TRACE]
    assert "traceparent" not in history.headers


@pytest.mark.parametrize(
    "header", ["", "nonsense", TRACE.upper(), f"{TRACE},{TRACE}", TRACE.replace("4b", "zz"), "\x00"]
)
def test_a_trace_that_cannot_be_read_is_passed_over(door: Door, header: str) -> None:
    reply = door.post("/calls", {"tool": "deploy", "tool_call_id": "id", "arguments": RIGHT}, traceparent=header)
    assert (reply.status, reply.body["status"]) == (200, "valid")
    assert "traceparent" not in reply.headers
    assert Attempt.objects.get().traceparent is None


def test_every_line_about_a_request_names_it(door: Door, lines: list[dict[str, str]]) -> None:
    submit(door, traceparent=TRACE)
    told = {line["message"] for line in lines}
    assert "Tool validation failed" in told
    assert {line["traceparent"] for line in lines} == {TRACE}


@pytest.mark.usefixtures("by_a_worker")
def test_the_workers_lines_name_the_request_that_brought_the_attempt(door: Door, lines: list[dict[str, str]]) -> None:
    submit(door, traceparent=TRACE)
    submit(door)
    lines.clear()
    judge_waiting(clock=timezone.now)
    assert [line.get("traceparent") for line in lines if line["message"] == "Tool validation failed"] == [TRACE, None]


def test_the_lines_of_one_request_do_not_name_the_one_before(door: Door, lines: list[dict[str, str]]) -> None:
    submit(door, traceparent=TRACE)
    lines.clear()
    submit(door)
    assert lines
    assert not any("traceparent" in line for line in lines)
