"""The server of our own over stdio: agents that call tools elsewhere have their calls checked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync
from mcp import Client, MCPError

from retrycontract.mcp.commands import DEFAULTS
from retrycontract.mcp.server import SILENT_WAIT
from tests.gateway.connections import INITIALIZE, Story, run_command, text_of, together, twin_of
from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.service import AgentClient, Service

TOOLS = {
    "tools": [
        {
            "name": "read_file",
            "description": "Read a file",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
        {"name": "odd", "inputSchema": {"type": "objekt"}},
    ]
}
WRONG = {"tool": "read_file", "arguments": {"path": 5}}
RIGHT = {"tool": "read_file", "arguments": {"path": "/a"}}


def serve(story: Story, folder: Path, *options: str, **more: Any) -> str:
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    arguments = ("-m", "retrycontract", "mcp", "--tools", str(folder / "tools.json"), *options)
    return run_command(story, folder, *forked(*arguments), **more)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_call_is_checked_counted_and_blocked(tmp_path: Path, mode: str) -> None:
    async def story(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["check_tool_call"]
        first = await client.call_tool("check_tool_call", WRONG)
        assert first.is_error
        assert text_of(first).startswith("Validation failed for tool 'read_file' (attempt 1/3):")
        call_id = twin_of(first)["call_id"]
        assert text_of(first).endswith(f"This call has the call_id {call_id}.")
        second = await client.call_tool("check_tool_call", {**WRONG, "call_id": call_id})
        assert "(attempt 2/3)" in text_of(second)
        third = await client.call_tool("check_tool_call", WRONG)
        assert twin_of(third)["call_id"] == call_id
        assert "This call is now Blocked" in text_of(third)
        right = await client.call_tool("check_tool_call", RIGHT)
        assert not right.is_error
        assert twin_of(right)["status"] == "valid"

    stderr = serve(story, tmp_path, mode=mode)
    assert "Tool 'odd' cannot be checked: /type: 'objekt' is not a type" in stderr


def test_checks_that_are_asked_for_together_are_of_different_calls(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        for attempts in ([1], [2, 1, 1, 1]):
            assert await together(client, "check_tool_call", WRONG, len(attempts)) == attempts

    serve(story, tmp_path)


ASKED_WRONGLY: list[tuple[dict[str, Any], str]] = [
    ({}, "Required field 'arguments' is missing"),
    ({**WRONG, "tools": "x"}, "Unknown field 'tools'"),
    ({**WRONG, "tool": 5}, "Type mismatch: expected string"),
    ({**WRONG, "tool": "raed_file"}, "'read_file'"),
    ({**WRONG, "call_id": "none"}, "names no open call"),
    ({**RIGHT, "arguments": '{"path": "/a"}'}, "Type mismatch: expected object"),
]


def test_what_is_asked_wrongly_is_answered_with_feedback(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        for arguments, problem in ASKED_WRONGLY:
            answer = await client.call_tool("check_tool_call", arguments)
            assert answer.is_error
            assert problem in text_of(answer)

    serve(story, tmp_path)


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    return json.loads(content.text)  # type: ignore[union-attr]


def test_resources_are_the_tools_their_schemas_and_the_open_calls(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert listed == ["retrycontract://tools", "retrycontract://calls", "retrycontract://tools/read_file"]
        assert await read(client, listed[0]) == [{"name": "read_file", "description": "Read a file"}]
        assert await read(client, listed[2]) == TOOLS["tools"][0]["inputSchema"]
        assert await read(client, listed[1]) == []
        await client.call_tool("check_tool_call", WRONG)
        (call,) = await read(client, listed[1])
        assert (call["tool"], call["state"]) == ("read_file", "retrying")
        with pytest.raises(MCPError, match="There is no such resource"):
            await read(client, "retrycontract://tools/none")

    serve(story, tmp_path)


def test_guidance_comes_from_the_desk(tmp_path: Path, service: Service) -> None:
    desk, key, told = Desk(service), service.new_key("mcp-server"), list[str]()
    agent = AgentClient(service, key)
    desk.log_in()

    async def story(client: Client) -> None:
        await client.call_tool("check_tool_call", {**WRONG, "model": "haiku"})
        for _ in range(2):
            blocked = await client.call_tool("check_tool_call", WRONG)
        call_id = twin_of(blocked)["call_id"]
        told.extend(attempt["model"] for attempt in agent.send("GET", f"/calls/{call_id}").body["attempts"])
        nobody = await client.call_tool("get_guidance", {"call_id": call_id, "wait": 0})
        assert "Nobody has answered" in text_of(nobody)
        await run_sync(lambda: desk.answer(call_id, text="Absolute paths.", grant="1"))
        answer = await client.call_tool("get_guidance", {"call_id": call_id})
        assert twin_of(answer)["decision"] == "hint"
        assert "> Absolute paths." in text_of(answer)
        assert not (await client.call_tool("check_tool_call", RIGHT)).is_error
        unknown = await client.call_tool("get_guidance", {"call_id": "none", "wait": 0})
        assert unknown.is_error
        assert "the service says not-found" in text_of(unknown)

    serve(story, tmp_path, "--url", service.url, "--model", "opus", env={"RETRYCONTRACT_API_KEY": key})
    assert told == ["haiku", "opus", "opus"], "a call's own word counts more than the connection's"


def test_a_client_that_hears_nothing_is_answered_before_it_gives_up(tmp_path: Path, service: Service) -> None:
    desk, key = Desk(service), service.new_key("mcp-silent")
    desk.log_in()

    async def story(client: Client) -> None:
        for _ in range(3):
            blocked = await client.call_tool("check_tool_call", WRONG)
        asked = {"call_id": twin_of(blocked)["call_id"], "wait": 600}
        assert "Nobody has answered. Ask again later." in text_of(await client.call_tool("get_guidance", asked))
        signs = anyio.Event()

        async def progress(done: float, _: float | None, __: str | None) -> None:
            if done:  # the second: more time has passed than a silent client is given
                signs.set()

        async def answer() -> None:
            await signs.wait()
            await run_sync(lambda: desk.answer(asked["call_id"], text="Absolute paths.", grant="1"))

        async with anyio.create_task_group() as person:
            person.start_soon(answer)
            said = await client.call_tool("get_guidance", asked, progress_callback=progress)
        assert "> Absolute paths." in text_of(said)

    assert SILENT_WAIT == DEFAULTS["silent_wait"] == 45.0  # TypeScript's SDK gives up after 60 seconds
    serve(story, tmp_path, "--url", service.url, "--silent-wait", "1", env={"RETRYCONTRACT_API_KEY": key})


def test_with_a_service_the_open_calls_are_the_agents_whoever_made_them(tmp_path: Path, service: Service) -> None:
    key = service.new_key("mcp-calls")
    agent = AgentClient(service, key)
    agent.register("read_file", TOOLS["tools"][0]["inputSchema"])
    elsewhere = agent.submit("read_file", "t1", {"path": 5}, session_id="elsewhere")["call_id"]
    agent.submit("read_file", "t2", {"path": "/a"}, session_id="ended")

    async def story(client: Client) -> None:
        here = twin_of(await client.call_tool("check_tool_call", WRONG))["call_id"]
        found = await read(client, "retrycontract://calls")
        assert {call["call_id"]: call["state"] for call in found} == {here: "retrying", elsewhere: "retrying"}
        assert {call["tool"] for call in found} == {"read_file"}

    serve(story, tmp_path, "--url", service.url, env={"RETRYCONTRACT_API_KEY": key})


def checking(number: int, arguments: str) -> str:
    """Write a call of the check as no SDK would."""
    written = f'{{"name":"check_tool_call","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{written}}}'


def asking(method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}'


JUDGED = {
    "a key twice": ('{"path":"/b","path":"/a"}', "VAL-004"),
    "half a character": ('{"path":"\\ud800"}', "VAL-004"),
    "no UTF-8": ('{"path":"\udcff"}', "VAL-004"),
    "too deep": ("[" * 300 + "]" * 300, "VAL-004"),
    "much too deep": ("[" * 10_000 + "]" * 10_000, "VAL-004"),
    "a number of 5,000 digits": ('{"path":' + "9" * 5_000 + "}", "VAL-0"),
    "no number": ('{"path":NaN}', "VAL-004"),
}
SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
ASKED_ODDLY = {
    "a tool named twice": checking(7, '{"tool":"a","tool":"b","arguments":{}}'),
    "a secret as a call": checking(7, json.dumps(RIGHT | {"call_id": SECRET})),
    "a list": checking(7, json.dumps([SECRET])),
    "arguments twice": checking(7, '{},"arguments":{}'),
    "positional params": asking("tools/call", json.dumps([SECRET])),
    "a resource": asking("resources/read", json.dumps({"uri": f"x://{SECRET}"})),
    "half a name": asking("tools/call", '{"name":"\\ud800","arguments":{}}'),
    "depth elsewhere": asking("ping", '{"a":' + "[" * 9_000 + "]" * 9_000 + "}"),
}


def ask_raw(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Write lines that no SDK writes; gives the answers, without that to the greeting."""
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
    started = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    sent = "\n".join([hello, started, *lines, ""]).encode("utf-8", "surrogateescape")
    command = forked("-m", "retrycontract", "mcp", "--tools", str(folder / "tools.json"))
    answers = list[dict[str, Any]]()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(sent)
        server.stdin.flush()
        for _ in range(1 + len(lines)):
            answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
    return sorted((answer for answer in answers if answer["id"] != 0), key=lambda answer: answer["id"] or 0)


