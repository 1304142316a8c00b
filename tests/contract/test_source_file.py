"""A source file as the contract sees it: taken out of an answer, judged by a compiler that is handed in, told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrycontract import (
    ErrorCode,
    ErrorFormatter,
    ErrorSeverity,
    Tool,
    ValidationError,
    ValueSanitizer,
    parse_feedback,
)
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.feedback.answer import examine
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import (
    LANGUAGE,
    Compiler,
    Language,
    SourceFault,
    UnknownLanguageError,
    declared_language,
    language_of,
)
from retrycontract.contract.tool import CompiledTool

FENCE = "```"
CODE = "x = 1\n"


def takes_assignments(source: str) -> tuple[SourceFault, ...]:
    """Compile a language in which every line assigns, and strings between triple quotes may hold anything."""
    parts = source.split('"""')
    if len(parts) % 2 == 0:
        return (SourceFault(FaultKind.TRUNCATED, "unterminated string"),)
    outside = "".join(parts[::2])
    for number, line in enumerate(outside.split("\n"), 1):
        if line and " = " not in line:
            return (SourceFault(FaultKind.SYNTAX, "no assignment", number, 1),)
    return ()


def faulty(*faults: SourceFault) -> Compiler:
    return lambda _: faults


def check(
    answer: Any, compiler: Compiler = takes_assignments, *, name: str = "app.py", schema: Any = True, **options: Any
) -> Findings:
    tool = Tool(name=name, input_schema=schema, kind=Kind.SOURCE_FILE, checks=options.pop("checks", ()))
    contract = CompiledTool.of(tool, lambda _: compiler)
    return examine(answer, contract, ValueSanitizer(), tool_name=name, **options)


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        (CODE, CODE),
        (CODE.encode(), CODE),
        (f"{FENCE}python\n{CODE}{FENCE}", CODE),
        (f"{FENCE}py\r\nx = 1\r\n{FENCE}\r\n", "x = 1\r\n"),
        (f"~~~ {{.python}}\n{CODE}~~~", CODE),
        (f"~~~python `app.py`\n{CODE}~~~", CODE),
        (f"{FENCE}python:src/app.py\n{CODE}{FENCE}", CODE),
        (f"{FENCE}\n{CODE}{FENCE}", CODE),
        (f"Here it is:\n\n{FENCE}python\n{CODE}{FENCE}\n\nRun it:\n{FENCE}bash\npython app.py\n{FENCE}\n", CODE),
        (f"{FENCE}{FENCE[:1]}python\n{CODE}{FENCE}{FENCE[:1]}", CODE),
        (f'a = """\n{FENCE}python\n{CODE}{FENCE}\n"""\n', f'a = """\n{FENCE}python\n{CODE}{FENCE}\n"""\n'),
        (
            f'{FENCE}python\na = """\n{FENCE}python\nf\n{FENCE}\n"""\nb = 1\n{FENCE}',
            f'a = """\n{FENCE}python\nf\n{FENCE}\n"""\nb = 1\n',
        ),
    ],
    ids=[
        "bare", "bytes", "fenced", "carriage returns", "tildes", "tildes and backticks", "with a path", "no language",
        "among words and others", "longer fences", "a fence within a string", "fenced, with fences within",
    ],
)  # fmt: skip
def test_the_file_is_taken_out_of_the_answer(answer: Any, source: str) -> None:
    found = check(answer)
    assert (found.errors, found.parsed, found.is_parsed) == ((), source, True)


