"""An agent of OpenAI's Agents SDK whose tools are guarded, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" openai-agents`. Function tools, and plain functions as here, keep their
schema. Begin one session for each conversation; without one the trace around the run is the conversation.
"""

import os
from typing import Annotated, Literal

from agents import Agent, Runner, set_tracing_disabled
from pydantic import Field

from retrycontract.client import Client
from retrycontract.client.frameworks import openai_agents_tools

MODEL = os.environ.get("MODEL", "gpt-5-mini")
Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"]) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def run(client: Client, task: str) -> str:
    """Let the model call the tool until it has an answer."""
    agent = Agent("Travel desk", model=MODEL, tools=openai_agents_tools(client, [book_flight]))
    with client.session():
        return Runner.run_sync(agent, task).final_output


if __name__ == "__main__":
    set_tracing_disabled(True)
    with Client() as client:
        print(run(client, "A business seat from Zurich to London, please."))
