"""The gateway over HTTP, to clients and to a server: what arrives is what was sent, also what no SDK would send."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from retrycontract.mcp.visiting import NoPayloadError, read_body
from tests.gateway.connections import INITIALIZE, ROOT, gateway_command
from tests.gateway.listening import Listening, call, gateway, messages_in, request
from tests.gateway.raw_http import CHALLENGE, FIRST, FLOOD, FLOODS, RawHttp, raw_http
from tests.gateway.raw_upstream import STRANGE
from tests.serving.threads import eventually

INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


@pytest.fixture(scope="module")
def upstream() -> Iterator[RawHttp]:
    with raw_http() as server:
        yield server


@pytest.fixture(scope="module")
def listening(upstream: RawHttp) -> Iterator[Listening]:
    with gateway("--max-body", "4000000", "--upstream", upstream.url, "--header", "X-Fixed: here") as found:
        yield found


@pytest.fixture
def through_a_pipe(upstream: RawHttp) -> Iterator[subprocess.Popen[str]]:
    command, before = gateway_command("--upstream", upstream.url, upstream=()), len(upstream.heard)
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        ask(process, request(0, "initialize", INITIALIZE))
        tell(process, INITIALIZED)
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    # Not as the last: a thread of the upstream's may come to the stream's GET, which was sent before, after that.
    assert "DELETE" in [method for method, _, _ in upstream.heard[before:]]


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def ask(process: subprocess.Popen[str], line: str) -> str:
    tell(process, line)
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_what_is_let_through_arrives_to_the_byte(upstream: RawHttp) -> None:
    lines = ['{"a": "cut \\ud83d"}', '{"a": 1e400, "a": NaN}', '{"a" : 123456789012345678901234567890}']
    with gateway("--observe", "--upstream", upstream.url) as listening:
        session = listening.begin()
        for number, arguments in enumerate(lines):
            assert session.send(call(number, "write", arguments))[0].status == 200
    assert upstream.calls()[-3:] == [
        call(number, "write", arguments).encode() for number, arguments in enumerate(lines)
    ]


def test_an_answer_arrives_to_the_byte(listening: Listening) -> None:
    session = listening.begin()
    assert session.send(call(1, "strange"))[1] == (STRANGE % 1).encode()
    response, events = session.send(call(2, "resumed"))
    assert response.headers["content-type"] == "text/event-stream"
    assert messages_in(events)[0] == FIRST
    assert session.end() == 204


def test_at_a_pipe_an_answer_stands_on_one_line(through_a_pipe: subprocess.Popen[str]) -> None:
    assert ask(through_a_pipe, call(1, "strange")) == STRANGE % 1
    assert json.loads(ask(through_a_pipe, call(2, "pretty")))["id"] == 2
    assert "(attempt 1/3)" in ask(through_a_pipe, call(3, "text"))


def test_a_stream_that_breaks_off_is_taken_up_behind_its_last_event(listening: Listening, upstream: RawHttp) -> None:
    session = listening.begin()
    _, events = session.send(call(5, "resumed"))
    assert [json.loads(message).get("id") for message in messages_in(events)] == [None, 5]
    method, headers, _ = upstream.heard[-1]
    assert (method, headers["last-event-id"]) == ("GET", "7")
    assert headers["mcp-session-id"].startswith("up-")
    session.end()


def test_a_server_that_dies_in_the_middle_of_a_stream_ends_the_call_with_an_error(listening: Listening) -> None:
    session = listening.begin()
    _, events = session.send(call(6, "broken"))
    first, answer = messages_in(events)
    assert first == FIRST
    assert json.loads(answer)["result"]["isError"]
    assert "broke off" in json.loads(answer)["result"]["content"][0]["text"]
    session.end()


def test_headers_pass_and_refusals_come_back_as_they_were_sent(listening: Listening, upstream: RawHttp) -> None:
    session = listening.begin(authorization="Bearer of-the-client", x_own="1", cookie="a=b", origin=listening.url[:-4])
    response, body = session.send(call(1, "unauthorized"), authorization="Bearer old", x_fixed="theirs")
    assert (response.status, response.headers["www-authenticate"], body) == (
        401,
        CHALLENGE,
        b'{"error": "invalid_token"}',
    )
    _, headers, _ = upstream.heard[-1]
    assert (headers["authorization"], headers["x-fixed"]) == ("Bearer old", "here")
    assert headers["mcp-protocol-version"] == "2025-11-25"
    assert headers["x-own"] == "1"
    assert not {"cookie", "origin"} & set(headers)
    response, body = session.send(call(2, "forbidden"))
    assert (response.status, response.headers["content-type"], body) == (403, "text/plain", b"not you")
    assert session.send(call(3, "write"))[0].status == 200
    upstream.forgotten.add(headers["mcp-session-id"])
    assert session.send(call(4, "write"))[0].status == 404
    session.end()


def test_a_refusal_reaches_a_model_behind_a_pipe_and_a_lost_session_is_begun_again(
    through_a_pipe: subprocess.Popen[str], upstream: RawHttp
) -> None:
    refused = json.loads(ask(through_a_pipe, call(1, "forbidden")))["result"]
    assert refused["isError"]
    assert refused["content"][0]["text"] == "The MCP server behind the gateway answers 403 Forbidden. not you"
    before = upstream.sessions
    upstream.forgotten.add(f"up-{before}")
    assert json.loads(ask(through_a_pipe, call(2, "write")))["result"] == {"content": []}
    assert upstream.sessions == before + 1


def test_a_server_that_is_not_there_is_named(listening: Listening) -> None:
    with gateway("--upstream", "http://127.0.0.1:9/mcp") as away:
        response, body = away.send(body=request(1, "initialize", INITIALIZE))
        assert response.status == 200
        assert "cannot be reached" in json.loads(body)["error"]["message"]
        assert away.send(body=request(2, "ping"), mcp_session_id=response.headers["mcp-session-id"])[0].status == 404


def test_a_client_that_reads_slowly_holds_up_its_own_stream_and_loses_nothing(
    listening: Listening, upstream: RawHttp
) -> None:
    slow, other = listening.begin(), listening.begin()
    upstream.flooded = 0
    with slow.open("POST", call(1, "flood")) as stream:
        eventually(lambda: upstream.flooded > 300)
        for number in range(20):
            assert other.send(call(number, "write"))[0].status == 200
        assert upstream.flooded < FLOODS, "60 megabytes are not held for it"
        *floods, answer = messages_in(stream.read())
    assert floods == [FLOOD] * FLOODS
    assert json.loads(answer)["id"] == 1
    assert slow.end() == other.end() == 204


def test_a_request_that_does_not_arrive_is_given_up() -> None:
    async def receive() -> dict[str, Any]:
        await anyio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    with pytest.raises(NoPayloadError) as told:
        anyio.run(read_body, receive, 1000, 0.2)
    assert told.value.status == 408


def test_calls_of_one_session_are_counted_together_and_of_two_apart(listening: Listening) -> None:
    one, other = listening.begin(), listening.begin()
    texts = [session.send(call(1, "text"))[1].decode() for session in (one, one, other)]
    assert ["(attempt 1/3)" in texts[0], "(attempt 2/3)" in texts[1], "(attempt 1/3)" in texts[2]] == [True] * 3
    assert one.end() == other.end() == 204


def test_a_batch_and_a_client_that_takes_no_events_are_answered(listening: Listening) -> None:
    session = listening.begin()
    batch = f"[{call(1, 'text')}, {call(2, 'write')}]"
    _, body = session.send(batch, accept="application/json")
    assert {answer["id"] for answer in json.loads(body)} == {1, 2}
    assert {json.loads(message)["id"] for message in messages_in(session.send(batch)[1])} == {1, 2}
    _, body = session.send(call(3, "resumed"), accept="application/json")
    assert json.loads(body) == {"jsonrpc": "2.0", "id": 3, "result": {"content": []}}
    session.end()


REFUSED = [
    pytest.param("GET", None, {}, 400, "Mcp-Session-Id is missing", id="no-session"),
    pytest.param("DELETE", None, {"mcp-session-id": "x"}, 404, "This session is over", id="unknown-session"),
    pytest.param("POST", request(1, "ping"), {}, 400, "Mcp-Session-Id is missing", id="not-begun"),
    pytest.param(
        "POST", request(1, "ping"), {"mcp-protocol-version": "2026-07-28"}, 400, "with sessions", id="stateless"
    ),
    pytest.param("POST", request(1, "ping"), {"content-type": "text/plain"}, 415, "application/json", id="form"),
    pytest.param(
        "POST", f"[{', '.join([request(1, 'ping')] * 101)}]", {}, 400, "a list of more than 100: send fewer", id="many"
    ),
    pytest.param("POST", "no JSON", {}, 400, "The message is no JSON", id="json"),
    pytest.param("POST", "5", {}, 400, "no JSON-RPC message", id="number"),
    pytest.param("POST", "x" * 5_000_000, {}, 413, "A request may have 4000000 bytes", id="5-megabytes"),
    pytest.param(
        "POST", request(1, "ping"), {"origin": "https://elsewhere.example"}, 403, "another origin", id="origin"
    ),
    pytest.param("POST", request(1, "ping"), {"origin": "null"}, 403, "another origin", id="null-origin"),
    pytest.param("POST", request(1, "ping"), {"host": "rebound.example"}, 421, "--allow-host", id="host"),
    pytest.param("PUT", "", {}, 405, "", id="method"),
]


@pytest.mark.parametrize(("method", "body", "headers", "status", "said"), REFUSED)
def test_what_cannot_be_taken_is_told_so(
    listening: Listening, method: str, body: str | None, headers: dict[str, str], status: int, said: str
) -> None:
    response, found = listening.send(method, body, **headers)
    assert (response.status, said in found.decode()) == (status, True)
    assert not found or "error" in json.loads(found)
    assert listening.send(path="/other")[0].status == 404


def test_only_who_has_the_token_may_ask_and_the_server_does_not_see_it(upstream: RawHttp) -> None:
    with gateway("--upstream", upstream.url, env={"RETRYCONTRACT_GATEWAY_TOKEN": "right"}) as listening:
        for wrong in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer rïght"}):
            response, _ = listening.send(body=request(1, "initialize", INITIALIZE), **wrong)
            assert (response.status, response.headers["www-authenticate"]) == (401, "Bearer")
        listening.begin(authorization="Bearer right")
        assert "authorization" not in upstream.heard[-1][1]


def test_sessions_are_bounded_and_what_is_open_goes_on(upstream: RawHttp) -> None:
    with gateway("--max-sessions", "3", "--upstream", upstream.url) as listening:
        open_ones = [listening.begin() for _ in range(3)]
        response, body = listening.send(body=request(0, "initialize", INITIALIZE))
        assert (response.status, response.headers["retry-after"]) == (503, "60")
        assert "Too many sessions" in json.loads(body)["error"]["message"]
        assert [session.send(call(1, "write"))[0].status for session in open_ones] == [200] * 3
        assert open_ones[0].end() == 204
        eventually(lambda: listening.send(body=request(0, "initialize", INITIALIZE))[0].status == 200)


def test_a_session_that_nobody_uses_ends(upstream: RawHttp) -> None:
    upstream.heard.clear()
    with gateway("--idle", "0.1", "--upstream", upstream.url) as listening:
        response, _ = listening.send(body=request(0, "initialize", INITIALIZE))
        eventually(lambda: "DELETE" in [method for method, _, _ in upstream.heard])
        gone = response.headers["mcp-session-id"]
        eventually(lambda: listening.send(body=request(1, "ping"), mcp_session_id=gone)[0].status == 404)


@pytest.mark.soak
def test_ten_thousand_open_sessions_are_light(upstream: RawHttp) -> None:
    with gateway("--max-sessions", "10000", "--upstream", upstream.url) as listening:
        before, connection = resident(listening), listening.connect()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        sessions = []
        for _ in range(10_001):
            connection.request("POST", "/mcp", request(0, "initialize", INITIALIZE), headers)
            response = connection.getresponse()
            response.read()
            sessions.append(response.headers["mcp-session-id"])
        assert response.status == 503
        connection.close()
        assert resident(listening) - before < 400_000, "kilobytes: some 20 for each"
        response, _ = listening.send(body=call(1, "write"), mcp_session_id=sessions[0])
        assert response.status == 200
        upstream.heard.clear()


def resident(listening: Listening) -> int:
    """Give the kilobytes of memory that a gateway has."""
    status = Path(f"/proc/{listening.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
