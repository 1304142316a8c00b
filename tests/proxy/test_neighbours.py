"""What stands beside the contract in real requests and answers: none of it is lost, judged or mended."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from types import ModuleType
from typing import Any

import httpx2
import pytest

from retrycontract.mcp.events import EventSplitter, data_of
from tests.proxy import chat, messages, responses
from tests.proxy.test_wires import read, reply
from tests.proxy.upstream import READ_FILE, RIGHT, WRONG, Reply, proxied, streamed, upstream, whole

TOOL = {"type": "custom", "custom": {"name": "code", "description": "d"}}
CUSTOM = {"id": "call_c", "type": "custom", "custom": {"name": "code", "input": "print(1)\nprint(2)"}}
FREEFORM = {"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_c", "name": "code",
            "input": "print(1)"}  # fmt: skip
BASH = {"type": "bash_20250124", "name": "bash"}


def post(wire: ModuleType, url: str, body: Any, **headers: str) -> httpx2.Response:
    return httpx2.post(url + wire.PATH, json=body, headers=headers, timeout=60)


def encoded(content: bytes, coding: str, **headers: str) -> Reply:
    return Reply([content], 200, {"Content-Type": "application/json", "Content-Encoding": coding, **headers})


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br"])
def test_an_answer_in_a_coding_that_nobody_asked_for_arrives_as_it_came(mode: str, kind: str, coding: str) -> None:
    content = b"\x0b\x02\x80 compressed"
    with upstream(encoded(content, coding, **{"Content-Type": kind})) as up, proxied(up.url, mode=mode) as url:
        request = httpx2.Request("POST", url + chat.PATH, json=chat.asking(chat.tool()))
        with httpx2.Client() as client:
            answer = client.send(request, stream=True)
            arrived = b"".join(answer.iter_raw())
    if mode == "enforce":  # nobody knows what is in it
        assert (answer.status_code, coding in json.loads(arrived)["error"]["message"]) == (502, True)
        return
    assert (arrived, answer.headers["content-encoding"]) == (content, coding)
    assert answer.headers["x-retrycontract-outcome"] == "unchecked"
    assert up.asked[0].headers["accept-encoding"] == "identity"


def test_an_answer_that_is_zipped_all_the_same_is_judged() -> None:
    wrong = gzip.compress(json.dumps(chat.completion(None, chat.call("read_file", WRONG))).encode())
    with (
        upstream(encoded(wrong, "gzip"), chat.says(None, chat.call("read_file", RIGHT))) as up,
        proxied(up.url) as url,
    ):
        answer = post(chat, url, chat.asking(chat.tool()))
    assert chat.calls_in(answer.json()) == [("read_file", RIGHT)]
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("base", "told", "arrives"),
    [
        ("", "/v1/moved", "/v1/moved"),
        ("", "{up}/v1/moved?a=%20b", "/v1/moved?a=%20b"),
        ("/api", "/api/v1/moved", "/v1/moved"),
        ("/v1", "{up}/v1/moved", "/moved"),
        ("", "https://elsewhere.example/v1/moved", "https://elsewhere.example/v1/moved"),
        ("/api", "/other", "/other"),
    ],
)
def test_a_redirect_to_the_upstream_itself_leads_through_the_proxy(base: str, told: str, arrives: str) -> None:
    def script(_asked: Any) -> Reply:
        return Reply([b"moved"], 307, {"Location": told.format(up=up.url)})

    with upstream(script=script) as up, proxied(up.url + base) as url:
        answer = httpx2.post(url + chat.PATH, json=chat.asking(chat.tool()), timeout=60)
        assert (answer.status_code, answer.content, answer.headers["location"]) == (307, b"moved", arrives)
        assert httpx2.get(f"{url}/v1/models", timeout=60).headers["location"] == arrives


@pytest.mark.parametrize("path", [chat.PATH, "/v1/models"])
def test_the_headers_of_an_answer_are_the_upstreams_and_ours_alone(path: str) -> None:
    with upstream(chat.says("Hello.")) as up, proxied(up.url) as url:
        answer = httpx2.post(url + path, json=chat.asking(chat.tool()), timeout=60)
    ours = {name for name in answer.headers if name.startswith("x-retrycontract-")}
    assert set(answer.headers) - ours == {"content-type", "content-length"}


def test_an_upstream_that_speaks_http_1_0_is_understood() -> None:
    body = json.dumps(chat.completion(None, chat.call("read_file", RIGHT))).encode()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_once() -> None:
            connection, _ = listening.accept()
            with connection:
                # To close with something unread would reset the connection before the answer is read.
                asked = connection.makefile("rb")
                sizes = [
                    int(line[15:])
                    for line in iter(asked.readline, b"\r\n")
                    if line.lower().startswith(b"content-length")
                ]
                asked.read(sum(sizes))
                connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)

        thread = threading.Thread(target=answer_once)
        thread.start()
        with proxied(f"http://127.0.0.1:{listening.getsockname()[1]}") as url:
            answer = post(chat, url, chat.asking(chat.tool()))
        thread.join()
    assert (answer.content, answer.headers["x-retrycontract-outcome"]) == (body, "valid")


def custom_chunks() -> bytes:
    """Stream a call of a custom tool, and behind it a wrong one of a function."""
    start = {"index": 0, "id": "call_c", "type": "custom", "custom": {"name": "code", "input": ""}}
    parts = [start, *({"index": 0, "custom": {"input": text}} for text in ("print(1)", "\nprint(2)"))]
    said = [{"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}]}
            for part in parts]  # fmt: skip
    custom = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in said)
    return custom + chat.chunks(None, chat.call("read_file", WRONG)).replace(b'"index": 0, "id": "call_0"',
                                                                           b'"index": 1, "id": "call_0"')  # fmt: skip


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_custom_tool_has_no_schema_and_its_call_is_kept_beside_one_that_is_mended(way: str) -> None:
    both = chat.says(None, CUSTOM, chat.call("read_file", WRONG))
    content = custom_chunks().replace(b'{"index": 0, "function"', b'{"index": 1, "function"')
    first = both if way == "whole" else Reply([content], 200, {"Content-Type": "text/event-stream"}, sized=False)
    right = reply(chat, way, None, chat.call("read_file", RIGHT, 7))
    options = {"stream": True} if way == "streamed" else {}
    with upstream(first, right) as up, proxied(up.url) as url:
        answer = post(chat, url, chat.asking(chat.tool(), TOOL, **options)).content
    again = up.asked[1].body["messages"]
    assert again[2]["tool_calls"][0] == CUSTOM
    assert [message["tool_call_id"] for message in again[3:]] == ["call_c", "call_0"]
    if way == "whole":
        made = json.loads(answer)["choices"][0]["message"]["tool_calls"]
        assert made == [CUSTOM, chat.call("read_file", RIGHT, 7)]
    else:
        assert b'"custom": {"name": "code", "input": ""}' in answer
        assert json.dumps(CUSTOM["custom"]["input"]).encode() in answer
        assert b"call_7" in answer


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_freeform_call_of_a_response_is_kept_beside_one_that_is_mended(way: str) -> None:
    first = responses.says("", FREEFORM, responses.call("read_file", WRONG))
    replies = first, responses.says("", responses.call("read_file", RIGHT, 7))
    asked = responses.asking(responses.tool(), {"type": "custom", "name": "code"})
    with upstream(*replies) as up, proxied(up.url) as url:
        body = post(responses, url, asked).json()
    assert [item["call_id"] for item in body["output"]] == ["call_c", "call_7"]
    assert body["output"][0] == FREEFORM
    told = up.asked[1].body["input"][-2:]
    assert [item["type"] for item in told] == ["custom_tool_call_output", "function_call_output"]


def test_the_providers_own_tools_are_called_without_a_schema() -> None:
    for wire, tool, call in (
        (messages, BASH, messages.call("bash", {"command": "ls"})),
        (chat, TOOL, CUSTOM),
        (responses, {"type": "custom", "name": "code"}, FREEFORM),
        (responses, {"type": "namespace", "name": "crm", "tools": [responses.tool("find")]},
         responses.call("find", {"q": 1})),
    ):  # fmt: skip
        for choice in ({}, wire.demanding()):
            sent = wire.says("", call)
            with upstream(sent) as up, proxied(up.url) as url:
                assert post(wire, url, wire.asking(wire.tool(), tool, **choice)).content == sent.parts[0]
            assert len(up.asked) == 1


@pytest.mark.parametrize("kind", ["computer_call", "local_shell_call", "shell_call", "apply_patch_call"])
def test_what_comes_with_a_call_of_the_providers_own_that_the_client_runs_is_judged_and_never_mended(kind: str) -> None:
    own = {"id": "own_1", "type": kind, "call_id": "call_o", "status": "completed"}
    for made, status in ((RIGHT, 200), (WRONG, 502)):
        sent = responses.says("", own, responses.call("read_file", made))
        with upstream(sent) as up, proxied(up.url) as url:
            answer = post(responses, url, responses.asking(responses.tool()))
        assert (answer.status_code, answer.content == sent.parts[0], len(up.asked)) == (status, made == RIGHT, 1)


def test_what_the_providers_servers_have_run_goes_back_with_the_wrong_call() -> None:
    used = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    replies = (
        messages.says("", used, found, messages.call("read_file", WRONG), thinks=True),
        messages.says("", messages.call("read_file", RIGHT)),
    )
    search = {"type": "web_search_20250305", "name": "web_search"}
    with upstream(*replies) as up, proxied(up.url) as url:
        body = post(messages, url, messages.asking(messages.tool(), search)).json()
    assert messages.calls_in(body) == [("read_file", RIGHT)]
    assert up.asked[1].body["messages"][1]["content"][:3] == [messages.THOUGHT, used, found]


def older(name: str, arguments: Any, way: str) -> Reply:
    """Answer as `functions` are answered: one call without an id."""
    made = {"name": name, "arguments": json.dumps(arguments)}
    if way == "whole":
        body = chat.completion(None, finish="function_call")
        body["choices"][0]["message"]["function_call"] = made
        return whole(body)
    parts = [made | {"arguments": ""}, *({"arguments": each} for each in made["arguments"])]
    said = [{"id": "x", "choices": [{"index": 0, "delta": {"function_call": part}, "finish_reason": None}]}
            for part in parts]  # fmt: skip
    said.append({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "function_call"}]})
    return streamed(b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in said) + b"data: [DONE]\n\n")


def older_call_in(content: bytes, way: str) -> Any:
    """Give the call that a client of `functions` reads, and why the answer ended."""
    if way == "whole":
        choice = json.loads(content)["choices"][0]
        assert "tool_calls" not in choice["message"]
        return choice["message"].get("function_call"), choice["finish_reason"]
    made, finish = {"name": "", "arguments": ""}, None
    for event in EventSplitter().feed(content):
        data = data_of(event) or b"[DONE]"
        for choice in json.loads(data)["choices"] if data != b"[DONE]" else ():
            finish = choice["finish_reason"] or finish
            for name, text in (choice["delta"].get("function_call") or {}).items():
                made[name] += text
    return made if made["name"] else None, finish


FUNCTION = {"name": "read_file", "parameters": READ_FILE}


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_functions_of_the_older_kind_are_judged(way: str) -> None:
    options: Any = {"functions": [FUNCTION], "function_call": "auto", "stream": way == "streamed"}
    right, wrong = older("read_file", RIGHT, way), older("read_file", WRONG, way)
    with upstream(right, wrong, right, wrong) as up, proxied(up.url) as url:
        assert post(chat, url, chat.asking(**options)).content == b"".join(right.parts)
        mended = post(chat, url, chat.asking(**options)).content
        blocked = post(chat, url, chat.asking(**options)).content
    assert older_call_in(mended, way) == ({"name": "read_file", "arguments": json.dumps(RIGHT)}, "function_call")
    assert older_call_in(blocked, way) == (None, "stop")
    made, told = up.asked[2].body["messages"][-2:]
    assert made["function_call"] == {"name": "read_file", "arguments": json.dumps(WRONG)}
    assert (told["role"], told["name"]) == ("function", "read_file")
    assert "/path (VAL-002)" in told["content"]


def test_functions_of_the_older_kind_are_demanded_and_repeated() -> None:
    asked = chat.asking(functions=[FUNCTION], function_call={"name": "read_file"})
    with upstream(chat.says("No."), older("read_file", RIGHT, "whole")) as up, proxied(up.url) as url:
        content = post(chat, url, asked).content
        assert older_call_in(content, "whole")[0] == {"name": "read_file", "arguments": json.dumps(RIGHT)}
        again = json.loads(content)["choices"][0]["message"]
        asked["messages"] += [again, {"role": "function", "name": "read_file", "content": "a"}] * 2
        answer = post(chat, url, asked)
    assert answer.headers["x-retrycontract-repeated"] == "read_file"
    assert up.asked[1].body["messages"][-1]["role"] == "user"


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_whatever_else_a_request_holds_reaches_the_upstream_again_when_it_is_asked_again() -> None:
    said = [{"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Read it."}, PICTURE]}]  # fmt: skip
    asked = chat.asking(
        chat.tool(), messages=said, parallel_tool_calls=False, seed=7, metadata={"a": "b"}, service_tier="flex",
        reasoning_effort="low", x_unknown={"kept": [1, None]},
    )  # fmt: skip
    asked["tools"][0]["function"]["strict"] = True
    with (
        upstream(chat.says(None, chat.call("read_file", WRONG)), chat.says(None, chat.call("read_file", RIGHT))) as up,
        proxied(up.url) as url,
    ):
        post(chat, url, asked)
    again = up.asked[1].body
    assert again["messages"][:2] == said
    assert {name: again[name] for name in asked if name != "messages"} == {
        name: asked[name] for name in asked if name != "messages"
    }
    cached = messages.asking({**messages.tool(), "cache_control": {"type": "ephemeral"}})
    cached["system"] = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    wrong, right = (messages.says("", messages.call("read_file", made)) for made in (WRONG, RIGHT))
    with upstream(wrong, right) as up, proxied(up.url) as url:
        post(messages, url, cached)
    assert (up.asked[1].body["system"], up.asked[1].body["tools"]) == (cached["system"], cached["tools"])


@pytest.mark.parametrize("usage", [True, False])
def test_usage_comes_in_a_stream_only_where_it_was_asked_for(usage: bool) -> None:
    replies = [reply(chat, "streamed", None, chat.call("read_file", made), usage=usage) for made in (WRONG, RIGHT)]
    with upstream(*replies) as up, proxied(up.url) as url:
        content = post(chat, url, chat.asking(chat.tool(), stream=True)).content
    assert (b'"usage": {' in content) == usage
    assert chat.calls_in(read(chat, "streamed", content)) == [("read_file", RIGHT)]


ODD = {
    "a slip": lambda good: {**good, "name": "other", "paramters": {}},
    "no name": lambda good: {name: good[name] for name in good if name != "name"},
    "an empty name": lambda good: {**good, "name": ""},
    "a long name": lambda good: {**good, "name": "o" * 301},
    "a name of two lines": lambda good: {**good, "name": "a\nb"},
    "a name that is none": lambda good: {**good, "name": 7},
    "two schemas": lambda good: {**good, "name": "other", "schema": {"type": "string"}},
    "the name of a right one": lambda good: {**good, "paramters": {}},
}


@pytest.mark.parametrize("how", ODD)
@pytest.mark.parametrize("wire", [chat, messages, responses])
def test_a_tool_that_cannot_be_read_leaves_the_others_judged(wire: ModuleType, how: str) -> None:
    made = wire.tool()
    odd = {**made, "function": ODD[how](made["function"])} if wire is chat else ODD[how](made)
    body = wire.asking(made, odd)
    with upstream(wire.says("", wire.call("read_file", {"path": 7}))) as up:
        with proxied(up.url) as url:
            answer = httpx2.post(url + wire.PATH, json=body, timeout=60)
        assert (answer.headers["x-retrycontract-outcome"], wire.calls_in(answer.json())) == ("blocked", [])
        assert "x-retrycontract-warning" in answer.headers
        assert len(up.asked) == 3
        with proxied(up.url, refuses_broken_schemas=True) as url:
            for tools in ([made, odd], [odd]):
                assert httpx2.post(url + wire.PATH, json=body | {"tools": tools}, timeout=60).status_code == 400
        assert len(up.asked) == 3
        with proxied(up.url) as url:
            answer = httpx2.post(url + wire.PATH, json=body | {"tools": [odd]}, timeout=60)
    assert wire.calls_in(answer.json()) == [("read_file", {"path": 7})]
    assert "x-retrycontract-warning" in answer.headers


def test_a_tool_that_is_named_twice_is_judged_by_one_of_its_schemas_and_passed_on() -> None:
    other = chat.tool(schema={"type": "object", "properties": {"path": {"type": "string"}}})
    with upstream(chat.says(None, chat.call("read_file", RIGHT))) as up, proxied(up.url) as url:
        answer = post(chat, url, chat.asking(chat.tool(), other))
    assert answer.headers["x-retrycontract-outcome"] == "valid"
    assert len(up.asked[0].body["tools"]) == 2


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_call_that_never_arrived_is_answered_before_its_response_goes_on(way: str) -> None:
    wrong, said = reply(responses, way, "", responses.call("read_file", WRONG, 7)), reply(responses, way, "Hello.")
    options = {"stream": True} if way == "streamed" else {}
    with upstream(*[wrong] * 3, said) as up, proxied(up.url) as url:
        body = read(responses, way, post(responses, url, responses.asking(responses.tool(), **options)).content)
        asked = responses.asking(question="Go on.", previous_response_id=body["id"], **options)
        post(responses, url, asked, Authorization="Bearer of-somebody-else")
        post(responses, url, asked)
    assert up.asked[3].body == asked
    told = {"type": "function_call_output", "call_id": "call_7", "output": "Nothing of it was executed."}
    assert up.asked[4].body == asked | {"input": [told, {"role": "user", "content": "Go on."}]}
