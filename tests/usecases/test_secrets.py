"""A planted secret is nowhere: not in the database file, not in its write-ahead log, not in the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Attempt, Call
from retrycontract.usecases.calls.sweep import judge_waiting
from tests.factories import answer, make_agent, make_tool, make_user, submit
from tests.file_database import bytes_at_rest
from tests.usecases.conftest import configure

pytestmark = pytest.mark.usefixtures("file_database")

SECRET = "ghp_" + "aZ3kQ9xW7bN2mL5vR8tY1cF4hJ6dS0gPuE9i"
PASSWORD = "quiet-harbour-42-lantern"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 5}, "password": {"type": "integer"}},
}
PLACES: dict[str, dict[str, Any]] = {
    "a value": {"output": {"text": SECRET}},
    "a value inside a text": {"output": {"text": f"the key is {SECRET}, keep it"}},
    "a telling name's value": {"output": {"password": PASSWORD}},
    "a telling name's nested value": {"output": {"password": {"inner": [PASSWORD]}}},
    "a key": {"output": {SECRET: 1}},
    "a pointer": {"output": {"text": {SECRET: {SECRET: SECRET}}}},
    "broken text": {"output": f'{{"text": "{SECRET}", '},
    "a telling name's value in broken text": {"output": f'{{"password": "{PASSWORD}", '},
    "a key that comes twice": {"output": f'{{"{SECRET}": 1, "{SECRET}": 2}}'},
    "no JSON at all": {"output": f"here you are: {SECRET}"},
    "a tool's name": {"output": {}, "tool": SECRET},
    "the agent's rejection": {"output": {}, "callback_error": f"refused with {SECRET}"},
    "the context": {"output": {"text": 1}, "context": {"goal": SECRET, SECRET: 1, "password": PASSWORD}},
    "JSON inside a string": {"output": {"text": json.dumps({"password": PASSWORD})}},
}


@pytest.mark.parametrize("judge", ["auto", "worker"], ids=["at the door", "by the worker"])
@pytest.mark.parametrize("fields", PLACES.values(), ids=list(PLACES))
def test_a_secret_is_never_at_rest(
    settings: Settings, file_database: Path, caplog: pytest.LogCaptureFixture, judge: str, fields: dict[str, Any]
) -> None:
    configure(settings, judge=judge)
    agent = make_agent()
    make_tool(agent, "note", SCHEMA)
    fields = {"tool": "note", "session_id": "s", "tool_call_id": "id"} | fields
    for _ in range(3):
        submit(agent, fields["output"], **{name: value for name, value in fields.items() if name != "output"})
        assert_no_secret(bytes_at_rest(file_database))  # queued, it is sealed
        judge_waiting(clock=timezone.now)
    assert_no_secret(bytes_at_rest(file_database))
    logged = "".join(str(vars(record)) + record.getMessage() for record in caplog.records)
    assert_no_secret(logged.encode())
    call = Call.objects.get()
    assert call.attempts_made == 3 or call.state == "valid"
    assert not Attempt.objects.exclude(sealed=None).exists()


@pytest.mark.parametrize("judge", ["auto", "worker"], ids=["at the door", "by the worker"])
def test_the_operators_answer_adds_no_secret(settings: Settings, file_database: Path, judge: str) -> None:
    configure(settings, judge=judge)
    agent = make_agent()
    make_tool(agent, "note", SCHEMA)
    call = submit(agent, {"password": PASSWORD}, tool="note").call
    for _ in range(2):
        submit(agent, {"password": PASSWORD}, tool="note", call=call)
    judge_waiting(clock=timezone.now)
    answer(Call.objects.get(), make_user(), Decision.HINT, text=f"Use {SECRET}.")
    assert_no_secret(bytes_at_rest(file_database))


def test_without_the_sanitiser_the_secret_would_be_found(settings: Settings, file_database: Path) -> None:
    """The negative control: what the tests above look for is found where nothing hides it."""
    settings.CONTRACT = type(settings.CONTRACT)(redact_secrets=False)
    agent = make_agent()
    make_tool(agent, "note", SCHEMA)
    submit(agent, {"text": SECRET}, tool="note")
    assert SECRET.encode() in bytes_at_rest(file_database)


def assert_no_secret(data: bytes) -> None:
    assert SECRET.encode() not in data
    assert PASSWORD.encode() not in data


def test_a_secret_in_the_correlation_id_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    agent = make_agent()
    make_tool(agent, "note", SCHEMA)
    submit(agent, {"text": 1}, tool="note", correlation_id=SECRET)
    logged = [vars(record) for record in caplog.records if "correlation_id" in vars(record)]
    assert logged
    assert SECRET not in str(logged)
