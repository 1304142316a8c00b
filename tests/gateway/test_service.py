"""The gateway with the real service behind it: a Blocked call waits for a person, whose answer moves it on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from retrycontract.contract.feedback.feedback_text import WAIT_TEXT
from retrycontract.mcp.commands import DEFAULTS
from tests.conftest import StartService
from tests.gateway.blocking import WRONG, answered_with, third_failure_while, two_failures
from tests.gateway.connections import SECONDS, run, run_command, text_of, told, twin_of, upstream_command
from tests.gateway.listening import gateway
from tests.serving.desk import Desk
from tests.serving.forked import forked
from tests.serving.service import Service
from tests.serving.threads import eventually

RIGHT = {"path": "/report.txt", "encoding": "utf-8"}
BLOCKED = "This call is now Blocked: nothing was executed and a person has been asked for guidance."


@pytest.fixture
def behind(service: Service, tmp_path: Path, keys: Iterator[str]) -> Callable[..., str]:
    """Run a story against a gateway that uses the service, as an agent of the test's own."""
    key = next(keys)

    def start(story: Callable[[Client], Awaitable[None]], *options: str, **more: Any) -> str:
        return run(story, tmp_path, "--url", service.url, *options, env={"RETRYCONTRACT_API_KEY": key}, **more)

    return start


UNKNOWN_KEY = {"RETRYCONTRACT_API_KEY": "rc_00000000_" + "x" * 32}
REFUSED = "The service refuses the key in RETRYCONTRACT_API_KEY: "


def test_a_key_that_the_service_refuses_is_told_at_the_start(service: Service, tmp_path: Path) -> None:
    async def story(_: Client) -> None:
        while REFUSED not in (tmp_path / "stderr").read_text():
            await anyio.sleep(0.05)

    log = run(story, tmp_path, "--url", service.url, env=UNKNOWN_KEY)
    assert [REFUSED in line for line in log.splitlines()] == [True]
    with gateway("--url", service.url, "--", *upstream_command(str(tmp_path)), env=UNKNOWN_KEY) as listening:
        assert listening.process.stderr is not None
        assert REFUSED in listening.process.stderr.readline()
    log = run_command(story, tmp_path, *forked("-m", "retrycontract", "mcp", "--url", service.url), env=UNKNOWN_KEY)
    assert [REFUSED in line for line in log.splitlines()] == [True]


def test_a_key_that_may_not_read_is_no_refused_one(service: Service, tmp_path: Path) -> None:
    key = service.command("create_agent", "no-reader", "--scopes", "submit,tools")

    async def story(client: Client) -> None:
        assert not (await client.call_tool("double", {"number": 4})).is_error

    assert REFUSED not in run(story, tmp_path, "--url", service.url, env={"RETRYCONTRACT_API_KEY": key})


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_corrected_arguments_are_run_and_their_result_returned(
    behind: Callable[..., str], desk: Desk, tmp_path: Path, mode: str
) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        corrected = answered_with(desk, call_id, decision="corrected", arguments=json.dumps(RIGHT), text="As agreed.")
        result = await third_failure_while(client, corrected)
        assert not result.is_error
        note, own = (block.text for block in result.content)
        assert note.startswith("A person corrected the arguments of your Blocked call of tool 'read_file'.")
        assert json.dumps(RIGHT) in note
        assert note.endswith("\n> As agreed.")
        assert json.loads(own) == {"read_file": RIGHT}
        assert "(attempt 1/3)" in text_of(await client.call_tool("read_file", WRONG)), "a new call has begun"

    behind(story, mode=mode)
    assert told(tmp_path, "calls") == [{"tool": "read_file", "arguments": RIGHT}]


def test_a_person_answers_a_call_that_came_over_http(
    service: Service, desk: Desk, keys: Iterator[str], tmp_path: Path
) -> None:
    async def connect(url: str) -> None:
        with anyio.fail_after(SECONDS):
            async with Client(streamable_http_client(url), mode="legacy") as client:
                call_id = await two_failures(client)
                corrected = answered_with(desk, call_id, decision="corrected", arguments=json.dumps(RIGHT))
                result = await third_failure_while(client, corrected)
                assert json.loads(result.content[1].text) == {"read_file": RIGHT}

    env = {"RETRYCONTRACT_API_KEY": next(keys)}
    with gateway("--url", service.url, "--", *upstream_command(str(tmp_path)), env=env) as listening:
        anyio.run(connect, listening.url)
    assert told(tmp_path, "calls") == [{"tool": "read_file", "arguments": RIGHT}]


