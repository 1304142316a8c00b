"""The agent gets its own id back, whatever stands in it and however long it is; nobody else sees a secret in it."""

from __future__ import annotations

import base64
import random
import re
from urllib.parse import quote

import pytest

from retrycontract.store.models import Attempt
from tests.api.conftest import Door
from tests.factories import WRONG, make_tool
from tests.usecases.conftest import judge_all

pytestmark = pytest.mark.django_db
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
# As LiteLLM makes them for Gemini: the signature of a thought, in the id of the call that it led to.
SIGNED = "call_7f3b2a9c5d1e4c1b9a54__thought__" + base64.b64encode(random.Random(5).randbytes(4_000)).decode()
# What no agent has chosen, and none can change.
IDS_OF_PROVIDERS = {
    "signed": SIGNED, "201": "i" * 201, "lines": "call_1\r\ncall_2", "NUL": "a\x00b", "blank": " ",
    "of marks": "e\u0301" * 300, "shown from right to left": "\u202e" * 250, "words": "调用" * 150,
    "a secret at its end": "x" * 300 + TOKEN,
    "half a character": "call_\ud83d", "a byte of another code": "call_\udce9",
}  # fmt: skip
EACH_ID = pytest.mark.parametrize("own_id", IDS_OF_PROVIDERS.values(), ids=IDS_OF_PROVIDERS)


def test_the_answer_bears_the_providers_id_and_the_history_does_not(door: Door) -> None:
    make_tool(door.agent)
    reply = door.submit(WRONG, tool_call_id=TOKEN, render="anthropic")
    assert reply.body["tool_result"]["tool_call_id"] == TOKEN
    assert reply.body["rendered"]["tool_use_id"] == TOKEN
    assert TOKEN not in door.get(f"/calls/{reply.body['call_id']}").text


@EACH_ID
def test_an_id_is_the_providers_whatever_its_length_and_signs_and_continues_its_call(door: Door, own_id: str) -> None:
    make_tool(door.agent)
    for turn, provider, named in ((1, "openai", "tool_call_id"), (2, "anthropic", "tool_use_id")):
        reply = door.submit(WRONG, tool_call_id=own_id, session_id="s", turn=turn, render=provider)
        assert (reply.status, reply.body["attempt_number"]) == (200, turn), reply.text
        assert reply.body["tool_result"]["tool_call_id"] == reply.body["rendered"][named] == own_id
    another = door.submit(WRONG, tool_call_id=f"{own_id[:-1]}~", session_id="s2", turn=1)
    for number in (1, 2):  # so that the last turn alone tells no call
        door.submit(WRONG, tool_call_id=f"{number}", session_id="s2", turn=1)
    again = door.submit(WRONG, tool_call_id=own_id, session_id="s2", turn=1)
    assert len({reply.body["call_id"], another.body["call_id"], again.body["call_id"]}) == 3
    kept = door.get(f"/calls/{reply.body['call_id']}").body["attempts"][0]["tool_call_id"]
    assert len(kept) <= 200
    assert kept.isprintable()


@pytest.mark.parametrize("name", [*IDS_OF_PROVIDERS.values(), ""], ids=[*IDS_OF_PROVIDERS, "none"])
def test_a_name_that_a_model_made_up_is_an_unknown_tool_whatever_it_is(door: Door, name: str) -> None:
    make_tool(door.agent)
    first = door.submit(WRONG, tool=name, session_id="s", turn=1)
    again = door.submit(WRONG, tool=name, session_id="s", turn=2, tool_call_id="t2")
    assert (first.status, again.status) == (200, 200), first.text
    assert (again.body["call_id"], again.body["attempt"]) == (first.body["call_id"], 2)
    assert "the only tool is 'deploy'" in first.body["tool_result"]["content"]
    kept = door.get(f"/calls/{first.body['call_id']}").body["tool"]
    assert 0 < len(kept.strip()) <= len(kept) <= 300
    assert not re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", kept)
    (listed,) = door.get(f"/calls?tool={quote(kept)}").body["calls"]
    assert listed["call_id"] == first.body["call_id"]


@pytest.mark.usefixtures("by_a_worker")
@EACH_ID
def test_whoever_is_held_until_the_verdict_gets_it_in_full_and_addresses_stay_short(door: Door, own_id: str) -> None:
    make_tool(door.agent)
    pending = door.submit(WRONG, tool_call_id=own_id)
    judge_all()
    held = pending.headers["Retrycontract-Pending"].partition("; ")[2].removeprefix("/api/v1")
    assert door.get(held).body["tool_result"]["tool_call_id"] == own_id
    assert len(pending.headers["Location"]) <= 4_200
    later = door.get(pending.headers["Location"].removeprefix("/api/v1")).body["tool_result"]["tool_call_id"]
    assert later == (own_id if len(own_id) < 1_000 else Attempt.objects.get().tool_call_id)


@pytest.mark.parametrize("name", ["session_id", "task_id", "correlation_id"])
def test_names_of_the_agents_own_have_any_length_and_are_found_again(door: Door, name: str) -> None:
    made = door.submit(WRONG, **{name: SIGNED}).body["call_id"]
    door.submit(WRONG, **{name: SIGNED + "x"})
    found = door.get(f"/calls?{name}={quote(SIGNED)}").body["calls"]
    assert [call["call_id"] for call in found] == [made]
    assert found[0][name].startswith("call_7f3b2a9c5d1e4c1b9a54__thought__")
    assert door.get(f"/calls?{name}={quote(found[0][name])}").body["calls"] == found


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
