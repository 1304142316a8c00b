"""What real models wrote, judged by the contract."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import (
    ErrorCode,
    ErrorFormatter,
    RetryConfiguration,
    RetryContract,
    Tool,
    ValidationError,
    ValueSanitizer,
    parse_feedback,
)
from retrycontract.contract import pointers
from retrycontract.contract.checks.reading import syntax_error
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.json_types import type_name
from retrycontract.contract.outputs.json_text import CARET, FaultKind, parse_json, too_large
from retrycontract.contract.schemas.admission import InvalidSchema
from retrycontract.contract.tool import CompiledTool

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

CODES = {
    keyword: code
    for code, keywords in {
        ErrorCode.REQUIRED_FIELD_MISSING: "required",
        ErrorCode.TYPE_MISMATCH: "type",
        ErrorCode.CONSTRAINT_VIOLATION: "contains minContains maxContains propertyNames",
        ErrorCode.UNKNOWN_FIELD: "additionalProperties unevaluatedProperties additionalItems unevaluatedItems",
        ErrorCode.ARRAY_LENGTH_VIOLATION: "minItems maxItems",
        ErrorCode.PATTERN_MISMATCH: "pattern",
        ErrorCode.INVALID_ENUM_VALUE: "enum const",
        ErrorCode.STRING_LENGTH_VIOLATION: "minLength maxLength",
        ErrorCode.FORMAT_VIOLATION: "format",
        ErrorCode.NUMBER_RANGE_VIOLATION: "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
        ErrorCode.UNIQUE_CONSTRAINT_VIOLATION: "uniqueItems",
        ErrorCode.DEPENDENCY_VIOLATION: "dependentRequired dependencies",
        ErrorCode.MUTUAL_EXCLUSIVITY_VIOLATION: "not",
        ErrorCode.OBJECT_SCHEMA_VIOLATION: "minProperties maxProperties",
    }.items()
    for keyword in keywords.split()
}
# What another validator reports at the object or array, and we at the member that it is about.
OF_A_MEMBER = {
    "additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "propertyNames",
    "dependentRequired", "dependencies",
}  # fmt: skip
UNIONS = ("anyOf", "oneOf")
# Ours to refuse although a parser may take them: RFC 8259 calls their meaning unpredictable.
STRICTER = {FaultKind.DUPLICATE_KEY, FaultKind.SURROGATE}

UNPLACED = {FaultKind.FENCED, FaultKind.ENCODING}  # the place is the beginning


def judged(row: dict[str, Any], schema: Any, *, strict: bool = False) -> tuple[ValidationError, ...]:
    """The errors that block: in lenient mode unknown fields are warnings."""
    compiled = CompiledTool.of(Tool(name=row["tool"], input_schema=schema, strict=strict))
    found = check_arguments(row["arguments_raw"], compiled, ValueSanitizer())
    return tuple(error for error in found.errors if error not in found.warnings)


def is_told(recorded: dict[str, Any], errors: tuple[ValidationError, ...]) -> bool:
    """Say whether an error that another validator recorded is among ours."""
    pointer, keyword = recorded["pointer"], recorded["keyword"]
    if keyword in UNIONS:
        return any(error.field_path == pointer or error.field_path.startswith(f"{pointer}/") for error in errors)
    if keyword == "required":
        missing = re.match(r"'(.+)' is a required property", recorded["message"])
        assert missing, recorded
        pointer = pointers.join(pointer, missing.group(1))
    if keyword in OF_A_MEMBER:
        return (pointer, CODES[keyword]) in {(pointers.parent(error.field_path), error.error_code) for error in errors}
    return (pointer, CODES[keyword]) in {(error.field_path, error.error_code) for error in errors}


def test_every_recorded_mistake_of_a_real_call_is_reported_with_its_code(corpus: Corpus) -> None:
    untold = {
        row["id"]: error
        for row in corpus("real_invalid_calls")
        if row["kind"] == "schema_violation"
        for error in row["errors"]
        if not is_told(error, judged(row, row["schema"]))
    }
    assert untold == {}


def test_no_call_that_is_on_record_as_invalid_is_taken(corpus: Corpus) -> None:
    rows = [row for row in corpus("real_invalid_calls") if row["kind"] != "unknown_tool"]
    assert rows
    assert [row["id"] for row in rows if not judged(row, row["schema"])] == []


def test_no_mistake_of_a_real_call_is_invented(corpus: Corpus) -> None:
    for row in corpus("real_invalid_calls"):
        recorded = row["errors"]
        if row["kind"] == "schema_violation" and not any(error["keyword"] in UNIONS for error in recorded):
            assert len(judged(row, row["schema"])) == len(recorded), row["id"]


def test_a_real_call_of_a_tool_that_does_not_exist_is_the_models_mistake(corpus: Corpus) -> None:
    rows = [row for row in corpus("real_invalid_calls") if row["kind"] == "unknown_tool"]
    assert rows
    for row in rows:
        outcome = RetryContract().check(row["tool"], "id", row["arguments_raw"])
        assert (outcome.status, outcome.errors[0].keyword) == ("retry", "tool")


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
def test_no_real_call_that_is_valid_is_rejected(corpus: Corpus, strict: bool) -> None:
    rejected, unusable = {}, []
    for row in corpus("real_valid_calls"):
        try:
            errors = judged(row, row["schema"], strict=strict)
        except InvalidSchema:
            unusable.append(row["tool"])
            continue
        if errors:
            rejected[row["id"]] = errors
    assert rejected == {}
    # Some published schemas are wrong themselves; registration says so.
    assert len(set(unusable)) <= 2, unusable


def test_a_real_chain_ends_valid_or_blocked_at_its_third_failure(corpus: Corpus) -> None:
    for chain in corpus("real_retry_chains"):
        desk = RetryContract([Tool(name=chain["tool"], input_schema=chain["schema"], strict=False)])
        failures = 0
        for turn, attempt in enumerate(chain["attempts"]):
            outcome = desk.check(chain["tool"], f"call-{turn}", attempt["arguments"], session_id="s", turn=turn)
            if attempt["kind"] == "valid":
                assert (outcome.status, outcome.errors) == ("valid", ()), chain["id"]
                continue
            failures += 1
            if attempt["arguments"] is not None:  # what was sent is not always on record
                assert all(is_told(error, outcome.errors) for error in attempt["all_errors"]), chain["id"]
            assert outcome.status == ("retry" if failures < 3 else "blocked"), chain["id"]
            assert outcome.attempt == failures, chain["id"]
            assert (outcome.escalation is not None) is (failures == 3), chain["id"]
            assert outcome.tool_result is not None
            assert parse_feedback(outcome.tool_result.content).attempt == failures, chain["id"]
        assert failures == chain["invalid_attempts"], chain["id"]


def test_what_a_real_chain_still_had_wrong_later_was_told_at_first(corpus: Corpus) -> None:
    """All errors in one pass: a field that was missing from the start is never news."""
    for chain in corpus("real_retry_chains"):
        attempts = [attempt for attempt in chain["attempts"] if attempt["arguments"] is not None]
        told: set[tuple[str, str]] = set()
        for before, attempt in pairwise(attempts):
            told |= {(error.field_path, error.error_code) for error in errors_of(chain, before)}
            for error in errors_of(chain, attempt):
                if error.error_code is ErrorCode.REQUIRED_FIELD_MISSING and parent_was_sent(before, error):
                    assert (error.field_path, error.error_code) in told, chain["id"]


def errors_of(chain: dict[str, Any], attempt: dict[str, Any]) -> tuple[ValidationError, ...]:
    return judged({"tool": chain["tool"], "arguments_raw": json.dumps(attempt["arguments"])}, chain["schema"])


def parent_was_sent(attempt: dict[str, Any], error: ValidationError) -> bool:
    try:
        parent = pointers.resolve(attempt["arguments"], pointers.parent(error.field_path))
    except LookupError:
        return False
    return pointers.last(error.field_path) not in parent


def text_of(row: dict[str, Any]) -> str | bytes:
    return base64.b64decode(row["text_b64"]) if "text_b64" in row else row["text"]


def test_the_parser_agrees_with_the_strict_verdict(corpus: Corpus) -> None:
    differing = {}
    for row in corpus("malformed_json"):
        _, fault = parse_json(text_of(row))
        if (fault is None) is not row["strict_json_ok"]:
            differing[row["id"]] = fault and fault.kind
    print("refused by us alone:", differing)
    assert set(differing.values()) <= STRICTER


def test_a_numbers_size_never_decides_whether_a_text_is_json(corpus: Corpus) -> None:
    tool = CompiledTool.of(Tool(name="t", input_schema=True))
    for row in corpus("malformed_json"):
        value, fault = parse_json(text_of(row))
        if fault is None:
            json.dumps(value, allow_nan=False)
            errors = check_arguments(text_of(row), tool, ValueSanitizer()).errors
            assert {error.field_path for error in errors} == set(too_large(value)), row["id"]
            assert {error.error_code for error in errors} <= {ErrorCode.NUMBER_RANGE_VIOLATION}, row["id"]


def test_the_caret_stands_where_line_and_column_say(corpus: Corpus) -> None:
    for row in corpus("malformed_json"):
        _, fault = parse_json(text_of(row))
        if fault is None or fault.context is None:
            continue
        text = text_of(row)
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        assert fault.line is not None
        assert fault.column is not None
        before, after = fault.context.split(CARET)
        lines = text.split("\n")
        position = sum(len(line) + 1 for line in lines[: fault.line - 1]) + fault.column - 1
        assert text[:position].endswith(before), row["id"]
        assert text[position:].startswith(after), row["id"]
        assert f"line {fault.line}, column {fault.column}" in fault.reason or fault.kind in UNPLACED, row["id"]


def test_every_malformed_text_gets_a_correction_turn_that_can_be_read_back(corpus: Corpus) -> None:
    sanitizer = ValueSanitizer()
    formatter = ErrorFormatter(RetryConfiguration(max_message_length=500))
    for row in corpus("malformed_json"):
        _, fault = parse_json(text_of(row))
        if fault is not None:
            text = formatter.format_errors("t", [syntax_error(fault, sanitizer)], 1, 3)
            assert parse_feedback(text).codes == (ErrorCode.INVALID_JSON_SYNTAX,), row["id"]
            assert "Please " in text, row["id"]


def reported_schema(row: dict[str, Any]) -> dict[str, Any]:
    """Make the schema that the reported arguments violated, from what the report says of them."""
    sent = json.loads(row["arguments_raw"])
    pointer, keyword = row["expected_pointer"], row["expected_keyword"]
    if keyword == "required":
        return {"type": "object", "required": ["never_sent"]}
    if keyword == "additionalProperties":
        return {"properties": {next(iter(sent)): {}}, "additionalProperties": False}
    if not pointer:
        return {"type": "object"}
    member = pointers.resolve(sent, pointer)
    wanted = "string" if member is None else type_name(json.loads(member))
    return {"properties": {pointers.last(pointer): {"type": wanted}}}


def test_reported_loops_are_told_at_the_field_that_is_wrong(corpus: Corpus) -> None:
    for row in corpus("issue_reported_calls"):
        keyword, pointer = row["expected_keyword"], row["expected_pointer"]
        told = {(error.field_path, error.error_code) for error in judged(row, reported_schema(row))}
        if keyword == "required":
            pointer = f"{pointer}/never_sent"
        if keyword == "additionalProperties":
            assert {code for _, code in told} == {ErrorCode.UNKNOWN_FIELD}, row["id"]
            assert len(told) == len(json.loads(row["arguments_raw"])) - 1, row["id"]
        else:
            assert told == {(pointer, CODES[keyword])}, row["id"]
