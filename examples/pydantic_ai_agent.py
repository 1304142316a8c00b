"""A Pydantic AI agent whose tool calls are checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" "pydantic-ai-slim[openai]"`. The hook runs before Pydantic AI's own
validation, so that malformed JSON counts too, and on a thread, so that a wait for a person holds up nobody else.
`retries` is the framework's own budget beside ours and must be larger, or it ends the run before the person is asked;
to what it has retried Pydantic AI adds "Fix the errors and try again."
"""

import os
from typing import Annotated, Literal

from pydantic import Field
from pydantic_ai import Agent, ModelRetry, ModelSettings, ToolFailed
from pydantic_ai.capabilities import Hooks
from pydantic_ai.models.openai import OpenAIChatModel

from retrycontract.client import Client

MODEL = os.environ.get("MODEL", "gpt-5-mini")
Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"]) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def checking(client: Client) -> Hooks:
    """Check the arguments of every tool call with the service."""
    hooks = Hooks()

    @hooks.on.before_tool_validate
    def settle(ctx, *, call, args, **_):
        outcome = client.settle(call.tool_name, call.tool_call_id, args, session_id=ctx.run_id, turn=ctx.run_step)
        if outcome.status == "valid":
            return outcome.arguments
        told = ModelRetry if outcome.status == "retry" else ToolFailed
        raise told(outcome.tool_result.content)

    return hooks


def run(client: Client, task: str) -> str:
    """Let the model call the tool until it has an answer."""
    settings = ModelSettings(parallel_tool_calls=False)
    agent = Agent(OpenAIChatModel(MODEL), tools=[book_flight], retries=10, capabilities=[checking(client)],
                  model_settings=settings)  # fmt: skip
    return agent.run_sync(task).output


if __name__ == "__main__":
    with Client() as client:
        client.register_tools([book_flight])
        print(run(client, "A business seat from Zurich to London, please."))
