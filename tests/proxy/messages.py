"""What Anthropic's server of messages says, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

from tests.proxy.upstream import READ_FILE, Reply, streamed, whole

PATH = "/v1/messages"
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 5, "service_tier": "standard"}
THOUGHT = {"type": "thinking", "thinking": "Hm, hm.", "signature": "c2ln"}


def tool(name: str = "read_file", schema: Any = READ_FILE) -> Any:
    return {"name": name, "description": "d", "input_schema": schema}


def asking(*tools: Any, text: str = "Read a.txt", **options: Any) -> Any:
    return {"model": "m-1", "max_tokens": 99, "system": "Be brief.", "messages": [{"role": "user", "content": text}],
            **({"tools": list(tools)} if tools else {}), **options}  # fmt: skip


def demanding(name: str | None = None) -> Any:
    return {"tool_choice": {"type": "tool", "name": name} if name else {"type": "any"}}


def structured(name: str, schema: Any) -> Any:
    return {"output_format": {"type": "json_schema", "schema": schema}}


def call(name: str, arguments: Any, number: int = 0) -> Any:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


def message(text: str | None = None, *calls: Any, finish: str | None = None, thinks: bool = False) -> Any:
    content = ([THOUGHT] if thinks else []) + ([{"type": "text", "text": text}] if text else []) + list(calls)
    reason = finish or ("tool_use" if calls else "end_turn")
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1-2026", "content": content,
            "stop_reason": reason, "stop_sequence": None, "usage": USAGE}  # fmt: skip


def says(text: str | None = None, *calls: Any, **options: Any) -> Reply:
    return whole(message(text, *calls, **options))


def chunks(text: str | None = None, *calls: Any, step: int = 4, **options: Any) -> bytes:
    made = message(text, *calls, **options)
    began = {**made, "content": [], "stop_reason": None, "usage": USAGE | {"output_tokens": 1}}
    said: list[Any] = [{"type": "message_start", "message": began}]
    for index, block in enumerate(made["content"]):
        parts: list[Any] = []
        if block["type"] == "text":
            start, whole_text, kind, name = {**block, "text": ""}, block["text"], "text_delta", "text"
        elif block["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            whole_text, kind, name = block["thinking"], "thinking_delta", "thinking"
            parts = [{"type": "signature_delta", "signature": block["signature"]}]
        else:
            start, whole_text, kind, name = (
                {**block, "input": {}}, json.dumps(block["input"]), "input_json_delta", "partial_json",
            )  # fmt: skip
        parts = [{"type": kind, name: whole_text[at : at + step]} for at in range(0, len(whole_text), step)] + parts
        said.append({"type": "content_block_start", "index": index, "content_block": start})
        said.append({"type": "ping"})
        said += [{"type": "content_block_delta", "index": index, "delta": part} for part in parts]
        said.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": made["stop_reason"], "stop_sequence": None}
    said += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]
    return b"".join(b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in said)


def streams(text: str | None = None, *calls: Any, **options: Any) -> Reply:
    return streamed(chunks(text, *calls, **options))


def results(body: Any) -> list[str]:
    return [block["content"] for turn in body["messages"] if isinstance(turn["content"], list)
            for block in turn["content"] if block["type"] == "tool_result"]  # fmt: skip


def calls_in(body: Any) -> list[tuple[str, Any]]:
    return [(block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use"]


def text_in(body: Any) -> str:
    return "".join(block["text"] for block in body["content"] if block["type"] == "text")


def put_together(content: bytes) -> Any:
    """Read a stream as the SDK does."""
    body: Any = None
    for line in content.decode().splitlines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[6:])
        match event["type"]:
            case "message_start":
                body = event["message"]
            case "content_block_start":
                assert event["index"] == len(body["content"])
                body["content"].append({**event["content_block"], "json": ""})
            case "content_block_delta":
                block, delta = body["content"][event["index"]], event["delta"]
                block["json"] += delta.get("partial_json", "")
                block["text"] = block.get("text", "") + delta.get("text", "")
            case "message_delta":
                body |= event["delta"]
                body["usage"] = body["usage"] | event["usage"]
    for block in body["content"] if body else []:
        if block["json"]:
            block["input"] = json.loads(block["json"])
    return body
