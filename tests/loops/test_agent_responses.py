"""What a response must look like, and which of many malformed ones are."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.loops import AgentResponse, FormattingCorrectionExhaustedError, Invalid, Valid, validate
from tests.loops.scripted import Script

if TYPE_CHECKING:
    from tests.conftest import Corpus

RIGHT = '{"action": "stop", "parameters": {}}'


@pytest.mark.parametrize(
    ("raw", "response"),
    [
        (RIGHT, AgentResponse("stop", {})),
        (b'{"action": "a", "parameters": {"x": 1}, "reasoning": "r"}', AgentResponse("a", {"x": 1}, "r")),
        ({"action": "a", "parameters": {}}, AgentResponse("a", {})),
        (f"```json\n{RIGHT}\n```", AgentResponse("stop", {})),
        (f"Here you are: {RIGHT}", AgentResponse("stop", {})),
        (f"<think>Is {{this}} it?</think>\n{RIGHT}", AgentResponse("stop", {})),
    ],
    ids=str,
)
def test_a_response_that_conforms_is_valid(raw: Any, response: AgentResponse) -> None:
    assert validate(raw) == Valid(response)


@pytest.mark.parametrize(
    ("raw", "error", "pointers"),
    [
        ("", "INVALID_JSON", [""]),
        ('{"action": "a", "parameters": {', "INVALID_JSON", [""]),
        (b"\xff", "INVALID_JSON", [""]),
        ("I am done.", "INVALID_JSON", [""]),
        (None, "SCHEMA_VIOLATION", [""]),
        ("[]", "SCHEMA_VIOLATION", [""]),
        ('{"parameters": {}}', "SCHEMA_VIOLATION", ["/action"]),
        ('{"action": 5, "parameters": []}', "SCHEMA_VIOLATION", ["/action", "/parameters"]),
        ('{"action": "a", "parameters": {}, "note": 1}', "SCHEMA_VIOLATION", ["/note"]),
        ('{"action": "a", "parameters": {"x": 1e999}}', "SCHEMA_VIOLATION", ["/parameters/x"]),
    ],
    ids=str,
)
def test_a_response_that_does_not_conform_says_how(raw: Any, error: str, pointers: list[str]) -> None:
    found = validate(raw)
    assert isinstance(found, Invalid)
    assert (found.error, [each.field_path for each in found.violations], found.raw) == (error, pointers, raw)


def test_another_schema_gives_the_parsed_value() -> None:
    assert validate("[1]", schema={"type": "array"}) == Valid([1])
    with pytest.raises(InvalidSchema):
        validate("[1]", schema={"type": "nonsense"})


@given(st.one_of(st.text(), st.binary(), st.recursive(st.none() | st.floats() | st.text(), st.lists)))
def test_nothing_that_a_model_writes_raises(raw: Any) -> None:
    assert isinstance(validate(raw), Valid | Invalid)


@pytest.mark.corpus
def test_each_malformed_text_is_valid_or_gets_a_correction_turn(corpus: Corpus) -> None:
    turns = {"valid": 0, "corrected": 0}
    for row in corpus("malformed_json"):
        raw = base64.b64decode(row["text_b64"]) if "text_b64" in row else row["text"]
        script = Script("sync", [RIGHT])
        response = script.run("correct_with_retry", raw, schema=True)
        is_valid = isinstance(validate(raw, schema=True), Valid)
        assert script.calls == (0 if is_valid else 1), row["id"]
        assert is_valid or response == {"action": "stop", "parameters": {}}
        turns["valid" if is_valid else "corrected"] += 1
    print(turns)
    assert min(turns.values()) > 0


@pytest.mark.corpus
def test_a_model_that_only_writes_malformed_text_is_asked_three_times(corpus: Corpus) -> None:
    for row in corpus("malformed_json")[::8]:
        raw = base64.b64decode(row["text_b64"]).decode("utf-8", "replace") if "text_b64" in row else row["text"]
        script = Script("sync", [raw])
        with pytest.raises(FormattingCorrectionExhaustedError):
            script.run("correct_with_retry", raw)
        assert script.calls == 3, row["id"]


@pytest.mark.parametrize(
    "schema",
    [b"x", {1}, object(), {"enum": [{1}]}, {"const": b"x"}, None],
    ids=["bytes", "set", "object", "enum", "const", "none"],
)
def test_a_schema_that_is_no_json_is_told_as_one(schema: Any) -> None:
    with pytest.raises(InvalidSchema):
        validate("{}", schema=schema)
