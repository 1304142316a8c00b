"""What names a request, its id and its trace: from the header to the history, the answer and every log line."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from django.utils import timezone

from retrycontract.config.logs import json_formatter
from retrycontract.store.models import Attempt
from retrycontract.usecases.calls.sweep import judge_waiting
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


def test_the_id_of_a_request_is_taken_over(door: Door) -> None:
    assert door.send("GET", "/calls", **{"X-Request-ID": "job-7:a"}).headers["X-Request-ID"] == "job-7:a"


@pytest.mark.parametrize("header", [None, "", "two words", "x" * 129, "line\\nbreak", "\u00e9", '"}{'])
def test_a_request_without_a_usable_id_gets_one(door: Door, header: str | None) -> None:
    sent = {} if header is None else {"X-Request-ID": header}
    made = {door.send("GET", "/calls", **sent).headers["X-Request-ID"] for _ in range(2)}
    assert len(made) == 2
    assert {len(name) for name in made} == {16}


def test_a_secret_in_the_id_of_a_request_is_not_logged(door: Door, lines: list[dict[str, str]]) -> None:
    secret = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
    submit(door, **{"X-Request-ID": secret})
    assert {line["request_id"] for line in lines} == {"[REDACTED: GITHUB_TOKEN]"}


def test_a_refusal_is_logged_with_the_id_that_the_client_was_told(door: Door, lines: list[dict[str, str]]) -> None:
    reply = door.get("/calls/call_nobody_has")
    assert {line["request_id"] for line in lines} == {reply.headers["X-Request-ID"]}


def test_every_line_about_a_request_names_it(door: Door, lines: list[dict[str, str]]) -> None:
    submit(door, traceparent=TRACE, **{"X-Request-ID": "job-7"})
    told = {line["message"] for line in lines}
    assert "Tool validation failed" in told
    assert {(line["request_id"], line["traceparent"]) for line in lines} == {("job-7", TRACE)}


@pytest.mark.usefixtures("by_a_worker")
def test_the_workers_lines_name_the_request_that_brought_the_attempt(door: Door, lines: list[dict[str, str]]) -> None:
    submit(door, traceparent=TRACE, **{"X-Request-ID": "job-7"})
    submit(door, **{"X-Request-ID": "job-8"})
    lines.clear()
    judge_waiting(clock=timezone.now)
    failed = [line for line in lines if line["message"] == "Tool validation failed"]
    assert [(line["request_id"], line.get("traceparent")) for line in failed] == [("job-7", TRACE), ("job-8", None)]


def test_the_lines_of_one_request_do_not_name_the_one_before(door: Door, lines: list[dict[str, str]]) -> None:
    submit(door, traceparent=TRACE)
    lines.clear()
    submit(door)
    assert lines
    assert not any("traceparent" in line for line in lines)
