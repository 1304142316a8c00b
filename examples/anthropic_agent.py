"""A tool loop on the Anthropic SDK whose calls are checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" anthropic`. The loop is the usual one; `settle` and the `else` are new.
The SDK has parsed the arguments already: text that was no JSON never comes this far. Parallel calls are off: which of
two wrong calls of one turn a later one continues, nobody could tell.
"""

import os

import anthropic

from retrycontract.client import Client

MODEL = os.environ.get("MODEL", "claude-haiku-4-5")
SCHEMA = {
    "type": "object",
    "properties": {
        "origin": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "IATA code of the airport"},
        "destination": {"type": "string", "pattern": "^[A-Z]{3}$", "description": "IATA code of the airport"},
        "cabin": {"enum": ["economy", "business"]},
    },
    "required": ["origin", "destination", "cabin"],
}
TOOLS = [{"name": "book_flight", "description": "Book a seat on a flight.", "input_schema": SCHEMA}]
ONE_AT_A_TIME = {"type": "auto", "disable_parallel_tool_use": True}


def book_flight(origin: str, destination: str, cabin: str) -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def run(client: Client, llm: anthropic.Anthropic, messages: list) -> str:
    """Let the model call the tool until it has an answer."""
    session = client.session()
    while True:
        asked = {"model": MODEL, "max_tokens": 1_000, "tools": TOOLS, "tool_choice": ONE_AT_A_TIME}
        reply = llm.messages.create(messages=messages, **asked)
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        turn, results = session.turn(), []
        for call in calls:
            outcome = turn.settle(call.name, call.id, call.input)
            if outcome.status == "valid":
                content = book_flight(**outcome.arguments)
                results.append({"type": "tool_result", "tool_use_id": call.id, "content": content})
            else:
                results.append(outcome.tool_result.render("anthropic"))
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    with Client() as client, anthropic.Anthropic() as llm:
        client.register_tools(TOOLS)
        print(run(client, llm, [{"role": "user", "content": "A business seat from Zurich to London, please."}]))
