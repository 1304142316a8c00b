"""What arrives is what was sent, to the byte; and what nobody can read ends in an answer, never in silence."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retrycontract.mcp.messages import UnreadableMessageError, read_line
from tests.gateway.connections import ROOT, gateway_command
from tests.gateway.listening import gateway
from tests.gateway.raw_upstream import STRANGE
from tests.serving.threads import eventually

SCRIPT = str(ROOT / "tests/gateway/raw_upstream.py")


def call(number: int, name: str, arguments: str) -> str:
    return (
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}'
    )


class Connection:
    """Hold the pipes of a gateway in front of the server that is written by hand."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        command = gateway_command(*options, upstream=(sys.executable, SCRIPT, str(folder)))
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, *lines: str | bytes) -> None:
        assert self.process.stdin is not None
        whole = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
        self.process.stdin.write(whole)
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().rstrip("\n")

    def ask(self, line: str | bytes) -> Any:
        self.send(line)
        return json.loads(self.line())

    def heard(self) -> list[bytes]:
        return [line for line in (self.folder / "heard").read_bytes().split(b"\n") if b"retrycontract-" not in line]


@pytest.fixture
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    made = Connection(tmp_path, *getattr(request, "param", ()))
    with made.process:
        yield made
        assert made.process.stdin is not None
        made.process.stdin.close()


observing = pytest.mark.parametrize("connection", [("--observe",)], indirect=True)
DEEP = '{"a":' * 700 + '"}"' + "}" * 700
STRANGE_ARGUMENTS = [
    pytest.param('{"a": "cut \\ud83d"}', "a lone surrogate", id="surrogate"),
    pytest.param('{"a": NaN}', "NaN", id="nan"),
    pytest.param('{"a": 1, "a": 2}', "twice", id="twice"),
]


@pytest.mark.parametrize(("arguments", "said"), STRANGE_ARGUMENTS)
def test_arguments_that_are_not_json_are_answered_with_feedback(
    connection: Connection, arguments: str, said: str
) -> None:
    answer = connection.ask(call(1, "write", arguments))
    assert answer["result"]["isError"]
    assert said in answer["result"]["content"][0]["text"]
    assert connection.ask(call(2, "write", "{}"))["id"] == 2


@observing
def test_what_is_let_through_arrives_to_the_byte(connection: Connection) -> None:
    lines = [call(number, "write", str(param.values[0])) for number, param in enumerate(STRANGE_ARGUMENTS)]
    lines += [
        call(9, "write", DEEP),
        call(10, "write", '{"a": 1e400, "b": 123456789012345678901234567890, "c" :  1.0}'),
        '{"id": 11, "method": "com.example/unheard", "params": [1e999, "\\udc00"], "x": {"x": 1}}',
        '[{"jsonrpc":"2.0","id":12,"method":"ping"}, {"jsonrpc":"2.0","id":13,"method":"ping","n":NaN}]',
        '{"jsonrpc":"2.0","method":"notifications/x","params":{"b":"\\ud800"}}',
    ]
    for line in lines[:-1]:
        connection.send(line)
        connection.line()
    connection.send(lines[-1], call(14, "write", "{}"))
    connection.line()
    assert connection.heard()[: len(lines)] == [line.encode() for line in lines]


@observing
@pytest.mark.parametrize("rows", [1, 30_000], ids=["small", "large"])
def test_a_call_that_nobody_can_read_is_answered_here_also_where_nothing_is_refused(
    connection: Connection, rows: int
) -> None:
    """The server, which could not read it either, left its client waiting."""
    answer = connection.ask(call(1, "write", f'{{"a": [{"01, " * rows}]}}'))
    assert (answer["id"], answer["error"]["code"]) == (1, -32700)
    assert connection.ask(call(2, "write", "{}"))["id"] == 2


def test_an_answer_arrives_to_the_byte(connection: Connection) -> None:
    connection.send(call(1, "strange", "{}"))
    assert connection.line() == STRANGE % 1
    connection.send(call(2, "deep", "{}"))
    assert connection.line().endswith("]" * 3000 + "}"), "too deep for us, not for everybody"


