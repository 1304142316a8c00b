"""Requests as no HTTP client writes them: the server answers with a refusal, or hangs up, and lives on."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from tests.serving.service import AgentClient, Service
from tests.serving.threads import fetch

BODY = b'{"tool": "nobody", "tool_call_id": "id", "arguments": {}}'


@pytest.fixture(scope="module")
def agent(service: Service) -> AgentClient:
    return AgentClient(service, service.new_key("raw requests"))


def talk(agent: AgentClient, head: bytes, body: bytes) -> bytes:
    """Write bytes to the server's socket and give what comes back until it hangs up, or says no more."""
    with socket.create_connection(("127.0.0.1", agent.service.port), timeout=3) as connection:
        connection.sendall(
            b"POST /api/v1/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nPrefer: wait=0\r\n"
            b"Connection: close\r\nAuthorization: Bearer " + agent.key.encode() + b"\r\n" + head + b"\r\n" + body
        )
        received = b""
        with suppress(TimeoutError):  # the server waits for what it was promised
            while part := connection.recv(65_536):
                received += part
    return received


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


ODD: dict[str, tuple[bytes, bytes]] = {
    "two lengths": (b"Content-Length: 5\r\nContent-Length: %d\r\n" % len(BODY), BODY),
    "a length and chunks": (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunked(BODY)),
    "a length that is none": (b"Content-Length: many\r\n", BODY),
    "a length below zero": (b"Content-Length: -5\r\n", BODY),
    "a length of 400 digits": (b"Content-Length: " + b"9" * 400 + b"\r\n", BODY),
    "chunks that end early": (b"Transfer-Encoding: chunked\r\n", b"ff\r\n{"),
    "chunks of no size": (b"Transfer-Encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n"),
    "a chunk of 400 digits": (b"Transfer-Encoding: chunked\r\n", b"f" * 400 + b"\r\n{}"),
    "an unknown transfer": (b"Transfer-Encoding: gzip\r\n", BODY),
    "a body that ends early": (b"Content-Length: 500\r\n", BODY),
    "no length": (b"", BODY),
    "a header without a name": (b": x\r\nContent-Length: 2\r\n", b"{}"),
    "a header of 200 kB": (b"X: " + b"x" * 200_000 + b"\r\nContent-Length: 2\r\n", b"{}"),
    "NUL in a header": (b"X: a\x00b\r\nContent-Length: 2\r\n", b"{}"),
    "a folded header": (b"X: a\r\n b\r\nContent-Length: 2\r\n", b"{}"),
    "a request within": (b"Content-Length: 4\r\n", b"{}\r\nGET /admin/ HTTP/1.1\r\nHost: x\r\n\r\n"),
}


@pytest.mark.parametrize(("head", "body"), ODD.values(), ids=list(ODD))
def test_an_odd_request_is_refused_or_hung_up_on(agent: AgentClient, head: bytes, body: bytes) -> None:
    try:
        answer = talk(agent, head, body)
    except ConnectionError:
        answer = b""
    assert answer == b"" or answer.split()[1].startswith(b"4"), answer[:300]
    assert agent.send("GET", "/calls").body == {"calls": [], "next": None}


def test_chunks_are_read_as_one_body(agent: AgentClient) -> None:
    other = AgentClient(agent.service, agent.service.new_key("chunks"))
    answer = talk(other, b"Transfer-Encoding: chunked\r\n", chunked(BODY[:5], BODY[5:]))
    assert answer.split()[1] == b"200", answer[:300]


def test_chunks_over_the_limit_are_refused(agent: AgentClient) -> None:
    answer = talk(agent, b"Transfer-Encoding: chunked\r\n", chunked(*[b" " * 100_000] * 25))
    assert answer.split()[1] == b"413", answer[:300]
    assert b"urn:retrycontract:problem:body-too-large" in answer


def test_a_form_over_the_limit_is_refused_by_a_page(agent: AgentClient) -> None:
    for path, size, told in (("/calls/x/", 2_500_000, "2.0\xa0MB"), ("/login/", 100_000, "64.0\xa0KB")):
        reply = fetch(agent.service.port, path, method="POST", body=b"text=" + b"x" * size)
        assert (reply.status, reply.header("content-type")) == (413, "text/html; charset=utf-8")
        assert f"a form may have {told}" in reply.body.decode()


FORMS: dict[str, tuple[bytes, str]] = {
    "3,000 fields": (b"&".join(b"f%d=1" % number for number in range(3_000)), "application/x-www-form-urlencoded"),
    "bytes that are no text": (b"\xff=\xfe", "application/x-www-form-urlencoded"),
    "parts without an end": (b"--x\r\nbroken", "multipart/form-data; boundary=x"),
    "parts without a boundary": (b"--x\r\nbroken", "multipart/form-data"),
    "a foreign charset": (b"a=1", "application/x-www-form-urlencoded; charset=none-such"),
}


@pytest.mark.parametrize(("body", "kind"), FORMS.values(), ids=list(FORMS))
def test_a_form_that_cannot_be_read_is_refused_by_a_page(agent: AgentClient, body: bytes, kind: str) -> None:
    reply = fetch(agent.service.port, "/login/", method="POST", body=body, headers={"Content-Type": kind})
    assert reply.status in (400, 403)
    assert reply.header("content-type") == "text/html; charset=utf-8"


def test_none_of_this_left_a_traceback_in_the_log(agent: AgentClient) -> None:
    assert "Traceback" not in agent.service.log
