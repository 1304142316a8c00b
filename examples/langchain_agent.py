"""A LangChain agent with one middleware more: its tool calls are checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" langchain langchain-openai`. What LangChain could not parse is checked as
well. A conversation is its thread of messages; the wait for a person holds the tool's node alone.
"""

import os
from typing import Annotated, Literal

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from pydantic import Field

from retrycontract.client import Client
from retrycontract.client.frameworks import langchain_middleware

MODEL = os.environ.get("MODEL", "gpt-5-mini")
Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"]) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def run(client: Client, task: str) -> str:
    """Let the model call the tool until it has an answer."""
    agent = create_agent(ChatOpenAI(model=MODEL), [book_flight], middleware=[langchain_middleware(client)])
    return agent.invoke({"messages": [("user", task)]})["messages"][-1].content


if __name__ == "__main__":
    with Client() as client:
        print(run(client, "A business seat from Zurich to London, please."))
