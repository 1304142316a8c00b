"""An extraction with instructor whose data is checked, and a person asked when the model is stuck.

It needs `pip install "retrycontract[client]" instructor`. A validator of pydantic is where instructor lets others in;
it runs once the text is JSON: what is none is answered by instructor alone and not counted by the service. instructor
repeats pydantic's error to the model, hence `hide_input_in_errors`: it would hold the values. `max_retries` is
instructor's own budget beside ours and must be larger, or it ends before the person is asked.
"""

import os
from typing import Any, Literal, TypeVar

import instructor
import openai
from pydantic import BaseModel, Field, create_model, model_validator

from retrycontract.client import Client

MODEL = os.environ.get("MODEL", "gpt-5-mini")
T = TypeVar("T", bound=BaseModel)


class Flight(BaseModel):
    """The flight that somebody wants."""

    origin: str = Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")
    destination: str = Field(pattern="^[A-Z]{3}$", description="IATA code of the airport")
    cabin: Literal["economy", "business"]


def checked(model: type[T], client: Client) -> type[T]:
    """Let the service check the data first; all attempts of one extraction are one call."""
    name, session = model.__name__, client.session()

    def settle(_: type[T], data: Any) -> Any:
        outcome = session.settle(name, name, data)
        if outcome.status == "valid":
            return outcome.arguments
        raise (ValueError if outcome.status == "retry" else RuntimeError)(outcome.tool_result.content)

    validators = {"settle": model_validator(mode="before")(classmethod(settle))}
    hiding = {"hide_input_in_errors": True}
    return create_model(name, __base__=model, __doc__=model.__doc__, __validators__=validators, __cls_kwargs__=hiding)


def run(client: Client, llm: instructor.Instructor, task: str) -> Flight:
    """Ask the model until its data conforms."""
    messages = [{"role": "user", "content": task}]
    return llm.create(messages=messages, response_model=checked(Flight, client), max_retries=10, model=MODEL)


if __name__ == "__main__":
    with Client() as client, openai.OpenAI() as llm:
        client.register_tools([Flight])
        print(run(client, instructor.from_openai(llm), "A business seat from Zurich to London, please."))
