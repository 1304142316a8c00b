"""What holds for every API that the proxy speaks, whole and streamed."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import httpx2
import pytest

from retrycontract.proxy.anthropic_messages import AnthropicMessages
from retrycontract.proxy.openai_chat import OpenAIChat
from retrycontract.proxy.openai_responses import OpenAIResponses
from tests.proxy import chat, messages, responses
from tests.proxy.upstream import DROP, RIGHT, STALL, WRONG, Reply, proxied, streamed, upstream, whole
from tests.serving.threads import eventually

WIRES = {"chat": chat, "messages": messages, "responses": responses}
INVOICE = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


@pytest.fixture(params=["whole", "streamed"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reply(wire: ModuleType, way: str, *said: Any, **options: Any) -> Reply:
    made: Reply = (wire.says if way == "whole" else wire.streams)(*said, **options)
    return made


def ask(wire: ModuleType, url: str, way: str, *tools: Any, **options: Any) -> bytes:
    """Ask and give the bytes that arrive."""
    body = wire.asking(*tools, **({"stream": True} if way == "streamed" else {}), **options)
    with httpx2.Client(timeout=60) as client, client.stream("POST", url + wire.PATH, json=body) as answer:
        assert answer.status_code == 200, answer.read()
        return b"".join(answer.iter_raw())


def read(wire: ModuleType, way: str, content: bytes) -> Any:
    return json.loads(content) if way == "whole" else wire.put_together(content)


def total(usage: Any) -> int:
    return sum(value for name, value in usage.items() if name in ("prompt_tokens", "input_tokens"))


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize("said", ["It is sunny, ä€𝄞.", "", "Reading."])
def test_what_is_right_and_what_is_text_arrives_byte_for_byte(wire: ModuleType, way: str, mode: str, said: str) -> None:
    calls = [wire.call("read_file", RIGHT), wire.call("read_file", RIGHT, 1)] if said != "It is sunny, ä€𝄞." else []
    sent = reply(wire, way, said, *calls, **({} if wire is chat else {"thinks": True}))
    with upstream(sent) as up, proxied(up.url, mode=mode) as url:
        assert ask(wire, url, way, wire.tool()) == b"".join(sent.parts)
    assert len(up.asked) == 1


def test_a_wrong_call_is_mended_and_usage_is_summed(wire: ModuleType, way: str) -> None:
    replies = (
        reply(wire, way, "Reading.", wire.call("read_file", WRONG)),
        reply(wire, way, "", wire.call("read_file", RIGHT, 1)),
    )
    with upstream(*replies) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert wire.calls_in(body) == [("read_file", RIGHT)]
    assert "/path (VAL-002)" in wire.results(up.asked[1].body)[0]
    assert total(body["usage"]) == 20


def test_of_parallel_calls_only_the_wrong_ones_are_asked_for_again(wire: ModuleType, way: str) -> None:
    first = [
        wire.call("read_file", RIGHT, 0),
        wire.call("read_file", WRONG, 1),
        wire.call("read_file", {"path": "c"}, 2),
    ]
    replies = reply(wire, way, "Both.", *first), reply(wire, way, "", wire.call("read_file", {"path": "b"}, 9))
    with upstream(*replies) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert [arguments["path"] for _, arguments in wire.calls_in(body)] == ["a.txt", "b", "c"]
    assert ["VAL-002" in text for text in wire.results(up.asked[1].body)] == [False, True, False]
    if way == "streamed":
        assert wire.text_in(body) == "Both."


def test_calls_of_two_answers_that_are_numbered_alike_have_ids_of_their_own(wire: ModuleType, way: str) -> None:
    first = wire.call("read_file", RIGHT, 0), wire.call("read_file", WRONG, 1)
    replies = reply(wire, way, "", *first), reply(wire, way, "", wire.call("read_file", {"path": "b"}, 0))
    with upstream(*replies) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert [arguments["path"] for _, arguments in wire.calls_in(body)] == ["a.txt", "b"]
    ids = re.findall(rf"'{'call_id' if wire is responses else 'id'}': '((?:call|toolu)_[^']+)'", str(body))
    assert len(ids) == len(set(ids)) == 2, body


def test_thoughts_go_back_with_the_calls_that_came_of_them(way: str) -> None:
    for wire, part in ((messages, messages.THOUGHT), (responses, responses.THOUGHT)):
        replies = (
            reply(wire, way, "", wire.call("read_file", WRONG), thinks=True),
            reply(wire, way, "", wire.call("read_file", RIGHT, 1), thinks=True),
        )
        with upstream(*replies) as up, proxied(up.url) as url:
            body = read(wire, way, ask(wire, url, way, wire.tool()))
        again = up.asked[1].body
        assert part in (again["input"] if wire is responses else again["messages"][1]["content"])
        assert wire.calls_in(body) == [("read_file", RIGHT)]


def test_what_stays_wrong_ends_in_words(wire: ModuleType, way: str) -> None:
    with upstream(reply(wire, way, "", wire.call("read_file", WRONG))) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert wire.calls_in(body) == []
    assert "VAL-002 at /path" in wire.text_in(body)
    assert len(up.asked) == 3


@pytest.mark.parametrize("name", [None, "read_file"])
def test_a_demanded_call_is_held_to(wire: ModuleType, way: str, name: str | None) -> None:
    replies = reply(wire, way, "I would."), reply(wire, way, "", wire.call("read_file", RIGHT))
    with upstream(*replies) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool(), **wire.demanding(name)))
    assert wire.calls_in(body) == [("read_file", RIGHT)]
    assert wire.text_in(body) == ""
    assert "'read_file' is demanded here" in json.dumps(up.asked[1].body)


def test_structured_output_is_held_to_its_schema(wire: ModuleType, way: str) -> None:
    right, wrong = reply(wire, way, '{"total": 5}'), reply(wire, way, '{"total": "five"}')
    options = wire.structured("invoice", INVOICE)
    with upstream(right) as up, proxied(up.url) as url:
        assert ask(wire, url, way, **options) == b"".join(right.parts)
    with upstream(wrong, right) as up, proxied(up.url) as url:
        assert wire.text_in(read(wire, way, ask(wire, url, way, **options))) == '{"total": 5}'
    assert "VAL-002" in json.dumps(up.asked[1].body)


CUT = {chat: "length", messages: "max_tokens", responses: "max_output_tokens"}


def test_output_that_never_fits_ends_as_the_upstream_ended_it(wire: ModuleType, way: str) -> None:
    cut = reply(wire, way, '{"total": ', finish=CUT[wire])
    with upstream(cut) as up, proxied(up.url) as url:
        content = ask(wire, url, way, **wire.structured("invoice", INVOICE))
    assert len(up.asked) == 3
    assert b"was wrong 3 times" in content
    assert json.dumps(CUT[wire]).encode() in content  # by which the SDKs know it


def test_a_withdrawn_call_leaves_the_text(wire: ModuleType, way: str) -> None:
    replies = reply(wire, way, "", wire.call("read_file", WRONG)), reply(wire, way, "There is none.")
    with upstream(*replies) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert (wire.calls_in(body), wire.text_in(body)) == ([], "There is none.")


@pytest.mark.parametrize("step", [1, 5, 50])
def test_wherever_the_network_cuts_the_result_is_the_same(wire: ModuleType, step: int) -> None:
    first = wire.chunks("Reading ä€𝄞.", wire.call("read_file", WRONG))
    second = wire.chunks("", wire.call("read_file", RIGHT, 1))
    results = set()
    for cuts in ((), range(step, len(first), step)):
        with upstream(streamed(first, *cuts), streamed(second, *cuts)) as up, proxied(up.url) as url:
            results.add(ask(wire, url, "streamed", wire.tool()))
    assert len(results) == 1


@pytest.mark.parametrize("part", [DROP, STALL, b"data: {garbage\n\n"], ids=["dies", "stalls", "garbage"])
def test_a_stream_that_goes_wrong_over_a_call_lets_nothing_of_it_through(wire: ModuleType, part: Any) -> None:
    content = wire.chunks("Reading.", wire.call("read_file", RIGHT))
    place = content.rindex(b"\n\n", 0, content.rindex(b'"path') if b'"path' in content else len(content) - 400) + 2
    sent = streamed(content[:place])
    sent.parts += [part] if part in (DROP, STALL) else [part, content[place:]]
    with upstream(sent) as up, proxied(up.url, stall=0.5) as url:
        arrived = ask(wire, url, "streamed", wire.tool())
        if part is STALL:
            eventually(lambda: up.left == 1)
    assert b"read_file" not in arrived
    assert b"retrycontract" in arrived or b"api_error" in arrived
    assert b"error" in arrived.splitlines()[-2] or b"error" in arrived.splitlines()[-3]


def test_an_upstream_that_falls_silent_is_given_up(wire: ModuleType) -> None:
    reply = streamed(wire.chunks("Hi.")[:400])
    reply.parts.append(STALL)
    with upstream(reply) as up, proxied(up.url, stall=0.3) as url:
        arrived = ask(wire, url, "streamed", wire.tool())
        assert "fallen silent" in json.loads(arrived.rpartition(b"data: ")[2])["error"]["message"]
        eventually(lambda: up.left == 1)


@contextmanager
def begun(wire: ModuleType, url: str, way: str = "streamed") -> Iterator[None]:
    """Ask, read the first bytes where there are any, and leave."""
    body = wire.asking(wire.tool(), **({"stream": True} if way == "streamed" else {}))
    if way == "whole":
        host, _, port = url.removeprefix("http://").partition(":")
        content = json.dumps(body).encode()
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            head = f"POST {wire.PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n"
            connection.sendall(head.encode() + content)
            yield
        return
    with httpx2.Client(timeout=60) as client, client.stream("POST", url + wire.PATH, json=body) as answer:
        parts = answer.iter_raw()  # held: with the iterator the connection goes
        next(parts)
        yield


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_a_client_that_leaves_cancels_the_upstream(wire: ModuleType, way: str, mode: str) -> None:
    content = b"".join(reply(wire, way, "Hello.").parts)[:400]
    kind = "text/event-stream" if way == "streamed" else "application/json"
    stalled = Reply([content, STALL], 200, {"Content-Type": kind}, sized=False)
    with upstream(stalled) as up, proxied(up.url, mode=mode) as url:
        with begun(wire, url, way):
            eventually(lambda: len(up.asked) == 1)
        eventually(lambda: up.left == 1)


def test_a_client_that_leaves_while_a_call_is_held_cancels_the_upstream(wire: ModuleType) -> None:
    content = wire.chunks("Reading.", wire.call("read_file", RIGHT))
    place = content.index(b"read_file") + 200
    stalled = Reply([content[:place], STALL], 200, {"Content-Type": "text/event-stream"}, sized=False)
    with upstream(stalled) as up, proxied(up.url) as url:
        with begun(wire, url):
            pass
        eventually(lambda: up.left == 1)


def test_a_client_that_leaves_while_a_call_is_mended_cancels_that(wire: ModuleType, way: str) -> None:
    stalled = Reply([STALL], 200, {"Content-Type": "text/event-stream"}, sized=False)
    with upstream(reply(wire, way, "Reading.", wire.call("read_file", WRONG)), stalled) as up, proxied(up.url) as url:
        with begun(wire, url, way):
            eventually(lambda: len(up.asked) == 2)
        eventually(lambda: up.left == 1)


def test_a_client_that_leaves_another_path_cancels_the_upstream() -> None:
    stalled = Reply([b"Hello.", STALL], sized=False)
    with upstream(stalled) as up, proxied(up.url) as url:
        with httpx2.Client(timeout=60) as client, client.stream("POST", f"{url}/v1/other", content=b"{}") as answer:
            next(answer.iter_raw())
        eventually(lambda: up.left == 1)


HEARTBEATS = {chat: OpenAIChat.heartbeat, messages: AnthropicMessages.heartbeat, responses: OpenAIResponses.heartbeat}


def test_five_megabytes_arrive_and_more_than_is_held_does_not(wire: ModuleType, way: str) -> None:
    large, room = wire.call("read_file", {"path": "x" * 5_000_000}), 24 * 1024 * 1024
    sent = wire.says(None, large) if way == "whole" else wire.streams(None, large, step=65_536)
    content, said = b"".join(sent.parts), wire.asking(wire.tool(), **({"stream": True} if way == "streamed" else {}))
    with upstream(sent) as up, proxied(up.url, max_answer=room) as url:
        # A busy machine takes long enough over them for a sign of life.
        arrived = ask(wire, url, way, wire.tool()).replace(HEARTBEATS[wire], b"")
        assert arrived == content.replace(HEARTBEATS[wire], b"")
    with upstream(sent) as up, proxied(up.url, max_answer=1024 * 1024) as url:
        refused = httpx2.post(url + wire.PATH, json=said, timeout=60)
    assert refused.status_code == (502 if way == "whole" else 200)
    assert len(refused.content) < 2_000
    assert b"too large" in refused.content
    with upstream(sent) as up, proxied(up.url, mode="observe", max_answer=1024 * 1024) as url:
        assert ask(wire, url, way, wire.tool()) == content


@pytest.mark.parametrize("part", [DROP, STALL, b"{garbage"], ids=["dies", "stalls", "garbage"])
def test_a_whole_answer_that_goes_wrong_lets_nothing_of_it_through(wire: ModuleType, part: Any) -> None:
    content = b"".join(wire.says("", wire.call("read_file", RIGHT)).parts)
    half = Reply([content[: len(content) // 2], part], 200, {"Content-Type": "application/json"}, sized=False)
    with upstream(half) as up, proxied(up.url, stall=0.5) as url:
        answer = httpx2.post(url + wire.PATH, json=wire.asking(wire.tool()), timeout=60)
        if part is STALL:
            eventually(lambda: up.left == 1)
    assert answer.status_code == (504 if part is STALL else 502)
    assert "the upstream" in answer.json()["error"]["message"]


def test_a_refusal_of_the_provider_is_the_clients(way: str) -> None:
    sent = reply(messages, way, '{"total": "x"}', finish="refusal")
    with upstream(sent) as up, proxied(up.url) as url:
        assert ask(messages, url, way, **messages.structured("invoice", INVOICE)) == b"".join(sent.parts)
    assert len(up.asked) == 1


def test_other_paths_that_look_alike_are_passed_through() -> None:
    sent = whole({"id": "x"})
    with upstream(sent) as up, proxied(up.url) as url, httpx2.Client() as client:
        for path in ("/v1/threads/t1/messages", "/v1/messages/count_tokens", "/v1/responses/r1/cancel"):
            assert client.post(url + path, json=messages.asking(messages.tool())).content == sent.parts[0]
            assert "x-retrycontract-outcome" not in client.post(url + path, json={}).headers
    assert len(up.asked) == 6


def test_a_response_that_is_not_done_yet_and_a_conversation_that_the_upstream_keeps() -> None:
    queued = {**responses.response(), "status": "queued", "background": True}
    with upstream(whole(queued)) as up, proxied(up.url) as url:
        assert read(responses, "whole", ask(responses, url, "whole", responses.tool(), background=True)) == queued
    replies = (
        responses.says("", responses.call("read_file", WRONG)),
        responses.says("", responses.call("read_file", RIGHT)),
    )
    with upstream(*replies) as up, proxied(up.url) as url:
        ask(responses, url, "whole", responses.tool(), conversation="conv_1")
    assert [item["type"] for item in up.asked[1].body["input"]] == ["function_call_output"]


def asked_of(wire: ModuleType, url: str, way: str) -> int:
    """How often the upstream was asked, by the header or by the comment before the end of a stream."""
    body = wire.asking(wire.tool(), **({"stream": True} if way == "streamed" else {}))
    answer = httpx2.post(url + wire.PATH, json=body, timeout=60)
    told = answer.headers.get("x-retrycontract-attempts") or answer.text.partition(" attempts=")[2].partition(" ")[0]
    return int(told)


def test_every_time_that_the_upstream_was_asked_counts_those_without_an_answer_too(wire: ModuleType, way: str) -> None:
    wrong, right = (reply(wire, way, "", wire.call("read_file", sent)) for sent in (WRONG, RIGHT))
    busy = whole({"error": {"message": "slow down"}}, 429, **{"Retry-After": "0"})
    with upstream(wrong, busy, right) as up, proxied(up.url) as url:
        assert (asked_of(wire, url, way), len(up.asked)) == (3, 3)


@pytest.mark.parametrize("away", [whole({"error": {"message": "no"}}, 500, **{"Retry-After": "0"}), Reply([DROP])])
def test_an_upstream_that_stays_away_is_counted_as_often_as_it_was_asked(wire: ModuleType, away: Reply) -> None:
    wrong = reply(wire, "whole", "", wire.call("read_file", WRONG))
    with upstream(wrong, away) as up, proxied(up.url) as url:
        answer = httpx2.post(url + wire.PATH, json=wire.asking(wire.tool()), timeout=60)
    assert answer.status_code >= 500
    assert answer.headers["x-retrycontract-outcome"] == "unavailable"
    assert (answer.headers["x-retrycontract-attempts"], len(up.asked)) == ("3", 3)