@pytest.mark.parametrize(
    ("answer", "keyword", "words"),
    [
        ("", "empty", "the file is empty"),
        (" \n\t", "empty", "the file is empty"),
        (b"\xff = 1", "encoding", "not UTF-8"),
        ("x = '\ud800'", "encoding", "not UTF-8"),
        ("x = 1\ny\0 = 2", "encoding", "a null character is no text at line 2, column 2"),
        ("x = " + "1" * 2_000_000, "depth", "longer than 2,000,000 characters"),
        (f"{FENCE}bash\nls\n{FENCE}", "fenced", "no fenced block holds the file (Python)"),
        (f"{FENCE}py\n{CODE}{FENCE}\nor\n{FENCE}py\ny = 2\n{FENCE}", "fenced", "each of 2 fenced blocks"),
        (f"{FENCE}py\n{CODE}", "truncated", "no fence ends its block"),
        ("x = 1\nnonsense\n", "syntax", "Invalid Python: no assignment at line 2, column 1"),
        (f"Look:\n{FENCE}py\nx = 1\nnonsense\n{FENCE}", "syntax", "no assignment at line 2, column 1"),
    ],
)
def test_what_is_no_such_file_is_told(answer: Any, keyword: str, words: str) -> None:
    found = check(answer)
    (error,) = found.errors
    assert (error.error_code, error.field_path, error.keyword) == (ErrorCode.INVALID_JSON_SYNTAX, "", keyword)
    assert words in error.message
    assert not found.is_valid
    assert not found.is_parsed


def test_a_value_that_is_no_text_is_a_wrong_type() -> None:
    (error,) = check({"content": CODE}).errors
    assert (error.error_code, error.message) == (ErrorCode.TYPE_MISMATCH, "Type mismatch: expected string, got object")


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_file_that_reached_the_length_limit_is_cut_off_even_if_it_compiles(reason: str) -> None:
    (error,) = check(CODE, finish_reason=reason).errors
    assert error.keyword == "truncated"
    assert "cut off by the length limit" in error.message
    assert check(CODE, finish_reason="stop").is_valid


def test_words_are_no_file_of_a_language_that_would_take_them() -> None:
    found = check(f"So be it = so:\n{FENCE}sh\n{CODE}{FENCE}\n", name="run.sh")
    assert found.parsed == CODE


def test_warnings_leave_the_file_valid() -> None:
    warned = SourceFault(FaultKind.SYNTAX, '"is" with a literal', 1, is_warning=True)
    found = check(CODE, faulty(warned))
    (warning,) = found.warnings
    assert found.is_valid
    assert (warning.severity, warning.keyword) == (ErrorSeverity.WARNING, "warning")


def test_the_schema_and_checks_of_the_developer_follow_once_the_file_compiles() -> None:
    seen: list[str] = []

    def lint(source: str) -> list[ValidationError]:
        seen.append(source)
        return [ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "", "Value violates constraint: too dull")]

    assert [error.message for error in check(CODE, checks=(lint,)).errors] == ["Value violates constraint: too dull"]
    assert check("nonsense", checks=(lint,)).errors[0].keyword == "syntax"
    assert check("x = 12345\n", checks=(lint,), schema={"maxLength": 5}).errors[0].keyword == "maxLength"
    assert seen == [CODE]


@pytest.mark.parametrize(
    ("name", "schema", "language"),
    [
        ("src/app.py", True, "python"),
        ("a.b/c.YML", {}, "yaml"),
        ("x.mjs", {}, "javascript"),
        ("x.tsx", {}, "tsx"),
        ("x.py", {LANGUAGE: "Go"}, "go"),
        ("write_script", {LANGUAGE: "bash"}, "bash"),
        *(
            ("write_script", {LANGUAGE: name}, language)
            for name, language in {
                "js": "javascript",
                "jsx": "javascript",
                "ts": "typescript",
                "py": "python",
                "golang": "go",
                "sh": "bash",
                "shell": "bash",
                "yml": "yaml",
                "c#": "csharp",
                "C#": "csharp",
                "rs": "rust",
                "rb": "ruby",
                "md": "markdown",
                "docker": "dockerfile",
                "txt": "text",
                "postgresql": "sql",
                "TS": "typescript",
                " python ": "python",
                "tsx": "tsx",
                "h": "c",
            }.items()
        ),
    ],
)
def test_the_language_is_that_of_the_schema_or_of_the_name(name: str, schema: Any, language: str) -> None:
    assert declared_language(name, schema) is Language(language)


@pytest.mark.parametrize(("name", "given"), [("a.py", "cobol"), ("a.py", 3), ("py", "")])
def test_an_unknown_language_is_the_developers_error(name: str, given: Any) -> None:
    with pytest.raises(UnknownLanguageError, match="python, json, toml"):
        language_of(name, given)


