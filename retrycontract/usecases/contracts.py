"""Compiled tools and the sanitiser of this process."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from retrycontract.contract.configuration import Mode, RetryConfiguration
from retrycontract.contract.sanitizer import ValueSanitizer
from retrycontract.contract.tool import CompiledTool
from retrycontract.contract.tool import Tool as Contract
from retrycontract.store.models import Tool, ToolVersion

COMPILED = 2_048  # versions kept; about 50 kB each at worst


def configuration_for(tool_name: str) -> RetryConfiguration:
    """Give the contract's configuration with the overrides of this tool."""
    configuration: RetryConfiguration = settings.CONTRACT
    return configuration.for_tool(tool_name)


def mode_of(tool: Tool | None, tool_name: str) -> Mode:
    """Tell whether a tool is enforced or only observed."""
    mode = tool.mode if tool else None
    return "observe" if (mode or configuration_for(tool_name).mode) == "observe" else "enforce"


def attempts_allowed(tool: Tool | None, tool_name: str) -> int:
    """Give the first budget of a call of this tool."""
    return (tool.max_attempts if tool else None) or configuration_for(tool_name).max_attempts


def sanitizer() -> ValueSanitizer:
    """Give the one sanitiser that everything in this process uses."""
    return _sanitizer(settings.CONTRACT)


def compiled(tool: Tool, version: ToolVersion) -> CompiledTool:
    """Give the tool ready to judge by a version of its schema; versions never change, so it is kept."""
    key = (version.pk, tool.strict)
    found = _kept.get(key)
    if found is None:
        contract = Contract(name=tool.name, input_schema=version.schema, strict=tool.strict)
        while len(_kept) >= COMPILED:
            _kept.pop(next(iter(_kept)), None)
        found = _kept[key] = CompiledTool.admitted(contract)
    return found


_kept: dict[tuple[int, bool], CompiledTool] = {}


@lru_cache(maxsize=4)
def _sanitizer(configuration: RetryConfiguration) -> ValueSanitizer:
    return ValueSanitizer(configuration)
