"""Streamed chat completions through the proxy: what flows at once, what is held, and how it is let go."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import httpx2
import pytest

from retrycontract.proxy.openai_chat import OpenAIChat
from tests.proxy.chat import PATH, USAGE, asking, call, chunks, completion, says, streams, tool
from tests.proxy.upstream import DROP, RIGHT, STALL, WRONG, Reply, proxied, streamed, upstream, whole
from tests.serving.threads import eventually

STREAM = {"stream": True, "stream_options": {"include_usage": True}}


def read(url: str, body: Any) -> bytes:
    with httpx2.Client(timeout=60) as client, client.stream("POST", url + PATH, json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.read()
        return b"".join(answer.iter_raw())


def events(content: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in content.decode().splitlines()
            if line.startswith("data: ") and line != "data: [DONE]"]  # fmt: skip


def calls_of(content: bytes) -> list[Any]:
    """Put the calls together as the SDKs do: by index, arguments joined."""
    calls: dict[int, Any] = {}
    for event in events(content):
        for choice in event["choices"]:
            for part in choice["delta"].get("tool_calls") or ():
                made = calls.setdefault(part["index"], {"id": part.get("id"), "name": "", "arguments": ""})
                for name, text in part["function"].items():
                    made[name] += text
    return [calls[index] for index in sorted(calls)]


def text_of(content: bytes) -> str:
    return "".join(choice["delta"].get("content") or "" for event in events(content) for choice in event["choices"])


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize(
    "content",
    [
        chunks("It is sunny, as always."),
        chunks("Reading.", call("read_file", RIGHT), call("read_file", RIGHT, 1)),
        chunks(None, call("read_file", RIGHT), step=1),
        b": OPENROUTER PROCESSING\r\n\r\n" + chunks("Hm.", call("read_file", RIGHT)).replace(b"\n", b"\r\n"),
    ],
    ids=["text", "calls", "small parts", "carriage returns"],
)
def test_what_is_right_arrives_as_the_upstream_wrote_it(mode: str, content: bytes) -> None:
    with upstream(streamed(content)) as up, proxied(up.url, mode=mode) as url:
        assert read(url, asking(tool(), **STREAM)) == content
    assert len(up.asked) == 1


def test_text_flows_while_the_upstream_still_writes_and_a_call_does_not() -> None:
    content = chunks("Let me see.", call("read_file", RIGHT), step=11)
    place = content.index(b'"finish_reason": "tool_calls"') - 200
    reply = streamed(content[:place])
    reply.parts.append(STALL)
    with upstream(reply) as up, proxied(up.url, stall=1.0) as url:
        with httpx2.Client() as client, client.stream("POST", url + PATH, json=asking(tool(), **STREAM)) as answer:
            arrived = b""
            for part in answer.iter_raw():
                arrived += part
                if b"see." in arrived:
                    break
        assert text_of(arrived) == "Let me see."
        assert b"tool_calls" not in arrived
        eventually(lambda: up.left == 1)


def test_a_wrong_call_is_mended_within_the_stream() -> None:
    first = streams("Reading.", call("read_file", WRONG))
    second = streams("Sorry.", call("read_file", RIGHT, 1))
    with upstream(first, second) as up, proxied(up.url) as url:
        content = read(url, asking(tool(), **STREAM))
    assert calls_of(content) == [{"id": "call_1", "name": "read_file", "arguments": json.dumps(RIGHT)}]
    assert text_of(content) == "Reading."
    assert events(content)[-1]["usage"]["total_tokens"] == 2 * USAGE["total_tokens"]
    assert events(content)[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert len({event["id"] for event in events(content)}) == 1
    assert content.endswith(b"data: [DONE]\n\n")
    assert b"outcome=repaired" in content
    assert up.asked[1].body["stream"] is True
    assert "attempt 1/3" in up.asked[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("ends", [b"\r\n", b"\r"], ids=["both", "carriage returns"])
def test_a_wrong_call_is_held_whatever_ends_the_lines(ends: bytes) -> None:
    content = chunks("Reading.", call("read_file", WRONG)).replace(b"\n", ends)
    for cuts in ((), range(1, len(content))):
        with (
            upstream(streamed(content, *cuts), streams(None, call("read_file", RIGHT, 1))) as up,
            proxied(up.url) as url,
        ):
            found = calls_of(read(url, asking(tool(), **STREAM)))
        assert found == [{"id": "call_1", "name": "read_file", "arguments": json.dumps(RIGHT)}]


def test_of_parallel_calls_in_a_stream_the_right_ones_are_kept() -> None:
    first = streams(None, call("read_file", RIGHT, 0), call("read_file", WRONG, 1))
    with upstream(first, streams(None, call("read_file", {"path": "b"}, 7))) as up, proxied(up.url) as url:
        calls = calls_of(read(url, asking(tool(), **STREAM)))
    assert [(made["id"], json.loads(made["arguments"])["path"]) for made in calls] == [
        ("call_0", "a.txt"),
        ("call_7", "b"),
    ]


def test_a_stream_that_stays_wrong_ends_in_words() -> None:
    with upstream(streams(None, call("read_file", WRONG))) as up, proxied(up.url) as url:
        content = read(url, asking(tool(), **STREAM))
    assert calls_of(content) == []
    assert "VAL-002 at /path" in text_of(content)
    assert events(content)[-2]["choices"][0]["finish_reason"] == "stop"
    assert len(up.asked) == 3


@pytest.mark.parametrize("second", [streams("It is so.", usage=False), says("It is so.")], ids=["stream", "whole"])
def test_a_withdrawn_call_leaves_the_text(second: Reply) -> None:
    with upstream(streams("Hm. ", call("read_file", WRONG)), second) as up, proxied(up.url) as url:
        content = read(url, asking(tool(), **STREAM))
    assert text_of(content) == "Hm. \n\nIt is so."
    assert calls_of(content) == []


def test_structured_output_is_held_until_it_is_right() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
    body = asking(
        response_format={"type": "json_schema", "json_schema": {"name": "invoice", "schema": schema}}, **STREAM
    )
    right = chunks('{"total": 5}')
    with upstream(streamed(right)) as up, proxied(up.url) as url:
        assert read(url, body) == right
    with upstream(streams('{"total": "x"}'), streamed(right)) as up, proxied(up.url) as url:
        assert text_of(read(url, body)) == '{"total": 5}'


def test_thoughts_flow_and_come_along_when_the_model_is_asked_again() -> None:
    first = chunks(None, call("read_file", WRONG))
    thought = b'data: {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"reasoning_content": "hm "}}]}\n\n'
    with upstream(streamed(thought * 2 + first), streams(None, call("read_file", RIGHT))) as up, proxied(up.url) as url:
        content = read(url, asking(tool(), **STREAM))
    assert content.startswith(thought * 2)
    assert up.asked[1].body["messages"][-2]["reasoning_content"] == "hm hm "


def test_servers_that_number_every_call_zero_are_understood() -> None:
    def part(number: int, arguments: str) -> bytes:
        return json.dumps({"id": "x", "choices": [{"index": 0, "finish_reason": None, "delta": {"tool_calls": [
            {"index": 0, **call("read_file", arguments, number)}]}}]}).encode()  # fmt: skip

    end = b'data: {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}\n\n'
    wrong = b"data: %s\n\ndata: %s\n\n" % (part(1, '{"path": "a"}'), part(2, '{"path": 2}')) + end
    with upstream(streamed(wrong), streams(None, call("read_file", {"path": "b"}, 3))) as up, proxied(up.url) as url:
        calls = calls_of(read(url, asking(tool(), **STREAM)))
    assert [made["id"] for made in calls] == ["call_1", "call_3"]


@pytest.mark.parametrize("first", [WRONG, RIGHT], ids=["wrong", "right"])
@pytest.mark.parametrize("step", [1, 3, 7, 64])
def test_wherever_the_network_cuts_the_result_is_the_same(first: Any, step: int) -> None:
    content, mended = chunks("Reading ä€𝄞.", call("read_file", first)), chunks(None, call("read_file", RIGHT, 1))
    results = set()
    for cuts in ((), range(step, len(content), step)):
        replies = streamed(content, *cuts), streamed(mended, *range(step, len(mended), step))
        with upstream(*replies) as up, proxied(up.url) as url:
            results.add(read(url, asking(tool(), **STREAM)))
    assert len(results) == 1


@pytest.mark.parametrize(
    "parts",
    [[DROP], [b"data: {broken\n\n", DROP], [b"data: {brok", DROP], []],
    ids=["at once", "after a line", "in a line", "in silence"],
)
def test_an_upstream_that_dies_over_a_call_lets_no_part_of_it_through(parts: list[Any]) -> None:
    content = chunks("Reading.", call("read_file", RIGHT))
    reply = streamed(content[: content.index(b'"finish_reason": "tool_calls"') - 300])
    reply.parts += parts
    with upstream(reply) as up, proxied(up.url) as url:
        arrived = read(url, asking(tool(), **STREAM))
    assert text_of(b"\n".join(line for line in arrived.splitlines() if b'"error"' not in line)) == "Reading."
    assert b"tool_calls" not in arrived
    assert "error" in events(arrived)[-1]


def test_garbage_that_may_be_a_call_is_an_error_and_other_words_are_the_clients() -> None:
    garbage, content = b"data: {garbage\n\n", chunks("Hi.", call("read_file", RIGHT))
    with upstream(streamed(garbage + chunks("Hi."))) as up:
        with proxied(up.url, mode="observe") as url:
            assert read(url, asking(tool(), **STREAM)) == garbage + chunks("Hi.")
        with proxied(up.url) as url:
            assert "cannot be read" in events(read(url, asking(tool(), **STREAM)))[0]["error"]["message"]
    with upstream(streamed(b"data: wait\n\n" + chunks("Hi."))) as up, proxied(up.url) as url:
        assert read(url, asking(tool(), **STREAM)) == b"data: wait\n\n" + chunks("Hi.")
    place = content.rindex(b"data: {", 0, content.index(b'"finish_reason": "tool_calls"'))
    with upstream(streamed(content[:place] + garbage + content[place:])) as up, proxied(up.url) as url:
        arrived = read(url, asking(tool(), **STREAM))
    assert "cannot be read" in events(arrived)[-1]["error"]["message"]


def test_an_upstream_that_refuses_to_mend_ends_the_stream_with_an_error() -> None:
    with upstream(streams(None, call("read_file", WRONG)), whole({"error": {}}, 401)) as up, proxied(up.url) as url:
        content = read(url, asking(tool(), **STREAM))
    assert "HTTP 401" in events(content)[-1]["error"]["message"]
    assert calls_of(b"\n".join(content.splitlines()[:-2])) == []


def test_an_upstream_that_answers_whole_where_a_stream_was_asked_for_is_judged_all_the_same() -> None:
    with (
        upstream(says(None, call("read_file", WRONG)), says(None, call("read_file", RIGHT))) as up,
        proxied(up.url) as url,
        httpx2.Client() as client,
    ):
        answer = client.post(url + PATH, json=asking(tool(), **STREAM))
    assert answer.headers["x-retrycontract-outcome"] == "repaired"


def test_many_streams_at_once_stay_apart() -> None:
    tools = tool("note", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})

    def script(asked: Any) -> Reply:
        number = int(asked.body["messages"][1]["content"])
        is_first = len(asked.body["messages"]) == 2
        return streams(f"n{number}", call("note", {"n": str(number) if is_first else number}, number))

    found: dict[int, tuple[str, Any]] = {}

    def run(url: str, numbers: range) -> None:
        for number in numbers:
            content = read(url, asking(tools, text=str(number), **STREAM))
            found[number] = text_of(content), json.loads(calls_of(content)[0]["arguments"])

    with upstream(script=script) as up, proxied(up.url) as url:
        threads = [threading.Thread(target=run, args=(url, range(at, at + 5))) for at in range(0, 60, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {number: (f"n{number}", {"n": number}) for number in range(60)}


def test_a_stream_put_together_is_the_answer_that_would_have_come_whole() -> None:
    from retrycontract.mcp.events import EventSplitter, data_of

    chance = random.Random(7)
    for _ in range(20):
        made = [call("read_file", {"path": "é" * chance.randrange(9)}, n) for n in range(chance.randrange(3))]
        text = "words " * chance.randrange(4) or None
        content = chunks(text, *made, step=chance.randrange(1, 9))
        stream = OpenAIChat().stream(OpenAIChat().terms(asking(tool())))
        for event in EventSplitter().feed(content):
            stream.feed(data_of(event) or b"")
        body = stream.body()
        assert body is not None
        whole_message = {**completion(text, *made)["choices"][0]["message"]}
        message = {name: value for name, value in whole_message.items() if name not in ("refusal", "annotations")}
        assert body["choices"][0]["message"] == message
        assert body["usage"] == USAGE
