"""Read tool lists as providers write them: OpenAI, Anthropic and MCP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_TOOLS = 2_000  # in one list
SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters", "schema")
MAX_NAME = 300  # characters; real servers have names of over 100


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """Hold one tool of a list: its name, description and schema, as declared."""

    name: str
    description: str
    schema: Any


class InvalidToolListError(ValueError):
    """Raised when a payload is no tool list; `pointer` names the place in it."""

    def __init__(self, pointer: str, reason: str) -> None:
        self.pointer, self.reason = pointer, reason
        super().__init__(f"{pointer or '(root)'}: {reason}")


def read_tool_list(payload: Any) -> list[DeclaredTool]:
    """Read a list of tools, or an object that holds one under `tools`; raises InvalidToolListError."""
    pointer = ""
    if isinstance(payload, dict) and "tools" in payload:
        payload, pointer = payload["tools"], "/tools"
    if not isinstance(payload, list):
        raise InvalidToolListError(pointer, "send a list of tools, or an object with the list under 'tools'")
    if len(payload) > MAX_TOOLS:
        raise InvalidToolListError(pointer, f"send at most {MAX_TOOLS} tools at once")
    return list(_read(payload, pointer))


def _read(items: list[Any], pointer: str) -> Iterator[DeclaredTool]:
    for position, item in enumerate(items):
        where = f"{pointer}/{position}"
        if not isinstance(item, dict):
            raise InvalidToolListError(where, "a tool is an object with a name and a schema")
        inner = item.get("function")
        body = inner if isinstance(inner, dict) else item  # OpenAI's chat API wraps the function
        name = body.get("name")
        if _is_built_in(body):
            yield DeclaredTool(
                str(name or body["type"])[:MAX_NAME], "", None
            )  # has no schema, so it is refused by name
            continue
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
            raise InvalidToolListError(f"{where}/name", f"a tool needs a name of 1 to {MAX_NAME} printable characters")
        description = body.get("description")
        yield DeclaredTool(name, description if isinstance(description, str) else "", _schema(body))


def _is_built_in(body: dict[str, Any]) -> bool:
    """Tell a tool that the provider runs itself, such as its web search: it declares no schema to check by."""
    kind = body.get("type")
    has_schema = any(key in body for key in SCHEMA_KEYS)
    return isinstance(kind, str) and kind not in ("function", "custom") and not has_schema


def _schema(body: dict[str, Any]) -> Any:
    for key in SCHEMA_KEYS:
        if body.get(key) is not None:
            return body[key]
    return {"type": "object", "properties": {}}  # a tool without parameters may leave them out, or write null
