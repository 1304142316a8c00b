"""A Pydantic AI agent with one capability more: its tool calls are checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" "pydantic-ai-slim[openai]"`. The check runs before Pydantic AI's own
validation, so that malformed JSON counts too, and uses up none of the agent's `retries`.
"""

import os
from typing import Annotated, Literal

from pydantic import Field
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from retrycontract.client import Client
from retrycontract.client.frameworks import pydantic_ai_capability

MODEL = os.environ.get("MODEL", "gpt-5-mini")
Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"]) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def run(client: Client, task: str) -> str:
    """Let the model call the tool until it has an answer."""
    agent = Agent(OpenAIChatModel(MODEL), tools=[book_flight], capabilities=[pydantic_ai_capability(client)])
    return agent.run_sync(task).output


if __name__ == "__main__":
    with Client() as client:
        print(run(client, "A business seat from Zurich to London, please."))
