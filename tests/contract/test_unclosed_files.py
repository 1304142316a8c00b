"""A bracket that is missing in a whole file is told where it belongs; a file that was cut off is told to be that."""

from __future__ import annotations

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages.compiling import compiler_here
from retrycontract.languages.unclosed import is_ended, likeliest_unclosed

pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")

C = "int f(void)\n{\n  if (x) {\n    g();\n  return 0;\n}\n\nint main(void)\n{\n  return f();\n}\n"
# A whole file, what is never closed in it and on which line.
UNCLOSED = [
    ("c", C, "{", 3),
    ("c", "#if A\nint f(void) {\n#else\nint f(int a) {\n#endif\n  while (b) {\n    c();\n}\nint d;\n", "{", 6),
    (
        "javascript",
        "function f() {\n  if (a) {\n    b();\n  return 0;\n}\n\nfunction g() {\n  return 1;\n}\n",
        "{",
        2,
    ),
    ("javascript", "f('{', `{\n{`, \"{\");\nfunction g() {\n  if (a) {\n    b();\n}\n\ng();\n", "{", 4),
    ("javascript", "const a = {\n  b: [\n    1,\n  c: 2,\n};\nf(a);\n", "[", 2),
    ("typescript", "class A {\n  f(): void {\n    g();\n\n  h(): void {\n    g();\n  }\n}\n", "{", 2),
    ("css", "a { b: c; }\n@media print {\n  d {\n    e: f;\n}\n\ng { h: i; }\n", "{", 3),
    ("css", ".a {\n  color: red;\n\n.b {\n  color: red;\n}\n", "{", 1),
    ("rust", "fn f<'a>(b: &'a str) {\n    if c {\n        d();\n}\n\nfn main() {\n    f();\n}\n", "{", 2),
    ("csharp", "class A\n{\n    void F()\n    {\n        G();\n\n    void H()\n    {\n    }\n}\n", "{", 4),
    (
        "java",
        "class A {\n    void f() {\n        if (b) {\n            c();\n    }\n\n    void d() {\n    }\n}\n",
        "{",
        3,
    ),
    ("go", "package main\n\nfunc f() {\n\tif a {\n\t\tb()\n}\n\nfunc g() {}\n", "{", 4),
    ("bash", "if a; then\n  b\n\nfor c in d; do e; done\n", "if", 1),
    ("bash", "f() {\n  if a; then\n    b\n}\n\nf\n", "if", 2),
    ("bash", 'echo "a"\necho "b\necho c\nf\n', '"', 2),
    ("ruby", "class A\n  def b\n    c.each do |d|\n      e\n  end\nend\n\nA.new\n", "do", 3),
]
CUT_OFF = [
    ("c", "int main(void)\n{\n  return 0;\n"),
    ("c", "int f(void) {\n  return 1"),
    ("c", "int f(void) {\n  return 1;\n}\n\nint g(void)\n{\n"),
    ("c", "int f(void) {\n  return 1;\n}\n/* and\nso\n"),
    ("javascript", "function f() {\n  if (a) {\n    b();\n  }\n"),
    ("javascript", "function f() {\n  return 1;\n}\n\nconst a = ["),
    ("css", "a { b: c; }\n\n.d {\n  e: f;\n"),
    ("go", "package main\n\nfunc f() {\n\tg()\n"),
    ("rust", "fn f() {\n    g();\n}\n\nfn h() {\n    if a {\n        g();\n    }\n"),
    ("java", "class A {\n    void f() {\n        g();\n    }\n"),
    ("bash", "f() {\n  if a; then\n    b\n"),
    ("bash", "ls\nif a; then\n"),
    ("ruby", "class A\n  def b\n    c\n  end\n"),
]


@pytest.mark.parametrize(("language", "source", "text", "line"), UNCLOSED)
def test_what_is_never_closed_in_a_whole_file_is_told_where_it_begins(
    language: str, source: str, text: str, line: int
) -> None:
    first, *_ = compiler_here(Language(language))(source)
    assert (first.kind, first.line) == (FaultKind.SYNTAX, line), first
    assert first.reason == f"nothing closes the {text!r}"


def test_what_is_never_closed_is_sought_in_proportion_to_the_length() -> None:
    for text in (b"{", b"{\n", b' {"\\', b"= /[a", b"`\\`", b"/*", b"x = /"):
        found = likeliest_unclosed(Language.JAVASCRIPT, text * 100_000)
        assert found is None or found.text in "{["
        assert not is_ended(Language.JAVASCRIPT, text * 100_000)


@pytest.mark.parametrize(("language", "source"), CUT_OFF)
def test_a_file_that_ends_within_something_was_cut_off(language: str, source: str) -> None:
    first, *_ = compiler_here(Language(language))(source)
    assert first.kind is FaultKind.TRUNCATED, first


def test_the_model_is_asked_for_the_bracket_and_not_for_a_shorter_file() -> None:
    tool = Tool(name="f.c", kind=Kind.SOURCE_FILE, input_schema={"type": "string"})
    outcome = RetryContract(tools=[tool]).check("f.c", "c", C)
    assert outcome.tool_result is not None
    content = outcome.tool_result.content
    assert "Invalid C: nothing closes the '{' at line 3, column 10" in content
    assert "dd the missing '}' of line 3; send the whole file again" in content
    assert "shorter" not in content