@pytest.mark.parametrize("connection", [("--results", "enforce")], indirect=True)
def test_a_result_that_is_too_deep_to_be_checked_is_held_back_where_results_are(connection: Connection) -> None:
    answer = connection.ask(call(1, "deep", "{}"))
    assert answer["result"]["isError"]
    assert "nested too deeply to be read. The call may have been" in answer["result"]["content"][0]["text"]


def test_an_answer_that_nobody_can_read_ends_its_request(connection: Connection) -> None:
    answer = connection.ask(call(1, "torn", "{}"))
    assert answer["id"] == 1
    assert answer["result"]["isError"]
    assert "cannot be read" in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("line", "request_id", "code"),
    [
        pytest.param('{"jsonrpc":"2.0","id":"a b","method":"tools/call","params":{"na', "a b", -32700, id="torn"),
        pytest.param('{"method":"x","params":' + "[" * 90_000 + "]" * 90_000 + ',"id":7}', 7, -32700, id="deep"),
        pytest.param(b'{"id": 8, "method": "ping", "a": "\xff\xfe"', 8, -32700, id="bytes"),
        pytest.param("5", None, -32600, id="number"),
        pytest.param(f"[{', '.join([call(1, 'write', '{}')] * 101)}]", None, -32600, id="too-many"),
        pytest.param('{"id": 9}', 9, -32600, id="no-method"),
        pytest.param(call(10, "write", "{}").replace('"name"', '"name":"text","name"'), 10, -32600, id="two-names"),
        pytest.param('{"method":"tools/call","params":{"name":"write"}}', None, -32600, id="call-without-id"),
        pytest.param('{"id":11,"method":"tools/call","params":["write",{"x":1}]}', 11, -32600, id="by-position"),
        pytest.param('{"id":12,"method":"tools/call","params":{"arguments":{}}}', 12, -32600, id="no-name"),
        pytest.param('{"id":13,"method":"tools/call","params":{"name":5}}', 13, -32600, id="number-for-a-name"),
        pytest.param('{"id":14,"method":"tools/call"}', 14, -32600, id="no-params"),
        pytest.param(call(15, "write", "{}")[:-1] + ',"method":"ping"}', 15, -32600, id="two-methods"),
        pytest.param('{"method":"ping",' + call(16, "write", "{}")[1:], 16, -32600, id="another-method-first"),
        pytest.param("[" + call(17, "write", "{}")[:-1] + ',"method":"ping"}]', 17, -32600, id="two-in-a-batch"),
        pytest.param(
            call(18, "write", "{}").replace('"method"', '"m\\u0065thod":"ping","method"'), 18, -32600, id="escaped"
        ),
    ],
)
def test_a_line_that_nobody_can_read_is_answered(
    connection: Connection, line: str | bytes, request_id: Any, code: int
) -> None:
    answer = connection.ask(line)
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)
    assert connection.ask(call(99, "write", "{}"))["id"] == 99
    assert len(connection.heard()) == 2, "one call, and the end of the file"


def test_a_batch_with_a_wrong_call_runs_the_others(connection: Connection) -> None:
    connection.send(f"[{call(1, 'text', '{}')}, {call(2, 'text', json.dumps({'text': 'a'}))}]")
    answers = {answer["id"]: answer["result"] for answer in (json.loads(connection.line()) for _ in range(2))}
    assert "(attempt 1/3)" in answers[1]["content"][0]["text"]
    assert answers[2]["content"] == []


def test_requests_with_one_id_and_any_depth_end_nothing(connection: Connection) -> None:
    connection.send(*[call(1, "text", "{}")] * 3)
    assert [json.loads(connection.line())["id"] for _ in range(3)] == [1] * 3
    for depth in [*range(480, 1000, 3), 5_000, 90_000]:
        arguments = '{"a":' * depth + "1" + "}" * depth if depth % 2 else "[" * depth + "]" * depth
        answer = connection.ask(call(depth, "write", arguments))
        assert answer["id"] == depth
        assert "VAL-004" in answer["result"]["content"][0]["text"], answer
        assert "deeper" in answer["result"]["content"][0]["text"]