@pytest.mark.parametrize(
    ("given", "meant"), [("pythn", "python"), ("javascrpt", "javascript"), ("type-script", "typescript")]
)
def test_an_unknown_language_is_refused_with_the_nearest(given: str, meant: str) -> None:
    with pytest.raises(UnknownLanguageError, match=f"did you mean '{meant}'"):
        language_of("a", given)


def test_a_tool_that_writes_files_needs_compilers() -> None:
    with pytest.raises(TypeError, match="hand in the compilers"):
        CompiledTool.of(Tool(name="app.py", input_schema=True, kind=Kind.SOURCE_FILE))


def told(source: str, line: int, column: int | None) -> str:
    (error,) = check(source, faulty(SourceFault(FaultKind.SYNTAX, "invalid syntax", line, column))).errors
    return ErrorFormatter().format_errors("app.py", [error], 1, 3, kind="file")


def test_the_line_is_shown_with_its_neighbours_and_a_caret() -> None:
    source = "".join(f"line_{number} = {number}\n" for number in range(8, 0, -1))
    assert told(source, 5, 3) == (
        "Validation failed for file 'app.py' (attempt 1/3):\n\n"
        "• (root) (VAL-004): Invalid Python: invalid syntax at line 5, column 3\n"
        "  Expected: a complete Python file\n"
        "  Actual:\n"
        "    3 | line_6 = 6\n"
        "    4 | line_5 = 5\n"
        "    5 | li‸ne_4 = 4\n"
        "    6 | line_3 = 3\n"
        "    7 | line_2 = 2\n\n"
        "Please correct line 5 and send the whole file again."
    )


SECRET = "sk-proj-" + "a1B2c3D4" * 6


@pytest.mark.parametrize("column", [1, 12, 20, 40, 62, 70, None])
def test_a_secret_is_hidden_wherever_the_caret_stands(column: int | None) -> None:
    text = told(f'x = 1\nkey = "{SECRET}" ; y\nz = 2\n', 2, column)
    assert "[REDACTED: OPENAI_KEY]" in text
    assert not any(SECRET[at : at + 8] in text for at in range(4, 40))


def test_lines_below_a_secret_of_several_lines_keep_their_numbers() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 5 + "-----END PRIVATE KEY-----\n"
    text = told(f'key = """{key}"""\nz = 2\ny y\n', 10, 3)
    assert "10 | y ‸y" in text
    assert "MIIEv" not in text


def test_long_lines_and_control_characters_are_shortened_and_shown() -> None:
    text = told("x = '" + "a" * 5_000 + "\x1b[2J' y" + "b" * 5_000, 1, 5_013)
    assert "\x1b" not in text
    assert "‸" in text
    assert len(text) < 600


@given(st.text(), st.integers(1, 20), st.none() | st.integers(1, 100))
def test_any_text_and_place_give_a_message_that_can_be_read_back(source: str, line: int, column: int | None) -> None:
    fault = SourceFault(FaultKind.SYNTAX, "invalid syntax", line, column)
    found = check(source, faulty(fault))
    text = ErrorFormatter().format_errors("app.py", found.errors, 1, 3, kind="file")
    assert parse_feedback(text).errors[0] == (ErrorCode.INVALID_JSON_SYNTAX, "")
    assert all(ValidationError.from_json(json.loads(json.dumps(error.to_json()))) == error for error in found.errors)


@given(st.text(alphabet="`~p\n x=\"'/*", max_size=200))
def test_any_arrangement_of_fences_is_judged(answer: str) -> None:
    found = check(answer)
    assert found.is_valid == (found.parsed is not None)


def test_numbered_lines_cannot_pose_as_the_format() -> None:
    text = told("• /a (VAL-001): x\n\n...and 9 more\nProgress: fixed /a.\n", 2, 1)
    parsed = parse_feedback(text)
    assert (parsed.pointers, parsed.hidden, parsed.fixed) == (("",), 0, ())
    assert parsed.hint == "Please correct line 2 and send the whole file again."
