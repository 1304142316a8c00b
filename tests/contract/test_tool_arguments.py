from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from retrycontract import ErrorCode, ErrorSeverity, RetryContract, Tool, ValidationError, ValueSanitizer
from retrycontract.contract.checks.catalogue import CHECKS
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import (
    MAX_PLUGIN_ERRORS,
    check_arguments,
    rejections,
    unknown_tool,
)
from retrycontract.contract.outputs import Kind
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
    assert (error.error_code, error.field_path, error.keyword) == ("VAL-004", "", "truncated")
    assert error.hint == "send the whole value again, shorter: it was cut off"
    assert (found.is_parsed, found.parsed) == (False, None)


def test_the_end_that_the_provider_tells_is_taken_into_account() -> None:
    text = '{"path": "a" "b"}'
    assert check(text).errors[0].keyword == "syntax"
    assert check(text, finish_reason="length").errors[0].keyword == "truncated"
    assert check(text, finish_reason="stop").errors[0].keyword == "syntax"


@pytest.mark.parametrize(
    "reason", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete", "model_context_window_exceeded"]
)
def test_every_providers_word_for_a_reached_limit_is_known(reason: str) -> None:
    assert check('{"path": "a" "b', finish_reason=reason).errors[0].keyword == "truncated"


def test_a_field_that_the_length_limit_cut_away_is_not_told_as_forgotten() -> None:
    (forgotten,) = check("{}", finish_reason="stop").errors
    (lost,) = check("{}", finish_reason="max_tokens").errors
    assert (lost.field_path, lost.error_code) == (forgotten.field_path, forgotten.error_code)
    assert forgotten.hint is None
    assert lost.hint == "send the whole value again, shorter: it was cut off by the length limit"
    assert check('{"path": "a"}', finish_reason="length").errors == ()
    assert check('{"path": 1}', finish_reason="length").errors == check('{"path": 1}').errors


def test_a_fault_within_a_value_is_reported_at_its_place() -> None:
    (error,) = check({"path": "\ud800"}).errors
    assert (error.error_code, error.field_path) == (ErrorCode.INVALID_JSON_SYNTAX, "/path")


def test_a_value_nested_deeper_than_its_schema_can_be_checked_is_refused() -> None:
    schema = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    (error,) = check("[" * 60 + "]" * 60, schema=schema).errors
    assert (error.error_code, error.keyword) == (ErrorCode.INVALID_JSON_SYNTAX, "depth")
    assert check("[[[]]]", schema=schema).is_valid


NUMBERS = {"properties": {"a": {"maximum": 10}, "b": {}, "c": {"type": "string"}}}


@pytest.mark.parametrize(
    "arguments",
    ['{"a": 1e400, "b": [-1e999], "c": 1}', {"a": 10**400, "b": [-(10**5000)], "c": 1}],
    ids=["text", "value"],
)
def test_a_number_that_cannot_be_carried_is_an_error_of_the_value_beside_all_others(arguments: Any) -> None:
    found = check(arguments, schema=NUMBERS)
    told = {(error.field_path, error.error_code, error.keyword) for error in found.errors}
    assert told == {
        ("/a", "VAL-011", "maximum"), ("/a", "VAL-011", "number"), ("/b/0", "VAL-011", "number"),
        ("/c", "VAL-002", "type"),
    }  # fmt: skip
    assert found.errors[2].message == "Value of this size is out of range: it is too large to be represented"
    assert (found.is_parsed, found.parsed) == (False, None)


def test_a_number_that_no_schema_limits_has_to_be_carried_all_the_same() -> None:
    assert not check('{"path": "a", "x": 1e400}', strict=False).is_valid
    assert check('{"path": "a", "x": 1e300}', strict=False).is_valid
    assert check("9" * 400, schema=True).parsed == int("9" * 400)


@pytest.mark.parametrize("kind", [Kind.TOOL_CALL, Kind.EXTRACTION])
@pytest.mark.parametrize(
    ("text", "keyword", "message"),
    [
        ('```json\n{"path": "a"}\n```', "fenced", "the value stands in a Markdown fence; send the JSON alone"),
        ('Here: {"path": "a"}', "prose", "words stand around the JSON value; send the JSON alone"),
        ('{"path": "a"} Done.', "trailing", "text follows the JSON value at line 1, column 15"),
    ],
)
def test_words_around_arguments_are_an_error_that_says_that_the_value_is_fine(
    kind: Kind, text: str, keyword: str, message: str
) -> None:
    tool = CompiledTool.of(Tool(name="t", input_schema=SCHEMA, kind=kind))
    (error,) = CHECKS[kind](text, tool, SANITIZER).errors
    assert (error.error_code, error.keyword) == (ErrorCode.INVALID_JSON_SYNTAX, keyword)
    assert error.message == f"Invalid JSON: {message} (the value itself is correct JSON)"
    assert error.hint


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


