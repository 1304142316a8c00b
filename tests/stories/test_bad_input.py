"""Bad input gets a clear answer: no 5xx, no traceback, no network request, nothing echoed."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Corpus
from tests.serving.service import AgentClient, Answer, Service

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer", "maximum": 10}},
    "required": ["path"],
}
MARKER = "do-not-echo-4711"


@pytest.fixture(scope="module")
def agent(service: Service) -> AgentClient:
    client = AgentClient(service, service.new_key("bad input"))
    assert client.register("read_file", SCHEMA).status == 201
    return client


class Listener:
    """A server that counts who connects."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.socket.close()


def is_problem(answer: Answer, status: int, code: str) -> None:
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.body["code"] == code, answer.body
    assert answer.body["detail"]
    assert MARKER not in answer.text


def raw(agent: AgentClient, text: str) -> Any:
    return agent.submit("read_file", f"c-{time.monotonic_ns()}", raw=text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"path": "a"', "cut off"),
        ("path = a", "Invalid JSON"),
        ("", "empty"),
        ('{"path": "a", "count": NaN}', "NaN"),
        ('{"path": "a", "count": Infinity}', "Infinity"),
        ('{"path": "\\ud800"}', "surrogate"),
        ('{"path": "a", "path": "b"}', "twice"),
        ("[" * 10_000, "deeper"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "deeper"),
        ('```json\n{"path": "a"}\n```', "fence"),
        ('{"path": "a"} Hope this helps!', "follows"),
    ],
)
def test_text_that_is_no_json_becomes_a_verdict_that_names_the_fault(agent: AgentClient, text: str, word: str) -> None:
    verdict = raw(agent, text)
    assert verdict["status"] == "retry"
    assert [error["error_code"] for error in verdict["errors"]] == ["VAL-004"]
    assert word in verdict["tool_result"]["content"]


def test_a_number_too_large_to_be_carried_is_named_beside_what_else_is_wrong(agent: AgentClient) -> None:
    verdict = raw(agent, '{"count": 1' + "0" * 5000 + "}")
    told = [(error["field_path"], error["error_code"]) for error in verdict["errors"]]
    assert (verdict["status"], told) == ("retry", [("/count", "VAL-011"), ("/count", "VAL-011"), ("/path", "VAL-001")])
    assert "too large to be represented" in verdict["tool_result"]["content"]


def test_numbers_and_surrogates_inside_parsed_arguments_are_the_models_mistake(agent: AgentClient) -> None:
    for arguments in ('{"path":"a","count":NaN}', '{"path":"\\ud800"}', '{"path":"a","path":"b"}'):
        body = b'{"tool":"read_file","tool_call_id":"x1","arguments":' + arguments.encode() + b"}"
        answer = agent.send("POST", "/calls", body)
        assert answer.status == 200, answer.text
        assert answer.body["errors"][0]["error_code"] == "VAL-004"


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 10_000, b"\xff\xfe", b'{"tool": NaN}', b'{"tool":"a"} x', b"null"])
def test_a_body_that_is_no_json_is_refused(agent: AgentClient, body: bytes) -> None:
    answer = agent.send("POST", "/calls", body)
    assert answer.status in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_of_five_megabytes_is_refused_by_its_size(agent: AgentClient) -> None:
    body = json.dumps({"tool": "read_file", "tool_call_id": "big", "raw": "x" * 5_000_000}).encode()
    is_problem(agent.send("POST", "/calls", body), 413, "body-too-large")


def test_a_megabyte_of_arguments_is_judged(agent: AgentClient) -> None:
    verdict = agent.submit("read_file", "mb", {"path": "a", "count": 11, "blob": "x" * 1_000_000})
    assert verdict["status"] == "retry"
    assert {error["field_path"] for error in verdict["errors"]} == {"/count", "/blob"}
    assert len(verdict["tool_result"]["content"]) <= 2000


def test_a_pattern_that_would_backtrack_for_ever_is_refused_or_linear(agent: AgentClient) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    registered = agent.register("evil", schema)
    assert registered.status in (200, 201, 422)
    if registered.status != 422:
        started = time.monotonic()
        verdict = agent.submit("evil", "e", {"a": "a" * 50_000 + "!"})
        assert verdict["errors"][0]["error_code"] == "VAL-007"
        assert time.monotonic() - started < 20, "not a speed test: backtracking would take years"


@pytest.mark.parametrize("pattern", ["(?=a)b", "(a)\\1", "(?<!x)y"])
def test_a_pattern_that_needs_backtracking_is_admitted_with_a_warning(agent: AgentClient, pattern: str) -> None:
    answer = agent.register("back", {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}})
    assert answer.status in (200, 201), answer.body
    assert [warning["pointer"] for warning in answer.body["warnings"]] == ["/properties/a/pattern"]
    assert agent.submit("back", "b", {"a": "none"})["errors"][0]["error_code"] == "VAL-007"


def test_a_pattern_that_backtracks_for_ever_is_cut_off_and_said(agent: AgentClient) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)(a|a|b)+$|^(?!y)(a|a|b)+$"}}}
    assert agent.register("endless", schema).status in (200, 201)
    verdict = agent.submit("endless", "e", {"a": "ab" * 40 + "!"})
    assert verdict["status"] == "retry"
    assert verdict["errors"]
    assert agent.submit("endless", "f", {"a": "abab"})["status"] == "valid"


