"""A tool loop on OpenAI's Responses API whose calls are checked, and a person asked when the model is stuck.

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
TOOLS = [{"type": "function", "name": "book_flight", "description": "Book a seat on a flight.", "parameters": SCHEMA}]


def book_flight(origin: str, destination: str, cabin: str) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def run(client: Client, llm: openai.OpenAI, items: list) -> str:
    """Let the model call the tool until it has an answer."""
    session = client.session()
    while True:
        reply = llm.responses.create(model=MODEL, input=items, tools=TOOLS, parallel_tool_calls=False)
        items += reply.output
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        turn = session.turn()
        for call in calls:
            outcome = turn.settle(call.name, call.call_id, call.arguments)
            if outcome.status == "valid":
                content = book_flight(**outcome.arguments)
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": content})
            else:
                items.append(outcome.tool_result.render("openai_responses"))


if __name__ == "__main__":
    with Client() as client, openai.OpenAI() as llm:
        client.register_tools(TOOLS)
        print(run(client, llm, [{"role": "user", "content": "A business seat from Zurich to London, please."}]))
