"""What a server of chat completions says, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

from tests.proxy.upstream import READ_FILE, Reply, streamed, whole

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
         "prompt_tokens_details": {"cached_tokens": 2}}  # fmt: skip
PATH = "/v1/chat/completions"


def tool(name: str = "read_file", schema: Any = READ_FILE) -> Any:
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}


def asking(*tools: Any, text: str = "Read a.txt", **options: Any) -> Any:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return {"model": "m-1", "messages": messages, **({"tools": list(tools)} if tools else {}), **options}


def call(name: str, arguments: Any, number: int = 0) -> Any:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}


def completion(text: str | None = None, *calls: Any, finish: str | None = None, **members: Any) -> Any:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    message |= {"tool_calls": list(calls)} if calls else {}
    finish = finish or ("tool_calls" if calls else "stop")
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1-2026",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": USAGE, "service_tier": "default", **members}  # fmt: skip


def says(text: str | None = None, *calls: Any, **options: Any) -> Reply:
    return whole(completion(text, *calls, **options))


def chunks(text: str | None = None, *calls: Any, finish: str | None = None, usage: bool = True, step: int = 4) -> bytes:
    """Write an answer as a server streams it: text and arguments in parts of `step` characters."""
    deltas: list[Any] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"content": text[at : at + step]} for at in range(0, len(text or ""), step)] if text else []
    for index, made in enumerate(calls):
        function = made["function"]
        deltas.append({"tool_calls": [{"index": index, **made, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"][at : at + step]}}]}
            for at in range(0, len(function["arguments"]), step)
        ]
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1-2026",
            "system_fingerprint": "fp_1"}  # fmt: skip
    said = [base | {"choices": [{"index": 0, "delta": d, "logprobs": None, "finish_reason": None}]} for d in deltas]
    finish = finish or ("tool_calls" if calls else "stop")
    said.append(base | {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish}]})
    if usage:
        said.append(base | {"choices": [], "usage": USAGE})
    return b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in said) + b"data: [DONE]\n\n"


def streams(text: str | None = None, *calls: Any, **options: Any) -> Reply:
    return streamed(chunks(text, *calls, **options))


def demanding(name: str | None = None) -> Any:
    return {"tool_choice": {"type": "function", "function": {"name": name}} if name else "required"}


def structured(name: str, schema: Any) -> Any:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}


def results(body: Any) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def calls_in(body: Any) -> list[tuple[str, Any]]:
    made = [entry["function"] for entry in body["choices"][0]["message"].get("tool_calls") or ()]
    return [(entry["name"], json.loads(entry["arguments"])) for entry in made]


def text_in(body: Any) -> str:
    text: str = body["choices"][0]["message"]["content"]
    return text or ""


def put_together(content: bytes) -> Any:
    """Read a stream as the SDK does: by index, texts joined."""
    message: Any = {"content": "", "tool_calls": []}
    body: Any = {"choices": [{"message": message}]}
    for line in content.decode().splitlines():
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        event = json.loads(line[6:])
        body["usage"] = event.get("usage")
        for choice in event.get("choices", ()):
            message["content"] += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls") or ():
                if part["index"] == len(message["tool_calls"]):
                    message["tool_calls"].append({**part, "function": {"name": "", "arguments": ""}})
                made = message["tool_calls"][part["index"]]["function"]
                for name, text in part["function"].items():
                    made[name] += text
    return body
