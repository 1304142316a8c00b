"""What an operator pastes may be long: beside it a page says of what follows from it the first, and how much more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from dashboard.tools.tool_figures import MOST_CHANGES
from retrycontract.store.models import Tool
from retrycontract.usecases.tools.register_tool import register_tool
from tests.dashboard.conftest import HTMX, text_of
from tests.dashboard.test_playground import typed
from tests.dashboard.test_tools import send
from tests.factories import make_agent, make_tool

pytestmark = pytest.mark.django_db
LEAST = 60_000  # bytes of a page with everything around that it has without
MANY = 2_400
NUMBERS = [*range(1_000_000, 1_190_000)]


def schema_of(kind: str, names: int = MANY) -> dict[str, Any]:
    return {"type": "object", "properties": {f"property_{number}": {"type": kind} for number in range(names)}}


def beside(page: Any, pasted: str) -> int:
    """Count the bytes of a page beside what was pasted, which comes back to be edited: a quotation mark takes six."""
    return len(page.content) - len(pasted) - 5 * pasted.count('"')


@pytest.mark.parametrize(("before", "changes"), [("string", MANY), ("", 1)])
@pytest.mark.parametrize("is_too_late", [False, True])
def test_what_is_different_in_a_schema_of_many_properties(
    admin: Client, before: str, changes: int, is_too_late: bool
) -> None:
    tool = make_tool(agent := make_agent())
    base = tool.revision if is_too_late else None
    register_tool(agent, tool.name, schema_of(before) if before else {"type": "object"}, now=tool.created_at)
    pasted = json.dumps(schema_of("integer"))
    page = send(admin, Tool.objects.get(pk=tool.pk), pasted, "save" if is_too_late else "try", base)
    assert page.status_code == (409 if is_too_late else 200)
    assert beside(page, pasted) < LEAST
    assert (f"and {MANY - MOST_CHANGES:,} more" in text_of(page)) == (changes > MOST_CHANGES)
    assert page.content.count(b'class="change ') == min(changes, MOST_CHANGES)


@pytest.mark.parametrize("schema", [True, {"type": "array", "items": {"type": "string"}}])
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_verdict_on_a_long_list(desk: Client, schema: Any, headers: dict[str, str]) -> None:
    pasted = json.dumps(NUMBERS)
    page = desk.post("/playground/", typed(schema, pasted), headers=headers)
    assert page.context["tried"] is not None
    assert beside(page, "" if headers else pasted) < LEAST
