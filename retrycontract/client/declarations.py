"""Describe tools as the service imports them: providers' lists as they are, functions and types by their signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from retrycontract.client.errors import ToolDeclarationError

NO_PYDANTIC = 'pydantic describes functions and types as tools: pip install "pydantic>=2"'


def tool_list(tools: Any) -> Any:
    """Give a list that the service can import.

    Takes a tool list of OpenAI, Anthropic or MCP, whole or under `tools`, with the SDKs' own objects in it or plain
    dicts; and functions, pydantic models, dataclasses and TypedDicts. Raises ToolDeclarationError, and ImportError
    where pydantic is needed and missing.
    """
    if isinstance(tools, Mapping):
        return tools
    # A string and an enum class can be iterated over, and are meant as one thing all the same.
    if not isinstance(tools, Iterable) or isinstance(tools, str | type):
        raise ToolDeclarationError(_name(tools), "give a list of tools, even of one")
    return [_declared(tool) for tool in tools]


def _declared(tool: Any) -> Any:
    # First: a pydantic class has `model_dump` as well, and stands for a tool itself.
    if callable(tool):
        return _described(tool)
    if hasattr(tool, "model_dump"):  # what the providers' SDKs return are pydantic models
        return tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return tool


def _described(tool: Any) -> dict[str, Any]:
    name = _name(tool)
    # A `functools.partial`, or an object that can be called, has none.
    if not hasattr(tool, "__name__"):
        raise ToolDeclarationError(name, "it has no name")
    schema = _schema(tool, name)
    if schema.get("type") == "array":
        raise ToolDeclarationError(name, "its arguments have no names; a model gives arguments by name")
    # `getdoc` of a class without a docstring gives its base's, which says nothing of the tool.
    described = schema.get("description") or (None if isinstance(tool, type) else inspect.getdoc(tool))
    return {"name": name, "input_schema": schema} | ({"description": described} if described else {})


def _schema(tool: Any, name: str) -> dict[str, Any]:
    try:
        import pydantic  # only who describes tools by code needs it
    except ImportError:
        raise ImportError(NO_PYDANTIC) from None
    try:
        return pydantic.TypeAdapter(tool).json_schema()
    # NameError comes of an annotation in quotes that names what is not there.
    except (pydantic.errors.PydanticUserError, NameError) as error:
        raise ToolDeclarationError(name, str(error).partition("\n")[0]) from error


def _name(tool: Any) -> str:
    name = getattr(tool, "__name__", type(tool).__name__)
    return str(name)
