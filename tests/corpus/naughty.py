"""Published strings that break programs, put where an agent or an operator may put text."""

from __future__ import annotations

from typing import Any

PRINTABLE = ("tool", "tool_call_id", "session_id", "task_id", "correlation_id", "finish_reason")


def submission(text: str, number: int) -> dict[str, Any]:
    """Say the text wherever a submission takes any text; each number begins a call of its own."""
    return {
        "tool": "naughty",
        "tool_call_id": f"id {number}",
        "arguments": {text: [text], "must": text},
        "callback_error": text[:4_000] or "-",
        "context": {"goal": text, text: text},
    }


def fields(text: str) -> list[dict[str, Any]]:
    """Say the text in one field after the other, and as what the model wrote."""
    base = {"tool": "naughty", "tool_call_id": "id", "raw": text}
    return [base] + [base | {name: text} for name in (*PRINTABLE, "call_id", "version", "render", "kind")]
