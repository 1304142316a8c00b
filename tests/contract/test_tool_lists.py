from __future__ import annotations

from typing import Any

import pytest

from retrycontract.contract.schemas.tool_lists import MAX_TOOLS, DeclaredTool, InvalidToolListError, read_tool_list

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(
            {"type": "function", "function": {"name": "read", "description": "d", "parameters": SCHEMA}},
            id="openai-chat",
        ),
        pytest.param(
            {"type": "function", "name": "read", "description": "d", "parameters": SCHEMA}, id="openai-responses"
        ),
        pytest.param({"name": "read", "description": "d", "input_schema": SCHEMA}, id="anthropic"),
        pytest.param({"name": "read", "description": "d", "inputSchema": SCHEMA, "annotations": {}}, id="mcp"),
        pytest.param({"name": "read", "description": "d", "schema": SCHEMA}, id="plain"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["list", "object"])
def test_tools_are_read_as_each_provider_writes_them(tool: dict[str, Any], wrapped: bool) -> None:
    payload: Any = {"tools": [tool], "nextCursor": None} if wrapped else [tool]
    assert read_tool_list(payload) == [DeclaredTool("read", "d", SCHEMA)]


@pytest.mark.parametrize("tool", [{"name": "now"}, {"name": "now", "parameters": None}], ids=["absent", "null"])
def test_a_tool_without_parameters_takes_an_empty_object(tool: dict[str, Any]) -> None:
    assert read_tool_list([tool]) == [DeclaredTool("now", "", {"type": "object", "properties": {}})]


def test_false_is_a_schema() -> None:
    assert read_tool_list([{"name": "never", "input_schema": False}])[0].schema is False


def test_an_empty_list_is_a_list() -> None:
    assert read_tool_list([]) == read_tool_list({"tools": []}) == []


@pytest.mark.parametrize(
    ("payload", "pointer", "reason"),
    [
        ("x", "", "send a list of tools"),
        ({"tool": []}, "", "send a list of tools"),
        ({"tools": {}}, "/tools", "send a list of tools"),
        ([{"name": "a"}] * (MAX_TOOLS + 1), "", "at most 2000"),
        ([{"name": "a"}, 3], "/1", "a tool is an object"),
        ({"tools": [{"description": "x"}]}, "/tools/0/name", "a tool needs a name"),
        ([{"name": ""}], "/0/name", "a tool needs a name of 1 to 300 "),
        ([{"name": "x" * 301}], "/0/name", "a tool needs a name"),
        ([{"name": "a\nb"}], "/0/name", "printable"),
        ([{"name": 3}], "/0/name", "a tool needs a name"),
        ([{"function": {"description": "x"}}], "/0/name", "a tool needs a name"),
    ],
)
def test_what_is_no_tool_list_is_refused_at_its_place(payload: Any, pointer: str, reason: str) -> None:
    with pytest.raises(InvalidToolListError, match=reason) as caught:
        read_tool_list(payload)
    assert caught.value.pointer == pointer
    assert str(caught.value).startswith(f"{pointer or '(root)'}: ")


@pytest.mark.parametrize(
    "item", [{"type": "web_search_preview"}, {"type": "web_search_20250305", "name": "web_search"}]
)
def test_a_tool_that_the_provider_runs_itself_has_no_schema_to_check_by(item: dict[str, object]) -> None:
    declared = read_tool_list([item, {"name": "mine"}])
    assert declared[0].schema is None
    assert declared[1].schema == {"type": "object", "properties": {}}