def test_a_batch_keeps_what_else_it_holds_from_what_is_too_deep(connection: Connection) -> None:
    answer = connection.ask(f"[{call(1, 'write', DEEP)}, {call(2, 'write', '{}')}]")
    assert (answer["error"]["code"], answer["id"]) == (-32700, None)
    assert connection.ask(call(3, "write", "{}"))["id"] == 3


@pytest.mark.parametrize(
    "line",
    [
        call(5, "write", DEEP).replace('"params":{', '"params":{"deeper":' + "[" * 600 + "]" * 600 + ","),
        call(5, "write", DEEP).replace('"arguments"', '"arguments":{},"arguments"'),
        call(5, "write", DEEP).replace('"name"', '"name":"text","name"'),
        call(5, "write", DEEP).replace('"method"', '"method":"ping","method"'),
        call(5, "write", DEEP)[:-1],
        call(5, "write", DEEP) + "]",
    ],
)
def test_what_is_too_deep_and_can_be_read_in_no_way_or_in_two_is_no_call(connection: Connection, line: str) -> None:
    answer = connection.ask(line)
    assert (answer["id"], answer["error"]["code"]) == (5, -32700)
    assert connection.ask(call(6, "write", "{}"))["id"] == 6
    assert [json.loads(each)["id"] for each in connection.heard() if each] == [6]


def test_a_server_that_always_dies_is_started_five_times(tmp_path: Path) -> None:
    dying = (sys.executable, "-c", f"open({str(tmp_path / 'starts')!r}, 'a').write('x'); raise SystemExit(9)")
    command = gateway_command("--restart", upstream=dying)
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as gateway:
        assert gateway.wait(60) == 9
    assert (tmp_path / "starts").read_text() == "x" * 6


def test_calls_reach_the_server_in_the_order_in_which_they_were_sent(connection: Connection) -> None:
    connection.send(*(call(number, "text", json.dumps({"text": "x" * (number % 7) * 900})) for number in range(300)))
    for _ in range(300):
        connection.line()
    assert [json.loads(line)["id"] for line in connection.heard() if line] == list(range(300))


def test_over_http_too_the_calls_of_a_client_keep_their_order(tmp_path: Path) -> None:
    calls = [call(n, "text", json.dumps({"text": "x" * (n % 7) * 9000})) for n in range(120)]
    with gateway("--", sys.executable, SCRIPT, str(tmp_path)) as listening:
        session = listening.begin()
        # Two bodies with many calls each, then one after the other on a connection that is not waited for.
        for body in (calls[:40], calls[40:80]):
            answered = json.loads(session.send(f"[{','.join(body)}]", accept="application/json")[1])
            assert len(answered) == 40
        head = (f"Host: localhost\r\nMcp-Session-Id: {session.id}\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\n")  # fmt: skip
        sent = [f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(one)}\r\n\r\n{one}" for one in calls[80:]]
        host, port = listening.url.removeprefix("http://").removesuffix("/mcp").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall("".join(sent).encode())
            eventually(lambda: len(heard(tmp_path)) == 120)
        assert session.end() == 204
    assert heard(tmp_path) == list(range(120))


def heard(folder: Path) -> list[int]:
    """Name the calls that have reached the server, by their ids."""
    lines = [json.loads(line) for line in (folder / "heard").read_bytes().splitlines() if b'"tools/call"' in line]
    return [each["id"] for line in lines for each in (line if isinstance(line, list) else [line])]


def test_the_gateway_ends_as_its_server_ended_when_everybody_has_an_answer(connection: Connection) -> None:
    dying = connection.ask(call(1, "crash", "{}"))
    assert dying["result"]["isError"]
    assert connection.line() == "", "its output is closed"
    assert connection.process.wait(30) == 7


def test_ids_are_made_out_of_what_cannot_be_read() -> None:
    for text, found in {
        '{"id": 5, "a": "': 5,
        '{"a": {"id": 5}, ': None,
        '{"a": "\\"id\\": 5", "id": "x"': "x",
        '{"a": ["id", 5], "id"': None,
        "no JSON": None,
        '"' * 9 + "\\" * 100_001: None,
    }.items():
        with pytest.raises(UnreadableMessageError) as told:
            read_line(text)
        assert told.value.request_id == found
