"""Calls that real models made on real tools, published by others, through the API of the running service."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.conftest import Corpus
from tests.serving.service import AgentClient, Service
from tests.stories.test_retry_chains import is_reported

# The publishers did not check formats: "webarena.pdf" stands where the schema wants a URI.
BREAKS_A_FORMAT = {"09cb33aee602": {"VAL-010"}}

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def agent(judged_service: Service) -> AgentClient:
    return AgentClient(judged_service, judged_service.new_key("published calls"))


def submit(agent: AgentClient, call: dict[str, Any]) -> Any:
    name, schema = f"{call['tool']} {call['id']}", call["schema"]
    registered = agent.register(name, schema)
    if registered.status == 422:
        # Eleven calls belong to a tool whose schema is itself invalid, and is refused: its agent repairs what is named.
        (fault,) = registered.body["errors"]
        registered = agent.register(name, without(schema, fault["pointer"]))
    assert registered.status == 201
    return agent.submit(name, call["id"], raw=call["arguments_raw"], session_id=call["id"])


def without(schema: dict[str, Any], pointer: str) -> dict[str, Any]:
    repaired = deepcopy(schema)
    *parents, last = pointer.split("/")[1:]
    found: Any = repaired
    for token in parents:
        found = found[int(token)] if isinstance(found, list) else found[token]
    del found[last]
    return repaired


def test_every_published_valid_call_is_valid(agent: AgentClient, corpus: Corpus) -> None:
    calls = corpus("real_valid_calls")
    verdicts = {call["id"]: submit(agent, call) for call in calls}
    refused = {
        name: {error["error_code"] for error in verdict["errors"]}
        for name, verdict in verdicts.items()
        if verdict["status"] != "valid"
    }
    assert refused == BREAKS_A_FORMAT
    assert len(calls) >= 204


def test_every_recorded_error_of_an_invalid_call_is_reported(agent: AgentClient, corpus: Corpus) -> None:
    calls = [call for call in corpus("real_invalid_calls") if call["schema"] is not None]
    for call in calls:
        verdict = submit(agent, call)
        assert verdict["status"] == "retry"
        missed = [error for error in call["errors"] if not is_reported(error, verdict["errors"])]
        assert missed == [], (call["id"], verdict["errors"])
    assert len(calls) >= 23


def test_a_call_of_a_tool_that_nobody_knows_gets_an_answer_of_its_own(agent: AgentClient, corpus: Corpus) -> None:
    unknown = [call for call in corpus("real_invalid_calls") if call["schema"] is None]
    assert unknown
    for call in unknown:
        verdict = agent.submit(call["tool"], call["id"], raw=call["arguments_raw"], session_id=call["id"])
        assert (verdict["status"], verdict["tool_result"]["is_error"]) == ("retry", True)
        assert [error["error_code"] for error in verdict["errors"]] == ["VAL-015"]
        assert "no tool" in verdict["tool_result"]["content"]
