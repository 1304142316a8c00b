"""What schemathesis makes of the OpenAPI document: requests that it allows, and requests that it does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from pytest_django import Settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    positive_data_acceptance,
    response_schema_conformance,
)

from tests.api.conftest import Door
from tests.factories import make_blocked

pytestmark = pytest.mark.soak  # tests/conftest.py does not even collect it otherwise: that takes seconds
# Longer: RETRYCONTRACT_SCHEMATHESIS_EXAMPLES=1000 make soak ARGS=tests/api/test_schemathesis.py
EXAMPLES = int(os.environ.get("RETRYCONTRACT_SCHEMATHESIS_EXAMPLES", "40"))
SOME = hypothesis_settings(
    max_examples=EXAMPLES,
    stateful_step_count=6,
    deadline=None,
    database=None,
    derandomize=EXAMPLES == 40,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
# What a request may be refused for that is as the document says: these depend on what is stored, on a metaschema, or on
# the ending of a file's name.
UNFORESEEABLE = {
    "ambiguous-call", "call-ended", "call-not-found", "idempotency-key-reused", "invalid-name", "invalid-schema",
    "no-guidance", "not-found", "other-tool", "precondition-failed", "unknown-cursor", "unknown-language",
    "version-not-found",
}  # fmt: skip

load_all_checks()
published = schemathesis.openapi.from_path(Path(__file__).resolve().parents[2] / "docs" / "openapi.json")
published.app = WSGIHandler()


@pytest.fixture(autouse=True)
def _any_number_of_requests(settings: Settings) -> None:
    settings.RETRYCONTRACT = settings.RETRYCONTRACT.model_copy(update={"requests_per_minute": 0})


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Keep the test's own connection, as Django's test client does; a server would close it after each request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def what_the_document_allows_is_understood(_: Any, response: Any, case: Any) -> None:
    """Fail when a request that is as the document says is called wrong."""
    if case.meta and case.meta.generation.mode.is_positive and 400 <= response.status_code < 500:
        problem = response.json()
        faults = problem.get("errors", ())
        too_long = [fault["pointer"] for fault in faults] == ["/expires_after"]
        # Whatever stands beside a tool's fields is left alone, unless it reads like the schema that the tool has not.
        is_misplaced = bool(faults) and all(fault["detail"].startswith("a schema stands here") for fault in faults)
        assert problem["code"] in UNFORESEEABLE or too_long or is_misplaced, response.text


# What is taken from the list knows nothing of what is stored.
CHECKS: dict[str, Any] = {
    "additional_checks": [what_the_document_allows_is_understood],
    "excluded_checks": [positive_data_acceptance],
}


@published.parametrize()
@SOME
def test_every_answer_is_as_the_document_says(case: Any, door: Door) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {door.key}"}, **CHECKS)


@published.parametrize()
@hypothesis_settings(SOME, max_examples=max(EXAMPLES // 5, 1))
@pytest.mark.django_db
def test_without_a_key_every_answer_is_a_refusal(case: Any) -> None:
    response = case.call()
    is_nowhere = "%0A" in response.request.url and response.status_code == 404  # no address has a line break
    assert is_nowhere or response.status_code in (401, 405), response.text
    case.validate_response(response, checks=[not_a_server_error, response_schema_conformance, content_type_conformance])


def test_whatever_follows_from_an_answer_is_as_the_document_says(door: Door) -> None:
    """Along the links: a tool is registered and read, a call is made, read, waited for and given up."""
    make_blocked(door.agent)

    class Agent(published.as_state_machine()):  # type: ignore[misc]  # made of the document
        def setup(self) -> None:
            self.room = transaction.atomic()
            self.room.__enter__()

        def teardown(self) -> None:
            transaction.set_rollback(True)  # each story begins with the same rows, or Hypothesis cannot repeat it
            self.room.__exit__(None, None, None)

        def get_call_kwargs(self, _: Any) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {door.key}"}}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            case.validate_response(response, **CHECKS, **self.get_call_kwargs(case))

    Agent.run(settings=SOME)
