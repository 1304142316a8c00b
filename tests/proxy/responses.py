"""What OpenAI's server of responses says, whole and streamed."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.proxy.upstream import READ_FILE, Reply, streamed, whole

PATH = "/v1/responses"
USAGE = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 5,
         "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 15}  # fmt: skip
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2ln"}


def tool(name: str = "read_file", schema: Any = READ_FILE) -> Any:
    return {"type": "function", "name": name, "description": "d", "parameters": schema, "strict": False}


def asking(*tools: Any, question: str = "Read a.txt", **options: Any) -> Any:
    return {"model": "m-1", "instructions": "Be brief.", "input": question, **({"tools": list(tools)} if tools else {}),
            **options}  # fmt: skip


def demanding(name: str | None = None) -> Any:
    return {"tool_choice": {"type": "function", "name": name} if name else "required"}


def structured(name: str, schema: Any) -> Any:
    return {"text": {"format": {"type": "json_schema", "name": name, "schema": schema}}}


def call(name: str, arguments: Any, number: int = 0) -> Any:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": f"call_{number}",
            "name": name, "arguments": text}  # fmt: skip


def response(text: str | None = None, *calls: Any, finish: str | None = None, thinks: bool = False) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    said = {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    output = ([THOUGHT] if thinks else []) + ([said] if text else []) + list(calls)
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m-1-2026", "output": output, "tools": [],
            "status": "incomplete" if finish else "completed", "parallel_tool_calls": True, "tool_choice": "auto",
            "incomplete_details": {"reason": finish} if finish else None, "usage": USAGE}  # fmt: skip


def says(text: str | None = None, *calls: Any, **options: Any) -> Reply:
    return whole(response(text, *calls, **options))


def chunks(text: str | None = None, *calls: Any, step: int = 4, **options: Any) -> bytes:
    made = response(text, *calls, **options)
    began = {**made, "output": [], "status": "in_progress", "usage": None}
    said: list[Any] = [
        {"type": "response.created", "response": began},
        {"type": "response.in_progress", "response": began},
    ]
    for place, item in enumerate(made["output"]):
        at = {"output_index": place}
        inner = {**at, "item_id": item["id"]}
        started = {**item, "status": "in_progress"}
        if item["type"] == "message":
            inner |= {"content_index": 0}
            said.append({"type": "response.output_item.added", **at, "item": {**started, "content": []}})
            part = item["content"][0]
            said.append({"type": "response.content_part.added", **inner, "part": {**part, "text": ""}})
            texts = [part["text"][n : n + step] for n in range(0, len(part["text"]), step)]
            said += [{"type": "response.output_text.delta", **inner, "delta": text, "logprobs": []} for text in texts]
            said.append({"type": "response.output_text.done", **inner, "text": part["text"], "logprobs": []})
            said.append({"type": "response.content_part.done", **inner, "part": part})
        elif item["type"] == "function_call":
            written = item["arguments"]
            said.append({"type": "response.output_item.added", **at, "item": {**started, "arguments": ""}})
            said += [{"type": "response.function_call_arguments.delta", **inner, "delta": written[n : n + step]}
                     for n in range(0, len(written), step)]  # fmt: skip
            done = {"type": "response.function_call_arguments.done", **inner, "arguments": written}
            said.append({**done, "name": item["name"]})
        else:
            said.append({"type": "response.output_item.added", **at, "item": item})
        said.append({"type": "response.output_item.done", **at, "item": item})
    said.append({"type": f"response.{made['status']}", "response": made})
    numbers = itertools.count()
    return b"".join(
        b"event: %s\ndata: %s\n\n"
        % (one["type"].encode(), json.dumps({**one, "sequence_number": next(numbers)}).encode())
        for one in said
    )


def streams(text: str | None = None, *calls: Any, **options: Any) -> Reply:
    return streamed(chunks(text, *calls, **options))


def results(body: Any) -> list[str]:
    items = body["input"] if isinstance(body["input"], list) else []
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


def calls_in(body: Any) -> list[tuple[str, Any]]:
    return [(item["name"], json.loads(item["arguments"])) for item in body["output"] if item["type"] == "function_call"]


def text_in(body: Any) -> str:
    return "".join(part["text"] for item in body["output"] if item["type"] == "message" for part in item["content"])


def put_together(content: bytes) -> Any:
    """Read a stream: its numbers go up, its items come one after the other, and the last event has them all."""
    events = [json.loads(line[6:]) for line in content.decode().splitlines() if line.startswith("data: ")]
    if events[-1]["type"] == "error":
        return None
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    done = [event for event in events if event["type"] == "response.output_item.done"]
    assert [event["output_index"] for event in done] == list(range(len(done)))
    body = events[-1]["response"]
    assert [event["item"] for event in done] == body["output"]
    said = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert said == text_in(body)
    return body
