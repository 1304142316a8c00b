"""A tool loop on the OpenAI SDK whose calls are checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" openai`. The loop is the usual one; `settle` and the `else` are new.
Parallel calls are off: which of two wrong calls of one turn a later one continues, nobody could tell.
"""

import os

import openai

from retrycontract.client import Client

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


def run(client: Client, llm: openai.OpenAI, messages: list) -> str:
    """Let the model call the tool until it has an answer."""
    session = client.session()
    while True:
        asked = {"model": MODEL, "messages": messages, "tools": TOOLS, "parallel_tool_calls": False}
        message = llm.chat.completions.create(**asked).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        turn = session.turn()
        for call in message.tool_calls:
            name, arguments = call.function.name, call.function.arguments
            outcome = turn.settle(name, call.id, arguments)
            if outcome.status == "valid":
                content = book_flight(**outcome.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            else:
                messages.append(outcome.tool_result.render("openai"))


if __name__ == "__main__":
    with Client() as client, openai.OpenAI() as llm:
        client.register_tools(TOOLS)
        print(run(client, llm, [{"role": "user", "content": "A business seat from Zurich to London, please."}]))