def test_a_secret_that_the_model_sent_is_run_with_and_shown_to_nobody(
    behind: Callable[..., str], desk: Desk, service: Service, tmp_path: Path
) -> None:
    secret = "sk-proj-" + "Ab3" * 14
    wrong = {**WRONG, "api_key": secret}

    async def story(client: Client) -> None:
        call_id = await two_failures(client, wrong)
        arguments = json.dumps({**RIGHT, "api_key": "[REDACTED: OPENAI_KEY]"})
        result = await third_failure_while(
            client, answered_with(desk, call_id, decision="corrected", arguments=arguments), wrong
        )
        assert not result.is_error
        assert secret not in result.content[0].text

    behind(story)
    assert told(tmp_path, "calls") == [{"tool": "read_file", "arguments": {**RIGHT, "api_key": secret}}]
    assert secret not in service.log


def test_a_hint_is_given_to_the_model_whose_next_attempt_counts_on(behind: Callable[..., str], desk: Desk) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        result = await third_failure_while(client, answered_with(desk, call_id, text="Absolute paths.", grant="2"))
        assert result.is_error
        assert "> Absolute paths." in text_of(result)
        assert "attempt 4/5" in text_of(result)
        assert "(attempt 4/5)" in text_of(await client.call_tool("read_file", WRONG))
        assert not (await client.call_tool("read_file", RIGHT)).is_error

    behind(story)


@pytest.mark.parametrize("is_gone_meanwhile", [False, True])
def test_an_attempt_at_a_tool_that_has_changed_is_judged_as_it_is_now(
    behind: Callable[..., str], is_gone_meanwhile: bool
) -> None:
    async def story(client: Client) -> None:
        await client.call_tool("grow", {})
        assert "/number (VAL-002)" in text_of(await client.call_tool("grown", {"number": "x"}))
        if is_gone_meanwhile:
            await client.call_tool("grow", {"gone": True})
            await client.list_tools()
        await client.call_tool("grow", {"needs": "text"})
        assert "/text (VAL-002)" in text_of(await client.call_tool("grown", {"text": 1}))
        assert text_of(await client.call_tool("grown", {"text": "a"})) == '{"grown": {"text": "a"}}'

    behind(story, mode="legacy")


