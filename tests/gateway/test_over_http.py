"""The MCP server of the service itself, over streamable HTTP, with the SDK's own client."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from anyio.to_thread import run_sync
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import StartService
from tests.gateway.connections import SECONDS, text_of, twin_of
from tests.serving import running
from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Service

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
WRONG = {"tool": "read_file", "arguments": {"path": 5}}
RIGHT = {"tool": "read_file", "arguments": {"path": "/a"}}


@pytest.fixture(scope="module")
def agent(service: Service) -> AgentClient:
    found = AgentClient(service, service.new_key("over-http"))
    found.register("read_file", SCHEMA)
    return found


def run(story: Callable[[Client], Awaitable[None]], service: Service, key: str, **options: Any) -> None:
    """Run a story with a client that has a key."""

    async def connect() -> None:
        headers = {"Authorization": f"Bearer {key}"}
        with anyio.fail_after(SECONDS):
            async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
                transport = streamable_http_client(f"{service.url}/mcp", http_client=http)
                async with Client(transport, **options) as client:
                    await story(client)

    anyio.run(connect)


both_protocols = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@both_protocols
def test_a_call_is_checked_blocked_and_helped(agent: AgentClient, mode: str) -> None:
    desk = Desk(agent.service)
    desk.log_in()

    async def story(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["check_tool_call", "get_guidance"]
        if mode == "legacy":  # the newer protocol has no greeting that could carry them
            assert client.instructions is not None
            assert all(name in client.instructions for name in names), "the model is told to ask before each call"
        first = await client.call_tool("check_tool_call", WRONG)
        assert first.is_error
        call_id = twin_of(first)["call_id"]
        for number in (2, 3):
            failed = await client.call_tool("check_tool_call", {**WRONG, "call_id": call_id})
            assert f"(attempt {number}/3)" in text_of(failed)
        assert "This call is now Blocked" in text_of(failed)
        resource = (await client.read_resource("retrycontract://calls")).contents[0]
        assert {"call_id": call_id, "tool": "read_file", "state": "blocked"} in json.loads(resource.text)  # type: ignore[union-attr]
        await run_sync(lambda: desk.answer(call_id, text="Absolute paths.", grant="1"))
        answer = await client.call_tool("get_guidance", {"call_id": call_id})
        assert twin_of(answer)["decision"] == "hint"
        assert "> Absolute paths." in text_of(answer)
        assert not (await client.call_tool("check_tool_call", {**RIGHT, "call_id": call_id})).is_error

    run(story, agent.service, agent.key, mode=mode)


@both_protocols
def test_who_waits_hears_that_the_service_is_still_there(agent: AgentClient, mode: str) -> None:
    desk = Desk(agent.service)
    desk.log_in()
    call_id = [agent.submit("read_file", "same", {"path": 5}, session_id=f"w-{mode}") for _ in range(3)][-1]["call_id"]

    async def story(client: Client) -> None:
        heard = anyio.Event()
        found: list[Any] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            assert message == "Nobody has answered yet."
            heard.set()

        async def wait() -> None:
            asked = {"call_id": call_id, "wait": 60}
            found.append(await client.call_tool("get_guidance", asked, progress_callback=progress))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await heard.wait()
            await run_sync(lambda: desk.answer(call_id, text="Absolute paths.", grant="1"))
        assert "> Absolute paths." in text_of(found[0])

    run(story, agent.service, agent.key, mode=mode)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {}, 401),
        ("POST", {"Authorization": "Bearer rc_00000000_unknown"}, 401),
        ("POST", {"Host": "elsewhere.example", "Authorization": "key"}, 400),
        ("GET", {"Authorization": "key"}, 405),
        ("DELETE", {"Authorization": "key"}, 405),
    ],
)
def test_who_may_not_ask_is_told_so_before_the_protocol_begins(
    agent: AgentClient, method: str, headers: dict[str, str], status: int
) -> None:
    sent = {name: f"Bearer {agent.key}" if value == "key" else value for name, value in headers.items()}
    answer = agent.service.send(method, "/mcp", {} if method == "POST" else None, headers=sent)
    assert answer.status == status
    assert (answer.headers.get("www-authenticate") == "Bearer") is (status == 401)


def test_what_a_request_asks_of_the_api_is_logged_under_its_name(agent: AgentClient) -> None:
    name = f"mcp-{uuid4()}"
    headers = {"Authorization": f"Bearer {agent.key}", "X-Request-ID": name}
    answer = agent.service.send("POST", "/mcp", {}, headers=headers)
    assert answer.headers["x-request-id"] == name
    lines = [json.loads(line) for line in agent.service.log.splitlines() if f'"request_id": "{name}"' in line]
    assert [(line["route"], line["status"]) for line in lines] == [("/api/v1/calls", 200)]


def test_an_agent_does_not_see_the_calls_of_another(agent: AgentClient) -> None:
    call_id = agent.submit("read_file", "mine", {"path": 5}, session_id="mine")["call_id"]

    async def story(client: Client) -> None:
        assert (await client.call_tool("get_guidance", {"call_id": call_id, "wait": 0})).is_error
        resource = (await client.read_resource("retrycontract://calls")).contents[0]
        assert json.loads(resource.text) == []  # type: ignore[union-attr]

    run(story, agent.service, agent.service.new_key("over-http-stranger"))


@pytest.mark.parametrize(("scopes", "missing"), [("submit", "read"), ("read", "submit"), ("submit,read", "")])
def test_a_key_for_some_things_is_told_what_it_may_not(agent: AgentClient, scopes: str, missing: str) -> None:
    async def story(client: Client) -> None:
        try:
            said = text_of(await client.call_tool("check_tool_call", RIGHT))
        except MCPError as error:
            said = error.message
        assert ("has not the scope" in said) is bool(missing)
        assert f"'{missing}'" in said or not missing

    run(story, agent.service, agent.service.manage("create_agent", "over-http", "--scopes", scopes))
    assert "Traceback" not in agent.service.log


def test_a_service_that_is_told_to_stop_lets_nobody_wait(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(tmp_path / "data")
    agent = AgentClient(service, service.new_key("stopped"))
    agent.register("read_file", SCHEMA)
    call_id = [agent.submit("read_file", "same", {"path": 5}, session_id="s") for _ in range(3)][-1]["call_id"]

    async def story(client: Client) -> None:
        found: list[Any] = []

        async def wait() -> None:
            found.append(await client.call_tool("get_guidance", {"call_id": call_id, "wait": 300}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await run_sync(time.sleep, 0.5)  # by now it is held by the service
            assert await run_sync(service.stop) == 0
        assert "the service is being restarted" in text_of(found[0])

    run(story, service, agent.key)


def test_without_the_extra_the_service_starts_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['mcp'] = sys.modules['httpx2'] = None")
    with running(Service(tmp_path / "data", {"PYTHONPATH": str(tmp_path)}, anew=True)) as service:
        assert service.send("GET", "/mcp").status == 404
        assert service.send("GET", "/livez").status == 200
