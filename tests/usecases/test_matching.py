"""Which call an attempt belongs to, with real rows."""

from __future__ import annotations

from typing import Any

import pytest

from retrycontract.contract.matching import AmbiguousCallError
from retrycontract.store.models import Agent, Call
from tests.factories import RIGHT, WRONG, make_agent, make_tool
from tests.usecases.conftest import Send, fail

pytestmark = pytest.mark.django_db


def first_and_next(send: Send, first: dict[str, Any], following: dict[str, Any]) -> tuple[Call, Call]:
    agent = make_agent()
    make_tool(agent)
    make_tool(agent, "other")
    fields: dict[str, Any] = {"session_id": "s", "tool_call_id": "id_1"}
    return send(agent, WRONG, **fields | first).call, send(agent, WRONG, **fields | following).call


CONTINUES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "same session and id": ({}, {}),
    "same id, another turn": ({"turn": 1}, {"turn": 2}),
    "same id, an earlier turn": ({"turn": 2}, {"turn": 1}),
    "a later turn": ({"turn": 1}, {"turn": 2, "tool_call_id": "id_2"}),
    "a much later turn": ({"turn": -5}, {"turn": 2**40, "tool_call_id": "id_2"}),
    "same id, an unknown tool corrected": ({"tool": "deplyo"}, {"tool": "deploy"}),
}
BEGINS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the same turn": ({"turn": 1}, {"turn": 1, "tool_call_id": "id_2"}),
    "the same turn, an unknown tool corrected": ({"turn": 1, "tool": "deplyo"}, {"turn": 1}),
    "an earlier turn": ({"turn": 2}, {"turn": 1, "tool_call_id": "id_2"}),
    "no turns": ({}, {"tool_call_id": "id_2"}),
    "same id, no session": ({"session_id": None}, {"session_id": None}),
    "same id, no session, a later turn": ({"session_id": None, "turn": 1}, {"session_id": None, "turn": 2}),
    "same id, no session, an unknown tool corrected": (
        {"session_id": None, "tool": "deplyo"},
        {"session_id": None, "tool": "deploy"},
    ),
    "no session where there was one": ({}, {"session_id": None}),
    "another session": ({}, {"session_id": "t"}),
    "another session, a later turn": ({"turn": 1}, {"session_id": "t", "turn": 2, "tool_call_id": "id_2"}),
    "a session where there was none": ({"session_id": None}, {}),
    "another tool": ({"turn": 1}, {"turn": 2, "tool_call_id": "id_2", "tool": "other"}),
    "another tool, same id": ({}, {"tool": "other"}),
    "another id, no session": ({"session_id": None, "turn": 1}, {"session_id": None, "turn": 2, "tool_call_id": "x"}),
}


@pytest.mark.parametrize(("first", "following"), CONTINUES.values(), ids=list(CONTINUES))
def test_an_attempt_continues_the_call(send: Send, first: dict[str, Any], following: dict[str, Any]) -> None:
    before, after = first_and_next(send, first, following)
    assert before == after
    assert after.attempts_made == 2


@pytest.mark.parametrize(("first", "following"), BEGINS.values(), ids=list(BEGINS))
def test_an_attempt_begins_a_call(send: Send, first: dict[str, Any], following: dict[str, Any]) -> None:
    before, after = first_and_next(send, first, following)
    assert before != after
    assert after.attempts_made == 1


def test_parallel_calls_of_one_turn_are_distinct_and_the_next_turn_must_say_which(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    calls = [send(agent, WRONG, session_id="s", turn=1, tool_call_id=f"id_{number}").call for number in range(3)]
    assert len(set(calls)) == 3
    with pytest.raises(AmbiguousCallError) as refused:
        send(agent, WRONG, session_id="s", turn=2, tool_call_id="new")
    assert list(refused.value.candidates) == calls
    assert send(agent, WRONG, session_id="s", turn=2, tool_call_id="new", call=calls[1]).call == calls[1]
    assert Call.objects.count() == 3


@pytest.mark.parametrize("attempts", [1, 3], ids=["retrying", "blocked"])
def test_two_calls_of_one_turn_may_share_an_id_and_what_is_sent_once_more_makes_no_call(
    send: Send, attempts: int
) -> None:
    agent = make_agent()
    make_tool(agent)
    turn = {"session_id": "s", "tool_call_id": "id_1", "turn": attempts}
    call = [send(agent, WRONG, **turn | {"turn": each + 1}).call for each in range(attempts)][-1]
    assert send(agent, WRONG, **turn).call == call
    other = send(agent, WRONG | {"more": 1}, **turn).call
    assert other != call
    assert send(agent, WRONG | {"more": 1}, **turn).call == other
    # A person's answer to one of them must not reach the other.
    with pytest.raises(AmbiguousCallError):
        send(agent, WRONG, **turn | {"turn": attempts + 1})
    assert [it.attempts_made for it in Call.objects.order_by("pk")] == [attempts + 1, 2]


def test_what_has_ended_is_not_continued(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    fields = {"session_id": "s", "tool_call_id": "call_0"}
    first = send(agent, RIGHT, **fields).call
    assert first.state == "valid"
    assert send(agent, WRONG, **fields).call != first


def test_a_blocked_call_is_matched_by_session_and_tool_even_without_turns(send: Send) -> None:
    call = fail(send, 3, session_id="s")
    assert send(call.agent, RIGHT, session_id="s", tool_call_id="new").call == call


def test_an_attempt_is_matched_to_calls_of_its_own_agent_only(send: Send) -> None:
    fields = {"session_id": "s", "tool_call_id": "call_0"}

    def begin(agent: Agent) -> Call:
        make_tool(agent)
        return send(agent, WRONG, **fields).call

    mine, theirs = begin(make_agent("mine")), begin(make_agent("theirs"))
    assert mine != theirs


def test_the_call_bears_the_ids_of_its_last_attempt(send: Send) -> None:
    agent = make_agent()
    make_tool(agent)
    call = send(agent, WRONG, session_id="s", turn=1, tool_call_id="one").call
    attempt = send(agent, WRONG, session_id="s", turn=2, tool_call_id="two")
    stored = Call.objects.get(pk=call.pk)
    assert (stored.last_turn, stored.last_tool_call_id, attempt.tool_call_id) == (2, "two", "two")
    assert [a.tool_call_id for a in call.attempts.order_by("number")] == ["one", "two"]
