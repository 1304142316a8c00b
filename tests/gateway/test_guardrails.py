"""Gateways' external checks: LiteLLM's payloads as it sends them, and MCP requests as Envoy hands them over."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.serving.desk import Desk
from tests.serving.service import AgentClient, Answer, Service

SCHEMA = {
    "type": "object",
    "properties": {"origin": {"type": "string", "pattern": "^[A-Z]{3}$"}, "seats": {"type": "integer"}},
    "required": ["origin"],
}
RIGHT, WRONG = {"origin": "ZRH", "seats": 2}, {"origin": "Zurich"}
LITELLM = "/guardrails/beta/litellm_basic_guardrail_api"
AUTHZ = "/guardrails/authz/mcp"
Ask = Callable[[AgentClient, str, Any], str]


@pytest.fixture
def agent(service: Service, keys: Iterator[str]) -> AgentClient:
    found = AgentClient(service, next(keys))
    found.register("book_flight", SCHEMA)
    found.register("now", {"type": "object", "properties": {}})
    return found


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


def of_litellm(session: str | None, *arguments: Any, tool: str = "book_flight", **more: Any) -> dict[str, Any]:
    """Give what LiteLLM 1.106 sends of an answer, with all its fields."""
    written = [each if isinstance(each, str) else json.dumps(each) for each in arguments]
    return {
        "input_type": "response",
        "litellm_call_id": str(uuid.uuid4()),
        "litellm_trace_id": session,
        "structured_messages": None,
        "images": None,
        "tools": None,
        "texts": [],
        "request_data": {"user_api_key_hash": "litellm_proxy_master_key", "user_api_key_user_id": "default_user_id"},
        "request_headers": {"host": "127.0.0.1:4000", "content-type": "application/json"},
        "litellm_version": "1.106.2",
        "additional_provider_specific_params": {},
        "tool_calls": [
            {"function": {"arguments": text, "name": tool}, "id": f"call_{number}", "type": "function"}
            for number, text in enumerate(written)
        ],
        "model": "m",
        **more,
    }


def of_mcp(arguments: Any, name: str = "book_flight", method: str = "tools/call") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"name": name, "arguments": arguments}}


def ask_litellm(agent: AgentClient, session: str, arguments: Any) -> str:
    """Give what keeps the call from being made."""
    answer = agent.service.send("POST", LITELLM, of_litellm(session, arguments), headers={"x-api-key": agent.key})
    assert answer.status == 200, answer.text
    assert (answer.body["action"] == "BLOCKED") == ("blocked_reason" in answer.body)
    return str(answer.body.get("blocked_reason", ""))


def ask_envoy(agent: AgentClient, session: str, arguments: Any) -> str:
    """Give what keeps the request from being passed on."""
    # The client's own Authorization is for the server behind the gateway, and goes along.
    headers = {"x-retrycontract-key": agent.key, "Authorization": "Bearer of-another", "Mcp-Session-Id": session}
    answer = agent.service.send("POST", AUTHZ, of_mcp(arguments), headers=headers)
    if answer.status == 200:
        assert answer.body == {}
        return ""
    assert (answer.status, answer.body["id"], answer.body["error"]["code"]) == (403, 7, -32602)
    return str(answer.body["error"]["message"])


DOORS = pytest.mark.parametrize("ask", [ask_litellm, ask_envoy])


@DOORS
def test_three_wrong_calls_are_refused_with_feedback_and_a_persons_hint_comes_with_the_next(
    agent: AgentClient, desk: Desk, session: str, ask: Ask
) -> None:
    for number in (1, 2, 3):
        said = ask(agent, session, WRONG)
        assert f"(attempt {number}/3)" in said
        assert "/origin (VAL-007)" in said
    assert "This call is now Blocked" in said
    (call,) = agent.send("GET", "/calls?state=blocked").body["calls"]
    desk.answer(call["call_id"], text="Airports have IATA codes.")
    assert "> Airports have IATA codes." in ask(agent, session, WRONG)
    assert ask(agent, session, RIGHT) == ""
    assert agent.send("GET", f"/calls/{call['call_id']}").body["state"] == "valid"


@DOORS
def test_what_a_person_has_corrected_is_said_in_words_and_then_passes(
    agent: AgentClient, desk: Desk, session: str, ask: Ask
) -> None:
    for _ in range(3):
        ask(agent, session, WRONG)
    (call,) = agent.send("GET", "/calls?state=blocked").body["calls"]
    desk.answer(call["call_id"], decision="corrected", arguments=json.dumps(RIGHT))
    said = ask(agent, session, WRONG)
    assert "A person corrected the arguments" in said
    assert json.loads(said.rpartition("\n")[2]) == RIGHT
    assert ask(agent, session, RIGHT) == ""


@DOORS
def test_a_call_that_is_right_in_the_end_passes_although_a_person_has_corrected_it_so(
    agent: AgentClient, desk: Desk, session: str, ask: Ask
) -> None:
    for _ in range(3):
        ask(agent, session, WRONG)
    (call,) = agent.send("GET", "/calls?state=blocked").body["calls"]
    desk.answer(call["call_id"], decision="corrected", arguments=json.dumps(RIGHT))
    assert ask(agent, session, RIGHT) == ""


@DOORS
def test_sessions_are_counted_apart_and_without_one_each_attempt_is_a_call(agent: AgentClient, ask: Ask) -> None:
    for session in ("a", "b", "", ""):
        assert "(attempt 1/3)" in ask(agent, session, WRONG)
    assert "(attempt 2/3)" in ask(agent, "a", WRONG)


def test_the_calls_of_one_answer_are_judged_side_by_side(agent: AgentClient, session: str) -> None:
    def send(*arguments: Any) -> Any:
        return agent.service.send("POST", LITELLM, of_litellm(session, *arguments), key=agent.key).body

    said = send(RIGHT, WRONG, {"origin": "ZRH", "seats": "two"}, '{"origin": "ZR')["blocked_reason"]
    assert said.count("(attempt 1/3)") == 3
    assert all(code in said for code in ("VAL-007", "VAL-002", "VAL-004")), said
    again = send(*[WRONG] * 5)["blocked_reason"]
    assert [again.count(f"(attempt {number}/3)") for number in (1, 2, 3)] == [2, 3, 0]
    assert send(*[RIGHT] * 5) == {"action": "NONE"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(of_litellm("s", WRONG, input_type="request"), id="on its way to the model"),
        pytest.param(of_litellm("s", WRONG, tool="another"), id="a tool without a contract"),
        pytest.param(of_litellm(None, tool_calls=None, texts=["Zurich"]), id="words alone"),
        pytest.param(of_litellm("s", "", tool="now"), id="nothing for a tool that takes nothing"),
        pytest.param(of_litellm("s", tool_calls=[{"function": {"name": "now"}}]), id="no arguments"),
        pytest.param(of_litellm("s", tool_calls=[{"function": {"name": "now", "arguments": None}}]), id="null"),
        pytest.param(of_litellm("s", tool_calls=[{"type": "custom", "custom": {"name": "a"}}]), id="a custom tool"),
        pytest.param(of_litellm("s", RIGHT, field_of_a_later_release=[1, {"a": 2}]), id="unknown fields"),
    ],
)
def test_litellm_is_let_through(agent: AgentClient, body: Any) -> None:
    answer = agent.service.send("POST", LITELLM, body, key=agent.key)
    assert (answer.status, answer.body) == (200, {"action": "NONE"})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", AUTHZ, of_mcp({}, method="tools/list"), id="no call"),
        pytest.param("POST", AUTHZ, of_mcp(WRONG, name="another"), id="a tool without a contract"),
        pytest.param("POST", "/guardrails/authz", of_mcp(RIGHT), id="without a path"),
        pytest.param("POST", "/guardrails/authz/a/b?c=d", of_mcp(RIGHT), id="any path"),
        pytest.param("GET", AUTHZ, None, id="a stream"),
        pytest.param("DELETE", AUTHZ, None, id="the end of a session"),
    ],
)
def test_envoy_is_told_to_pass_on(agent: AgentClient, method: str, path: str, body: Any) -> None:
    assert agent.service.send(method, path, body, key=agent.key).status == 200


@pytest.mark.parametrize(
    "more",
    ['"method": "tools/list"', '"params": {}', '"params": {"name": "another"}'],
)
def test_a_request_that_could_be_read_in_two_ways_is_refused(agent: AgentClient, more: str) -> None:
    call = json.dumps(of_mcp(WRONG))
    for body in (f"{call[:-1]}, {more}}}", f"{{{more}, {call[1:]}"):
        assert refused(agent.service.send("POST", AUTHZ, body.encode(), key=agent.key)) == 422
    twice = call.replace('"arguments"', '"arguments": {"origin": "ZRH"}, "arguments"')
    assert refused(agent.service.send("POST", AUTHZ, twice.encode(), key=agent.key)) == 422


def test_nothing_for_a_tool_that_needs_something_is_told_so(agent: AgentClient) -> None:
    answer = agent.service.send("POST", LITELLM, of_litellm("s", ""), key=agent.key)
    assert "/origin (VAL-001)" in answer.body["blocked_reason"]


@pytest.mark.parametrize(
    ("path", "more"),
    [
        pytest.param(LITELLM, {"toolCalls": [{}]}, id="another spelling"),
        pytest.param(LITELLM, {"additional_provider_specific_params": {"wiat": 30}}, id="misspelt"),
        pytest.param(LITELLM, {"tool_calls": [{"type": "Function", "function": {}}]}, id="another kind of call"),
        pytest.param(AUTHZ, {"method": ["tools/call"]}, id="a method that is a list"),
        pytest.param(AUTHZ, {"method": None}, id="no method"),
        pytest.param(AUTHZ, {"params": ["book_flight", RIGHT]}, id="by position"),
    ],
)
def test_what_may_be_a_call_and_cannot_be_read_is_refused(agent: AgentClient, path: str, more: Any) -> None:
    body = (of_litellm("s", RIGHT) if path == LITELLM else of_mcp(RIGHT)) | more
    for method in ("POST", "PUT") if path == AUTHZ else ("POST",):
        assert refused(agent.service.send(method, path, body, key=agent.key)) == 422


def refused(answer: Answer) -> int:
    """Give the status of a refusal that says what is wrong."""
    assert answer.headers["content-type"].startswith("application/problem+json"), answer.text
    assert answer.body["title"]
    assert answer.body["detail"]
    assert answer.body["code"]
    assert len(answer.text) < 2_000
    return answer.status


BAD = [
    pytest.param(b"not JSON", 400, id="no JSON"),
    pytest.param(b"\xff\xfe", 400, id="no text"),
    pytest.param(b"", 400, id="nothing"),
    pytest.param(b"[]", 422, id="a list"),
    pytest.param(b'"text"', 422, id="a text"),
    pytest.param(b" " * 5_000_000, 413, id="5 MB"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}', 422, id="no name"),
]


@pytest.mark.parametrize("path", [LITELLM, AUTHZ])
@pytest.mark.parametrize(("body", "status"), BAD)
def test_what_nobody_sends_is_refused_with_its_reason(agent: AgentClient, path: str, body: bytes, status: int) -> None:
    assert refused(agent.service.send("POST", path, body, key=agent.key)) == status


@pytest.mark.parametrize(
    "more",
    [
        {"input_type": "both"},
        {"tool_calls": "book_flight"},
        {"tool_calls": [5]},
        {"tool_calls": [{"id": "1"}]},
        {"tool_calls": [{"function": {"name": ["a"]}}]},
        {"additional_provider_specific_params": {"wait": "long"}},
        {"additional_provider_specific_params": {"wait": -1}},
        {"additional_provider_specific_params": {"wait": True}},
    ],
    ids=str,
)
def test_a_guardrails_request_that_is_none_is_refused(agent: AgentClient, more: dict[str, Any]) -> None:
    answer = agent.service.send("POST", LITELLM, of_litellm("s", WRONG, **more), key=agent.key)
    assert refused(answer) == 422


@pytest.mark.parametrize(("method", "path"), [("POST", LITELLM), ("POST", AUTHZ), ("GET", AUTHZ)])
def test_a_wrong_key_and_a_page_of_another_origin_are_refused(agent: AgentClient, method: str, path: str) -> None:
    body = of_litellm("s", RIGHT)
    for headers in ({}, {"x-retrycontract-key": "rc_00000000_unknown"}, {"x-api-key": "rc_00000000_unknown"}):
        assert refused(agent.service.send(method, path, body, headers=headers)) == 401
    page = agent.service.send(method, path, body, key=agent.key, headers={"Origin": "https://evil.example"})
    assert page.status == (403 if method == "POST" else 200)


def test_more_calls_than_can_be_checked_are_blocked_unseen(agent: AgentClient) -> None:
    answer = agent.service.send("POST", LITELLM, of_litellm("s", *[RIGHT] * 101), key=agent.key)
    assert answer.body["action"] == "BLOCKED"
    assert "At most 100 tool calls" in answer.body["blocked_reason"]
    assert agent.send("GET", "/calls").body["calls"] == []


@DOORS
@pytest.mark.parametrize(
    "arguments",
    [
        None,
        [],
        "text",
        {"origin": "\ud83d"},
        {"origin": "ZRH", "seats": 10**400},
        {"a": "x" * 100_000},
        functools.reduce(lambda inner, _: [inner], range(600), []),
    ],
    ids=lambda given: f"{given!r:.40}",
)
def test_whatever_a_model_writes_gets_a_verdict(agent: AgentClient, session: str, ask: Ask, arguments: Any) -> None:
    assert "(attempt 1/3)" in ask(agent, session, arguments)


@pytest.mark.parametrize("own_id", ["call_1__thought__" + "A" * 5_000, "a\nb", "\x00", "\ud83d", "", None, 5], ids=repr)
def test_an_id_decides_nothing_whatever_it_is(agent: AgentClient, session: str, own_id: Any) -> None:
    def blocked(*arguments: Any) -> str:
        body = of_litellm(session, *arguments)
        for call in body["tool_calls"]:
            call["id"] = own_id
        return str(agent.service.send("POST", LITELLM, body, key=agent.key).body.get("blocked_reason", ""))

    assert blocked(RIGHT, RIGHT) == ""
    assert blocked(WRONG, WRONG).count("(attempt 1/3)") == 2
    assert "(attempt 2/3)" in blocked(WRONG)


@DOORS
def test_a_session_may_be_a_token_of_any_length(agent: AgentClient, session: str, ask: Ask) -> None:
    name = session + "s" * 3_000
    assert ["(attempt 2/3)" in ask(agent, each, WRONG) for each in (name, f"{name}2", name)] == [False, False, True]


def test_what_the_service_refuses_is_named_with_its_place(agent: AgentClient) -> None:
    said = ask_litellm(agent, "a\nb", RIGHT)
    assert "invalid-request: /session_id: " in said
    assert "Correct this and send it again. Nothing was executed." in said
    assert "'errors'" not in said


def test_names_that_hold_half_a_character_are_refused(agent: AgentClient) -> None:
    answer = agent.service.send("POST", LITELLM, of_litellm("s\ud83d", WRONG), key=agent.key)
    assert "half a character" in answer.body["blocked_reason"]


@pytest.mark.parametrize("scope", ["read", "submit"])
def test_a_key_that_may_not_do_both_blocks(service: Service, scope: str) -> None:
    name = f"gateway-{uuid.uuid4().hex}"
    AgentClient(service, service.new_key(name)).register("book_flight", SCHEMA)
    weak = AgentClient(service, service.command("create_agent", name, "--scopes", scope))
    for ask in (ask_litellm, ask_envoy):
        assert "could not be checked" in ask(weak, "s", RIGHT)
