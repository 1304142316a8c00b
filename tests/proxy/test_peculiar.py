"""What servers and clients do beside the letter of their APIs and of HTTP."""

from __future__ import annotations

import gzip
import json
import re
import socket
from copy import deepcopy
from types import ModuleType
from typing import Any

import httpx2
import pytest

from tests.proxy import chat, messages, responses
from tests.proxy.test_wires import WIRES, ask, read, reply
from tests.proxy.upstream import DROP, RIGHT, WRONG, Reply, proxied, streamed, upstream, whole

ERROR = {
    chat: b'data: {"error": {"message": "boom", "type": "server_error"}}\n\n',
    messages: b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}\n\n',
    responses: b'event: error\ndata: {"type": "error", "code": "server_error", "message": "boom"}\n\n',
}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    return WIRES[request.param]


@pytest.fixture(params=["whole", "streamed"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def without_ids(sent: Reply, instead: bytes) -> Reply:
    content = b"".join(sent.parts)
    for written in (b'"call_0"', b'"toolu_0"'):
        content = content.replace(written, instead)
    return Reply([content], sent.status, sent.headers, sized=sent.sized)


@pytest.mark.parametrize("instead", [b"null", b'""'])
def test_a_call_without_an_id_is_a_call(wire: ModuleType, way: str, instead: bytes) -> None:
    wrong, right = (without_ids(reply(wire, way, "", wire.call("read_file", made)), instead) for made in (WRONG, RIGHT))
    with upstream(wrong, right, right) as up, proxied(up.url) as url:
        mended = read(wire, way, ask(wire, url, way, wire.tool()))
        assert ask(wire, url, way, wire.tool()) == right.parts[0]
    assert wire.calls_in(mended) == [("read_file", RIGHT)]
    assert "/path (VAL-002)" in wire.results(up.asked[1].body)[0]
    made = re.findall(r"call_[0-9a-f]{24}", up.asked[1].content.decode())
    assert (len(made), len(set(made))) == (2, 1)  # the call and its result bear the same one


@pytest.mark.parametrize("kind", ["", "text/plain", "TEXT/Event-Stream"])
def test_a_stream_is_judged_whatever_its_server_calls_it(wire: ModuleType, kind: str) -> None:
    wrong, right = (wire.streams("", wire.call("read_file", made)) for made in (WRONG, RIGHT))
    for sent in (wrong, right):
        sent.headers = {"Content-Type": kind} if kind else {}
    with upstream(wrong, right) as up, proxied(up.url) as url:
        content = ask(wire, url, "streamed", wire.tool())
    assert wire.calls_in(wire.put_together(content)) == [("read_file", RIGHT)]


def rewritten(content: bytes, how: str) -> bytes:
    match how:
        case "no space":
            return content.replace(b"data: ", b"data:")
        case "comments":
            return content.replace(b"data: ", b": hm\ndata: ").replace(b"\n\n", b"\n\n: OPENROUTER PROCESSING\n\n")
        case "ids":
            return content.replace(b"data: ", b"id: 4\nretry: 5\ndata: ")
        case "no [DONE]":
            return content.replace(b"data: [DONE]\n\n", b"")
        case "no last line":
            return content[:-2]
    return b"\xef\xbb\xbf" + content  # a byte order mark


@pytest.mark.parametrize("how", ["no space", "comments", "ids", "no [DONE]", "no last line", "mark"])
def test_events_are_read_however_they_are_written(wire: ModuleType, how: str) -> None:
    right = streamed(rewritten(wire.chunks("Hm.", wire.call("read_file", RIGHT)), how))
    wrong = streamed(rewritten(wire.chunks("Hm.", wire.call("read_file", WRONG)), how))
    with upstream(right, wrong, right) as up, proxied(up.url) as url:
        assert ask(wire, url, "streamed", wire.tool()) == right.parts[0]
        content = ask(wire, url, "streamed", wire.tool())
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"data:{", b"data: {")
    assert wire.calls_in(wire.put_together(content)) == [("read_file", RIGHT)]


@pytest.mark.parametrize("end", [b"", b"retry: 5\n\n", DROP], ids=["ends", "says more", "breaks off"])
def test_an_error_of_the_upstreams_in_a_stream_arrives_alone(wire: ModuleType, end: Any) -> None:
    events = wire.chunks("Hm.", wire.call("read_file", WRONG)).split(b"\n\n")
    begun = next(place for place, event in enumerate(events) if b"read_file" in event)
    for place in range(1, len(events) - 1):
        before = b"".join(event + b"\n\n" for event in events[:place])
        sent = streamed(before + ERROR[wire])
        sent.parts += [end] if end else []
        with upstream(sent, wire.streams("", wire.call("read_file", RIGHT))) as up, proxied(up.url) as url:
            arrived = ask(wire, url, "streamed", wire.tool())
        free = b"".join(event + b"\n\n" for event in events[: min(place, begun)])
        assert arrived == free + ERROR[wire] + (end if isinstance(end, bytes) else b"")


def test_an_error_in_a_stream_that_mends_arrives_as_it_was_sent(wire: ModuleType) -> None:
    first, failed = wire.streams("Hm.", wire.call("read_file", WRONG)), streamed(ERROR[wire])
    with upstream(first, failed) as up, proxied(up.url) as url:
        arrived = ask(wire, url, "streamed", wire.tool())
    assert len(up.asked) == 3  # one that comes while an answer is mended costs one of its tries
    assert (arrived.count(b"boom"), arrived.endswith(ERROR[wire]), b"read_file" in arrived) == (1, True, False)


def test_a_refusal_to_mend_a_stream_arrives_in_the_upstreams_words(wire: ModuleType) -> None:
    first = wire.streams("Hm.", wire.call("read_file", WRONG))
    inner = {"type": "authentication_error", "message": "boom", "code": "x", "param": None}
    refused = whole({"error": inner, "request_id": "r_1"}, 401)
    with upstream(first, refused) as up, proxied(up.url) as url:
        arrived = ask(wire, url, "streamed", wire.tool())
    assert len(up.asked) == 2
    told = json.loads(arrived.rpartition(b"data: ")[2])
    assert (told["error"], told["request_id"]) == (inner, "r_1")
    if wire is responses:
        assert (told["type"], told["message"], told["code"]) == ("error", "boom", "x")


def test_an_error_in_a_whole_answer_that_mends_arrives_as_it_was_sent(wire: ModuleType) -> None:
    failed = whole({"error": {"code": 502, "message": "boom"}})  # routers answer so, with status 200
    with upstream(wire.says("", wire.call("read_file", WRONG)), failed) as up, proxied(up.url) as url:
        assert ask(wire, url, "whole", wire.tool()) == failed.parts[0]
    assert len(up.asked) == 3


def test_a_member_for_errors_that_is_empty_is_none() -> None:
    content = chat.chunks("", chat.call("read_file", RIGHT)).replace(b'{"id"', b'{"error": null, "id"')
    with upstream(streamed(content)) as up, proxied(up.url) as url:
        assert ask(chat, url, "streamed", chat.tool()) == content


def test_bytes_that_are_no_text_are_judged_as_a_lenient_client_reads_them(wire: ModuleType, way: str) -> None:
    step = {"step": 400} if way == "streamed" else {}
    wrong = reply(wire, way, "", wire.call("read_file", {"path": 7, "encoding": "HOLE"}), **step)
    content = b"".join(wrong.parts).replace(b"HOLE", b"\xff\xfe")
    kind = {"Content-Type": "text/event-stream" if way == "streamed" else "application/json"}
    right = reply(wire, way, "", wire.call("read_file", RIGHT))
    with upstream(Reply([content], 200, kind, sized=way == "whole"), right) as up, proxied(up.url) as url:
        body = read(wire, way, ask(wire, url, way, wire.tool()))
    assert wire.calls_in(body) == [("read_file", RIGHT)]


@pytest.mark.parametrize("given", [None, "Hello.", [None, 5, {"role": 5, "content": 5, "tool_calls": 5}]])
def test_a_history_that_is_none_is_the_upstreams_to_refuse(wire: ModuleType, given: Any) -> None:
    name = "input" if wire is responses else "messages"
    replies = wire.says("", wire.call("read_file", WRONG)), wire.says("", wire.call("read_file", RIGHT))
    with upstream(*replies) as up, proxied(up.url) as url:
        asked = wire.asking(wire.tool()) | {name: given}
        answer = httpx2.post(url + wire.PATH, json=asked, timeout=60)
        assert wire.calls_in(answer.json()) == [("read_file", RIGHT)]
        assert wire.calls_in(httpx2.post(url + wire.PATH, json=asked, timeout=60).json()) == [("read_file", RIGHT)]
    assert up.asked[0].body == asked


def test_a_compressed_request_is_passed_on_with_a_warning(wire: ModuleType) -> None:
    content = gzip.compress(json.dumps(wire.asking(wire.tool())).encode())
    sent = wire.says("", wire.call("read_file", WRONG))
    with upstream(sent) as up, proxied(up.url) as url:
        answer = httpx2.post(url + wire.PATH, content=content, headers={"Content-Encoding": "gzip"}, timeout=60)
    assert (answer.content, up.asked[0].content) == (sent.parts[0], content)
    assert "gzip" in answer.headers["x-retrycontract-warning"]


def spoken(url: str, first: bytes, then: bytes = b"") -> bytes:
    """Speak bytes, and more once it may go on; gives everything that comes until the other side ends."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(first)
        content = b""
        while part := connection.recv(65_536):
            content += part
            if then and b"100 Continue" in content:
                connection.sendall(then)
                then = b""
    return content


@pytest.mark.parametrize("what", ["websocket", "h2c"])
@pytest.mark.parametrize("line", ["GET /v1/responses", "GET /v1/realtime?model=x", f"POST {chat.PATH}"])
def test_an_upgrade_is_refused_in_words(what: str, line: str) -> None:
    head = f"{line} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {what}\r\nContent-Length: 2\r\n\r\n{{}}"
    with upstream(chat.says("Hello.")) as up, proxied(up.url) as url:
        answer = spoken(url, head.encode())
    assert answer.startswith(b"HTTP/1.1 426 ")
    assert f"ask again without 'Upgrade: {what}'".encode() in answer
    assert up.asked == []


def test_an_upgrade_without_a_body_need_not_be_answered() -> None:
    head = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n\r\n"
    with upstream(chat.says("Hello.")) as up, proxied(up.url) as url:
        assert spoken(url, head).startswith(b"HTTP/1.1 200 ")
    assert (up.asked[0].target, "upgrade" in up.asked[0].headers) == ("/v1/models", False)


def test_what_a_client_expects_before_its_body_is_not_expected_of_the_upstream() -> None:
    content = json.dumps(chat.asking(chat.tool())).encode()
    head = f"POST {chat.PATH} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
    with upstream(chat.says("Hello.")) as up, proxied(up.url) as url:
        answer = spoken(url, f"{head}Content-Length: {len(content)}\r\n\r\n".encode(), content)
    assert b"HTTP/1.1 200 OK" in answer
    assert (up.asked[0].content, "expect" in up.asked[0].headers) == (content, False)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_a_request_without_a_body_is_passed_on_without_one(method: str) -> None:
    with upstream(Reply([b""], 204, {"X-Own": "1"})) as up, proxied(up.url) as url:
        answer = httpx2.request(method, f"{url}/v1/models", timeout=60)
    assert (answer.status_code, answer.headers["x-own"]) == (204, "1")
    assert up.asked[0].method == method
    assert not {"transfer-encoding", "content-length"} & set(up.asked[0].headers)


def test_a_head_of_many_and_long_lines_reaches_the_upstream() -> None:
    headers = {"X-Long": "a" * 40_000, **{f"X-{number}": "1" for number in range(100)}}
    with upstream(chat.says("Hello.")) as up, proxied(up.url) as url:
        assert httpx2.post(url + chat.PATH, json=chat.asking(chat.tool()), headers=headers, timeout=60).is_success
    assert {name.lower(): value for name, value in headers.items()}.items() <= up.asked[0].headers.items()


def thinking(answer: Any, signed: str) -> Reply:
    """Sign the thoughts of an answer, so that they differ from those of another one."""
    for entry in answer.get("content") or answer.get("output"):
        if "signature" in entry:
            entry["signature"] = signed
        if "encrypted_content" in entry:
            entry |= {"id": f"rs_{signed}", "encrypted_content": signed}
    return whole(answer)


def shape(entry: Any) -> str:
    return str(entry.get("signature") or entry.get("encrypted_content") or entry.get("input") or entry.get("arguments"))


def test_a_call_that_is_kept_comes_with_the_thoughts_it_came_of() -> None:
    """Providers sign thoughts, and refuse the next request where a call stands without them, or another's before it."""
    for wire, make, place in ((messages, messages.message, "content"), (responses, responses.response, "output")):
        right, wrong, mended = (
            wire.call("read_file", made, number) for number, made in enumerate((RIGHT, WRONG, {"path": "b.txt"}))
        )
        first, second = make(None, right, wrong, thinks=True), make(None, mended, thinks=True)
        with (
            upstream(thinking(deepcopy(first), "one"), thinking(deepcopy(second), "two")) as up,
            proxied(up.url) as url,
        ):
            body = json.loads(ask(wire, url, "whole", wire.tool()))
        made = [right["input"], mended["input"]] if wire is messages else [right["arguments"], mended["arguments"]]
        kept, new = map(str, made)
        wanted = ["one", "two", kept, new] if wire is messages else ["one", kept, "two", new]
        assert list(map(shape, body[place])) == wanted


def test_a_mended_call_begins_with_thoughts_where_the_api_wants_them() -> None:
    wrong, right = messages.call("read_file", WRONG), messages.call("read_file", RIGHT, 1)
    first = thinking(messages.message(None, wrong, thinks=True), "one")
    with upstream(first, messages.says(None, right)) as up, proxied(up.url) as url:
        body = json.loads(ask(messages, url, "whole", messages.tool()))
    assert list(map(shape, body["content"])) == ["one", str(RIGHT)]


def test_a_stream_brings_the_thoughts_of_the_call_that_was_mended() -> None:
    wrong, right = responses.call("read_file", WRONG), responses.call("read_file", RIGHT, 1)
    sent = [reply(responses, "streamed", None, each, thinks=True) for each in (wrong, right)]
    sent[1] = Reply([part.replace(b"rs_1", b"rs_2") for part in sent[1].parts], 200, sent[1].headers, sent[1].sized)
    with upstream(*sent) as up, proxied(up.url) as url:
        body = read(responses, "streamed", ask(responses, url, "streamed", responses.tool()))
    assert [entry["id"] for entry in body["output"]] == ["rs_1", "rs_2", "fc_1"]
