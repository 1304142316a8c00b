"""A dry run checks by kind, as a submission is checked."""

from __future__ import annotations

import json

import pytest

from retrycontract.store.models import Attempt
from tests.api.conftest import Door
from tests.factories import DEPLOY, RIGHT, WRONG

FENCED = f"Sure:\n```json\n{json.dumps(RIGHT)}\n```"


@pytest.mark.parametrize(("kind", "is_valid"), [("tool_call", False), ("agent_response", True), ("extraction", False)])
def test_what_stands_around_a_value_is_forgiven_by_kind(door: Door, kind: str, is_valid: bool) -> None:
    body = door.post("/check", {"input_schema": DEPLOY, "raw": FENCED, "kind": kind}).body
    assert body["valid"] is is_valid
    assert not Attempt.objects.exists()


@pytest.mark.parametrize(
    ("kind", "subject"),
    [("tool_call", "tool"), ("agent_response", "response"), ("extraction", "extraction"), ("source_file", "file")],
)
def test_the_feedback_names_the_kind(door: Door, kind: str, subject: str) -> None:
    output = {"raw": "def f(:\n"} if kind == "source_file" else {"arguments": WRONG}
    schema = True if kind == "source_file" else DEPLOY
    body = door.post("/check", {"input_schema": schema, "tool": "app.py", "kind": kind, **output}).body
    assert body["feedback"].startswith(f"Validation failed for {subject} 'app.py' (attempt 1/3):")


def test_a_file_whose_name_tells_no_language_is_checked_as_text(door: Door) -> None:
    body = {"input_schema": True, "tool": "notes", "kind": "source_file"}
    reply = door.post("/check", body | {"raw": "x"})
    assert (reply.status, reply.body["valid"]) == (200, True)
    assert door.post("/check", body | {"raw": "I cannot help with that."}).body["valid"] is False


def test_a_language_that_nobody_knows_is_refused(door: Door) -> None:
    schema = {"x-language": "klingon"}
    reply = door.post("/check", {"input_schema": schema, "tool": "notes", "kind": "source_file", "raw": "x"})
    assert (reply.status, reply.code) == (422, "unknown-language")
