"""The golden texts of format version 1, and what stays true of every text."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import ErrorCode, ErrorFormatter, ErrorSeverity, RetryConfiguration, ValidationError, parse_feedback
from retrycontract.contract.feedback.feedback_text import (
    BLOCKED_TEXT,
    HELD_TEXT,
    LAST_ATTEMPT_TEXT,
    shown_name,
    shown_pointer,
)

TOO_LONG = ValidationError(
    ErrorCode.STRING_LENGTH_VIOLATION,
    "/content",
    "String length 1500000 exceeds maximum 1048576",
    expected_value="string with max length 1048576",
    actual_value='"Lorem ipsum dolor sit amet, consectetur adipi...sed do eiusmod." (truncated)',
)
MISSING = ValidationError(
    ErrorCode.REQUIRED_FIELD_MISSING, "/path", "Required field 'path' is missing", expected_value="string"
)
MISSPELT = ValidationError(
    ErrorCode.INVALID_ENUM_VALUE,
    "/encoding",
    "Invalid enum value 'uft8'",
    expected_value="one of: utf-8, ascii, utf-16",
    actual_value='"uft8"',
)
TWO_ERRORS = """\
Validation failed for tool 'write_file' (attempt 2/3):

Errors:
• /content (VAL-009): String length 1500000 exceeds maximum 1048576
  Expected: string with max length 1048576
  Actual: "Lorem ipsum dolor sit amet, consectetur adipi...sed do eiusmod." (truncated)

• /path (VAL-001): Required field 'path' is missing
  Expected: string

Please reduce 'content' length and provide the missing 'path' field."""
ONE_ERROR = """\
Validation failed for tool 'read_file' (attempt 1/3):

• /encoding (VAL-008): Invalid enum value 'uft8'
  Expected: one of: utf-8, ascii, utf-16
  Actual: "uft8"

