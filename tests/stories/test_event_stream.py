"""Agents that follow their events: told wherever it is judged, over a killed server, and by the hundred."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from retrycontract.client import Client
from tests.conftest import require
from tests.front.test_streaming import enough_files
from tests.serving import running, scaled
from tests.serving.desk import Desk
from tests.serving.scaled import ScaledService
from tests.serving.service import AgentClient, Service
from tests.serving.threads import eventually

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@contextmanager
def open_stream(service: Service, key: str) -> Iterator[HTTPResponse]:
    """Open a stream from the first event on, as it comes over the wire."""
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=90)) as connection:
        headers = {"Authorization": f"Bearer {key}", "Last-Event-ID": "0"}
        connection.request("GET", "/api/v1/events", headers=headers)
        yield connection.getresponse()


@contextmanager
def following(service: Service, key: str, **options: Any) -> Iterator[list[Any]]:
    """Follow an agent's events in a thread until the block ends; gives those that have come."""
    came: list[Any] = []
    client = Client(service.url, key)
    stopped = threading.Event()

    def follow() -> None:
        for event in client.events(after=0, **options):
            if stopped.is_set():
                return
            came.append(event)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield came
    finally:
        stopped.set()
        AgentClient(service, key).submit("count", "last", {"n": 1}, session_id="last")
        thread.join(60)
        assert not thread.is_alive()
        client.close()


def block(agent: AgentClient, name: str = "c") -> str:
    call_id: str = agent.submit("count", f"{name}0", {"n": "x"})["call_id"]
    for number in (1, 2):
        agent.submit("count", f"{name}{number}", {"n": "x"}, call_id=call_id)
    return call_id


def test_an_agent_hears_of_verdicts_of_the_block_and_of_the_answer(judged_service: Service) -> None:
    agent = AgentClient(judged_service, judged_service.new_key("follower"))
    agent.register("count", SCHEMA)
    desk = Desk(judged_service)
    desk.log_in()
    with following(judged_service, agent.key) as came:
        call_id = block(agent)
        eventually(lambda: len(came) == 4, within=60)
        desk.answer(call_id, text="Send a number.", grant="2")
        eventually(lambda: len(came) == 5, within=60)
        seen = [(event.type, event.state, event.call_id) for event in came]
    assert seen == [
        ("attempt.judged", "retrying", call_id),
        ("attempt.judged", "retrying", call_id),
        ("attempt.judged", "blocked", call_id),
        ("call.blocked", "blocked", call_id),
        ("guidance.given", "guided", call_id),
    ]


@pytest.fixture(params=["in one process", pytest.param("scaled out", marks=pytest.mark.soak)])
def doomed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """A service that a test may kill."""
    is_scaled = request.param == "scaled out"
    with running(scaled(request, tmp_path / "data", webs=1) if is_scaled else Service(tmp_path / "data")) as service:
        yield service


def kill_web(service: Service) -> None:
    if isinstance(service, ScaledService):
        service.web_processes[0].send_signal(signal.SIGKILL)
        service.web_processes[0].wait(10)
        service.restart_web(0)
    else:
        service.stop(signal.SIGKILL)
        service.start()


def test_nothing_is_lost_and_nothing_told_twice_when_the_server_is_killed(doomed: Service) -> None:
    agent = AgentClient(doomed, doomed.new_key("survivor"))
    agent.register("count", SCHEMA)
    with following(doomed, agent.key) as came:
        block(agent, "a")
        eventually(lambda: len(came) >= 2, within=60)
        kill_web(doomed)
        block(agent, "b")
        eventually(lambda: len(came) == 8, within=60)
        assert len({event.id for event in came}) == 8
    assert [event.type for event in came].count("call.blocked") == 2


def test_a_stream_ends_when_its_key_does_and_tells_nothing_more(judged_service: Service) -> None:
    name = judged_service.new_name("leaver")
    agent = AgentClient(judged_service, judged_service.new_key(name, another=True))
    agent.register("count", SCHEMA)
    taken_away = judged_service.new_key(name, another=True)
    with open_stream(judged_service, taken_away) as stream:
        agent.submit("count", "c0", {"n": "x"})
        assert b"attempt.judged" in next(line for line in stream if line.startswith(b"data: "))
        judged_service.revoke(taken_away)
        agent.submit("count", "c1", {"n": "x"})
        assert b"data: " not in stream.read()


@pytest.mark.soak
def test_five_hundred_streams_are_told_while_attempts_are_judged(service: Service) -> None:
    count, submits = 500, 20
    require(enough_files(2 * count), "too few open files are allowed")
    agents = [AgentClient(service, service.new_key(f"reader-{number}")) for number in range(4)]
    for agent in agents:
        agent.register("count", SCHEMA)

    async def read(key: str) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        request = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n"
        writer.write(request.encode())
        await reader.readuntil(b"id: ")  # it has begun
        ready.release()
        events = 0
        while events < submits:
            events += (await reader.readline()).startswith(b"data: ")
        writer.close()
        await writer.wait_closed()
        return events

    async def story() -> list[int]:
        streams = [asyncio.create_task(read(agents[number % 4].key)) for number in range(count)]
        for _ in range(count):
            await ready.acquire()
        for number in range(submits):
            for agent in agents:
                await asyncio.to_thread(agent.submit, "count", f"n{number}", {"n": number}, session_id=f"s{number}")
        async with asyncio.timeout(120):
            return await asyncio.gather(*streams)

    ready = asyncio.Semaphore(0)
    assert asyncio.run(story()) == [submits] * count
