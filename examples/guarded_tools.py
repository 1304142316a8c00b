"""Functions behind the contract: one line for each, and no wrong call is run.

It needs `pip install "retrycontract[client]" pydantic`. `model` stands in for your LLM. RETRYCONTRACT_URL and
RETRYCONTRACT_API_KEY say where the service is and who asks.
"""

from typing import Annotated, Literal

from pydantic import Field

from retrycontract.client import Client

Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")]


def book_flight(origin: Airport, destination: Airport, cabin: Literal["economy", "business"] = "economy") -> str:
    """Book a seat on a flight."""
    return f"The flight from {origin} to {destination} is booked in {cabin}."


def model(told: str) -> dict:
    """Write the arguments of a tool call, as an LLM would; this one listens to people only."""
    if "A person answered" in told:
        return {"origin": "ZRH", "destination": "LHR", "cabin": "business"}
    return {"origin": "Zurich", "destination": "LHR", "cabin": "Buisness"}


def run(client: Client) -> str:
    """Book a flight, with a person's help when the model is stuck."""
    book = client.guard(book_flight)
    told = ""
    with client.session():
        while "is booked" not in told:
            told = book(**model(told))
            print(told, end="\n\n")
    return told


if __name__ == "__main__":
    with Client() as client:
        run(client)
