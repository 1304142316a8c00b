"""A local server that speaks the wire formats of OpenAI and of Anthropic's messages, and answers from a script."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.serving.threads import served

if TYPE_CHECKING:
    from collections.abc import Iterator

DROP = object()  # the connection is closed without an answer
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass
class Wire:
    """Answer each request with the next entry: a status and a body, or DROP."""

    answers: list[Any]
    requests: list[tuple[str, Any]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """Give the address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[Any]:
        """List what was sent."""
        return [body for _, body in self.requests]


@contextmanager
def answering(*answers: Any) -> Iterator[Wire]:
    """Serve a script while the block runs."""
    wire = Wire(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
            if self.path.endswith("/models"):  # which some clients ask for when they start, and is none of the script
                found: Any = (200, {"object": "list", "data": []})
            else:
                wire.requests.append((self.path, body))
                found = wire.answers.pop(0) if len(wire.answers) > 1 else wire.answers[0]
            if found is DROP:
                self.close_connection = True
                return
            status, document = found
            payload = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST  # noqa: N815 - named by http.server

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wire.port = server.server_address[1]
    with served(server):
        yield wire


def openai_says(
    text: str | None = None, *calls: tuple[str, Any], finish: str = "stop", first: int = 0
) -> tuple[int, Any]:
    """Make a chat completion; the ids of its calls count up from `first`."""
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls, first)
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return 200, {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice],
                 "usage": USAGE}  # fmt: skip


def openai_responds(text: str | None = None, *calls: tuple[str, Any], first: int = 0) -> tuple[int, Any]:
    """Make a response of OpenAI's other API; the ids of its calls count up from `first`."""
    said = {"type": "output_text", "text": text, "annotations": []}
    output: list[Any] = [
        {"id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": f"call_{number}",
         "name": name, "arguments": json.dumps(arguments)}
        for number, (name, arguments) in enumerate(calls, first)
    ]  # fmt: skip
    if text is not None:
        message = {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed", "content": [said]}
        output.insert(0, message)
    return 200, {"id": "x", "object": "response", "created_at": 0, "model": "m", "status": "completed", "tools": [],
                 "output": output, "parallel_tool_calls": False, "tool_choice": "auto"}  # fmt: skip


def anthropic_says(
    text: str | None = None, *calls: tuple[str, Any], finish: str = "end_turn", first: int = 0
) -> tuple[int, Any]:
    """Make a message; the ids of its calls count up from `first`."""
    blocks: list[Any] = [{"type": "text", "text": text}] if text is not None else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
        for number, (name, arguments) in enumerate(calls, first)
    ]
    return 200, {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": blocks,
                 "stop_reason": finish, "stop_sequence": None,
                 "usage": {"input_tokens": 10, "output_tokens": 5}}  # fmt: skip


def fails(status: int, code: str | None = None) -> tuple[int, Any]:
    """Make an error as both providers write it."""
    error = {"message": "no", "type": "error", "code": code}
    return status, {"type": "error", "error": error}