def test_a_remote_reference_is_refused_and_nothing_is_fetched(agent: AgentClient, listener: Listener) -> None:
    for keyword in ("$ref", "$dynamicRef"):
        schema = {"type": "object", "properties": {"a": {keyword: f"http://127.0.0.1:{listener.port}/s.json"}}}
        is_problem(agent.register("remote", schema), 422, "invalid-schema")
        assert agent.send("POST", "/check", {"input_schema": schema, "arguments": {"a": 1}}).status == 422
    for address in (f"http://127.0.0.1:{listener.port}/draft", "file:///etc/passwd"):
        is_problem(agent.register("remote", {"$schema": address, "type": "object"}), 422, "invalid-schema")
    time.sleep(0.2)
    assert listener.connections == 0


def test_an_unknown_tool_is_answered_with_the_nearest_name(agent: AgentClient) -> None:
    verdict = agent.submit("raed_file", "u1", {"path": "a"})
    assert verdict["status"] == "retry"
    assert verdict["tool_result"]["is_error"] is True
    assert "read_file" in verdict["tool_result"]["content"]


@pytest.mark.parametrize("key", [None, "", "rc_x_y", "x" * 5000, "rc_ü"])
def test_a_wrong_key_is_refused(service: Service, key: str | None) -> None:
    headers = {} if key is None else {"Authorization": f"Bearer {key}".encode().decode("latin-1")}
    answer = service.send("POST", "/api/v1/calls", {"tool": MARKER}, headers=headers)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert MARKER not in answer.text


def test_another_agents_call_looks_as_if_it_did_not_exist(agent: AgentClient) -> None:
    call_id = agent.submit("read_file", "mine", {})["call_id"]
    other = AgentClient(agent.service, agent.service.new_key("somebody else"))
    for method, path in (
        ("GET", f"/calls/{call_id}"),
        ("GET", f"/calls/{call_id}/wait?for=guidance"),
        ("GET", f"/calls/{call_id}/guidance"),
        ("POST", f"/calls/{call_id}/guidance/ack"),
        ("POST", f"/calls/{call_id}/cancel"),
    ):
        is_problem(other.send(method, path), 404, "not-found")
    body = {"tool": "read_file", "tool_call_id": "x", "call_id": call_id, "arguments": {}}
    is_problem(other.send("POST", "/calls", body), 404, "call-not-found")


def test_a_misspelt_field_of_a_request_is_named_and_its_value_is_not_repeated(agent: AgentClient) -> None:
    body = {"tool": "read_file", "tool_call_id": "x", "arguments": {}, "sesion_id": MARKER}
    answer = agent.send("POST", "/calls", body)
    is_problem(answer, 422, "invalid-request")
    assert answer.body["errors"][0]["pointer"] == "/sesion_id"


def test_nothing_of_all_this_left_a_traceback_in_the_log(agent: AgentClient) -> None:
    raw(agent, '{"path":')
    assert "Traceback" not in agent.service.log
    assert '"level": "error"' not in agent.service.log


@pytest.mark.parametrize("one_in", [8, pytest.param(1, marks=pytest.mark.soak)])
def test_every_published_tool_registers(agent: AgentClient, corpus: Corpus, one_in: int) -> None:
    """In the lists that providers know; names that repeat across servers are imported list by list."""
    tools = corpus("real_tools")[::one_in]
    lists: list[dict[str, Any]] = []
    for tool in tools:
        home = next((names for names in lists if tool["name"] not in names), None)
        if home is None:
            home = {}
            lists.append(home)
        home[tool["name"]] = tool
    registered = 0
    for number, names in enumerate(lists):
        for part in batches(list(names.values()), 200):
            answer = agent.send("POST", "/tools/import", as_list(part, number))
            assert answer.status == 200, answer.text[:500]
            assert answer.body["refused"] == []
            registered += len(answer.body["registered"])
    assert registered == len(tools)


def test_published_tools_with_a_broken_schema_are_refused_with_a_pointer_to_the_fault(
    agent: AgentClient, corpus: Corpus
) -> None:
    faults = {}
    for tool in corpus("real_tools_invalid_schema"):
        answer = agent.register(tool["name"], tool["schema"])
        is_problem(answer, 422, "invalid-schema")
        faults[tool["name"]] = answer.body["errors"][0]["pointer"]
        assert points_into(tool["schema"], faults[tool["name"]])
    assert len(faults) == 4


def points_into(schema: Any, pointer: str) -> bool:
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        schema = schema[int(token)] if isinstance(schema, list) else schema[token]
    return bool(pointer)


def batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def as_list(tools: list[dict[str, Any]], number: int) -> Any:
    """Write tools as OpenAI, Anthropic and MCP do, in turn."""
    if number % 3 == 0:
        return [{"type": "function", "function": {"name": t["name"], "parameters": t["schema"]}} for t in tools]
    if number % 3 == 1:
        return [{"name": t["name"], "input_schema": t["schema"]} for t in tools]
    return {"tools": [{"name": t["name"], "inputSchema": t["schema"]} for t in tools]}
