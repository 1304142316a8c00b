"""Where the checks of the gateway run: small ones that are quick stay in the event loop, all others leave it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.tool import Tool
from retrycontract.in_process import RetryContract
from retrycontract.judging import InProcessJudge, ModelOutput
from retrycontract.judging.in_process_judge import is_small
from retrycontract.judging.judge import drive
from retrycontract.mcp.checkpoint import Checkpoint
from retrycontract.mcp.gateway import Gateway
from retrycontract.mcp.results import ResultContract
from retrycontract.mcp.stdio import Lines
from tests.gateway.listening import call, request

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def test_a_check_leaves_the_loop_until_its_tool_was_quick_and_whenever_the_output_is_large() -> None:
    left: list[Any] = []

    def run(work: Callable[[], Any]) -> Any:
        left.append(work)
        return work()

    judge = InProcessJudge(RetryContract(), "test", run=run)
    drive(judge.register(Tool(name="known", input_schema=SCHEMA)))
    left.clear()

    def leaves(name: str, value: Any) -> bool:
        before = len(left)
        drive(judge.judge(ModelOutput(name, value)))
        return len(left) > before

    assert leaves("known", {"text": "a"}), "nothing is known of its schema yet"
    judge.took["known"] = 0.0001
    assert not leaves("known", {"text": "a"})
    judge.took["known"] = 0.0001
    assert leaves("known", {"text": "a" * 10_000})
    judge.took["known"] = 0.1
    assert leaves("known", {"text": "a"}), "it was slow"
    assert leaves("unknown", {})
    assert leaves("unknown", {}), "a model may make up names"
    assert "unknown" not in judge.took


@pytest.mark.parametrize(
    ("output", "small"),
    [({}, True), ("x" * 100, True), ({"a": [1, {"b": None}]}, True), ([0] * 300, False), ({"k" * 9000: 1}, False),
     ({"a": {"b": ["c" * 9000]}}, False), ("x" * 9000, False), (5, True)],
)  # fmt: skip
def test_small_is_what_a_look_at_few_values_shows(output: Any, small: bool) -> None:
    assert is_small(output) is small


def is_done_at_once(work: Coroutine[Any, Any, Any]) -> bool:
    """Tell whether nothing had to be waited for, not even a round of the event loop."""
    try:
        work.send(None)
    except StopIteration:
        return True
    work.close()
    return False


def test_a_quick_call_and_its_result_pass_without_a_round_of_the_event_loop() -> None:
    to_client: list[Any] = []
    to_upstream: list[Any] = []

    def writes(to: list[Any]) -> Callable[[str], Coroutine[Any, Any, bool]]:
        async def send(text: str) -> bool:
            to.append(json.loads(text))
            return True

        return send

    def result(number: int) -> str:
        return (
            f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [], "structuredContent": {{"text": "a"}}}}}}'
        )

    async def story() -> None:
        judge, sanitizer = InProcessJudge(RetryContract(), "test", run=run_sync), ValueSanitizer(RetryConfiguration())
        async with anyio.create_task_group() as tasks:
            gateway = Gateway(
                writes(to_client), writes(to_upstream), judge, Checkpoint(judge, sanitizer, wait=0, silent_wait=0),
                tasks, contract := ResultContract(sanitizer, enforces=False),
            )  # fmt: skip
            await gateway.from_client(request(1, "tools/list"))
            tools = [{"name": "known", "inputSchema": SCHEMA, "outputSchema": SCHEMA}]
            await gateway.from_upstream(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}))
            await gateway.from_client(call(2, "known", '{"text": "a"}'))
            while len(to_upstream) < 2:  # the first is judged in a task, and its schema compiled in a thread
                await anyio.sleep(0.01)
            assert not is_done_at_once(gateway.from_upstream(result(2))), "nothing is known of the output's schema yet"
            judge.took["known"] = contract.took["known"] = 0.0001
            assert is_done_at_once(gateway.from_client(call(3, "known", '{"text": "a"}')))
            assert to_upstream[-1]["id"] == 3
            assert is_done_at_once(gateway.from_upstream(result(3)))
            assert to_client[-1]["id"] == 3
            assert is_done_at_once(gateway.from_client(call(4, "known", '{"text": 4}')))
            while to_client[-1]["id"] < 4:  # until all that was sent with it has come
                await anyio.sleep(0.01)
            assert to_client[-1]["result"]["isError"]
            assert [sent["id"] for sent in to_upstream] == [1, 2, 3]

    anyio.run(story)


def test_a_pipe_is_read_without_a_thread_a_file_with_one_and_both_to_their_last_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one\n\n two\xff\nthree")

    async def read(descriptor: int) -> tuple[list[str], set[threading.Thread]]:
        before, begun, found = set(threading.enumerate()), set(), []  # threads of other tests may end meanwhile
        async for line in Lines(descriptor):
            found.append(line)
            if len(found) < 4:
                begun |= set(threading.enumerate()) - before
        return found, begun

    async def story() -> None:
        for _ in range(2):  # the second pipe may get the first one's numbers
            ours, theirs = os.pipe()
            os.write(theirs, (tmp_path / "file").read_bytes())
            os.close(theirs)
            assert await read(ours) == (["one", " two\udcff", "three"], set())
            os.close(ours)
        with (tmp_path / "file").open("rb") as file:
            lines, _ = await read(file.fileno())
            assert lines == ["one", " two\udcff", "three"]
        (tmp_path / "long").write_bytes(b"more than is read ahead\n" * 100_000)
        with (tmp_path / "long").open("rb") as file:
            lines, begun = await read(file.fileno())
            assert (len(lines), len(begun)) == (100_000, 1)

    anyio.run(story)


def test_a_pipe_whose_number_another_one_gets_is_not_read_any_more() -> None:
    async def story() -> None:
        ours, theirs = os.pipe()
        with anyio.move_on_after(0.05):  # nothing comes: whoever waits for it leaves
            async for _ in Lines(ours):
                raise AssertionError
        os.dup2(os.open(os.devnull, os.O_RDONLY), ours)
        os.close(theirs)
        again, writes = os.pipe()
        os.dup2(again, ours)
        os.write(writes, b"one\n")
        async for line in Lines(ours):
            assert line == "one"
            break

    anyio.run(story)


def test_a_pipe_is_watched_from_one_line_to_the_next_and_not_while_nobody_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched: list[int] = []

    async def story() -> None:
        loop, (ours, theirs) = asyncio.get_running_loop(), os.pipe()
        watch = loop.add_reader
        monkeypatch.setattr(loop, "add_reader", lambda number, *call: watched.append(number) or watch(number, *call))
        os.write(theirs, b"1\n")
        lines = aiter(Lines(ours))
        for number in range(1, 10):
            assert await anext(lines) == str(number)
            os.write(theirs, b"%d\n" % (number + 1))  # as a client that asks once it is answered
        assert watched == [ours]
        await asyncio.sleep(0.01)
        assert not loop.remove_reader(ours), "the loop would turn without end while a line waits for who reads"
        assert await anext(lines) == "10"
        os.close(theirs)
        assert await anext(lines, None) is None
        assert watched == [ours, ours]

    anyio.run(story)
