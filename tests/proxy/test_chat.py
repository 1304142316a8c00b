"""Chat completions through the proxy, not streamed: real sockets, a scripted upstream."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from retrycontract.contract.configuration import RetryConfiguration
from tests.proxy.chat import PATH, USAGE, asking, call, completion, says, tool
from tests.proxy.upstream import RIGHT, WRONG, Reply, proxied, upstream, whole

HEADERS = {"Authorization": "Bearer sk-upstream", "Accept": "application/json", "User-Agent": "agent/1"}


def post(url: str, body: Any, path: str = PATH, **headers: str) -> httpx2.Response:
    with httpx2.Client(timeout=30) as client:
        return client.post(url + path, json=body, headers={**HEADERS, **headers})


def told(asked: Any, name: str = "tool") -> list[str]:
    return [message["content"] for message in asked.body["messages"] if message["role"] == name]


def test_a_valid_call_is_the_upstreams_very_bytes() -> None:
    reply = says("Reading.", call("read_file", RIGHT))
    with upstream(reply) as up, proxied(up.url) as url:
        answer = post(url, asking(tool()))
    assert answer.content == reply.parts[0]
    assert answer.headers["x-retrycontract-outcome"] == "valid"
    assert answer.headers["x-retrycontract-attempts"] == "1"
    assert len(up.asked) == 1


def test_the_request_reaches_the_upstream_byte_for_byte_with_its_headers() -> None:
    content = json.dumps(asking(tool(), x_unknown={"a": [1, None]}), indent=3).encode()
    sent = HEADERS | {"Content-Type": "application/json", "OpenAI-Organization": "org-1", "X-RetryContract-Key": "rc_1"}
    with upstream(says(None, call("read_file", RIGHT))) as up, proxied(up.url) as url, httpx2.Client() as client:
        client.post(f"{url}{PATH}?beta=1&q=%2F", content=content, headers=sent)
    asked = up.asked[0]
    assert asked.content == content
    assert asked.target == f"{PATH}?beta=1&q=%2F"
    assert {name: asked.headers[name.lower()] for name in ("Authorization", "OpenAI-Organization", "User-Agent")} == {
        "Authorization": "Bearer sk-upstream", "OpenAI-Organization": "org-1", "User-Agent": "agent/1",
    }  # fmt: skip
    assert not [name for name in asked.headers if name.startswith("x-retrycontract")]
    assert asked.headers["host"] == f"127.0.0.1:{up.port}"


def test_an_empty_key_is_for_the_upstream_to_refuse() -> None:
    with upstream(says("No key.")) as up, proxied(up.url) as url:
        connection = HTTPConnection(urlsplit(url).netloc)
        connection.request("POST", PATH, json.dumps(asking(tool())), {"Authorization": "Bearer "})
        assert connection.getresponse().status == 200
        connection.close()
    assert up.asked[0].headers["authorization"] == "Bearer"


def test_a_wrong_call_goes_back_as_the_calls_result_and_the_client_sees_the_mended_one_only() -> None:
    replies = [says(None, call("read_file", WRONG)), says(None, call("read_file", RIGHT, 1))]
    with upstream(*replies) as up, proxied(up.url) as url:
        answer = post(url, asking(tool(), temperature=0))
    message = answer.json()["choices"][0]["message"]
    assert message["tool_calls"] == [call("read_file", RIGHT, 1)]
    assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"
    assert answer.headers["x-retrycontract-outcome"] == "repaired"
    assert answer.headers["x-retrycontract-attempts"] == "2"
    assert answer.headers["x-retrycontract-codes"] == "VAL-002"
    first, second = up.asked
    assert second.body["messages"][:2] == first.body["messages"]
    assert second.body["messages"][2]["tool_calls"] == [call("read_file", WRONG)]
    assert second.body["messages"][3]["tool_call_id"] == "call_0"
    assert "/path (VAL-002)" in told(second)[0]
    assert "attempt 1/3" in told(second)[0]
    assert second.body["temperature"] == 0
    assert second.headers["authorization"] == "Bearer sk-upstream"


def test_usage_of_all_answers_is_summed() -> None:
    with (
        upstream(says(None, call("read_file", WRONG)), says(None, call("read_file", RIGHT))) as up,
        proxied(up.url) as url,
    ):
        usage = post(url, asking(tool())).json()["usage"]
    assert usage == {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30,
                     "prompt_tokens_details": {"cached_tokens": 4}}  # fmt: skip


def test_only_the_wrong_one_of_parallel_calls_is_asked_for_again() -> None:
    first = says("Both.", call("read_file", RIGHT, 0), call("read_file", WRONG, 1), call("read_file", {"path": "c"}, 2))
    second = says(None, call("read_file", {"path": "b"}, 9))
    with upstream(first, second) as up, proxied(up.url) as url:
        answer = post(url, asking(tool()))
    paths = [json.loads(made["function"]["arguments"])["path"]
             for made in answer.json()["choices"][0]["message"]["tool_calls"]]  # fmt: skip
    assert paths == ["a.txt", "b", "c"]
    results = told(up.asked[1])
    assert len(results) == 3
    assert ["VAL-002" in text for text in results] == [False, True, False]
    assert "Do not send it again" in results[0]


def test_a_kept_call_that_is_sent_once_more_is_there_once() -> None:
    first = says(None, call("read_file", RIGHT, 0), call("read_file", WRONG, 1))
    second = says(None, call("read_file", RIGHT, 2), call("read_file", {"path": "b"}, 3))
    with upstream(first, second) as up, proxied(up.url) as url:
        calls = post(url, asking(tool())).json()["choices"][0]["message"]["tool_calls"]
    assert [made["id"] for made in calls] == ["call_0", "call_3"]


def test_after_three_wrong_calls_the_client_is_told_in_words_and_no_call_arrives() -> None:
    with upstream(says(None, call("read_file", WRONG))) as up, proxied(up.url) as url:
        answer = post(url, asking(tool()))
    choice = answer.json()["choices"][0]
    assert "tool_calls" not in choice["message"]
    assert choice["finish_reason"] == "stop"
    assert "read_file" in choice["message"]["content"]
    assert "VAL-002 at /path" in choice["message"]["content"]
    assert answer.headers["x-retrycontract-outcome"] == "blocked"
    assert len(up.asked) == 3


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_the_budget_is_that_of_the_configuration(attempts: int) -> None:
    configuration = RetryConfiguration(max_attempts=attempts)
    with upstream(says(None, call("read_file", WRONG))) as up, proxied(up.url, configuration=configuration) as url:
        post(url, asking(tool()))
    assert len(up.asked) == attempts


def test_observing_changes_nothing_and_says_what_it_saw() -> None:
    reply = says("Hm.", call("read_file", WRONG))
    with upstream(reply) as up, proxied(up.url, mode="observe") as url:
        answer = post(url, asking(tool()))
        assert answer.content == reply.parts[0]
        assert answer.headers["x-retrycontract-outcome"] == "observed"
        assert answer.headers["x-retrycontract-codes"] == "VAL-002"
        counted = httpx2.get(f"{url}/retrycontract").json()
    assert len(up.asked) == 1
    assert counted == {
        "mode": "observe",
        "rescued": [],
        "outcomes": [{"model": "m-1", "outcome": "observed", "count": 1}],
    }


def test_one_tool_is_enforced_while_others_are_observed() -> None:
    configuration = RetryConfiguration(overrides=(("write_*", {"mode": "enforce"}),))
    both = asking(tool(), tool("write_file"))
    mended = says(None, call("write_file", RIGHT))
    for name, asked in (("read_file", 1), ("write_file", 2)):
        with (
            upstream(says(None, call(name, WRONG)), mended) as up,
            proxied(up.url, mode="observe", configuration=configuration) as url,
        ):
            post(url, both)
        assert len(up.asked) == asked


def test_models_beyond_those_that_are_counted_apart_share_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrycontract.proxy.app.MAX_MODELS", 2)
    with upstream(says(None, call("read_file", RIGHT))) as up, proxied(up.url) as url:
        for model in ("a", "b", "c", "d", "a"):
            post(url, asking(tool()) | {"model": model})
        counted = httpx2.get(f"{url}/retrycontract").json()["outcomes"]
    assert {row["model"]: row["count"] for row in counted} == {"": 2, "a": 2, "b": 1}


@pytest.mark.parametrize("text", ["It is sunny.", "", "I cannot do that.", '{"path": 7}'])
def test_text_where_a_tool_is_optional_is_an_answer(text: str) -> None:
    reply = says(text)
    with upstream(reply) as up, proxied(up.url) as url:
        answer = post(url, asking(tool(), tool_choice="auto"))
    assert answer.content == reply.parts[0]
    assert answer.headers["x-retrycontract-outcome"] == "none"
    assert len(up.asked) == 1


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "read_file"}}], ids=["required", "named"]
)
def test_a_demanded_call_is_held_to(choice: Any) -> None:
    with upstream(says("I would read it."), says(None, call("read_file", RIGHT))) as up, proxied(up.url) as url:
        answer = post(url, asking(tool(), tool_choice=choice))
    assert answer.json()["choices"][0]["message"]["tool_calls"] == [call("read_file", RIGHT)]
    assert up.asked[1].body["messages"][-2] == {"role": "assistant", "content": "I would read it."}
    assert "'read_file' is demanded here" in told(up.asked[1], "user")[-1]
    assert up.asked[1].body["tool_choice"] == choice


def test_a_demanded_tool_is_not_replaced_by_another() -> None:
    choice = {"type": "function", "function": {"name": "read_file"}}
    replies = says(None, call("write_file", RIGHT)), says(None, call("read_file", RIGHT, 1))
    with upstream(*replies) as up, proxied(up.url) as url:
        answer = post(url, asking(tool(), tool("write_file"), tool_choice=choice))
    assert answer.json()["choices"][0]["message"]["tool_calls"] == [call("read_file", RIGHT, 1)]
    assert "is demanded here" in told(up.asked[1])[0]


def test_a_tool_that_the_request_does_not_declare_is_a_mistake() -> None:
    with (
        upstream(says(None, call("read_fil", RIGHT)), says(None, call("read_file", RIGHT))) as up,
        proxied(up.url) as url,
    ):
        answer = post(url, asking(tool()))
    assert answer.headers["x-retrycontract-outcome"] == "repaired"
    assert "'read_file'" in told(up.asked[1])[0]


def test_a_call_without_arguments_may_come_as_an_empty_text() -> None:
    reply = says(None, call("now", ""))
    with upstream(reply) as up, proxied(up.url) as url:
        answer = post(url, asking(tool("now", {"type": "object", "properties": {}})))
    assert answer.content == reply.parts[0]


INVOICE = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "invoice", "schema": INVOICE, "strict": True}}


@pytest.mark.parametrize("wrong", ['{"total": "five"}', "The total is 5.", '```json\n{"total": 5}\n```', '{"total": 5'])
def test_structured_output_is_held_to_its_schema(wrong: str) -> None:
    with upstream(says(wrong), says('{"total": 5}')) as up, proxied(up.url) as url:
        answer = post(url, asking(response_format=FORMAT))
    assert answer.json()["choices"][0]["message"]["content"] == '{"total": 5}'
    assert answer.headers["x-retrycontract-outcome"] == "repaired"
    assert up.asked[1].body["messages"][-2] == {"role": "assistant", "content": wrong}
    assert "invoice" in told(up.asked[1], "user")[-1]


def test_right_structured_output_and_a_refusal_are_left_alone() -> None:
    refused = completion(None)
    refused["choices"][0]["message"]["refusal"] = "I cannot help with that."
    for reply in (says('{"total": 5}'), whole(refused), says('{"total": "x"}', finish="content_filter")):
        content = reply.parts[0]
        with upstream(reply) as up, proxied(up.url) as url:
            assert post(url, asking(response_format=FORMAT)).content == content
        assert len(up.asked) == 1


def test_a_broken_schema_is_passed_through_with_a_warning_or_refused() -> None:
    broken = tool("broken", {"type": "objekt"})
    reply = says(None, call("broken", WRONG))
    with upstream(reply) as up:
        with proxied(up.url) as url:
            answer = post(url, asking(broken))
            streamed = post(url, asking(broken, stream=True))
        assert answer.content == reply.parts[0]
        assert "broken" in answer.headers["x-retrycontract-warning"]
        assert "broken" in streamed.headers["x-retrycontract-warning"], "it is known before the first byte"
        with proxied(up.url, refuses_broken_schemas=True) as url:
            refused = post(url, asking(broken))
    assert refused.status_code == 400
    assert "broken: /type" in refused.json()["error"]["message"]
    assert len(up.asked) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_of_the_upstreams_arrives_as_it_was_sent(status: int) -> None:
    error = {"error": {"message": "no", "type": "t", "code": "c", "param": None}}
    reply = whole(error, status, **{"Retry-After": "7", "x-request-id": "req_1", "x-ratelimit-remaining-tokens": "0"})
    with upstream(reply) as up, proxied(up.url) as url:
        answer = post(url, asking(tool()))
    assert (answer.status_code, answer.content) == (status, reply.parts[0])
    assert {answer.headers["retry-after"], answer.headers["x-request-id"]} == {"7", "req_1"}
    assert len(up.asked) == 1


def test_an_upstream_that_is_busy_while_it_mends_is_asked_again_and_costs_a_try() -> None:
    busy = whole({"error": {"message": "slow down"}}, 429, **{"Retry-After": "0"})
    with (
        upstream(says(None, call("read_file", WRONG)), busy, says(None, call("read_file", RIGHT))) as up,
        proxied(up.url) as url,
    ):
        answer = post(url, asking(tool()))
    assert answer.headers["x-retrycontract-outcome"] == "repaired"
    assert len(up.asked) == 3
    assert up.asked[1].content == up.asked[2].content


@pytest.mark.parametrize(("status", "asked"), [(429, 3), (401, 2)])
def test_an_upstream_that_stays_away_while_it_mends_has_the_last_word(status: int, asked: int) -> None:
    error = whole({"error": {"message": "no"}}, status, **{"Retry-After": "0"})
    with upstream(says(None, call("read_file", WRONG)), error) as up, proxied(up.url) as url:
        answer = post(url, asking(tool()))
    assert (answer.status_code, answer.content) == (status, error.parts[0])
    assert len(up.asked) == asked


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/models"), ("POST", "/v1/embeddings"), ("DELETE", "/v1/files/f-1"),
                         ("PUT", "/anything?x=1"), ("GET", "/v1/chat/completions/1")],
)  # fmt: skip
def test_every_other_path_is_passed_through_untouched(method: str, path: str) -> None:
    body = b"\x00\xff raw"
    reply = Reply(
        [b"\x1f\x8b raw answer"], 203, {"Content-Type": "application/x", "X-Own": "1", "Content-Encoding": "x"}
    )
    with upstream(reply) as up, proxied(up.url) as url, httpx2.Client() as client:
        request = client.build_request(method, url + path, content=body, headers={"Content-Type": "application/y"})
        answer = client.send(request, stream=True)
        content = b"".join(answer.iter_raw())
    assert (answer.status_code, content) == (203, reply.parts[0])
    assert (answer.headers["x-own"], answer.headers["content-encoding"]) == ("1", "x")
    assert (up.asked[0].method, up.asked[0].target, up.asked[0].content) == (method, path, body)


@pytest.mark.parametrize(
    "content", [b"not json", b"[]", b'{"model": "m"}', b'{"model": "m", "tools": [7], "messages": []}', b""]
)
def test_a_request_without_a_contract_is_the_upstreams_to_answer(content: bytes) -> None:
    reply = whole({"error": {"message": "bad"}}, 400)
    with upstream(reply) as up, proxied(up.url) as url, httpx2.Client() as client:
        answer = client.post(url + PATH, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.content, up.asked[0].content) == (400, reply.parts[0], content)


@pytest.mark.parametrize(
    "content", [b"garbage", b"[]", b'{"choices": []}', b'{"choices": [{"message": 7}]}', b"", b'{"a":' + b"[" * 5_000],
    ids=lambda content: content[:20],
)  # fmt: skip
def test_an_answer_that_is_none_arrives_as_it_came_where_it_can_hold_no_call(content: bytes) -> None:
    for mode in ("observe", "enforce"):
        with upstream(Reply([content])) as up, proxied(up.url, mode=mode) as url:
            answer = post(url, asking(tool()))
        if mode == "enforce" and b"{" in content:
            assert (answer.status_code, "the upstream's answer" in answer.json()["error"]["message"]) == (502, True)
            continue
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["x-retrycontract-outcome"] == "unchecked"


def test_an_upstream_that_cannot_be_reached_is_a_bad_gateway() -> None:
    with proxied("http://127.0.0.1:9") as url:
        for path in (PATH, "/v1/models"):
            answer = post(url, asking(tool()), path)
            assert answer.status_code == 502
            assert "cannot be reached" in answer.json()["error"]["message"]


def test_several_choices_are_the_clients_to_choose_from() -> None:
    body = completion(None, call("read_file", WRONG))
    body["choices"].append({**body["choices"][0], "index": 1})
    with upstream(whole(body)) as up, proxied(up.url, mode="observe") as url:
        assert post(url, asking(tool(), n=2)).json() == body
    assert len(up.asked) == 1


def test_sizes_are_bounded() -> None:
    with (
        upstream(says(None, call("read_file", {"path": "x" * 20_000}))) as up,
        proxied(up.url, max_request=30_000, max_answer=10_000) as url,
    ):
        too_large = post(url, asking(tool(), text="y" * 40_000))
        assert (too_large.status_code, up.asked) == (413, [])
        answer = post(url, asking(tool()))
        assert answer.status_code == 502
        assert "too large" in answer.json()["error"]["message"]
    with (
        upstream(says(None, call("read_file", {"path": "x" * 20_000}))) as up,
        proxied(up.url, mode="observe", max_answer=10_000) as url,
    ):
        assert post(url, asking(tool())).headers["x-retrycontract-outcome"] == "unchecked"


def test_a_call_that_is_withdrawn_leaves_the_text_as_the_answer() -> None:
    with (
        upstream(says(None, call("read_file", WRONG)), says("There is no such file.")) as up,
        proxied(up.url) as url,
    ):
        answer = post(url, asking(tool()))
    message = answer.json()["choices"][0]["message"]
    assert message["content"] == "There is no such file."
    assert "tool_calls" not in message
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert USAGE["prompt_tokens"] * 2 == answer.json()["usage"]["prompt_tokens"]
