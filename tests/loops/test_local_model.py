"""The loops with a real model, where one is running: any server that speaks OpenAI's chat with tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import openai
import pytest

from retrycontract.loops import AgentResponse, OpenAIModel, extract, respond_with_correction

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE_URL = os.environ.get("RETRYCONTRACT_E2E_BASE_URL", "")
pytestmark = [
    pytest.mark.skipif(not BASE_URL, reason="RETRYCONTRACT_E2E_BASE_URL names no server with a model"),
    pytest.mark.timeout(600),
]


@pytest.fixture
def model() -> Iterator[OpenAIModel]:
    """The model of RETRYCONTRACT_E2E_MODEL, else the first that the server lists."""
    with openai.OpenAI(base_url=BASE_URL, api_key=os.environ.get("RETRYCONTRACT_E2E_API_KEY", "none")) as client:
        name = os.environ.get("RETRYCONTRACT_E2E_MODEL") or client.models.list().data[0].id
        yield OpenAIModel(client, name, temperature=0)


def test_a_real_model_gives_a_response_that_conforms(model: OpenAIModel) -> None:
    task = (
        "You are an agent. Reply with one JSON object: 'action' (a string), 'parameters' (an object) and 'reasoning' "
        "(a string). The user asks: list the files in /tmp."
    )
    assert isinstance(respond_with_correction(model, [{"role": "user", "content": task}]), AgentResponse)


def test_a_real_model_extracts_what_the_text_says(model: OpenAIModel) -> None:
    schema = {
        "type": "object",
        "title": "person",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
    }
    value, metrics = extract(model, schema, "Ana Keller is 42 years old and lives in Bern.", max_attempts=5)
    assert (value["name"], value["age"]) == ("Ana Keller", 42)
    assert 1 <= metrics.attempts <= 5
