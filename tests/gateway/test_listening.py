"""The official SDK's client and the gateway over HTTP, with the SDK's server behind it, at a pipe and over HTTP."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.connections import (
    ANSWERS_BACK,
    ROOT,
    SECONDS,
    cancel_a_slow_call,
    run,
    text_of,
    told,
    upstream_command,
)
from tests.gateway.listening import Listening, call, gateway, messages_in
from tests.serving.threads import eventually

Story = Callable[[Client], Awaitable[None]]
Ways = Callable[..., None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("upstream")


@pytest.fixture(scope="module")
def over_http(folder: Path) -> Iterator[str]:
    """Run the server over HTTP and give its address."""
    process = subprocess.Popen(upstream_command(str(folder), "--http"), cwd=ROOT)
    with process:
        eventually(lambda: bool(told(folder, "port")))
        yield f"http://127.0.0.1:{told(folder, 'port')[0]}/mcp"
        process.terminate()


@pytest.fixture(scope="module")
def before_http(over_http: str) -> Iterator[Listening]:
    with gateway("--upstream", over_http) as found:
        yield found


@pytest.fixture(scope="module")
def before_a_pipe(folder: Path) -> Iterator[Listening]:
    with gateway("--", *upstream_command(str(folder))) as found:
        yield found


@pytest.fixture(params=["HTTP to pipe", "HTTP to HTTP", "pipe to HTTP"])
def connected(request: pytest.FixtureRequest, tmp_path: Path) -> Ways:
    """Run a story with the SDK's client in each of the mixed ways."""

    def start(story: Story, **options: Any) -> None:
        if request.param == "pipe to HTTP":
            address = request.getfixturevalue("over_http")
            run(story, tmp_path, "--upstream", address, **options)
            return
        listening = request.getfixturevalue("before_http" if request.param == "HTTP to HTTP" else "before_a_pipe")

        async def connect() -> None:
            with anyio.fail_after(SECONDS):
                async with Client(streamable_http_client(listening.url), **options) as client:
                    await story(client)

        anyio.run(connect)

    return start


def test_calls_are_checked_and_what_the_server_asks_arrives_in_each_way(connected: Ways) -> None:
    logged: list[Any] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params.data)

    async def story(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["read_file", "double", "elsewhere", "fail"]
        wrong = await client.call_tool("double", {"number": "x"})
        assert wrong.is_error
        assert "(attempt 1/3)" in text_of(wrong)
        assert (await client.call_tool("double", {"number": 4})).structured_content == {"number": 8}
        answer = text_of(await client.call_tool("ask", {}))
        assert answer == '{"model": "yes", "roots": ["file:///srv"], "user": {"sure": true}}'
        assert len(text_of(await client.call_tool("read_file", {"path": "/" + "a" * 3_000_000}))) > 3_000_000
        while not logged:
            await anyio.sleep(0.01)

    connected(story, mode="legacy", logging_callback=log, **ANSWERS_BACK)
    assert logged == ["asked"]


def test_progress_and_cancellation_pass_in_each_way(connected: Ways, folder: Path) -> None:
    connected(lambda client: cancel_a_slow_call(client, folder), mode="legacy")


def test_a_server_of_the_stateless_protocol_is_spoken_with_over_http(over_http: str, tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert (await client.call_tool("double", {"number": "x"})).is_error
        assert text_of(await client.call_tool("double", {"number": 4})) == '{"number": 8}'

    run(story, tmp_path, "--upstream", over_http, mode="2026-07-28")


def test_a_client_of_both_protocols_is_served_in_the_one_with_sessions(before_http: Listening) -> None:
    async def connect() -> None:
        async with Client(streamable_http_client(before_http.url), mode="auto") as client:
            assert text_of(await client.call_tool("double", {"number": 4})) == '{"number": 8}'

    anyio.run(connect)


def test_what_belongs_to_no_request_goes_to_the_stream_that_is_open_for_it(before_a_pipe: Listening) -> None:
    session = before_a_pipe.begin()
    with session.open("GET") as stream:
        assert session.send(call(1, "grow"))[0].headers["content-type"] == "application/json"
        assert b'"notifications/tools/list_changed"' in messages_in(read_until(stream, b"list_changed"))[0]
    assert session.end() == 204


def test_what_a_client_has_lost_is_given_again(before_a_pipe: Listening) -> None:
    session = before_a_pipe.begin()
    asked = '{"name": "slow", "arguments": {}, "_meta": {"progressToken": 7}}'
    with session.open("POST", f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{asked}}}') as slow:
        event_id = read_until(slow, b"a third").partition(b"id: ")[2].split(b"\n")[0].decode()
    # Another request is answered meanwhile, and what the lost one got is there for who asks behind it.
    assert session.send(call(2, "double", '{"number": 1}'))[0].status == 200
    with session.open("GET", last_event_id=event_id) as taken_up:
        (again,) = messages_in(read_until(taken_up, b"a third"))
        assert json.loads(again)["method"] == "notifications/progress"
    assert session.end() == 204


def test_a_server_that_crashes_ends_its_session_and_no_other(before_a_pipe: Listening) -> None:
    one, other = before_a_pipe.begin(), before_a_pipe.begin()
    answer = json.loads(one.send(call(1, "crash"))[1])
    assert "Whether this call was executed is not known." in answer["result"]["content"][0]["text"]
    eventually(lambda: one.send(call(2, "double", '{"number": 1}'))[0].status == 404)
    assert json.loads(other.send(call(1, "double", '{"number": 1}'))[1])["result"]["structuredContent"] == {"number": 2}
    assert other.end() == 204


def read_until(stream: Any, wanted: bytes) -> bytes:
    """Read a stream of events until something stands in it, and the event is whole."""
    read = b""
    while wanted not in read or not read.endswith(b"\n\n"):
        piece = stream.read1(65536)
        assert piece, read
        read += piece
    return read
