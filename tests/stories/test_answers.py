"""Answers that meet: two at once, before anybody waits, after the wait is over, after the call has expired."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest

from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"mode": {"enum": ["read", "write"]}}, "required": ["mode"]}


@pytest.fixture
def agent(judged_service: Service, request: pytest.FixtureRequest) -> AgentClient:
    client = AgentClient(judged_service, judged_service.new_key(request.node.name.split("[")[0]))
    assert client.register("open_file", SCHEMA, max_attempts=1).status in (200, 201)
    return client


def desk_of(agent: AgentClient) -> Desk:
    found = Desk(agent.service)
    found.log_in()
    return found


def blocked(agent: AgentClient, tool: str = "open_file") -> str:
    verdict = agent.submit(tool, "call_1", {"mode": "raed"})
    assert verdict["state"] == "blocked"
    return str(verdict["call_id"])


def wait(agent: AgentClient, call_id: str, seconds: int) -> Any:
    path = f"/calls/{call_id}/wait?for=guidance"
    return agent.send("GET", path, headers={"Prefer": f"wait={seconds}"})


def test_of_two_answers_at_once_the_first_wins_and_the_second_is_shown_both(agent: AgentClient) -> None:
    call_id = blocked(agent)
    texts = ["Write it, says one.", "Read it, says the other."]
    forms = [desk_of(agent).open_form(f"/calls/{call_id}/", "decision") for _ in texts]
    pages, start = dict.fromkeys(texts, ""), Barrier(2)

    def answer(form: Callable[[Any], str], text: str) -> None:
        start.wait(30)
        pages[text] = form({"decision": "hint", "text": text})

    threads = [Thread(target=answer, args=pair) for pair in zip(forms, texts, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    told = wait(agent, call_id, 20).body["guidance"]
    (lost,) = set(texts) - {told["operator_text"]}
    for text in texts:
        assert text in pages[lost], "both texts are on the page of who came second"
    assert len(agent.send("GET", f"/calls/{call_id}").body["escalations"]) == 1


def test_an_answer_from_before_the_wait_is_there_at_once(agent: AgentClient) -> None:
    call_id = blocked(agent)
    desk_of(agent).answer(call_id, text="Read it.")
    found = wait(agent, call_id, 0)
    assert (found.status, found.body["guidance"]["operator_text"]) == (200, "Read it.")


def test_an_answer_from_after_the_wait_is_kept_and_offered(agent: AgentClient) -> None:
    call_id = blocked(agent)
    assert wait(agent, call_id, 1).status == 202
    desk_of(agent).answer(call_id, text="Read it.")
    for _ in range(2):
        assert agent.send("GET", f"/calls/{call_id}/guidance").body["operator_text"] == "Read it."
        assert wait(agent, call_id, 0).body["guidance"]["operator_text"] == "Read it."
    assert agent.submit("open_file", "call_2", {"mode": "read"}, call_id=call_id)["state"] == "valid"


def test_an_answer_from_after_the_expiry_reopens_the_call_and_is_offered(agent: AgentClient) -> None:
    assert agent.register("hasty", SCHEMA, max_attempts=1, expires_after="1s").status == 201
    call_id = blocked(agent, "hasty")
    ended = wait(agent, call_id, 20).body
    assert (ended["state"], ended["guidance"]) == ("expired", None)
    desk_of(agent).answer(call_id, text="Better late.")
    eventually(lambda: wait(agent, call_id, 0).body["guidance"] is not None)
    assert agent.send("GET", f"/calls/{call_id}").body["state"] == "guided"
    assert agent.submit("hasty", "call_2", {"mode": "read"}, call_id=call_id)["state"] == "valid"
