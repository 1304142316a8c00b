"""Give the same calls to other libraries: runs in the peers' own environment and prints JSON.

Each path takes the bytes of a call and returns the text that the model would get. Models, tools and graphs are
built beforehand; what a library builds anew for every answer is measured.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
warnings.simplefilter("ignore")

from pydantic import BaseModel, ConfigDict, Field, ValidationError  # noqa: E402

from benchmarks import calls  # noqa: E402
from benchmarks.clock import QUICK, THOROUGH, in_turn, race  # noqa: E402

PACKAGES = ("instructor", "pydantic", "pydantic-ai-slim", "langgraph", "langchain-core", "guardrails-ai")
Feedback = Callable[[bytes], str]
Airport = Annotated[str, Field(pattern="^[A-Z]{3}$")]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Contact(_Closed):
    name: str
    email: str


class BookFlight(_Closed):
    """Book a flight."""

    origin: Airport
    destination: Airport
    passengers: Annotated[int, Field(ge=1, le=9)]
    contact: Contact
    seat: str = ""
    cabin: Literal["economy", "premium", "business", "first"] = "economy"
    flexible: bool = False
    api_key: Annotated[str, Field(max_length=40)] = ""


class Order(BaseModel):
    sku: str
    quantity: int


class ImportOrders(BaseModel):
    """Import orders."""

    orders: list[Order]


def pydantic_text(model: type[BaseModel], _: dict[str, Any]) -> Feedback:
    """Show pydantic's own text: the floor of all who build on it."""

    def feedback(arguments: bytes) -> str:
        return str(_refusal(model, arguments))

    return feedback


def instructor_reask(model: type[BaseModel], _: dict[str, Any]) -> Feedback:
    """Build the messages that instructor sends back for a tool call."""
    from instructor.v2.providers.openai.handlers import reask_tools
    from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageFunctionToolCall
    from openai.types.chat.chat_completion_message_function_tool_call import Function

    @cache
    def response(arguments: bytes) -> Any:
        """Hold what the provider's SDK has parsed already."""
        function = Function(name=model.__name__, arguments=arguments.decode())
        call = ChatCompletionMessageFunctionToolCall(id="call_1", type="function", function=function)
        message = ChatCompletionMessage(role="assistant", tool_calls=[call])
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    def feedback(arguments: bytes) -> str:
        reply = reask_tools({"messages": []}, response(arguments), _refusal(model, arguments))
        return str(reply["messages"][-1]["content"])

    return feedback


def pydantic_ai_return(model: type[BaseModel], _: dict[str, Any]) -> Feedback:
    """Build the tool return with which Pydantic AI answers a call that has to be retried."""
    from pydantic_ai._output import build_retried_tool_return

    def feedback(arguments: bytes) -> str:
        error = _refusal(model, arguments)
        return build_retried_tool_return(error, tool_name=model.__name__, tool_call_id="call_1").model_response_str()

    return feedback


def langchain_tool(model: type[BaseModel], _: dict[str, Any]) -> Feedback:
    """Invoke a LangChain tool and format the error as LangGraph's ToolNode does, without a graph."""
    from langgraph.prebuilt.tool_node import ToolInvocationError

    tool = _langchain_tool(model)

    def feedback(arguments: bytes) -> str:
        values = json.loads(arguments)
        try:
            tool.invoke({"name": tool.name, "args": values, "id": "call_1", "type": "tool_call"})
        except ValidationError as error:
            return ToolInvocationError(tool.name, error, values, error.errors()).message
        raise AssertionError("the call was accepted")

    return feedback


def langgraph_node(model: type[BaseModel], _: dict[str, Any]) -> Feedback:
    """Run a compiled graph with one ToolNode."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    tool = _langchain_tool(model)
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([tool]))
    builder.add_edge(START, "tools")
    graph = builder.compile()

    def feedback(arguments: bytes) -> str:
        call = {"name": tool.name, "args": json.loads(arguments), "id": "call_1"}
        return str(graph.invoke({"messages": [AIMessage("", tool_calls=[call])]})["messages"][-1].content)

    return feedback


def guardrails_reask(_: type[BaseModel], schema: dict[str, Any]) -> Feedback:
    """Validate by JSON Schema and set the reask prompt up as Guardrails does."""
    from guardrails.actions.reask import get_reask_setup
    from guardrails.classes.output_type import OutputTypes
    from guardrails.schema.validator import schema_validation

    def feedback(arguments: bytes) -> str:
        output = json.loads(arguments)
        reask = schema_validation(output, schema)
        setup = get_reask_setup(OutputTypes.DICT, schema, {}, [reask], parsing_response=reask)
        return "\n".join(str(message["content"]) for message in setup[1])

    return feedback


PATHS = {
    "instructor: validate, reask_tools": instructor_reask,
    "Pydantic AI: validate, retried tool return": pydantic_ai_return,
    "LangChain: tool.invoke, format": langchain_tool,
    "LangGraph: ToolNode in a graph": langgraph_node,
    "Guardrails: validate, reask": guardrails_reask,
    "pydantic: validate, str(error)": pydantic_text,
}


def _refusal(model: type[BaseModel], arguments: bytes) -> ValidationError:
    try:
        model.model_validate_json(arguments)
    except ValidationError as error:
        return error
    raise AssertionError("the call was accepted")


def _langchain_tool(model: type[BaseModel]) -> Any:
    from langchain_core.tools import StructuredTool

    def run(**_: Any) -> str:
        return "done"

    return StructuredTool.from_function(run, name=model.__name__, description="A tool.", args_schema=model)


def measure(*, quick: bool) -> dict[str, Any]:
    """Time every path on the call with four faults, and look at what it says of eight and of six hundred."""
    effort = QUICK if quick else THOROUGH
    paths = {name: make(BookFlight, calls.BOOK_FLIGHT) for name, make in PATHS.items()}
    timings = race({name: in_turn(path, calls.FOUR_FAULTS) for name, path in paths.items()}, effort)
    return {
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "timings": {name: timing.rounds for name, timing in timings.items()},
        "texts": {name: path(calls.EIGHT_FAULTS) for name, path in paths.items()},
        "characters_of_600": {
            name: len(make(ImportOrders, calls.IMPORT_ORDERS)(calls.unnamed_orders(600)))
            for name, make in PATHS.items()
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    json.dump(measure(quick=parser.parse_args().quick), sys.stdout)
