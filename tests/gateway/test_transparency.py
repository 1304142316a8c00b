"""Everything but a wrong tool call passes the gateway as if it were not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from tests.gateway.connections import (
    ANSWERS_BACK,
    ROOT,
    elicit,
    gateway_command,
    raw_answers,
    run,
    text_of,
    told,
    upstream_command,
)
from tests.gateway.listening import call, gateway
from tests.serving.service import Service

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/list", {"cursor": "4"}),
    ("tools/list", {"cursor": "nonsense"}),
    ("resources/list", {}),
    ("resources/read", {"uri": "memo://one"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"who": "Ana"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}},
    ),
    ("ping", {}),
    ("tools/call", {"name": "double", "arguments": {"number": 4}}),
    ("tools/call", {"name": "fail"}),
    ("com.example/unheard", {"of": 1}),
]


def test_the_answers_are_those_of_the_upstream_itself() -> None:
    direct = anyio.run(raw_answers, upstream_command(), REQUESTS)
    through = anyio.run(raw_answers, gateway_command(), REQUESTS)
    assert through == direct
    assert [tool["name"] for tool in direct[1]["result"]["tools"]] == ["read_file", "double", "elsewhere", "fail"]
    assert {"annotations", "_meta", "title"} <= set(direct[1]["result"]["tools"][0])
    assert [answer["id"] for answer in direct if "error" in answer] == [3, 12]


def test_what_the_server_asks_of_the_client_arrives_and_is_answered(tmp_path: Path) -> None:
    logged: list[Any] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params.data)

    async def story(client: Client) -> None:
        answer = text_of(await client.call_tool("ask", {}))
        assert answer == '{"model": "yes", "roots": ["file:///srv"], "user": {"sure": true}}'

    run(story, tmp_path, mode="legacy", logging_callback=log, **ANSWERS_BACK)
    assert logged == ["asked"]


def test_a_server_of_the_stateless_protocol_may_ask_back_before_it_answers(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert (await client.call_tool("confirm", {"number": "x"})).is_error
        assert text_of(await client.call_tool("confirm", {"number": 1})) == '{"confirm": {"number": 1}}'

    run(story, tmp_path, mode="2026-07-28", elicitation_callback=elicit)
    assert told(tmp_path, "calls") == [{"tool": "confirm", "arguments": {"number": 1}}] * 2


NO_LIST = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "tools/list":
        answer["error"] = {"code": -32601, "message": "no such method"}
    else:
        answer["result"] = {"content": [{"type": "text", "text": request["method"]}], "ends": [1.0, 2**60, None, "ü"]}
    print(json.dumps(answer), flush=True)
"""


def test_a_server_that_lists_no_tools_is_passed_on_unchecked() -> None:
    command = [sys.executable, "-c", NO_LIST]
    requests = [("tools/call", {"name": "any", "arguments": {"a": 1}})]
    assert anyio.run(raw_answers, gateway_command(upstream=tuple(command)), requests) == anyio.run(
        raw_answers, command, requests
    )


@pytest.mark.parametrize("desk", [False, True])
@pytest.mark.parametrize("name", ["", " ", "\u00a0\t", "a\nb", "n" * 400, "\ud800", "\u200b"])
def test_a_tool_without_a_usable_name_keeps_no_other_from_being_checked(
    service: Service, keys: Iterator[str], tmp_path: Path, name: str, desk: bool
) -> None:
    key = {"RETRYCONTRACT_API_KEY": next(keys)} if desk else {}
    options = ["--url", service.url] if desk else []
    command = [sys.executable, str(ROOT / "tests/gateway/raw_upstream.py"), str(tmp_path)]
    with gateway(*options, "--", *command, env={"RAW_TOOLS": json.dumps([name]), **key}) as listening:
        session = listening.begin()
        right, wrong = (
            session.send(call(n, "text", made))[1] for n, made in enumerate(('{"text": "a"}', '{"text": 1}'))
        )
        assert b"tools/call" in right
        assert b"/text (VAL-002)" in wrong
        if name.strip():
            assert b"tools/call" in session.send(call(2, json.dumps(name)[1:-1]))[1]
        session.end()
    if not name.strip():
        assert f"Tool {name!r} is passed on unchecked" in listening.log


@pytest.mark.parametrize("listed_first", [True, False])
def test_a_tool_that_comes_later_is_announced_and_checked(tmp_path: Path, listed_first: bool) -> None:
    heard = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async def story(client: Client) -> None:
        if listed_first:
            await client.list_tools()
        await client.call_tool("grow", {})
        answer = await client.call_tool("grown", {"number": "x"})
        assert "/number (VAL-002)" in text_of(answer)
        assert text_of(await client.call_tool("grown", {"number": 1})) == '{"grown": {"number": 1}}'

    run(story, tmp_path, mode="legacy", message_handler=hear)
    assert "ToolListChangedNotification" in heard
    assert [call["tool"] for call in told(tmp_path, "calls")] == ["grow", "grown"]


def test_the_upstream_gets_our_environment_but_never_the_key(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    run(story, tmp_path, env={"RETRYCONTRACT_API_KEY": "rc_secret", "COLOUR": "blue"})
    (environment,) = told(tmp_path, "environment")
    assert environment["COLOUR"] == "blue"
    assert "RETRYCONTRACT_API_KEY" not in environment
