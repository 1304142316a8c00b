"""A server of streamable HTTP that is written by hand, in a thread of the test's: it says what no SDK lets through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.gateway.raw_upstream import STRANGE, TEXT
from tests.serving.threads import served

NAMES = [
    "write",
    "text",
    "strange",
    "resumed",
    "broken",
    "unauthorized",
    "forbidden",
    "pretty",
    "sized",
    "flood",
    "unjudged",
]
SIZED = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
TOOLS = [
    {"name": name, "inputSchema": TEXT if name == "text" else {"type": "object"}}
    | {
        "sized": {"outputSchema": SIZED},
        "unjudged": {"outputSchema": {"type": "object", "$ref": "https://a.example"}},
    }.get(name, {})
    for name in NAMES
]
CHALLENGE = 'Bearer resource_metadata="https://auth.example/.well-known/oauth-protected-resource"'
FIRST = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half \\ud83d"}}'
FLOODS = 3000
FLOOD = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"' + b"x" * 20_000 + b'"}}'


class RawHttp(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heard: list[tuple[str, dict[str, str], bytes]] = []
        self.forgotten: set[str] = set()
        self.sessions = 0
        self.resumed: Any = None
        self.flooded = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def calls(self) -> list[bytes]:
        return [body for _, _, body in self.heard if b'"tools/call"' in body]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: RawHttp

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append(("POST", headers, body))
        if headers.get("mcp-session-id") in self.server.forgotten:
            return self.say(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
        read = json.loads(body)
        asked = read if isinstance(read, dict) else read[0]
        if "id" not in asked or "method" not in asked:
            return self.say(202)
        method, number = asked["method"], json.dumps(asked["id"])
        if method == "initialize":
            self.server.sessions += 1
            result: Any = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw"},
            }
            return self.answer(number, result, ("mcp-session-id", f"up-{self.server.sessions}"))
        if method == "tools/list":
            return self.answer(number, {"tools": TOOLS})
        return self.call(number, asked.get("params", {}).get("name"), asked.get("params", {}))

    def call(self, number: str, name: str | None, params: Any) -> None:
        match name:
            case "strange":
                self.say(200, (STRANGE % number).encode())
            case "pretty":
                self.say(200, f'{{\n "jsonrpc": "2.0",\r\n "id": {number},\n "result": {{"content": []}}\n}}'.encode())
            case "resumed":
                self.server.resumed = number
                self.stream(b"id: 7\nretry: 1\ndata: " + FIRST + b"\n\n")
            case "flood":
                answer = f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}'.encode()
                self.stream(*([b"data: " + FLOOD + b"\n\n"] * FLOODS), b"data: " + answer + b"\n\n")
            case "broken":
                self.stream(b"data: " + FIRST + b"\n\ndata: {half")
            case "unauthorized":
                self.say(401, b'{"error": "invalid_token"}', ("www-authenticate", CHALLENGE))
            case "forbidden":
                self.say(403, b"not you", ("content-type", "text/plain"))
            case "sized" | "unjudged":
                self.answer(number, {"content": [], "structuredContent": params.get("arguments", {})})
            case _:
                self.answer(number, {"content": []})

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append(("GET", headers, b""))
        if headers.get("last-event-id") == "7":
            answer = f'{{"jsonrpc":"2.0","id":{self.server.resumed},"result":{{"content":[]}}}}'
            return self.stream(b"id: 8\ndata: " + answer.encode() + b"\n\n")
        return self.say(405)

    def do_DELETE(self) -> None:
        self.server.heard.append(("DELETE", {name.lower(): value for name, value in self.headers.items()}, b""))
        self.say(204)

    def answer(self, number: str, result: Any, *headers: tuple[str, str]) -> None:
        self.say(200, f'{{"jsonrpc":"2.0","id":{number},"result":{json.dumps(result)}}}'.encode(), *headers)

    def stream(self, *events: bytes) -> None:
        """Write events and break off."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event)
            self.server.flooded += 1
        self.close_connection = True

    def say(self, status: int, body: bytes = b"", *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | dict(headers)).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def raw_http() -> Iterator[RawHttp]:
    server = RawHttp()
    with served(server):
        yield server
