"""Which tools can be registered, and how functions and types are described to the service."""

from __future__ import annotations

import functools
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from retrycontract.client import ImportedTools, RefusedTool, ToolDeclarationError
from retrycontract.client.guarding import tool_list
from retrycontract.contract.schemas.document import SchemaWarning
from retrycontract.contract.schemas.tool_lists import read_tool_list
from retrycontract.contract.tool import CompiledTool, Tool
from retrycontract.judging.judge import drive
from retrycontract.judging.service_judge import ServiceJudge
from tests.client.scripted import answer

if TYPE_CHECKING:
    from tests.client.conftest import Scripted

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
LISTS: dict[str, Any] = {
    "openai": [{"type": "function", "function": {"name": "open", "parameters": SCHEMA}}],
    "openai responses": [{"type": "function", "name": "open", "parameters": SCHEMA}],
    "anthropic": [{"name": "open", "input_schema": SCHEMA}],
    "mcp": {"tools": [{"name": "open", "inputSchema": SCHEMA}]},
}


def open_file(path: Annotated[str, Field(pattern="^/")], mode: Literal["read", "write"] = "read", *, n: int = 1) -> str:
    """Open a file."""
    return f"{path} {mode} {n}"


class OpenFile(BaseModel):
    """Open a file."""

    path: str = Field(alias="filePath")


@dataclass
class Point:
    x: int
    label: str = ""


class Position(TypedDict):
    """Where something is."""

    x: int


class Files:
    def read(self, path: str) -> None:
        """Read a file."""


class SdkTool(BaseModel):
    """A tool as an SDK hands it over: an object, not a type."""

    name: str
    input_schema: dict[str, Any] = Field(serialization_alias="inputSchema")
    title: str | None = None


@pytest.mark.parametrize("tools", LISTS.values(), ids=list(LISTS))
def test_a_providers_list_is_handed_on_as_it_is(scripted: Scripted, tools: Any) -> None:
    body = {"registered": [], "refused": [{"name": "web", "pointer": "", "code": "no-schema", "detail": "None."}]}
    service = scripted(answer(200, body))
    with service.client() as client:
        result = client.register_tools(tools)
    assert service.lines == ["POST /tools/import"]
    assert service.bodies == [tools]
    assert result == ImportedTools((), (RefusedTool("web", "", "no-schema", "None."),))


@pytest.mark.parametrize(
    ("tool", "name", "description", "properties", "required"),
    [
        pytest.param(open_file, "open_file", "Open a file.", {"path", "mode", "n"}, {"path"}, id="function"),
        pytest.param(OpenFile, "OpenFile", "Open a file.", {"filePath"}, {"filePath"}, id="pydantic model"),
        pytest.param(Point, "Point", "", {"x", "label"}, {"x"}, id="dataclass"),
        pytest.param(Position, "Position", "Where something is.", {"x"}, {"x"}, id="TypedDict"),
        pytest.param(Files().read, "read", "Read a file.", {"path"}, {"path"}, id="method"),
    ],
)
def test_code_is_described_by_its_signature(
    tool: Any, name: str, description: str, properties: set[str], required: set[str]
) -> None:
    [declared] = read_tool_list(tool_list([tool]))
    assert (declared.name, declared.description) == (name, description)
    assert set(declared.schema["properties"]) == properties
    assert set(declared.schema["required"]) == required
    assert CompiledTool.of(Tool(name=declared.name, input_schema=declared.schema)), "the service takes it"


def test_an_sdks_tool_objects_and_code_may_stand_in_one_list() -> None:
    tools = tool_list((SdkTool(name="a", input_schema=SCHEMA), open_file, LISTS["anthropic"][0]))
    assert tools[0] == {"name": "a", "inputSchema": SCHEMA}
    assert [tool.name for tool in read_tool_list(tools)] == ["a", "open_file", "open"]


def by_position(a: int, b: int, /) -> None: ...


def any_number(*paths: str) -> None: ...


def unfinished(a: NotWrittenYet) -> None: ...  # noqa: F821 - the point


def takes_code(a: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (by_position, "by_position cannot be described as a tool: its arguments have no names"),
        (any_number, "any_number cannot be described as a tool: its arguments have no names"),
        (unfinished, "unfinished cannot be described as a tool: .*NotWrittenYet"),
        (takes_code, "takes_code cannot be described as a tool: .*CallableSchema"),
        (functools.partial(open_file, n=2), "partial cannot be described as a tool: it has no name"),
        (len, "len cannot be described as a tool"),
    ],
)
def test_what_cannot_be_described_is_named(tool: Any, said: str) -> None:
    with pytest.raises(ToolDeclarationError, match=said):
        tool_list([tool])


class Guest(typing.TypedDict):
    name: str


def book(guest: Guest) -> None: ...


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads them there")
def test_a_typed_dict_that_pydantic_cannot_read_is_named_with_the_one_that_it_can() -> None:
    for tool in (Guest, book):
        with pytest.raises(ToolDeclarationError, match=rf"{tool.__name__} cannot .* `typing_extensions.TypedDict`"):
            tool_list([tool])


@pytest.mark.parametrize("tools", [open_file, OpenFile, "open", None, 5])
def test_a_list_is_needed_even_for_one_tool(tools: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="give a list of tools, even of one"):
        tool_list(tools)


def test_without_pydantic_code_cannot_be_described_and_lists_still_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(ImportError, match='pip install "pydantic>=2"'):
        tool_list([open_file])
    assert tool_list(LISTS["openai"]) == LISTS["openai"]


def test_the_warnings_of_a_schema_are_given_and_logged(scripted: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    tool = {"name": "web", "version": 1, "schema_hash": "h", "created": True, "changed": True, "max_attempts": 3}
    told = {**tool, "warnings": [{"pointer": "/requird", "detail": "No keyword."}]}
    service = scripted(answer(200, {"registered": [told, {**tool, "name": "old"}], "refused": []}), answer(200, told))
    with service.client() as client:
        done = client.register_tools([{"name": "web", "inputSchema": {}}])
        assert [tool.warnings for tool in done.registered] == [(SchemaWarning("/requird", "No keyword."),), ()]
        drive(ServiceJudge(client, "o").register(Tool(name="web", input_schema={})))
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "The schema of tool 'web', at /requird: No keyword."
    ]
