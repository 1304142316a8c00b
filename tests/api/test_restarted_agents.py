"""Agents that were restarted and know nothing of the answer that waits for them: it stays whole until they read it."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract.contract.decisions import Decision
from retrycontract.store.models import Call, Escalation, Guidance
from tests.api.conftest import Door
from tests.factories import RIGHT, WRONG, answer, make_tool, make_user

SESSION = "conversation-7f3a91c2"


@pytest.fixture
def call(door: Door) -> Call:
    """A call that was Blocked and corrected while its agent was away."""
    make_tool(door.agent)
    for number in range(3):
        reply = door.submit(WRONG, tool_call_id=f"before-{number}", session_id=SESSION, turn=number)
    call = Call.objects.get(public_id=reply.body["call_id"])
    answer(call, make_user(), Decision.CORRECTED, arguments=RIGHT)
    return call


def again(door: Door, call: Call, **fields: Any) -> Any:
    """Submit the wrong arguments once more, as an agent that begins from where it was."""
    return door.submit(WRONG, **{"tool_call_id": "again", "session_id": SESSION, "turn": 3} | fields).body


def test_who_submits_before_asking_is_sent_to_the_answer_and_finds_it_whole(door: Door, call: Call) -> None:
    verdict = again(door, call)
    assert (verdict["call_id"], verdict["status"], verdict["state"]) == (call.public_id, "blocked", "guided")
    assert (verdict["attempt"], verdict["max_attempts"]) == (4, 5)
    wait = door.get(verdict["tool_result"]["metadata"]["wait"].removeprefix("/api/v1"))
    given = wait.body["guidance"]
    assert (wait.status, given["arguments"]) == (200, RIGHT)
    assert (given["next_attempt"], given["max_attempts"], given["granted"]) == (5, 5, 1)
    assert given["text"].endswith("this is attempt 5/5.")
    assert door.submit(given["arguments"], call_id=call.public_id).body["state"] == "valid"
    assert Escalation.objects.count() == 1


def test_who_names_the_call_is_told_the_same(door: Door, call: Call) -> None:
    verdict = again(door, call, call_id=call.public_id, session_id=None, turn=None)
    assert (verdict["status"], verdict["state"], verdict["max_attempts"]) == ("blocked", "guided", 5)


def test_without_a_session_another_call_begins_and_the_answer_waits_for_who_asks(door: Door, call: Call) -> None:
    verdict = again(door, call, session_id=None, turn=None)
    assert (verdict["call_id"] == call.public_id, verdict["status"], verdict["state"]) == (False, "retry", "retrying")
    (found,) = door.get("/calls?state=guided").body["calls"]
    assert (found["call_id"], found["attempts_made"], found["attempts_allowed"]) == (call.public_id, 3, 4)
    assert door.get(f"/calls/{call.public_id}/guidance").body["text"].endswith("this is attempt 4/4.")


@pytest.mark.parametrize("read", ["/wait?for=guidance", "/guidance"])
def test_who_has_read_the_answer_uses_it_up(door: Door, call: Call, read: str) -> None:
    assert door.get(f"/calls/{call.public_id}{read}").status == 200
    verdict = again(door, call)
    assert (verdict["status"], verdict["state"], verdict["max_attempts"]) == ("blocked", "blocked", 4)
    assert Escalation.objects.count() == 2


def test_who_says_that_the_answer_has_arrived_has_read_it(door: Door, call: Call) -> None:
    assert door.post(f"/calls/{call.public_id}/guidance/ack").body == {"acknowledged": True}
    assert again(door, call)["state"] == "blocked"


@pytest.mark.parametrize("look", ["/wait?for=verdict", ""])
def test_who_looks_at_the_call_alone_has_not_read_the_answer(door: Door, call: Call, look: str) -> None:
    assert door.get(f"/calls/{call.public_id}{look}").status == 200
    assert door.send("HEAD", f"/calls/{call.public_id}/guidance").status == 200
    assert Guidance.objects.get().delivered_at is None
    assert again(door, call)["state"] == "guided"
