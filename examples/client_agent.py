"""An agent that gets stuck, asks a person, and finishes: with the client.

It needs `pip install "retrycontract[client]" pydantic`. `model` stands in for your LLM. RETRYCONTRACT_URL and
RETRYCONTRACT_API_KEY say where the service is and who asks; examples/agent.py does the same with plain HTTP.
"""

from typing import Annotated, Literal

from pydantic import Field

from retrycontract.client import Client

Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"] = "economy") -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def model(messages: list) -> dict:
    """Write the arguments of a tool call, as an LLM would; this one listens to people only."""
    if "A person answered" in messages[-1]["content"]:
        return {"origin": "ZRH", "destination": "LHR", "cabin": "business"}
    return {"origin": "Zurich", "destination": "LHR", "cabin": "Buisness"}


def run(client: Client, messages: list) -> str:
    """Book a flight, with a person's help when the model is stuck."""
    session = client.session()
    while True:
        outcome = session.settle("book_flight", f"c{len(messages)}", model(messages))
        if outcome.status == "valid":
            return book_flight(**outcome.arguments)
        messages.append(outcome.tool_result.render("openai"))
        if outcome.status == "blocked":
            return outcome.tool_result.content


if __name__ == "__main__":
    with Client() as client:
        client.register_tools([book_flight])
        print(run(client, [{"role": "user", "content": "One business seat from Zurich to London, please."}]))
