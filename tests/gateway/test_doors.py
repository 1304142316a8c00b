"""Bad input at every door that stands beside the API: each is told what is wrong, and what comes next is served."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from retrycontract.mcp.visiting import BODY_SECONDS
from tests.gateway.connections import INITIALIZE
from tests.gateway.listening import BOTH, gateway
from tests.gateway.raw_http import RawHttp, raw_http
from tests.gateway.test_guardrails import AUTHZ, LITELLM, of_litellm, of_mcp
from tests.gateway.test_hooks import payload
from tests.gateway.test_server import ASKED_ODDLY, JUDGED, SECRET, TOOLS, checking
from tests.serving.service import AgentClient, Service

BEGIN = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
# What is right at each door of the service; the gateway's is that of the first.
PAYLOADS: dict[str, Any] = {
    "/mcp": BEGIN,
    "/hooks": payload("s", {}),
    LITELLM: of_litellm("s", {}),
    AUTHZ: of_mcp({}),
}


@dataclass(frozen=True)
class Door:
    """An address, the key that opens it, and a body that it takes."""

    url: str
    key: str
    body: bytes

    def ask(self, body: bytes | Iterable[bytes] | None = None, method: str = "POST", **headers: str) -> Any:
        """Send one request; give its answer with what it says as `said`."""
        parts = urlsplit(self.url)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        defaults = {"authorization": f"Bearer {self.key}", "content-type": "application/json", "accept": BOTH}
        connection = HTTPConnection(parts.netloc, timeout=90)
        try:
            connection.request(method, parts.path, self.body if body is None else body, defaults | given)
        except (BrokenPipeError, ConnectionResetError):  # it need not be read to its end: the answer is there
            connection.sock.settimeout(90)
        try:
            answer: Any = connection.getresponse()
            answer.said = answer.read()
        finally:
            connection.close()
        return answer


@pytest.fixture(scope="module")
def remote() -> Iterator[RawHttp]:
    with raw_http() as server:
        yield server


@pytest.fixture(scope="module")
def doors(service: Service, remote: RawHttp) -> Iterator[dict[str, Door]]:
    key = service.new_key("at-the-doors")
    found = {path: Door(f"{service.url}{path}", key, json.dumps(body).encode()) for path, body in PAYLOADS.items()}
    with gateway("--upstream", remote.url, env={"RETRYCONTRACT_GATEWAY_TOKEN": "right"}) as listening:
        yield found | {"gateway": Door(listening.url, "right", found["/mcp"].body)}


@pytest.fixture(params=[*PAYLOADS, "gateway"])
def door(doors: dict[str, Door], request: pytest.FixtureRequest) -> Door:
    found: Door = doors[request.param]
    assert found.ask().status == 200
    return found


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 65_536


BAD: list[Any] = [
    pytest.param(None, {"authorization": ""}, 401, id="no key"),
    pytest.param(None, {"authorization": "Bearer rc_00000000_unknown"}, 401, id="an unknown key"),
    pytest.param(None, {"authorization": "Basic {key}"}, 401, id="another scheme"),
    pytest.param(None, {"authorization": "{key}"}, 401, id="the key alone"),
    pytest.param(None, {"authorization": "Bearer "}, 401, id="an empty key"),
    pytest.param(None, {"authorization": "Bearer rc_\xfc"}, 401, id="a key beyond ASCII"),
    pytest.param(None, {"authorization": "Bearer " + "x" * 5_000}, 401, id="a long key"),
    pytest.param(None, {"origin": "https://elsewhere.example"}, 403, id="a page of another origin"),
    pytest.param(None, {"origin": "null"}, 403, id="a page of none"),
    pytest.param(b" " * 5_000_000, {}, 413, id="5 MB"),
    pytest.param(endless(), {}, 413, id="a body without end"),
    pytest.param(gzip.compress(b" " * 50_000_000), {"content_encoding": "gzip"}, 415, id="a compressed body"),
    pytest.param(b'{"torn', {}, 400, id="torn"),
    pytest.param(b"", {}, 400, id="nothing"),
    pytest.param(b"\xff\xfe", {}, 400, id="no text"),
    pytest.param(b"[" * 100_000, {}, 400, id="too deep"),
]


@pytest.mark.parametrize(("body", "headers", "status"), BAD)
def test_it_is_told_what_is_wrong_and_serves_the_next(
    door: Door, service: Service, body: Any, headers: dict[str, str], status: int
) -> None:
    given = {name: value.replace("{key}", door.key) for name, value in headers.items()}
    answer = door.ask(body, **given)
    assert answer.status == status, answer.said
    said = json.loads(answer.said)
    assert said.get("title") or said["error"]["message"]
    assert len(answer.said) < 2_000
    assert door.key.encode() not in answer.said.replace(b"right away", b"")
    assert (answer.headers["www-authenticate"] == "Bearer") is (status == 401)
    assert door.ask().status == 200
    assert "Traceback" not in service.log


@pytest.mark.parametrize("method", ["HEAD", "PUT", "OPTIONS"])
def test_it_says_which_methods_it_takes(doors: dict[str, Door], method: str) -> None:
    for name, door in doors.items():
        answer = door.ask(b"", method)
        # Envoy asks about whatever its client has sent; a body that no call can be read from is refused.
        assert answer.status == (405 if name != AUTHZ else 400 if method == "PUT" else 200)
        assert name == AUTHZ or "POST" in answer.headers["allow"]


def test_a_slash_behind_its_address_is_no_other_place(doors: dict[str, Door]) -> None:
    for door in doors.values():
        assert Door(f"{door.url}/", door.key, door.body).ask().status == 200


@pytest.mark.soak
def test_who_never_ends_a_request_is_let_go(doors: dict[str, Door]) -> None:
    def begin(door: Door, head: bytes) -> bytes:
        parts = urlsplit(door.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=BODY_SECONDS * 4) as connection:
            connection.sendall(b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%b" % (parts.path.encode(), head))
            return connection.recv(12)

    with ThreadPoolExecutor(2 * len(doors)) as pool:
        heads = [pool.submit(begin, door, b"Auth") for door in doors.values()]
        for door in doors.values():
            head = f"Authorization: Bearer {door.key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n["
            heads.append(pool.submit(begin, door, head.encode()))
        assert [head.result() for head in heads] == [b""] * len(doors) + [b"HTTP/1.1 408"] * len(doors)


def test_what_a_model_wrote_wrong_is_judged_at_the_address_as_over_a_pipe(service: Service) -> None:
    key = service.new_key("odd-at-the-door")
    AgentClient(service, key).register("read_file", TOOLS["tools"][0]["inputSchema"])
    door = Door(f"{service.url}/mcp", key, b"")
    for number, (name, (written, code)) in enumerate(JUDGED.items(), 1):
        sent = checking(number, f'{{"tool":"read_file","arguments":{written}}}').encode("utf-8", "surrogateescape")
        answer = door.ask(sent)
        assert answer.status == 200, name
        assert f'"id":{number},' in answer.said.decode(), name
        assert code in answer.said.decode(), name
    for name, sent_oddly in ASKED_ODDLY.items():
        answer = door.ask(sent_oddly.encode())
        assert SECRET not in answer.said.decode(), name
        assert json.loads(answer.said.decode().partition("data: ")[2] or answer.said)["id"] == 7, name


@pytest.mark.parametrize("kind", ["text/plain", "application/json-seq", "", "x" * 5_000], ids=lambda kind: kind[:20])
def test_mcp_says_as_what_a_message_is_sent(doors: dict[str, Door], kind: str) -> None:
    answer = doors["/mcp"].ask(content_type=kind)
    assert (answer.status, "Content-Type: application/json" in answer.said.decode()) == (415, True)
    assert doors["/mcp"].ask(content_type="application/json; charset=utf-8").status == 200
