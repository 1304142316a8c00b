from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from retrycontract import ErrorCode, ErrorSeverity, RetryContract, Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.findings import Findings
from retrycontract.contract.checks.tool_arguments import callback_rejection, check_arguments, unknown_tool
from retrycontract.contract.tool import CompiledTool

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SECRET = "sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ" * 2
SANITIZER = ValueSanitizer()


def check(arguments: Any, *, schema: Any = SCHEMA, finish_reason: str | None = None, **tool: Any) -> Findings:
    compiled = CompiledTool.of(Tool(name="t", input_schema=schema, **tool))
    return check_arguments(arguments, compiled, SANITIZER, finish_reason=finish_reason)


@pytest.mark.parametrize(
    "arguments", ['{"path": "a"}', b'{"path": "a"}', {"path": "a"}], ids=["text", "bytes", "value"]
)
def test_text_bytes_and_values_are_judged_alike(arguments: Any) -> None:
    found = check(arguments)
    assert (found.is_valid, found.is_parsed, found.parsed, found.errors) == (True, True, {"path": "a"}, ())


@pytest.mark.parametrize("arguments", ["{", b"\xff", {"path": float("nan")}, {1: 2}, "null", "[]", "", b""], ids=repr)
def test_whatever_a_model_writes_is_judged(arguments: Any) -> None:
    assert not check(arguments).is_valid


def test_a_text_that_is_no_json_is_one_error() -> None:
    found = check('{"path": ')
    (error,) = found.errors
    assert (error.error_code, error.field_path, error.keyword) == (ErrorCode.INVALID_JSON_SYNTAX, "", "truncated")
    assert error.hint == "send the whole value again, shorter: it was cut off"
    assert (found.is_parsed, found.parsed) == (False, None)


def test_the_end_that_the_provider_tells_is_taken_into_account() -> None:
    text = '{"path": "a" "b'
    assert check(text).errors[0].keyword == "syntax"
    assert check(text, finish_reason="length").errors[0].keyword == "truncated"
    assert check(text, finish_reason="stop").errors[0].keyword == "syntax"


def test_a_fault_within_a_value_is_reported_at_its_place() -> None:
    (error,) = check({"path": "\ud800"}).errors
    assert (error.error_code, error.field_path) == (ErrorCode.INVALID_JSON_SYNTAX, "/path")


def test_a_value_nested_deeper_than_its_schema_can_be_checked_is_refused() -> None:
    schema = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    (error,) = check("[" * 60 + "]" * 60, schema=schema).errors
    assert (error.error_code, error.keyword) == (ErrorCode.INVALID_JSON_SYNTAX, "depth")
    assert check("[[[]]]", schema=schema).is_valid


def plug_in(*errors: ValidationError) -> Any:
    def run(_: Any) -> Iterable[ValidationError]:
        return iter(errors)

    return run


def test_plug_in_checks_run_after_a_clean_schema_only() -> None:
    seen: list[Any] = []

    def remember(value: Any) -> Iterable[ValidationError]:
        seen.append(value)
        return ()

    assert check('{"path": "a"}', checks=(remember,)).is_valid
    assert not check("{}", checks=(remember,)).is_valid
    assert seen == [{"path": "a"}]


def test_errors_of_plug_ins_go_the_same_way() -> None:
    warning = ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "/path", "the file is empty", ErrorSeverity.WARNING)
    found = check({"path": "a"}, checks=(plug_in(warning),))
    assert found.is_valid
    assert [(error.message, error.keyword) for error in found.warnings] == [("the file is empty", "plugin")]

    wrong = ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "no such file", keyword="exists")
    found = check({"path": "a"}, checks=(plug_in(warning), plug_in(wrong)))
    assert not found.is_valid
    assert [error.keyword for error in found.errors] == ["exists", "plugin"]


def test_nothing_that_a_plug_in_quotes_is_shown_unsanitised() -> None:
    error = ValidationError(
        ErrorCode.CONSTRAINT_VIOLATION, f"/{SECRET}", f"bad\n{SECRET}", expected_value=SECRET, actual_value=SECRET,
        hint=SECRET + "x" * 900,
    )  # fmt: skip
    (shown,) = check({"path": "a"}, checks=(plug_in(error),)).errors
    assert SECRET not in str(shown.to_json())
    assert "\n" not in shown.message
    assert len(shown.hint or "") <= 200


def test_a_callbacks_rejection_is_an_error_of_the_whole() -> None:
    (error,) = callback_rejection(f"the file\ndoes not exist, key {SECRET}", SANITIZER).errors
    assert (error.error_code, error.field_path, error.keyword) == (ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "callback")
    assert error.message.startswith("Object doesn't match the schema: the file\\ndoes not exist, key [REDACTED")


@pytest.mark.parametrize(
    ("name", "known", "message", "hint"),
    [
        ("read_fiel", ["write_file", "read_file"], "there is no tool 'read_fiel'", "call 'read_file' instead"),
        ("zzz", ["f", "e", "d", "c", "b", "a"], "there is no tool 'zzz'",
         "call a registered tool such as 'a', 'b', 'c', 'd', 'e'"),
        ("zzz", [], "there is no tool 'zzz'", "call a registered tool"),
        ("a\n" + "b" * 200, [], "there is no tool 'a\\nbb", "call a registered tool"),
    ],
)  # fmt: skip
def test_an_unknown_tool_gets_the_nearest_names(name: str, known: list[str], message: str, hint: str) -> None:
    (error,) = unknown_tool(name, known, SANITIZER).errors
    assert (error.error_code, error.field_path, error.keyword) == (ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "tool")
    assert message in error.message
    assert len(error.message) < 150
    assert error.hint == hint


def test_a_redaction_mark_beside_a_syntax_error_stays_whole() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    outcome = RetryContract([Tool(name="t", input_schema={})]).check("t", "c", f'{{"path": "{token}", "n": oops}}')
    shown = outcome.errors[0].actual_value
    assert shown is not None
    assert "REDACTED" not in shown.replace("[REDACTED: GITHUB_TOKEN]", "")