def test_what_is_accepted_is_run_as_it_was_sent(behind: Callable[..., str], desk: Desk, tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        result = await third_failure_while(client, answered_with(desk, call_id, decision="accept", text="Fine."))
        assert not result.is_error
        assert result.content[0].text.startswith("A person accepted the arguments of your Blocked call")

    behind(story)
    assert told(tmp_path, "calls") == [{"tool": "read_file", "arguments": WRONG}]


def test_what_is_rejected_is_never_run(behind: Callable[..., str], desk: Desk, tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        result = await third_failure_while(client, answered_with(desk, call_id, decision="reject", text="Too risky."))
        assert result.is_error
        assert "> Too risky." in text_of(result)
        assert "(attempt 1/3)" in text_of(await client.call_tool("read_file", WRONG))

    behind(story)
    assert told(tmp_path, "calls") == []


def test_an_answer_that_comes_late_is_given_with_the_next_call(behind: Callable[..., str], desk: Desk) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        unanswered = await client.call_tool("read_file", WRONG)
        assert BLOCKED in text_of(unanswered)
        assert "A person has been asked; nobody answered within 1 seconds. Call the tool again" in text_of(unanswered)
        assert WAIT_TEXT not in text_of(unanswered), "the two would contradict each other"
        await run_sync(answered_with(desk, call_id, text="Absolute paths.", grant="1"))
        late = await client.call_tool("read_file", WRONG)
        assert "> Absolute paths." in text_of(late)
        assert not (await client.call_tool("read_file", RIGHT)).is_error

    behind(story, "--wait", "1")


def test_who_is_not_waited_for_is_told_to_call_again(behind: Callable[..., str], desk: Desk) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        asked = text_of(await client.call_tool("read_file", WRONG))
        assert asked.endswith(f"{BLOCKED} Call the tool again to get the answer.")
        await run_sync(answered_with(desk, call_id, text="Absolute paths.", grant="1"))
        assert "> Absolute paths." in text_of(await client.call_tool("read_file", WRONG))

    behind(story, "--wait", "0")


@pytest.mark.parametrize("way", ["pipe", "HTTP"])
def test_a_client_that_hears_nothing_is_told_to_call_again_before_it_gives_up(
    behind: Callable[..., str], service: Service, keys: Iterator[str], desk: Desk, tmp_path: Path, way: str
) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        unanswered = await client.call_tool("read_file", WRONG)  # asks for no progress
        assert BLOCKED in text_of(unanswered)
        assert "nobody answered within 1 seconds. Call the tool again to get the answer." in text_of(unanswered)
        assert WAIT_TEXT not in text_of(unanswered)
        answer = answered_with(desk, call_id, decision="corrected", arguments=json.dumps(RIGHT))
        result = await third_failure_while(client, answer)  # asks for it, and is waited for with
        assert not result.is_error

    assert DEFAULTS["silent_wait"] == 45.0  # TypeScript's SDK gives up after 60 seconds
    if way == "pipe":
        behind(story, "--silent-wait", "1")
        return

    async def connect(url: str) -> None:
        with anyio.fail_after(SECONDS):
            async with Client(streamable_http_client(url)) as client:
                await story(client)

    options = ("--url", service.url, "--silent-wait", "1")
    with gateway(
        *options, "--", *upstream_command(str(tmp_path)), env={"RETRYCONTRACT_API_KEY": next(keys)}
    ) as listening:
        anyio.run(connect, listening.url)


def test_the_model_may_still_get_it_right_while_blocked(behind: Callable[..., str], desk: Desk) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        assert BLOCKED in text_of(await client.call_tool("read_file", WRONG))
        assert call_id in await run_sync(desk.get, "/")
        assert not (await client.call_tool("read_file", RIGHT)).is_error
        assert call_id not in await run_sync(desk.get, "/")

    behind(story, "--wait", "0")


def test_calls_in_flight_are_different_calls_also_while_one_is_waited_for(
    behind: Callable[..., str], desk: Desk
) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)

        def answer() -> None:
            fresh = anyio.from_thread.run(client.call_tool, "read_file", WRONG)
            assert "(attempt 1/3)" in text_of(fresh)
            assert twin_of(fresh)["call_id"] != call_id
            desk.answer(call_id, text="Absolute paths.", grant="1")

        assert "> Absolute paths." in text_of(await third_failure_while(client, answer))

    behind(story)


def test_a_client_that_gives_up_waiting_leaves_the_call_to_the_next_attempt(
    behind: Callable[..., str], desk: Desk
) -> None:
    async def story(client: Client) -> None:
        call_id = await two_failures(client)
        with anyio.CancelScope() as patience:

            async def progress(done: float, total: float | None, message: str | None) -> None:
                patience.cancel()

            await client.call_tool("read_file", WRONG, progress_callback=progress)
        assert patience.cancelled_caught
        await run_sync(answered_with(desk, call_id, text="Absolute paths.", grant="1"))
        assert "> Absolute paths." in text_of(await client.call_tool("read_file", WRONG))

    behind(story)


def test_options_reach_the_service(behind: Callable[..., str], tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert not (await client.call_tool("read_file", WRONG)).is_error

    behind(story, "--observe")
    assert told(tmp_path, "calls")[0] == {"tool": "read_file", "arguments": WRONG}


def test_a_tool_that_the_service_refuses_is_passed_on_unchecked(behind: Callable[..., str]) -> None:
    async def story(client: Client) -> None:
        assert text_of(await client.call_tool("elsewhere", {"a": 1})) == '{"elsewhere": {"a": 1}}'
        assert "(attempt 1/3)" in text_of(await client.call_tool("elsewhre", {"a": 1}))

    assert "Tool 'elsewhere' is passed on unchecked, its schema cannot be judged: /properties/a/$ref" in behind(story)


def test_a_call_costs_the_service_one_request(service: Service, tmp_path: Path) -> None:
    key = service.new_key("counted")

    def asked() -> list[str]:
        lines = (json.loads(line) for line in service.log.splitlines() if '"retrycontract.requests"' in line)
        return [f"{line['method']} {line['route']}" for line in lines if line.get("agent") == "counted"]

    async def story(client: Client) -> None:
        for number in (4, "four", "four", 8):
            await client.call_tool("double", {"number": number})
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(client.call_tool, "double", {"number": number})

    run(story, tmp_path, "--url", service.url, env={"RETRYCONTRACT_API_KEY": key})
    eventually(lambda: len(asked()) >= 26)
    # Once for a connection: whether the key is taken, and the tools.
    assert sorted(asked()) == ["GET /api/v1/tools", *["POST /api/v1/calls"] * 24, "POST /api/v1/tools/import"]


def test_a_service_that_is_not_there_lets_nothing_through(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 4
        answer = await client.call_tool("read_file", RIGHT)
        assert answer.is_error
        assert text_of(answer).startswith("This call could not be checked: the service cannot be reached")

    run(story, tmp_path, "--url", "http://127.0.0.1:9", env={"RETRYCONTRACT_API_KEY": "rc_x"})
    assert told(tmp_path, "calls") == []


def test_a_key_that_the_service_does_not_know_lets_nothing_through(service: Service, tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        answer = await client.call_tool("read_file", RIGHT)
        assert "the service says unknown-key" in text_of(answer)

    run(story, tmp_path, "--url", service.url, env={"RETRYCONTRACT_API_KEY": "rc_00000000_unknown"})


def test_a_service_that_restarts_meanwhile_is_asked_again(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(tmp_path / "data")
    key = service.new_key("gateway")

    async def story(client: Client) -> None:
        call_id = await two_failures(client)

        def answer() -> None:
            service.stop()
            service.start()
            desk = Desk(service)
            desk.log_in()
            desk.answer(call_id, text="Absolute paths.", grant="1")

        assert "> Absolute paths." in text_of(await third_failure_while(client, answer))

    run(story, tmp_path, "--url", service.url, env={"RETRYCONTRACT_API_KEY": key})
