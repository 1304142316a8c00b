"""Independent slips of one file are told at once; what follows from a slip is not told as another."""

from __future__ import annotations

import re

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages import compiler_of
from retrycontract.languages.compiling import compiler_here

pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")

SEVERAL = {
    "javascript": (
        "let a = = 1;\nlet b = [1 2];\nf(1;\nfunction g() {\n  return 1 +;\n}\nlet h = {d: 1 e: 2};\n",
        [1, 2, 3, 5, 7],
    ),
    "typescript": ("let a: = 1;\nlet b: number = 2;\nlet c = [1 2];\nf(1;\nlet d = 3 +;\n", [1, 3, 4, 5]),
    "go": (
        "package main\n\nfunc f() {\n\tx := = 1\n\ty := []int{1 2}\n}\n\nfunc g() {\n\tif a b {\n\t}\n}\n",
        [4, 5, 9],
    ),
    "rust": ("fn f() {\n    let a = = 1;\n    let b = [1 2];\n    g(1;\n    let d = 1 +;\n}\n", [2, 3, 4, 5]),
    "css": ("$a: 1px;\n.b { c: d; }\ncolor = red { e: f; }\n.g { h: i; }\n!x { j: k; }\n", [1, 3, 5]),
    "c": ("int a = = 1;\nint b[] = {1 2};\nint f(void) {\n  g(1);\n  return 1 +;\n}\n", [1, 2, 5]),
}  # fmt: skip
# What is wrong once, though a grammar loses its way by it
ONCE = [
    ("javascript", "function f() {\n  if (a) {\n    b();\n}\n\nfunction g() {\n  return 1;\n}\n"),
    ("javascript", "function f() {\n  b(;\n  c();\n}\nlet d = 1;\n"),
    ("javascript", "function f() {\n  b();\n}}\n\nfunction g() { return 1; }\n"),
    ("javascript", 'let a = "b;\nlet c = {\n  d: "e",\n};\n'),
    ("rust", 'fn f() {\n    g("a);\n    h("b");\n}\nfn i() {}\n'),
    ("go", "package main\n\nfunc f() {\n\tif a {\n\t\tb()\n}\n\nfunc g() {}\n"),
    ("css", ".a color: red; }\n.b { c: d; }\n"),
    ("css", "a { b: c;\nd { e: f; }\n"),
    ("c", "int f(void) {\n  if (a {\n    b();\n  }\n}\nint c;\n"),
    ("bash", "if a; then\n  b\n\nfor c in d; do e; done\n"),
]


def lines_of(language: str, source: str) -> list[int | None]:
    return [fault.line for fault in compiler_here(Language(language))(source) if not fault.is_warning]


@pytest.mark.parametrize("language", SEVERAL)
def test_independent_slips_are_told_at_once(language: str) -> None:
    source, lines = SEVERAL[language]
    assert lines_of(language, source) == lines
    tool = Tool(name="f", kind=Kind.SOURCE_FILE, input_schema={"type": "string", "x-language": language})
    outcome = RetryContract(tools=[tool]).check("f", "c", f"```{language}\n{source}```")
    assert outcome.tool_result is not None
    content = outcome.tool_result.content
    assert [int(line) for line in re.findall(r"at line (\d+)", content)] == lines
    assert [int(line) for line in re.findall(r"(?m)^ +(\d+) \| .*‸", content)] == lines
    *first, last = map(str, lines)
    assert f"correct lines {', '.join(first)} and {last} and send the whole file again" in content


@pytest.mark.parametrize(("language", "source"), ONCE)
def test_what_follows_from_a_slip_is_not_told_as_another(language: str, source: str) -> None:
    assert len(lines_of(language, source)) == 1


def test_what_is_told_of_many_slips_is_bounded() -> None:
    tool = Tool(name="f.js", kind=Kind.SOURCE_FILE, input_schema={"type": "string"})
    outcome = RetryContract(tools=[tool]).check("f.js", "c", "let a = = 1;\n" * 500)
    assert outcome.tool_result is not None
    assert "syntax error at line 10, column 7; and 10 more" in outcome.tool_result.content
    assert len(outcome.tool_result.content) <= 2_000


def test_the_only_place_is_shown_with_its_neighbours() -> None:
    tool = Tool(name="f.js", kind=Kind.SOURCE_FILE, input_schema={"type": "string"})
    outcome = RetryContract(tools=[tool]).check("f.js", "c", "let a = 1;\nlet b = = 2;\nlet c = 3;\n")
    assert outcome.tool_result is not None
    assert "    1 | let a = 1;\n    2 | let b ‸= = 2;\n    3 | let c = 3;\n" in outcome.tool_result.content
    assert "Please correct line 2 and send the whole file again." in outcome.tool_result.content


def test_a_file_of_ten_thousand_faults_is_told_its_first_within_what_a_check_may_take() -> None:
    line = "FOO_API int f(int a) BAR;\nint a = = 1;\n/* x */\n"
    first, *_ = compiler_of(Language.C)(line * 10_000)
    assert (first.kind, first.line) == (FaultKind.SYNTAX, 2)
