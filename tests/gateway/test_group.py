"""Several servers behind one gateway: named apart, reached by name, and none brought down by another."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from retrycontract.mcp.behind import NAME, CommandServer, read_servers
from tests.gateway.connections import ANSWERS_BACK, ROOT, SECONDS, run, text_of, told, upstream_command
from tests.gateway.listening import call, gateway, request
from tests.gateway.raw_http import RawHttp, raw_http
from tests.gateway.raw_upstream import STRANGE

RAW = str(ROOT / "tests/gateway/raw_upstream.py")


@pytest.fixture
def remote() -> Iterator[RawHttp]:
    with raw_http() as server:
        yield server


def servers(folder: Path, **entries: dict[str, Any]) -> str:
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": entries}))
    return str(path)


def process(*words: str, **more: Any) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:]), **more}


def test_tools_prompts_and_resources_of_all_are_offered_and_reached(tmp_path: Path, remote: RawHttp) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    file = servers(
        tmp_path,
        one=process(*upstream_command(str(one)), env={"COLOUR": "${GROUND:-light} blue"}),
        other=process(*upstream_command(str(other))),
        remote={"url": remote.url, "headers": {"Authorization": "Bearer ${REMOTE_TOKEN}"}},
        broken=process("no-such-command"),
        dumb=process(sys.executable, "-c", ""),
        off={"command": "never", "disabled": True},
        off_too={"command": "never", "enabled": False},
        remote_off={"url": "http://never", "enabled": True, "disabled": True},
    )
    asked: list[str] = []

    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"sure": True})

    async def story(client: Client) -> None:
        assert client.instructions == "one: Read before you write.\n\nother: Read before you write."
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"one__double", "other__double", "one__grow", "remote__write"} <= set(tools), "every page of each"
        assert "'broken' is not there: it cannot be started" in (tools["broken__unavailable"].description or "")
        assert "'dumb' is not there" in (tools["dumb__unavailable"].description or "")
        assert not [name for name in tools if name.startswith(("off", "remote_off"))]
        refused = await client.call_tool("broken__unavailable", {})
        assert refused.is_error
        assert "Nothing was executed." in text_of(refused)

        wrong = await client.call_tool("other__double", {"number": "x"})
        assert "Validation failed for tool 'other__double' (attempt 1/3)" in text_of(wrong)
        assert text_of(await client.call_tool("other__double", {"number": 4})) == '{"number": 8}'
        assert told(one, "calls") == []
        assert not (await client.call_tool("remote__write", {"a": 1})).is_error
        assert "'one__double'" in text_of(await client.call_tool("one__duoble", {"number": 4}))

        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["one__greet", "other__greet"]
        prompt = await client.get_prompt("other__greet", {"who": "Ana"})
        assert prompt.messages[0].content.text == "Greet Ana."  # type: ignore[union-attr]
        completed = await client.complete(types.PromptReference(name="one__greet"), {"name": "who", "value": "A"})
        assert completed.completion.values == ["A!"]
        listed = (await client.list_resources()).resources
        assert [(resource.name, str(resource.uri)) for resource in listed] == [
            ("one__one", "memo://one"), ("other__one", "memo://one"),
        ]  # fmt: skip
        assert (await client.read_resource("memo://one")).contents[0].text == "a memo"  # type: ignore[union-attr]

        async with anyio.create_task_group() as both:  # each server numbers its questions from the same start
            for name in ("one__ask", "other__ask"):
                both.start_soon(client.call_tool, name, {})
        assert asked == ["Sure?"] * 2
        crashed = await client.call_tool("one__crash", {})
        assert "Whether this call was executed is not known." in text_of(crashed)
        left = {tool.name for tool in (await client.list_tools()).tools}
        assert "one__unavailable" in left
        assert not {"one__double", "one__unavailable"} <= left
        assert text_of(await client.call_tool("other__double", {"number": 5})) == '{"number": 10}'

    stderr = run(
        story, tmp_path, "--servers", file, env={"REMOTE_TOKEN": "remote", "RETRYCONTRACT_API_KEY": "rc_x"},
        mode="legacy", **ANSWERS_BACK | {"elicitation_callback": elicit},
    )  # fmt: skip
    assert "The MCP server 'broken' is left out: it cannot be started: there is no such command" in stderr
    assert told(one, "environment")[0]["COLOUR"] == "light blue"
    assert "RETRYCONTRACT_API_KEY" not in told(one, "environment")[0]
    assert {headers.get("authorization") for _, headers, _ in remote.heard} == {"Bearer remote"}


def test_what_a_server_says_passes_to_the_byte_and_only_names_are_put_in(tmp_path: Path, remote: RawHttp) -> None:
    (tmp_path / "raw").mkdir()
    file = servers(tmp_path, raw=process(sys.executable, RAW, str(tmp_path / "raw")), far={"url": remote.url})
    with gateway("--servers", file) as listening:
        session = listening.begin(authorization="Bearer for the gateway")
        assert session.send(call(1, "raw__strange"))[1] == (STRANGE % 1).encode()
        assert session.send(call(2, "far__strange"))[1] == (STRANGE % 2).encode()
        assert session.send(call(3, "far__unauthorized"))[0].status == 200, "one server's refusal is not the gateway's"
        assert session.send(call(4, "raw__write", '{"a":  1.0}'))[0].status == 200
        for number, name in enumerate(("raw__write", "far__write"), 5):
            said = session.send(call(number, name, "[" * 700 + "]" * 700))[1]
            assert b"VAL-004" in said, said
        assert not [headers for _, headers, _ in remote.heard if "authorization" in headers]
        assert session.end() == 204
    heard = (tmp_path / "raw" / "heard").read_bytes().split(b"\n")
    assert not any(b"[[[" in line for line in heard)
    assert call(4, "write", '{"a":  1.0}').encode() in heard


def test_a_server_that_does_not_list_its_tools_leaves_the_others_checked(tmp_path: Path) -> None:
    for name in ("good", "mute"):
        (tmp_path / name).mkdir()
    silent = tmp_path / "mute" / "silent"
    silent.touch()
    file = servers(tmp_path, **{
        name: process(sys.executable, RAW, str(tmp_path / name)) for name in ("good", "mute")
    })  # fmt: skip
    with gateway("--servers", file) as listening:
        session = listening.begin()
        assert b"Required field 'text' is missing" in session.send(call(1, "good__text"))[1]
        tools = json.loads(session.send(request(2, "tools/list"))[1])["result"]["tools"]
        names = {tool["name"]: tool.get("description") for tool in tools}
        assert names["mute__unavailable"] == "The MCP server 'mute' is not there: it has not listed its tools."
        assert "good__text" in names
        # Whether the server has such a tool nobody knows: that is no mistake of the model's, and not counted.
        for number, name in enumerate((*["mute__text"] * 4, "mute__unavailable"), 10):
            refused = session.send(call(number, name))[1]
            assert b"could not be checked: The MCP server 'mute' is not there: it has not listed its tools." in refused
            assert b"Nothing was executed." in refused
        unknown = session.send(call(20, "good__txt"))[1]
        assert b"VAL-015" in unknown
        assert b"unavailable" not in unknown, "what stands in the place of tools is none"
        silent.unlink()
        while b"mute__text" not in session.send(request(3, "tools/list"))[1]:
            time.sleep(0.05)
        assert b"Required field 'text' is missing" in session.send(call(4, "mute__text"))[1]
        silent.touch()
        assert b"mute__text" in session.send(request(5, "tools/list"))[1]  # what it listed stands for it
        silent.unlink()
    assert b"tools/call" not in (tmp_path / "good" / "heard").read_bytes()


def test_names_that_are_joined_come_apart_in_one_way() -> None:
    """Of two servers no tool, prompt or resource has the name of another, however they call their own."""
    letters = ["", *(letter for letter in "ab_-")]
    words = {"".join(each) for each in itertools.product(letters, repeat=4)} - {""}
    joined = [f"{name}__{own}" for name in words if NAME.fullmatch(name) for own in words]
    assert len(joined) > 10_000
    assert len(set(joined)) == len(joined)


def test_a_client_that_cancels_is_heard_by_the_server_that_is_at_work(tmp_path: Path) -> None:
    file = servers(tmp_path, one=process(*upstream_command(str(tmp_path))))

    async def connect() -> None:
        with gateway("--servers", file) as listening, anyio.fail_after(SECONDS):
            async with Client(streamable_http_client(listening.url), mode="auto") as client:
                started = anyio.Event()

                async def progress(done: float, total: float | None, message: str | None) -> None:
                    started.set()

                async def slow() -> None:
                    await client.call_tool("one__slow", {}, progress_callback=progress)

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(slow)
                    await started.wait()
                    tasks.cancel_scope.cancel()
                while not told(tmp_path, "cancelled"):
                    await anyio.sleep(0.01)

    anyio.run(connect)


WRONG = [
    ("[]", "no server is named"),
    ('{"mcpServers": {}}', "no server is named"),
    ("no JSON", "is not JSON"),
    ("[" * 100_000, "is not JSON"),
    ('{"mcpServers": {"a__b": {"command": "x"}}}', "a name is at most 32 letters"),
    ('{"mcpServers": {"a_": {"command": "x"}}}', "a name is at most 32 letters"),
    ('{"mcpServers": {"_": {"command": "x"}}}', "a name is at most 32 letters"),
    ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "is not JSON"),
    ('{"mcpServers": {"a": {}}}', "a server has a command or a url"),
    ('{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}', "a server has a command or a url"),
    ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "args is not a list"),
    ('{"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}', "env.A is not a text"),
    ('{"mcpServers": {"a": {"url": "y"}}}', "a server's address is http:// or https://"),
    ('{"mcpServers": {"a": {"type": "sse", "url": "http://y"}}}', "older sse transport"),
    ('{"mcpServers": {"a": {"url": "http://${NO_SUCH}/mcp"}}}', "names the variable NO_SUCH, which is not set"),
    ('{"mcpServers": {"a": {"command": "x", "dissabled": true}}}', "'dissabled' is unknown; did you mean 'disabled'?"),
    ('{"mcpServers": {"a": {"command": "x", "Disabled": true}}}', "'Disabled' is unknown; did you mean 'disabled'?"),
    ('{"mcpServers": {"a": {"command": "x", "enviroment": {}}}}', "'enviroment' is unknown; did you mean 'env'?"),
    ('{"mcpServers": {"a": {"command": "x", "environment": {}}}}', "'environment' is unknown; did you mean 'env'?"),
    ('{"mcpServers": {"a": {"url": "http://y", "header": {}}}}', "'header' is unknown; did you mean 'headers'?"),
    ('{"mcpServers": {"a": {"comand": "x"}}}', "'comand' is unknown; did you mean 'command'?"),
    ('{"mcpServers": {"a": {"command": "x", "disabled": "true"}}}', "disabled is not true or false"),
    ('{"mcpServers": {"a": {"command": "x", "enabled": 0}}}', "enabled is not true or false"),
    ('{"mcpServers": {"a": {"command": "x", "enable": false}}}', "'enable' is unknown; did you mean 'enabled'?"),
]


def test_keys_of_other_clients_pass(tmp_path: Path) -> None:
    others = {"alwaysAllow": ["a"], "timeout": 60, "envFile": ".env", "disabledTools": [], "description": "d"}
    assert read_servers(Path(servers(tmp_path, a=process("x") | others)), {}) == {"a": CommandServer(("x",))}


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_that_cannot_be_read_is_told_so(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "servers.json"
    path.write_text(text)
    with pytest.raises(ValueError) as told:
        read_servers(path, {})
    assert said in str(told.value)
    assert str(path) in str(told.value)
