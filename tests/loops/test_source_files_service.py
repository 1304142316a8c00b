"""The loop of source files with the service as its contract: every attempt is kept there, a person may help."""

from __future__ import annotations

import pytest

from retrycontract.client import Client
from retrycontract.loops.source_files import ImplementationError, generate_file_with_retry
from tests.loops.test_source_files import BAD, GOOD, PROMPT, Scripted, fenced
from tests.serving.service import Service


@pytest.fixture
def client(service: Service) -> Client:
    return Client(service.url, service.new_key("writer"))


def test_a_file_is_judged_by_the_service_and_given_back_as_source(client: Client) -> None:
    with client:
        model = Scripted(fenced(BAD), fenced(GOOD))
        assert generate_file_with_retry("src/app.py", PROMPT, model=model, contract=client) == (GOOD, True)
        assert "Validation failed for file 'src/app.py' (attempt 1/3):" in model.prompts[1]
        answers = Scripted('```json\n{"a": }\n```', '```json\n{"a": 1}\n```')
        made = generate_file_with_retry("data.json", PROMPT, model=answers, contract=client)
        assert made == ('{"a": 1}\n', True)
        with pytest.raises(ImplementationError):
            generate_file_with_retry("b.py", PROMPT, model=Scripted(BAD, BAD, BAD), contract=client)
