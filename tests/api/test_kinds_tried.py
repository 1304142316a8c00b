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


def test_a_file_of_no_known_language_is_refused(door: Door) -> None:
    reply = door.post("/check", {"input_schema": True, "tool": "notes", "kind": "source_file", "raw": "x"})
    assert reply.status == 422
