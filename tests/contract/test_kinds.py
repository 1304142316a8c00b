from __future__ import annotations

import pytest

from retrycontract.contract.json_types import type_name
from retrycontract.contract.outputs import Kind


def test_every_kind_has_its_word_in_the_first_line() -> None:
    assert {kind.value: kind.subject for kind in Kind} == {
        "tool_call": "tool",
        "agent_response": "response",
        "source_file": "file",
        "extraction": "extraction",
    }


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"), (True, "boolean"), (0, "integer"), (0.5, "number"), ("", "string"), ([], "array"),
        ((), "array"), ({}, "object"),
    ],
)  # fmt: skip
def test_values_have_the_type_names_of_json_schema(value: object, name: str) -> None:
    assert type_name(value) == name
