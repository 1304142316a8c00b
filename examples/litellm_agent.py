"""A tool loop on LiteLLM that sees valid calls only: a callback has the others mended, by the model or by a person.

It needs `pip install "retrycontract[client]" "litellm[proxy]"`. `acompletion`, the Router's too, and LiteLLM's proxy
call what is in `litellm.callbacks`; `completion` calls nothing that may change an answer.
"""

import asyncio
import json
import os

import litellm

from retrycontract.client import AsyncClient
from retrycontract.client.frameworks import litellm_callback

MODEL = os.environ.get("MODEL", "gpt-5-mini")
SCHEMA = {
    "type": "object",
    "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "IATA code of the airport"},
        "destination": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "IATA code of the airport"},
        "cabin": {"enum": ["economy", "business"]},
    },
    "required": ["origin", "destination", "cabin"],
}
TOOLS = [
    {"type": "function", "function": {"name": "book_flight", "description": "Book a seat.", "parameters": SCHEMA}},
]


def book_flight(origin: str, destination: str, cabin: str) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


async def run(client: AsyncClient, messages: list) -> str:
    """Let the model call the tool until it has an answer."""
    litellm.callbacks = [litellm_callback(client)]
    while True:
        answer = await litellm.acompletion(model=f"openai/{MODEL}", messages=messages, tools=TOOLS)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            content = book_flight(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


async def main() -> None:
    async with AsyncClient() as client:
        print(await run(client, [{"role": "user", "content": "A business seat from Zurich to London, please."}]))


if __name__ == "__main__":
    asyncio.run(main())
