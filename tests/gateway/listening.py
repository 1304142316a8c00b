"""A gateway that listens, and a client of it that is written by hand."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from tests.gateway.connections import INITIALIZE, ROOT, SECONDS
from tests.serving.forked import forked

BOTH = "application/json, text/event-stream"


@contextmanager
def gateway(*options: str, env: dict[str, str] | None = None) -> Iterator[Listening]:
    """Run `mcp-gateway --listen` until the test ends; it must end in good order."""
    command = forked("-m", "retrycontract", "mcp-gateway", "--listen", "127.0.0.1:0", *options)
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("retrycontract mcp-gateway on http://"), line + process.stderr.read()
        listening = Listening(line.split()[-1], process)
        try:
            yield listening
        finally:
            process.terminate()
            listening.log = process.communicate(timeout=SECONDS)[1]
        assert process.returncode == 0, listening.log
        assert "Traceback" not in listening.log, listening.log


class Listening:
    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url, self.process, self.log = url, process, ""

    def connect(self) -> HTTPConnection:
        return HTTPConnection(urlsplit(self.url).netloc, timeout=SECONDS)

    def send(
        self, method: str = "POST", body: str | bytes | None = None, *, path: str = "/mcp", **headers: str
    ) -> tuple[HTTPResponse, bytes]:
        """Send one request on a connection of its own, and read the whole answer."""
        connection = self.connect()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        defaults = {"content-type": "application/json", "accept": BOTH} if method == "POST" else {"accept": BOTH}
        connection.request(method, path, body.encode() if isinstance(body, str) else body, defaults | given)
        response = connection.getresponse()
        found = response.read()
        connection.close()
        return response, found

    def begin(self, **headers: str) -> RawSession:
        """Introduce a client."""
        response, _ = self.send(body=request(0, "initialize", INITIALIZE), **headers)
        assert response.status == 200
        session = RawSession(self, response.headers["mcp-session-id"], headers)
        assert session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')[0].status == 202
        return session


class RawSession:
    def __init__(self, listening: Listening, session_id: str, headers: dict[str, str]) -> None:
        self._listening, self.id, self._headers = listening, session_id, headers

    def send(self, body: str | bytes, **headers: str) -> tuple[HTTPResponse, bytes]:
        return self._listening.send(body=body, mcp_session_id=self.id, **self._headers | headers)

    @contextmanager
    def open(self, method: str, body: str | None = None, **headers: str) -> Iterator[HTTPResponse]:
        """Send a request and give its answer unread; then the connection is cut."""
        connection = self._listening.connect()
        defaults = {"content-type": "application/json", "accept": BOTH, "mcp-session-id": self.id}
        connection.request(method, "/mcp", body, defaults | {key.replace("_", "-"): of for key, of in headers.items()})
        with closing(connection), connection.getresponse() as response:
            yield response

    def end(self) -> int:
        return self._listening.send("DELETE", mcp_session_id=self.id)[0].status


def request(number: int, method: str, params: Any = None) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})


def call(number: int, name: str, arguments: str = "{}") -> str:
    return (
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}'
    )


def messages_in(events: bytes) -> list[bytes]:
    """Take the messages out of a stream of events."""
    return [line[6:] for line in events.split(b"\n") if line.startswith(b"data: ")]
