"""The gateway over stdio, in front of a server of the tests' own: what it checks and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.gateway.connections import cancel_a_slow_call, run, text_of, together, told, twin_of

WRONG = {"path": "report.txt", "encoding": "uft8"}
RIGHT = {"path": "/report.txt", "encoding": "utf-8"}
FIRST = """\
Validation failed for tool 'read_file' (attempt 1/3):

Errors:
• /encoding (VAL-008): Invalid enum value 'uft8'
  Expected: one of: utf-8, ascii
  Actual: "uft8"
"""
BLOCKED = "This call is now Blocked: nothing was executed."

both_protocols = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@both_protocols
def test_a_wrong_call_is_answered_with_feedback_and_a_right_one_is_forwarded(tmp_path: Path, mode: str) -> None:
    async def story(client: Client) -> None:
        wrong = await client.call_tool("read_file", WRONG)
        assert wrong.is_error
        assert text_of(wrong).startswith(FIRST)
        assert twin_of(wrong)["attempt"] == 1
        assert told(tmp_path, "calls") == []
        right = await client.call_tool("read_file", RIGHT)
        assert not right.is_error
        assert text_of(right) == '{"read_file": {"path": "/report.txt", "encoding": "utf-8"}}'

    run(story, tmp_path, mode=mode)
    assert told(tmp_path, "calls") == [{"tool": "read_file", "arguments": RIGHT}]


def test_third_failed_attempt_blocks_the_call_until_a_right_one_comes(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        texts = [text_of(await client.call_tool("read_file", WRONG)) for _ in range(4)]
        assert "(attempt 2/3)" in texts[1]
        assert "(attempt 3/3)" in texts[2]
        assert BLOCKED not in texts[1]
        assert BLOCKED in texts[2]
        assert BLOCKED in texts[3]
        assert not (await client.call_tool("read_file", RIGHT)).is_error
        assert "(attempt 1/3)" in text_of(await client.call_tool("read_file", WRONG))

    stderr = run(story, tmp_path)
    assert "Tool 'read_file' validation failed after 3 attempts." in stderr
    assert "Tool validation failed: read_file (attempt 3/3): /encoding VAL-008, /path VAL-007\n" in stderr


def test_a_right_call_ends_the_count_and_tools_are_counted_apart(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        await client.call_tool("read_file", WRONG)
        assert "(attempt 1/3)" in text_of(await client.call_tool("double", {"number": "x"}))
        await client.call_tool("read_file", RIGHT)
        assert "(attempt 1/3)" in text_of(await client.call_tool("read_file", WRONG))
        assert "(attempt 2/3)" in text_of(await client.call_tool("double", {"number": "x"}))

    run(story, tmp_path)


def test_calls_that_are_made_together_are_different_calls_each_time(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert await together(client, "read_file", WRONG, 1) == [1]
        assert sorted(await together(client, "read_file", WRONG, 6)) == [1, 1, 1, 1, 1, 2]  # alike, in any order
        assert sorted(await together(client, "read_file", WRONG, 7)) == [1, 2, 2, 2, 2, 2, 3]

    run(story, tmp_path)


@both_protocols
def test_a_slow_call_holds_no_other_up_and_its_cancellation_reaches_the_upstream(tmp_path: Path, mode: str) -> None:
    run(lambda client: cancel_a_slow_call(client, tmp_path), tmp_path, mode=mode)


def test_feedback_is_never_taken_for_what_a_tool_promises_to_give(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        listed = await client.list_tools()
        assert "double" in {tool.name for tool in listed.tools}
        wrong = await client.call_tool("double", {"number": "x"})
        assert wrong.is_error
        assert twin_of(wrong)["errors"][0]["error_code"] == "VAL-002"
        right = await client.call_tool("double", {"number": 4})
        assert right.structured_content == {"number": 8}

    run(story, tmp_path)


def test_an_unknown_tool_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        answer = await client.call_tool("raed_file", RIGHT)
        assert answer.is_error
        assert "'read_file'" in text_of(answer)

    run(story, tmp_path)
    assert told(tmp_path, "calls") == []


def test_a_tool_whose_schema_is_refused_is_passed_on_unchecked_with_a_warning(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        answer = await client.call_tool("elsewhere", {"a": 1})
        assert text_of(answer) == '{"elsewhere": {"a": 1}}'

    stderr = run(story, tmp_path)
    assert stderr.count("Tool 'elsewhere' is passed on unchecked, its schema cannot be judged: /properties/a/$ref") == 1


def test_a_megabyte_of_arguments_passes_and_fails_like_any_other(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        big = "/" + "a" * 1_000_000
        right = await client.call_tool("read_file", {"path": big})
        assert len(text_of(right)) > 1_000_000
        wrong = await client.call_tool("read_file", {"path": big[1:]})
        assert wrong.is_error
        assert len(text_of(wrong)) <= 2000

    run(story, tmp_path)


def test_the_upstreams_own_errors_stay_as_they_are(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        failed = await client.call_tool("fail", {})
        assert failed.is_error
        assert text_of(failed) == "The disk is full."
        assert failed.meta["com.example/disk"] == 0

    run(story, tmp_path)


def test_an_upstream_that_dies_is_named_and_started_again_when_asked(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        dying = await client.call_tool("crash", {})
        assert dying.is_error
        assert "has ended" in text_of(dying)
        assert "Whether this call was executed is not known." in text_of(dying)
        assert text_of(await client.call_tool("double", {"number": 4})) == '{"number": 8}'
        assert "(attempt 1/3)" in text_of(await client.call_tool("double", {"number": "x"}))

    stderr = run(story, tmp_path, "--restart", mode="legacy")
    assert "The MCP server behind the gateway has ended" in stderr
    assert len(set(told(tmp_path, "process"))) == 2


@pytest.mark.parametrize(
    ("options", "arguments", "forwarded"),
    [
        pytest.param((), {**RIGHT, "mode": "r"}, False, id="strict"),
        pytest.param(("--lenient",), {**RIGHT, "mode": "r"}, True, id="lenient"),
        pytest.param(("--observe",), WRONG, True, id="observe"),
    ],
)
def test_options_say_how_strictly_calls_are_judged(
    tmp_path: Path, options: tuple[str, ...], arguments: dict[str, Any], forwarded: bool
) -> None:
    async def story(client: Client) -> None:
        answer = await client.call_tool("read_file", arguments)
        assert answer.is_error is not forwarded

    run(story, tmp_path, *options)
    assert len(told(tmp_path, "calls")) == forwarded


def test_max_attempts_and_the_configuration_file_are_heeded(tmp_path: Path) -> None:
    (tmp_path / "own.yml").write_text("tools: {validation: {formatting: {include_hints: false}}}")

    async def story(client: Client) -> None:
        answer = text_of(await client.call_tool("read_file", WRONG))
        assert "(attempt 1/1)" in answer
        assert BLOCKED in answer
        assert "Please" not in answer

    run(story, tmp_path, "--max-attempts", "1", "--config", str(tmp_path / "own.yml"))
