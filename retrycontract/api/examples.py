"""Examples of what the API takes, for the OpenAPI document; a test sends each of them."""

from __future__ import annotations

from typing import Any, Final

READ_FILE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["path"],
}
TOOL: Final[dict[str, Any]] = {
    "input_schema": READ_FILE,
    "description": "Read a file.",
    "max_attempts": 3,
    "expires_after": "12h",
}
CALL: Final[dict[str, Any]] = {
    "tool": "read_file",
    "tool_call_id": "call_abc",
    "arguments": {"path": 5},
    "session_id": "s-1",
    "turn": 4,
    "render": "openai",
    "context": {"goal": "Summarise the report"},
}
RAW_CALL: Final[dict[str, Any]] = {"tool": "read_file", "tool_call_id": "call_abc", "raw": '{"path": "report.txt"}'}
CHECK: Final[dict[str, Any]] = {"input_schema": READ_FILE, "arguments": {"path": 5}, "tool": "read_file"}
TOOL_LISTS: Final[dict[str, Any]] = {
    "OpenAI": {"value": [{"type": "function", "function": {"name": "read_file", "parameters": READ_FILE}}]},
    "Anthropic": {"value": [{"name": "read_file", "input_schema": READ_FILE}]},
    "MCP": {"value": {"tools": [{"name": "read_file", "inputSchema": READ_FILE}]}},
}
