"""The message holds what is needed: a reader who sees nothing else repairs what real models got wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import RetryContract, Tool
from tests.corpus.corrector import correct
from tests.corpus.test_near_misses import BEYOND_KNOWING, REPORTED

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

CORRECTIONS = 2  # a third failure would block the call
SHARE = 0.8


def calls(corpus: Corpus) -> list[tuple[Any, Any]]:
    """Read each call as the schema that it broke and its arguments."""
    real = [
        (row["schema"], json.loads(row["arguments_raw"]))
        for row in corpus("real_invalid_calls")
        if row["kind"] == "schema_violation"
    ]
    schemas = {what: schema for what, (schema, _) in (REPORTED | BEYOND_KNOWING).items()}
    reported = [
        (schemas[row["what"]], json.loads(row["arguments_raw"]))
        for row in corpus("issue_reported_calls")
        if row["what"] in schemas
    ]
    return real + reported


def is_repaired(schema: Any, arguments: Any, *, hears: bool = True) -> bool:
    contract = RetryContract([Tool(name="tool", input_schema=schema)])
    outcome = contract.check("tool", "id", arguments)
    for _ in range(CORRECTIONS):
        assert outcome.tool_result is not None
        text = outcome.tool_result.content
        arguments = correct(arguments, text if hears else text.partition("\n")[0])
        outcome = contract.check("tool", "id", arguments, call_id=outcome.call_id)
        if outcome.status == "valid":
            return True
    return False


def test_a_reader_of_the_text_alone_repairs_what_models_got_wrong(corpus: Corpus) -> None:
    given = calls(corpus)
    repaired = sum(is_repaired(schema, arguments) for schema, arguments in given)
    print(f"{repaired} of {len(given)} calls are repaired within {CORRECTIONS} attempts")
    assert repaired >= SHARE * len(given)


def test_a_reader_who_hears_only_that_it_failed_repairs_nothing(corpus: Corpus) -> None:
    assert not any(is_repaired(schema, arguments, hears=False) for schema, arguments in calls(corpus))
