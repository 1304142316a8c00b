"""A LangGraph agent whose tool calls are checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" langgraph langchain-openai`. `wrap_tool_call` stands before ToolNode's own
validation, but LangChain has parsed the arguments by then: a call that was no JSON is one of `invalid_tool_calls`,
reaches no ToolNode and ends this graph. The wait for a person holds the node; a graph that must not be held can
`interrupt()` instead.
"""

import os
import uuid
from typing import Annotated, Literal

from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import Field

from retrycontract.client import Client

MODEL = os.environ.get("MODEL", "gpt-5-mini")
Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"]) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def checking(client: Client):
    """Check the arguments of every tool call with the service."""

    def settle(request, execute):
        call, turn = request.tool_call, len(request.state["messages"])
        session = request.runtime.config["configurable"]["thread_id"]
        outcome = client.settle(call["name"], call["id"], call["args"], session_id=session, turn=turn)
        if outcome.status == "valid":
            return execute(request.override(tool_call=call | {"args": outcome.arguments}))
        return ToolMessage(**outcome.tool_result.render("langchain"))

    return settle


def run(client: Client, task: str) -> str:
    """Let the model call the tool until it has an answer."""
    llm = ChatOpenAI(model=MODEL).bind_tools([book_flight], parallel_tool_calls=False)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": llm.invoke(state["messages"])})
    graph.add_node("tools", ToolNode([book_flight], wrap_tool_call=checking(client)))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    thread = {"configurable": {"thread_id": uuid.uuid4().hex}}
    return graph.compile().invoke({"messages": [("user", task)]}, thread)["messages"][-1].content


if __name__ == "__main__":
    with Client() as client:
        client.register_tools([book_flight])
        print(run(client, "A business seat from Zurich to London, please."))