Please change 'encoding' to one of the allowed values (did you mean 'utf-8'?)."""


def formatter(**settings: Any) -> ErrorFormatter:
    return ErrorFormatter(RetryConfiguration(**settings))


def error(path: str = "/a", message: str = "m", **fields: Any) -> ValidationError:
    return ValidationError(fields.pop("code", ErrorCode.CONSTRAINT_VIOLATION), path, message, **fields)


def test_several_errors_make_the_golden_text() -> None:
    assert ErrorFormatter().format_errors("write_file", [MISSING, TOO_LONG], 2, 3) == TWO_ERRORS


def test_one_error_makes_the_golden_text_without_a_header() -> None:
    assert ErrorFormatter().format_errors("read_file", [MISSPELT], 1, 3) == ONE_ERROR


def test_a_text_for_an_error_is_told_and_what_is_none_is_named_as_such() -> None:
    told = ErrorFormatter().format_errors("t", [None, "no path"], 1, 3)  # type: ignore[list-item]
    assert "• (root) (VAL-015): no path" in told
    for wrong in (5, {"error_code": "VAL-001"}, ["no path"]):
        with pytest.raises(TypeError, match=rf"errors\[1\] is a {type(wrong).__name__}: give a ValidationError"):
            ErrorFormatter().format_errors("t", [None, wrong], 1, 3)  # type: ignore[list-item]


@pytest.mark.parametrize("nothing", [None, []], ids=["none", "empty"])
def test_no_errors_leave_the_first_line(nothing: list[ValidationError] | None) -> None:
    assert ErrorFormatter().format_errors("t", nothing, 1, 3) == "Validation failed for tool 't' (attempt 1/3):"


@pytest.mark.parametrize("kind", ["tool", "response", "file", "extraction"])
def test_the_first_line_has_the_word_of_the_kind(kind: str) -> None:
    text = ErrorFormatter().format_errors("x", [MISSING], 1, 3, kind=kind)
    assert text.startswith(f"Validation failed for {kind} 'x' (attempt 1/3):\n")


def test_hints_and_actual_values_can_be_turned_off() -> None:
    text = formatter(include_hints=False, include_actual_values=False).format_errors("read_file", [MISSPELT], 1, 3)
    assert text.endswith("  Expected: one of: utf-8, ascii, utf-16")


def test_the_whole_document_is_shown_as_root() -> None:
    text = ErrorFormatter().format_errors("t", [error("", "Object doesn't match")], 1, 3)
    assert "\n• (root) (VAL-003): Object doesn't match\n" in text
    assert text.endswith("Please change the whole value to meet its constraint.")


def test_warnings_and_infos_are_marked_as_such() -> None:
    errors = [error(severity=ErrorSeverity.WARNING), error("/b", severity=ErrorSeverity.INFO), error("/c")]
    bullets = [line for line in ErrorFormatter().format_errors("t", errors, 1, 3).splitlines() if line.startswith("•")]
    assert bullets == ["• /c (VAL-003): m", "• /a (VAL-003) [warning]: m", "• /b (VAL-003) [info]: m"]


def test_more_errors_than_are_shown_are_counted() -> None:
    text = ErrorFormatter().format_errors("t", [error(f"/{name}") for name in "abcdefghijklm"], 1, 3)
    assert text.count("•") == 10
    assert "\n\n...and 3 more\n\n" in text
    assert parse_feedback(text).hidden == 3


def test_like_errors_of_many_items_are_one_bullet_with_a_real_pointer() -> None:
    errors = [error(f"/items/{index}/sku", "Required field 'sku' is missing") for index in range(200)]
    text = ErrorFormatter().format_errors("t", errors, 1, 3)
    assert (
        "• /items/0/sku (VAL-003): Required field 'sku' is missing … and in 199 more items (/items/*/sku)\n"
    ) in text
    assert parse_feedback(text).pointers == ("/items/0/sku",)


def test_at_most_six_hints_are_given() -> None:
    errors = [error(f"/{name}", hint=f"do {name}.") for name in "abcdefgh"]
    assert (
        formatter()
        .format_errors("t", errors, 1, 3)
        .endswith("Please do a, do b, do c, do d, do e, do f and correct the remaining errors above.")
    )


def test_the_same_hint_is_given_once() -> None:
    errors = [error("/a", hint="send less"), error("/b", hint="send less")]
    assert ErrorFormatter().format_errors("t", errors, 1, 3).endswith("\n\nPlease send less.")


@pytest.mark.parametrize(("attempt", "maximum", "said"), [(1, 3, False), (2, 3, True), (4, 5, True), (1, 1, False)])
def test_the_attempt_before_the_last_says_that_one_is_left(attempt: int, maximum: int, said: bool) -> None:
    text = ErrorFormatter().format_feedback("t", [MISSING], attempt=attempt, max_attempts=maximum)
    assert text.endswith(LAST_ATTEMPT_TEXT) is said


def test_the_blocked_text_has_the_errors_and_no_hints() -> None:
    assert ErrorFormatter().format_feedback("read_file", [MISSING], attempt=3, max_attempts=3, blocked=True) == (
        "Validation failed for tool 'read_file' (attempt 3/3):\n\n"
        "• /path (VAL-001): Required field 'path' is missing\n"
        "  Expected: string\n\n"
        "This call is now Blocked: nothing was executed and a person has been asked for guidance. "
        "Do not retry it yourself; continue when guidance arrives."
    )


def test_a_held_call_is_told_that_it_is_valid_and_waits() -> None:
    text = ErrorFormatter().format_held("pay", attempt=3, max_attempts=3)
    assert text == f"Validation failed for tool 'pay' (attempt 3/3):\n\n{HELD_TEXT}"
    assert parse_feedback(text).is_blocked


def test_room_is_made_by_shortening_values_then_dropping_hints_then_errors() -> None:
    """The order of 2.5, seen by growing what must fit into 500 characters."""
    tight = formatter(max_message_length=500)

    def text(size: int, count: int) -> str:
        return tight.format_errors(
            "t", [error(f"/{n}", "m" * size, actual_value="v" * size) for n in range(count)], 1, 3
        )

    assert text(20, 2).count("v") == 40
    assert "vvv...vvv" in text(200, 1)
    assert "Please" in text(200, 1)
    assert "v" not in (fuller := text(115, 3))
    assert "Please" not in fuller
    assert fuller.count("•") == 3
    assert text(200, 9).count("•") < 9
    assert "more" in text(200, 9)


def test_a_long_name_and_a_long_pointer_are_elided_in_the_middle() -> None:
    parsed = parse_feedback(ErrorFormatter().format_errors("n" * 300, [error("/" + "p" * 900)], 1, 3))
    assert len(parsed.name) <= 80
    assert parsed.name.startswith("nnn")
    assert "..." in parsed.name
    assert len(parsed.pointers[0]) <= 200
    assert parsed.pointers[0].startswith("/pp")
    assert "..." in parsed.pointers[0]


def test_even_the_longest_names_and_pointers_fit_the_smallest_limit() -> None:
    errors = [error(f"/{index}" + "p" * 400, severity=ErrorSeverity.WARNING) for index in "ab"]
    text = formatter(max_message_length=500).format_feedback(
        "n" * 300, errors, attempt=10, max_attempts=10, blocked=True, kind="extraction"
    )
    assert len(text) <= 500
    assert text.endswith(BLOCKED_TEXT)
    parsed = parse_feedback(text)
    assert (parsed.codes, parsed.hidden, parsed.is_blocked) == ((ErrorCode.CONSTRAINT_VIOLATION,), 1, True)
    assert parsed.pointers[0].startswith("/app")


def test_the_limit_holds_even_for_a_kind_that_is_no_word() -> None:
    text = formatter(max_message_length=500).format_errors("t", [MISSING], 1, 3, kind="k" * 900)
    assert len(text) <= 500


def test_thousands_of_errors_are_folded_once() -> None:
    errors = [error(f"/items/{index}/{index % 150}x", "m" * 50) for index in range(5_000)]
    text = formatter(max_errors_shown=100).format_errors("t", errors, 1, 3)
    assert len(text) <= 2000
    parsed = parse_feedback(text)
    assert len(parsed.errors) + parsed.hidden == 150


HOSTILE = [
    "/a (VAL-002): x", "/(root)", "/ (VAL-001)", "/a (VAL-001): (VAL-002)", '/"/a" (VAL-001): x', "/• /b (VAL-001):",
    "/a\nb", "/a\r\n• /b (VAL-001): c", "/...and 3 more", "/\n...and 3 more", "/\u2028", "/\u202eab", "/\x1b[3",
    '/"', '/a"b\\',
    "/\\n", "/\u3164", "/\ud800", "/\U000e0001", "/👩\u200d👩\u200d👧", "/", "//", "/'", "/a/0", "/~0~1",
    "/ ", "/a ", "no slash", "(root)",
]  # fmt: skip


@pytest.mark.parametrize("pointer", HOSTILE, ids=ascii)
def test_a_hostile_pointer_is_read_back_as_it_was(pointer: str) -> None:
    errors = [error(pointer, f"Field {pointer} fails", actual_value=pointer, hint=pointer), error("/zzz")]
    text = ErrorFormatter().format_errors("t", errors, 1, 3)
    assert sorted(parse_feedback(text).pointers) == sorted([pointer, "/zzz"])
    assert parse_feedback(text).hidden == 0
    text.encode()


@pytest.mark.parametrize(
    "name",
    ["x' (attempt 9/9):", "x\nValidation failed for tool 'y' (attempt 1/2):", "it's", "a.b/c d", "", "x" * 80],
    ids=ascii,
)
def test_a_hostile_name_stays_one_line_and_changes_no_number(name: str) -> None:
    text = ErrorFormatter().format_errors(name, [MISSING], 2, 3)
    parsed = parse_feedback(text)
    assert (parsed.name, parsed.attempt, parsed.max_attempts) == (shown_name(name), 2, 3)
    assert text.splitlines()[0].count("'") == 2, "no name ends its own quotes"


def test_a_value_that_quotes_the_blocked_text_blocks_nothing() -> None:
    text = ErrorFormatter().format_errors("t", [error(message=BLOCKED_TEXT, actual_value=BLOCKED_TEXT)], 1, 3)
    assert not parse_feedback(text).is_blocked


@pytest.mark.parametrize("text", ["", "Validation failed", "Hello.\nValidation failed for tool 't' (attempt 1/3):\n"])
def test_other_text_is_no_feedback(text: str) -> None:
    with pytest.raises(ValueError, match="not a retrycontract/1 message"):
        parse_feedback(text)


@pytest.mark.parametrize("text", [TWO_ERRORS, ONE_ERROR], ids=["two", "one"])
def test_the_golden_texts_are_read_back(text: str) -> None:
    parsed = parse_feedback(text)
    assert (parsed.subject, parsed.max_attempts, parsed.hidden, parsed.is_blocked) == ("tool", 3, 0, False)
    assert (parsed.name, parsed.attempt, parsed.codes, parsed.pointers) == {
        TWO_ERRORS: (
            "write_file",
            2,
            (ErrorCode.STRING_LENGTH_VIOLATION, ErrorCode.REQUIRED_FIELD_MISSING),
            ("/content", "/path"),
        ),
        ONE_ERROR: ("read_file", 1, (ErrorCode.INVALID_ENUM_VALUE,), ("/encoding",)),
    }[text]


FAMILY, ACCENTED = "👩\u200d👩\u200d👧\u200d👦", "e\u0301\u0302"
SIGNS = st.sampled_from([*"ab/0\n\r•'\"\\(){}~家", " (VAL-001): ", "\ud800", "\u202e", "\x00", FAMILY, ACCENTED])
TEXTS = st.builds(lambda parts, times: "".join(parts) * times, st.lists(SIGNS, max_size=6), st.sampled_from([1, 60]))
ANY_ERROR = st.builds(
    ValidationError,
    error_code=st.sampled_from(ErrorCode),
    field_path=TEXTS.map(lambda text: "/" + text) | st.just(""),
    message=TEXTS,
    severity=st.sampled_from(ErrorSeverity),
    expected_value=st.none() | TEXTS,
    actual_value=st.none() | TEXTS,
    hint=st.none() | TEXTS,
)


@given(
    name=TEXTS,
    errors=st.lists(ANY_ERROR, max_size=6),
    attempt=st.integers(1, 10),
    limit=st.integers(500, 4000),
    shown=st.integers(1, 5),
    blocked=st.booleans(),
    switches=st.tuples(st.booleans(), st.booleans()),
)
def test_any_text_fits_and_is_read_back(
    name: str,
    errors: list[ValidationError],
    attempt: int,
    limit: int,
    shown: int,
    blocked: bool,
    switches: tuple[bool, bool],
) -> None:
    configured = formatter(
        max_message_length=limit, max_errors_shown=shown, include_hints=switches[0], include_actual_values=switches[1]
    )
    text = configured.format_feedback(name, errors, attempt=attempt, max_attempts=10, blocked=blocked, kind="file")
    assert len(text) <= limit
    assert text.splitlines()[0] == f"Validation failed for file '{shown_name(name)}' (attempt {attempt}/10):"
    assert not any(unicodedata.category(character) in ("Cs", "Cc") for character in text.replace("\n", ""))
    assert not {"👩", "\u200d", "👦", "\u0301", "\u0302"} & set(text.replace(FAMILY, "").replace(ACCENTED, ""))
    parsed = parse_feedback(text)
    assert (parsed.subject, parsed.name, parsed.attempt, parsed.max_attempts) == ("file", shown_name(name), attempt, 10)
    assert parsed.is_blocked is blocked
    known = {(error.error_code, error.field_path) for error in errors}
    for code, pointer in parsed.errors:
        whole = (code, pointer) in known
        assert whole or any("..." in pointer and code is each and len(ascii(path)) > 75 for each, path in known)
    if errors:
        worst = max(error.severity for error in errors)
        assert parsed.codes[0] in {error.error_code for error in errors if error.severity is worst}
    assert len(parsed.errors) <= shown


def test_a_pointer_that_cannot_be_misread_is_shown_as_it_is() -> None:
    assert shown_pointer("/a b/(c)/é") == "/a b/(c)/é"
    assert shown_pointer("/a\tb") == '"/a\\tb"'


def test_the_schema_says_what_was_expected_where_the_errors_do_not() -> None:
    schema = {
        "properties": {"items": {"items": {"$ref": "#/$defs/item"}}},
        "$defs": {"item": {"properties": {"qty": {"type": "integer", "minimum": 1}}, "required": ["sku"]}},
    }
    errors = [error("/items/3/qty"), error("/items/0", expected_value="an item"), error("/items/0/nowhere"), error("")]
    text = ErrorFormatter().format_errors("t", errors, 1, 3, schema=schema)
    assert [line for line in text.splitlines() if "Expected" in line] == [
        "  Expected: {items?: array of object}",
        "  Expected: an item",
        "  Expected: integer >= 1",
    ]
