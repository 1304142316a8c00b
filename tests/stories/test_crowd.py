"""Many clients of one agent at the same call: exactly its budget is consumed, and one person is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.service import AgentClient, Service

CLIENTS = 32
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_thirty_two_clients_consume_exactly_the_budget(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("crowd"))
    agent.register("count", SCHEMA, max_attempts=10)
    call_id = agent.submit("count", "first", {"n": "x"})["call_id"]
    start = Barrier(CLIENTS)

    def send(number: int) -> Any:
        start.wait(30)
        return agent.submit("count", f"c{number}", {"n": "x"}, call_id=call_id)

    with ThreadPoolExecutor(CLIENTS) as pool:
        verdicts = list(pool.map(send, range(CLIENTS)))
    assert sorted(verdict["status"] for verdict in verdicts) == ["blocked"] * (CLIENTS - 8) + ["retry"] * 8
    call = agent.send("GET", f"/calls/{call_id}").body
    assert [attempt["number"] for attempt in call["attempts"]] == list(range(1, CLIENTS + 2))
    assert [escalation["state"] for escalation in call["escalations"]] == ["open"]
    assert (call["state"], call["attempts_made"], call["attempts_allowed"]) == ("blocked", CLIENTS + 1, 10)
