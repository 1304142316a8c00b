"""Right files of every day, which no grammar may refuse, and what is wrong for certain, which it must."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language, SourceFault
from retrycontract.languages import compiler_of
from retrycontract.languages.compiling import compiler_here
from retrycontract.languages.conditionals import resolve

pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")
# Each begins with a line of three signs, its language and what is in it.
PARTS = re.split(r"(?m)^=== ", (Path(__file__).parent / "right_files.txt").read_text())[1:]
RIGHT = [(title.partition(" ")[0], title, source) for title, _, source in (part.partition("\n") for part in PARTS)]
S, T = FaultKind.SYNTAX, FaultKind.TRUNCATED


def errors(language: str, source: str) -> list[SourceFault]:
    return [fault for fault in compiler_here(Language(language))(source) if not fault.is_warning]


@pytest.mark.parametrize(("language", "source"), [(one[0], one[2]) for one in RIGHT], ids=[one[1] for one in RIGHT])
def test_a_right_file_is_not_refused(language: str, source: str) -> None:
    assert errors(language, source) == []


@pytest.mark.parametrize(
    "language", ["css", "c", "typescript", "javascript", "go", "rust", "java", "csharp", "ruby", "bash"]
)
def test_a_right_file_with_a_conflict_is_refused(language: str) -> None:
    source = next(source for name, _, source in RIGHT if name == language)
    first, _, rest = source.partition("\n")
    conflict = f"{first}\n<<<<<<< HEAD\n{rest}=======\n{rest}>>>>>>> main\n"
    assert errors(language, conflict)


@pytest.mark.parametrize(
    ("language", "source", "kind", "line"),
    [
        ("css", "a { color: red; }\nb { c: d; }}\n", S, 2),
        ("css", "a {\n  color: red;\n\nb { c: d; }\n", S, 1),
        ("css", "a { c: d; }\nb {\n  color: red;\n", T, 2),
        ("css", "a { content: 'x; }\nb { c: d; }\n", S, 1),
        ("css", "a { c: d; }\n/* to be", T, 2),
        ("css", "Here is the style sheet that you asked for:\n\n.a { b: c; }\n", S, 1),
        ("css", ".a { b: c; }\n\nIt makes the text red. Let me know.\n", S, 3),
        ("css", ".a { b: c; }\n```\n", S, 2),
        ("css", "$a: 1px;\n.a { b: $a; }\n", S, 1),
        ("css", "const a = {\n  b: 1,\n};\n", S, 1),
        ("css", '{"a": [1, {"b": null}]}\n', S, 1),
        ("css", "a { b: (c; }\n", S, 1),
        ("c", "int f(void) {\n  int a = = 1;\n}\n", S, 2),
        ("c", "int f(void) {\n  return 1\n}\nint g(void) { return 2; }\n", S, 2),
        ("c", "int f(void) {\n  g(1;\n}\n", S, 2),
        ("c", "int f(void) {\n  return 1;\n", T, 1),
        ("c", "int f(void) {\n  return 1;\n}}\n", S, 3),
        ("c", "int a[] = {1 2};\n", S, 1),
        ("c", "int a = ;\n", S, 1),
        ("c", 'char *a = "b;\nint c;\n', S, 1),
        ("c", "int a;\n/* never\nint b;\n", T, 2),
        ("c", "#ifdef A\nint a;\n#if B\nint b;\n#endif\n", S, 1),
        ("c", "This is the file that you wanted:\n\nint a;\n", S, 1),
        ("c", "import os\n\ndef f(a):\n    return a\n", S, 1),
        ("c", "retrun 1 2;\nint a;\n", S, 1),
        ("css", "Here is the stylesheet:\n\na { color: red }\n", S, 1),
        ("css", "The following CSS centers the card\n\n.card { margin: auto }\n", S, 1),
        ("css", "a { b: c }\nThis is the card\n.card { margin: auto }\n", S, 2),
        ("c", "int a;\n#endif\n", S, 2),
        ("c", "int a;\n#else\nint b;\n", S, 2),
        ("c", "int a;\n#elif A\nint b;\n", S, 2),
        ("c", "#if\nint a;\n#endif\n", S, 1),
        ("c", "#ifdef // A\nint a;\n#endif\n", S, 1),
        ("c", "int a;\n#inclde <stdio.h>\nint b;\n", S, 2),
        ("c", "int a;\nfunction add(a, b) {\n  return a + b;\n}\n", S, 2),
        ("c", "var x = 5;\n", S, 1),
        ("c", "let x = 5;\n", S, 1),
        ("c", "interface A {\n  int x;\n};\n", S, 1),
        ("c", "using System;\nint a;\n", S, 1),
        ("c", "#include <a>\nnamespace X {\nint a;\n}\n", S, 2),
        ("c", "class Foo {\n  int a;\n};\n", S, 1),
        ("c", "int a;\n\nimport foo;\n", S, 3),
        ("javascript", 'let a = "b;\nlet c = 1;\n', S, 1),
        ("go", 'package main\n\nfunc f() {\n\tx := "a\n\ty := 2\n}\n', S, 4),
        ("javascript", 'f(1);\nlet a = "b', T, 2),
    ],
)  # fmt: skip
def test_what_nothing_could_make_right_is_refused_where_it_is(
    language: str, source: str, kind: FaultKind, line: int
) -> None:
    first, *_ = errors(language, source)
    assert (first.kind, first.line) == (kind, line), first
    assert ("cut off" in first.reason) is (kind is T)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("c", "FOO_API int f(int a) BAR_ATTRIBUTE;\n"),
        ("c", "int f(void) {\n  FOO_BEGIN(1)\n  g();\n  FOO_END\n  return 1;\n}\n"),
        ("c", "int f(void) {\n  each(a, int b in c);\n  return 1;\n}\n"),
        ("css", "a { color red; b: c; }\n@unheard of { x { y: z; } }\n"),
    ],
)
def test_what_a_grammar_does_not_know_is_a_warning(language: str, source: str) -> None:
    (fault,) = compiler_here(Language(language))(source)
    assert fault.is_warning
    assert fault.reason == f"not known to the grammar of {Language(language).title}"


def test_the_warning_says_the_line_and_its_text() -> None:
    tool = Tool(name="f.c", kind=Kind.SOURCE_FILE, input_schema={"type": "string"})
    (warning,) = RetryContract(tools=[tool]).check("f.c", "c", "int a;\nFOO_API int f(int a) BAR;\n").warnings
    assert "not known to the grammar of C at line 2, column" in warning.message
    assert warning.message.endswith(": `FOO_API int f(int a) BAR;`")


@pytest.mark.parametrize("title", ["c types among arguments", "c bit-fields without a name"])
def test_types_among_arguments_are_not_even_a_warning(title: str) -> None:
    (source,) = (source for _, name, source in RIGHT if name == title)
    assert compiler_here(Language.C)(source) == ()


def test_only_one_branch_is_read_and_every_place_stays() -> None:
    source = (
        b"#if A // x\nint a;\n#elif B\nint b;\n#else\nint c;\n#endif\n#ifdef __cplusplus\n}\n#else\nint d;\n#endif\n"
    )
    found = resolve(source)
    assert found is not None
    assert [line.strip() for line in found.split(b"\n")] == (
        [b"", b"int a;", b"", b"", b"", b"", b"", b"", b"", b"", b"int d;", b"", b""]
    )
    assert [len(line) for line in found.split(b"\n")] == [len(line) for line in source.split(b"\n")]
    assert resolve(b"#if 0\n( no code\n#elif 1\nint a;\n#endif\n").split() == [b"int", b"a;"]  # type: ignore[union-attr]
    assert resolve(b"#if A\n#else\n") is None


def test_a_fault_behind_a_conditional_keeps_its_place() -> None:
    source = "#if A\nvoid f() {\n#else\nvoid f(int a) {\n#endif\n  int b = = 1;\n}\n"
    (fault,) = errors("c", source)
    assert (fault.line, fault.column) == (6, 11)
    (fault,) = errors("csharp", f"class A {{\n{source}}}\n")
    assert (fault.line, fault.column) == (7, 11)


def test_a_right_file_goes_through_the_front_door() -> None:
    for language, source in (("css", "@media (width >= 600px) {\n  a { color: red; }\n}\n"), ("c", RIGHT_HEADER)):
        tool = Tool(name="f", kind=Kind.SOURCE_FILE, input_schema={"type": "string", "x-language": language})
        assert RetryContract(tools=[tool]).check("f", "c", f"```{language}\n{source}```").status == "valid"
        assert not any(not fault.is_warning for fault in compiler_of(Language(language))(source))


RIGHT_HEADER = '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n'
