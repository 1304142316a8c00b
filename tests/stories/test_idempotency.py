"""The same request many times at once, over HTTP: one attempt, and one answer for everybody."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.serving.service import AgentClient, Answer, Service

CLIENTS = 50
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def at_once(agent: AgentClient, path: str, body: Callable[[int], Any]) -> list[Answer]:
    """Post with one key from every client at the same moment; `body` is told which client sends it."""
    start = Barrier(CLIENTS)

    def send(number: int) -> Answer:
        start.wait(30)
        return agent.send("POST", path, body(number), headers={"Idempotency-Key": "once", "Prefer": "wait=30"})

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(send, range(CLIENTS)))


def attempt(value: str) -> dict[str, Any]:
    return {"tool": "once", "tool_call_id": "first", "session_id": "s", "arguments": {"n": value}}


def attempts_of(agent: AgentClient) -> list[int]:
    """Give the numbers of the attempts at the one call that there is."""
    (call,) = agent.send("GET", "/calls?tool=once").body["calls"]
    return [made["number"] for made in agent.send("GET", f"/calls/{call['call_id']}").body["attempts"]]


def test_a_key_with_an_underscore_which_no_application_is_given_is_refused(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("underscore"))
    agent.register("once", SCHEMA)
    answer = agent.send("POST", "/calls", attempt("x"), headers={"Idempotency_Key": "once"})
    assert (answer.status, "did you mean Idempotency-Key?" in answer.text) == (422, True)


def test_fifty_equal_requests_at_once_make_one_attempt_and_get_one_answer(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("fifty"))
    agent.register("once", SCHEMA)
    answers = at_once(agent, "/calls", lambda _: attempt("x"))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert attempts_of(agent) == [1]
    assert len({answer.headers["x-request-id"] for answer in answers}) == CLIENTS


def test_two_requests_with_one_key_at_once_are_one_answer_and_one_refusal(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("two-bodies"))
    agent.register("once", SCHEMA)
    answers = at_once(agent, "/calls", lambda number: attempt("xy"[number % 2]))
    assert sorted(answer.status for answer in answers) == [200] * (CLIENTS // 2) + [422] * (CLIENTS // 2)
    assert [len({answer.text for answer in answers[first::2]}) for first in (0, 1)] == [1, 1]
    assert {answer.body["code"] for answer in answers if answer.status == 422} == {"idempotency-key-reused"}
    assert attempts_of(agent) == [1]


def test_a_list_that_is_imported_many_times_at_once_is_told_to_be_new_each_time(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("importers"))
    answers = at_once(agent, "/tools/import", lambda _: [{"name": "imported", "input_schema": SCHEMA}])
    assert {answer.status for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].body["registered"][0]["created"] is True


def test_a_body_too_large_is_refused_as_the_document_says(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("large"))
    answer = agent.send("POST", "/calls", b" " * 3_000_000)
    assert (answer.status, answer.body["code"]) == (413, "body-too-large")
    assert answer.body["type"] == "urn:retrycontract:problem:body-too-large"
    assert {"title", "detail", "status"} <= set(answer.body)
    assert answer.headers["x-request-id"]
