"""Source files at the door: never judged there, whatever their size, but by the worker, within its limits."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract.store.models import Tool
from tests.api.conftest import Door
from tests.usecases.conftest import judge_all

PYTHON = {"type": "string", "x-language": "python"}
GOOD, BAD = "```python\nx = 1\n```", "```python\nx = = 1\n```"
SECRET = "sk-proj-" + "a1B2c3D4" * 6


def submit(door: Door, source: str, **fields: Any) -> Any:
    sent = {"kind": "source_file", "tool": "module", "tool_call_id": "id_1", "raw": source, "session_id": "s"} | fields
    reply = door.post("/calls", sent)
    assert reply.status == 202
    judge_all()
    return door.get(f"/calls/{reply.body['call_id']}/wait?for=verdict").body


@pytest.fixture
def writer(door: Door) -> Door:
    """An agent with a tool that writes Python."""
    assert door.put("/tools/module", {"kind": "source_file", "input_schema": PYTHON}).status == 201
    return door


def test_a_file_is_judged_by_the_worker_and_the_line_is_told(writer: Door) -> None:
    verdict = submit(writer, BAD)
    assert verdict["status"] == "retry"
    content = verdict["tool_result"]["content"]
    assert content.startswith("Validation failed for file 'module' (attempt 1/3):")
    assert "Invalid Python: invalid syntax at line 1, column 5" in content
    assert "  Actual:\n    1 | x = ‸= 1\n" in content


def test_a_corrected_file_is_valid_and_three_wrong_ones_are_blocked(writer: Door) -> None:
    first = submit(writer, BAD)
    assert submit(writer, GOOD, call_id=first["call_id"])["status"] == "valid"
    verdicts = [submit(writer, BAD, session_id="other")["status"] for _ in range(3)]
    assert verdicts == ["retry", "retry", "blocked"]


def test_a_file_with_a_secret_is_stored_and_told_without_it(writer: Door) -> None:
    verdict = submit(writer, f'key = "{SECRET}"\nx = = 1\n')
    call = writer.get(f"/calls/{verdict['call_id']}")
    assert SECRET not in verdict["tool_result"]["content"] + call.text
    assert "[REDACTED: OPENAI_KEY]" in call.text


def test_files_of_a_language_that_nobody_knows_are_not_registered(door: Door) -> None:
    reply = door.put("/tools/module", {"kind": "source_file", "input_schema": {"x-language": "cobol"}})
    assert (reply.status, reply.code) == (422, "unknown-language")
    assert "python, json, toml" in reply.body["detail"]
    assert not Tool.objects.exists()


@pytest.mark.parametrize("schema", [{"type": "string"}, True])
def test_files_whose_language_nobody_names_are_text(door: Door, schema: Any) -> None:
    assert door.put("/tools/module", {"kind": "source_file", "input_schema": schema}).status == 201
    assert submit(door, "first: a\nsecond: b\n", tool="module")["status"] == "valid"
    assert submit(door, "I'm sorry, but I can't.", tool="module")["tool_result"]["metadata"]["no_attempt"] == "refused"


def test_the_language_may_follow_from_the_name(door: Door) -> None:
    assert door.put("/tools/pyproject.toml", {"kind": "source_file", "input_schema": True}).status == 201
    assert submit(door, "a = 1\n", tool="pyproject.toml")["status"] == "valid"


@pytest.mark.parametrize(
    ("said", "reason"),
    [("I'm sorry, but I can't write that.", "refused"), ("I will write it now.", "only_talk"), (None, None)],
)
def test_what_the_model_said_instead_of_a_file_is_told_apart_in_the_child_too(
    writer: Door, said: str | None, reason: str | None
) -> None:
    sent = {"kind": "source_file", "tool": "module", "tool_call_id": "id_1", "arguments": None, "said": said}
    reply = writer.post("/calls", sent | {"callback_error": "the tool was not called"})
    judge_all()
    verdict = writer.get(f"/calls/{reply.body['call_id']}/wait?for=verdict").body
    assert (reply.status, verdict["tool_result"]["metadata"].get("no_attempt")) == (202, reason)