def test_what_is_no_json_is_judged_like_any_mistake(tmp_path: Path) -> None:
    lines = [
        checking(number, f'{{"tool":"read_file","arguments":{written}}}')
        for number, (written, _) in enumerate(JUDGED.values(), 1)
    ]
    for answer, (name, (_, code)) in zip(ask_raw(tmp_path, *lines), JUDGED.items(), strict=True):
        assert answer["result"]["isError"], name
        assert code in json.dumps(answer), name
        assert "'read_file' (attempt " in answer["result"]["content"][0]["text"], name


def test_whatever_is_asked_is_answered_under_its_id_and_tells_no_secret(tmp_path: Path) -> None:
    for answer, name in zip(ask_raw(tmp_path, *ASKED_ODDLY.values()), ASKED_ODDLY, strict=True):
        assert answer["id"] == 7, name
        assert SECRET not in json.dumps(answer), name
        assert "error" in answer or answer["result"]["isError"], name


NO_IDS = ['{"a":1}', "[1]", "1e308", "1.5", "true", "null"]


def test_a_request_under_what_is_no_id_and_a_list_are_refused_and_not_passed_over(tmp_path: Path) -> None:
    """The SDK takes such a request for a notification, which nobody answers: its client would wait for ever."""
    lines = [f'{{"jsonrpc":"2.0","id":{written},"method":"tools/list"}}' for written in NO_IDS]
    for answer, written in zip(ask_raw(tmp_path, *lines), NO_IDS, strict=True):
        assert (answer["id"], answer["error"]["code"]) == (None, -32600), written
    (answer,) = ask_raw(tmp_path, f"[{lines[-1]}]")
    assert "one at a time" in answer["error"]["message"]