def test_warnings_of_the_schema_keep_no_plug_in_from_running() -> None:
    wrong = ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "no such file")
    found = check({"path": "a", "x": 1}, strict=False, checks=(plug_in(wrong),))
    assert [(error.field_path, error.keyword) for error in found.errors] == [
        ("", "plugin"),
        ("/x", "additionalProperties"),
    ]


WRONG = ValidationError(ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "no such file", keyword="exists")


def raises(_: Any) -> Iterable[ValidationError]:
    raise KeyError(SECRET)


def raises_late(_: Any) -> Iterable[ValidationError]:
    yield replace(WRONG, keyword="late")
    raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    ("broken", "name", "told"),
    [
        pytest.param(raises, "KeyError", 0, id="raises"),
        pytest.param(raises_late, "RuntimeError", 1, id="raises-late"),
        pytest.param(lambda _: None, "TypeError", 0, id="gives-nothing"),
        pytest.param(lambda _: ["no error"], "TypeError", 0, id="gives-something-else"),
        pytest.param(lambda _: [ValidationError("VAL-099", "", "")], "ValueError", 0, id="unknown-code"),
        pytest.param(lambda _: [replace(WRONG, severity=7)], "ValueError", 0, id="unknown-severity"),
        pytest.param(lambda _: [replace(WRONG, field_path=None)], "TypeError", 0, id="no-pointer"),
        pytest.param(lambda _: [replace(WRONG, message=3)], "TypeError", 0, id="no-text"),
        pytest.param(dict.fromkeys, "TypeError", 0, id="is-no-check"),
    ],
)  # fmt: skip
def test_a_check_that_fails_is_no_yes_and_keeps_no_other_from_running(broken: Any, name: str, told: int) -> None:
    found = check({"path": "a"}, checks=(broken, plug_in(WRONG)))
    broken_one = f"A check of this tool could not run ({name})"
    assert sorted(error.message for error in found.errors) == [broken_one] + ["no such file"] * (told + 1)
    assert not found.warnings
    (fault,) = found.faults
    assert name in fault
    assert SECRET not in fault + str(found)
    assert not check({"path": "a"}, checks=(broken,)).is_valid


def test_a_log_learns_where_a_check_failed() -> None:
    (fault,) = check({"path": "a"}, checks=(raises,)).faults
    line = raises.__code__.co_firstlineno + 1
    assert fault == f"raises: KeyError at {__file__}:{line}"


def test_a_check_that_fails_is_logged_without_what_it_quotes(caplog: pytest.LogCaptureFixture) -> None:
    desk = RetryContract([Tool(name="t", input_schema=SCHEMA, checks=(raises,))])
    outcome = desk.check("t", "call", '{"path": "a"}')
    assert (outcome.status, len(outcome.errors)) == ("retry", 1)
    record = next(each for each in caplog.records if "could not run" in each.getMessage())
    assert record.levelname == "ERROR"
    assert record.getMessage().startswith("A check of the tool could not run: raises: KeyError at ")
    assert SECRET not in caplog.text


def test_endless_errors_of_a_check_end() -> None:
    def endless(_: Any) -> Iterable[ValidationError]:
        return (replace(WRONG, field_path=f"/{number}") for number in count())

    assert len(check({"path": "a"}, checks=(endless,)).errors) == MAX_PLUGIN_ERRORS


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
    (error,) = rejections(f"the file\ndoes not exist, key {SECRET}", SANITIZER)
    assert (error.error_code, error.field_path, error.keyword) == (ErrorCode.OBJECT_SCHEMA_VIOLATION, "", "callback")
    assert error.message.startswith("the file\\ndoes not exist, key [REDACTED")


@pytest.mark.parametrize(
    ("name", "known", "message", "hint"),
    [
        ("read_fiel", ["write_file", "read_file"], "There is no tool 'read_fiel'; the nearest is 'read_file'",
         "call 'read_file' instead"),
        ("zzz", ["f", "e", "d", "c", "b", "a"], "There is no tool 'zzz'; the tools are 'a', 'b', 'c', 'd', 'e', 'f'",
         "call one of the registered tools"),
        ("zzz", [f"t{one:02}" for one in range(12)], "'t08', 't09' and 2 more", "call one of the registered tools"),
        ("send_email", ["get_weather"], "There is no tool 'send_email'; the only tool is 'get_weather'",
         "call one of the registered tools"),
        ("get_weather", ["get_user", "get_file"], "; the tools are 'get_file', 'get_user'",
         "call one of the registered tools"),
        ("find_web", ["abc", "web_page", "x", "web_find_all"], "; the nearest are 'web_find_all', 'web_page'",
         "call a registered tool such as 'web_find_all', 'web_page'"),
        ("zzz", [], "There is no tool 'zzz'", "call one of the registered tools"),
        ("a\n" + "b" * 200, [], "There is no tool 'a\\nbb", "call one of the registered tools"),
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
