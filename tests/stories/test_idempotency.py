"""The same request many times at once, over HTTP: one attempt, and one answer for everybody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.service import AgentClient, Answer, Service

CLIENTS = 50
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_fifty_equal_requests_at_once_make_one_attempt_and_get_one_answer(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("fifty"))
    agent.register("once", SCHEMA)
    body = {"tool": "once", "tool_call_id": "first", "session_id": "s", "arguments": {"n": "x"}}
    start = Barrier(CLIENTS)

    def send(_: int) -> Answer:
        start.wait(30)
        return agent.send("POST", "/calls", body, headers={"Idempotency-Key": "once", "Prefer": "wait=30"})

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(send, range(CLIENTS)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    call = agent.send("GET", f"/calls/{answers[0].body['call_id']}").body
    assert [attempt["number"] for attempt in call["attempts"]] == [1]
    assert len(agent.send("GET", "/calls?tool=once").body["calls"]) == 1
    assert len({answer.headers["x-request-id"] for answer in answers}) == CLIENTS


def test_a_body_too_large_is_refused_as_the_document_says(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("large"))
    answer = agent.send("POST", "/calls", b" " * 3_000_000)
    assert (answer.status, answer.body["code"]) == (413, "body-too-large")
    assert answer.body["type"] == "urn:retrycontract:problem:body-too-large"
    assert {"title", "detail", "status"} <= set(answer.body)
    assert answer.headers["x-request-id"]
