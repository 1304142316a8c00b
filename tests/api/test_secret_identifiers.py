"""The agent gets its own id back, whatever stands in it; nobody else ever sees it."""

from __future__ import annotations

import pytest

from tests.api.conftest import Door
from tests.factories import WRONG, make_tool
from tests.usecases.conftest import judge_all

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def test_the_answer_bears_the_providers_id_and_the_history_does_not(door: Door) -> None:
    make_tool(door.agent)
    reply = door.submit(WRONG, tool_call_id=TOKEN, render="anthropic")
    assert reply.body["tool_result"]["tool_call_id"] == TOKEN
    assert reply.body["rendered"]["tool_use_id"] == TOKEN
    assert TOKEN not in door.get(f"/calls/{reply.body['call_id']}").text


@pytest.mark.usefixtures("by_a_worker")
def test_who_waits_for_the_verdict_gets_the_providers_id_too(door: Door) -> None:
    make_tool(door.agent)
    pending = door.submit(WRONG, tool_call_id=TOKEN)
    assert pending.status == 202
    address = pending.headers["Location"].removeprefix("/api/v1")
    assert TOKEN not in address
    judge_all()
    assert door.get(address).body["tool_result"]["tool_call_id"] == TOKEN
    plain = address.partition("&provider_id")[0]
    assert door.get(plain).body["tool_result"]["tool_call_id"].startswith("[REDACTED: GITHUB_TOKEN]-")
    assert door.get(f"{plain}&provider_id=forged").body["tool_result"]["tool_call_id"].startswith("[REDACTED: ")


def test_calls_are_listed_by_the_identifiers_that_the_agent_knows(door: Door) -> None:
    made = door.submit(WRONG, session_id=TOKEN, task_id="t", tool=f"x-{TOKEN}").body["call_id"]
    for query in (f"session_id={TOKEN}", f"tool=x-{TOKEN}", "task_id=t"):
        reply = door.get(f"/calls?{query}")
        assert [call["call_id"] for call in reply.body["calls"]] == [made], query
        assert TOKEN not in reply.text
    assert door.get(f"/calls?session_id={TOKEN}x").body["calls"] == []


@pytest.mark.parametrize(("path", "listed"), [("/calls", "calls"), ("/agent-responses", "responses")])
def test_the_address_of_the_next_page_names_what_was_asked_for_as_it_is_stored(
    door: Door, path: str, listed: str
) -> None:
    make_tool(door.agent, kind="agent_response")
    fields = {"kind": "agent_response", "task_id": TOKEN, "turn": 1}
    for number in range(2):
        door.submit(WRONG, tool_call_id=f"id {number}", **fields)
    first = door.get(f"{path}?task_id={TOKEN}&limit=1")
    assert TOKEN not in first.text
    second = door.get(first.body["next"].removeprefix("/api/v1"))
    assert len(second.body[listed]) == 1
    assert second.body[listed] != first.body[listed]


def test_a_schema_that_is_refused_is_named_without_its_secrets(door: Door) -> None:
    schema = {"properties": {TOKEN: {"type": TOKEN}}}
    reply = door.put("/tools/x", {"input_schema": schema})
    listed = door.post("/tools/import", [{"name": TOKEN, "input_schema": schema}])
    assert (reply.status, listed.status) == (422, 200)
    assert TOKEN not in reply.text + listed.text
