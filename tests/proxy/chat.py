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
