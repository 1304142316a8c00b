"""What the upstream offers, as it last said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrycontract.contract.tool_lists import DeclaredTool

NO_SCHEMA = {"type": "object"}  # the protocol demands a schema; a server that sends none accepts anything


class Toolbox:
    """Remember the upstream's tools, and which of them have not been shown to the judge yet."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[str, Any]] = {}
        self._unseen: dict[str, DeclaredTool] = {}
        self.is_stale = True  # the upstream has not been asked, or has said that its list changed

    def declare(self, tools: Iterable[Any]) -> None:
        """Take over a page of the upstream's list; what is no tool is left to the client."""
        for tool in tools:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str) and self._tools.get(tool["name"]) != tool:
                self._tools[tool["name"]] = tool
                self._unseen[tool["name"]] = _declared(tool)

    def replace(self, tools: Iterable[Any]) -> None:
        """Take over the whole list: what it does not name is gone."""
        listed = list(tools)
        names = {tool.get("name") for tool in listed if isinstance(tool, dict)}
        self._tools = {name: tool for name, tool in self._tools.items() if name in names}
        self.declare(listed)

    def knows(self, name: str) -> bool:
        """Tell whether the upstream has listed a tool of this name since its list last changed."""
        return name in self._tools and not self.is_stale

    def has_output_schema(self, name: str) -> bool:
        """Tell whether a tool promises the shape of its structured results."""
        return bool(self._tools.get(name, {}).get("outputSchema"))

    def unseen(self) -> list[DeclaredTool]:
        """List the tools that are new or changed."""
        return list(self._unseen.values())

    def mark_seen(self, tools: Iterable[DeclaredTool]) -> None:
        """Note that the judge has them; one that changed meanwhile stays unseen."""
        for tool in tools:
            if self._unseen.get(tool.name) is tool:
                del self._unseen[tool.name]


def _declared(tool: dict[str, Any]) -> DeclaredTool:
    schema, description = tool.get("inputSchema"), tool.get("description")
    return DeclaredTool(
        tool["name"], description if isinstance(description, str) else "", NO_SCHEMA if schema is None else schema
    )
