"""Recorded retry chains of a real model on real tools, replayed over HTTP against the running service."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.conftest import Corpus
from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service

CODES = {
    "required": {"VAL-001"},
    "type": {"VAL-002"},
    "enum": {"VAL-008"},
    # A union is told by the branch that was meant: whatever that branch says.
    "anyOf": {f"VAL-{number:03}" for number in range(1, 16)},
}
BLOCKS_AFTER = 3


@pytest.fixture(scope="module")
def agents(judged_service: Service) -> AgentClient:
    return AgentClient(judged_service, judged_service.new_key("chains"))


def arguments_of(attempt: dict[str, Any]) -> Any:
    """Recorded arguments are submitted as they were recorded, null as null."""
    return attempt["arguments"]


def is_reported(recorded: dict[str, str], reported: list[dict[str, Any]]) -> bool:
    """Tell whether an error of the record is among those reported: same code, at its pointer or just below."""
    pointer, keyword = recorded["pointer"], recorded["keyword"]
    if keyword == "required":
        field = recorded["message"].split("'")[1]
        return any(
            error["field_path"] == f"{pointer}/{field}" and error["error_code"] in CODES[keyword] for error in reported
        )
    below = f"{pointer}/" if keyword == "anyOf" else None
    return any(
        error["error_code"] in CODES[keyword]
        and (error["field_path"] == pointer or (below is not None and error["field_path"].startswith(below)))
        for error in reported
    )


def test_every_recorded_chain_ends_as_it_was_recorded(agents: AgentClient, corpus: Corpus) -> None:
    chains = corpus("real_retry_chains")
    for chain in chains:
        replay(agents, chain, name=f"{chain['id']}/{chain['tool']}")


def replay(agent: AgentClient, chain: dict[str, Any], name: str) -> None:
    assert agent.register(name, chain["schema"]).status == 201
    session, call_id, failures = chain["id"], None, 0
    for turn, attempt in enumerate(chain["attempts"], 1):
        verdict = agent.submit(name, f"{session}-{turn}", arguments_of(attempt), session_id=session, turn=turn)
        assert call_id in (None, verdict["call_id"]), "a later turn of the session continues the call"
        call_id = verdict["call_id"]
        is_valid = attempt["kind"] == "valid"
        assert (verdict["status"] == "valid") is is_valid, (name, turn, verdict)
        failures += not is_valid
        if not is_valid and attempt["arguments"] is not None:
            missed = [error for error in attempt["all_errors"] if not is_reported(error, verdict["errors"])]
            assert not missed, (name, turn, missed, verdict["errors"])
        if not is_valid:
            assert verdict["status"] == ("blocked" if failures >= BLOCKS_AFTER else "retry")
    check_end(agent, call_id, chain, failures)


def check_end(agent: AgentClient, call_id: str | None, chain: dict[str, Any], failures: int) -> None:
    call = agent.send("GET", f"/calls/{call_id}").body
    escalations = call["escalations"]
    assert len(call["attempts"]) == len(chain["attempts"])
    assert len(escalations) == (1 if failures >= BLOCKS_AFTER else 0)
    if chain["ended_valid"]:
        assert call["state"] == "valid"
        assert [escalation["state"] for escalation in escalations] == ["resolved"] * len(escalations)
    elif failures >= BLOCKS_AFTER:
        assert call["state"] == "blocked"
        assert escalations[0]["state"] == "open"
    else:
        assert call["state"] == "retrying"


def test_later_errors_of_a_chain_were_visible_at_the_first_attempt(agents: AgentClient, corpus: Corpus) -> None:
    """What a chain met later and could have seen at once is reported at the first attempt where it shows."""
    for chain in corpus("real_retry_chains"):
        attempts = [attempt for attempt in chain["attempts"] if attempt["arguments"] is not None]
        for attempt in attempts:
            answer = agent_check(agents, chain["schema"], attempt["arguments"])
            missed = [error for error in attempt["all_errors"] if not is_reported(error, answer["errors"])]
            assert not missed, (chain["tool"], missed)


def agent_check(agent: AgentClient, schema: Any, arguments: Any) -> Any:
    answer = agent.send("POST", "/check", {"input_schema": schema, "arguments": arguments})
    assert answer.status == 200, answer.text
    return answer.body


def test_a_held_tool_waits_for_guidance_and_its_corrected_attempt_ends_valid(
    agents: AgentClient, corpus: Corpus
) -> None:
    chains = [chain for chain in corpus("real_retry_chains") if chain["invalid_attempts"] >= BLOCKS_AFTER]
    assert chains
    for chain in chains:
        if chain["ended_valid"]:
            held_story(agents, chain)


def held_story(agent: AgentClient, chain: dict[str, Any]) -> None:
    name, session = f"held {chain['id']}", f"held-{chain['id']}"
    agent.register(name, chain["schema"], hold=True)
    *failing, right = chain["attempts"]
    for turn, attempt in enumerate(failing, 1):
        verdict = agent.submit(name, f"h{turn}", arguments_of(attempt), session_id=session, turn=turn)
    assert verdict["status"] == "blocked"
    turn = len(failing) + 1
    held = agent.submit(name, f"h{turn}", right["arguments"], session_id=session, turn=turn)
    assert held["status"] == "blocked", "a held tool keeps its gate closed although the fourth attempt is right"
    assert "a person was asked and must answer first" in held["tool_result"]["content"]

    waited: dict[str, Any] = {}
    waiter = threading.Thread(target=lambda: waited.update(wait_for_guidance(agent, verdict["call_id"])))
    waiter.start()
    desk = Desk(agent.service)
    desk.log_in()
    desk.answer(verdict["call_id"], text="Use the arguments of your last attempt.")
    waiter.join(30)
    assert waited["guidance"]["decision"] == "hint"
    assert "> Use the arguments of your last attempt." in waited["guidance"]["text"]
    assert agent.send("POST", f"/calls/{verdict['call_id']}/guidance/ack").body == {"acknowledged": True}
    done = agent.submit(name, "after", right["arguments"], call_id=verdict["call_id"])
    assert (done["status"], done["state"]) == ("valid", "valid")


def wait_for_guidance(agent: AgentClient, call_id: str) -> Any:
    return agent.send("GET", f"/calls/{call_id}/wait?for=guidance", headers={"Prefer": "wait=30"}).body
