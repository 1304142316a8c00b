"""The compilers themselves: what each says of a file, and that no file can harm the process that asks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language, SourceFault
from retrycontract.languages import MissingGrammarError, compiler_of
from retrycontract.languages.grammars import GRAMMARS, require_grammar

FILES = {
    Language.PYTHON: "def f():\n    return 1\n",
    Language.JSON: '{"a": [1, 2]}\n',
    Language.TOML: "[a]\nb = 1\n",
    Language.YAML: "a: !Ref b\n---\nc: &x [1]\nd: *x\n",
    Language.JAVASCRIPT: "const a = <b>{`c ${1}`}</b>;\n",
    Language.TYPESCRIPT: "interface A { b: string }\nlet c = <A>{};\n",
    Language.TSX: "const a: number = 1;\nconst b = <i>{a}</i>;\n",
    Language.GO: "package main\n\nfunc main() {}\n",
    Language.BASH: "for i in 1 2; do\n  echo $i\ndone\n",
    Language.HTML: "<!doctype html>\n<title>a</title>\n<p>b<br>c</p>\n",
    Language.CSS: "@media print { a:hover { color: red; } }\n:root { --x: 1px; }\n",
    Language.SQL: "CREATE TABLE a (b INT NOT NULL);\nSELECT b FROM a WHERE b > 1;\n",
    Language.RUST: 'fn main() { println!("{}", 1); }\n',
    Language.JAVA: "class A { int b() { return 1; } }\n",
    Language.C: "#include <stdio.h>\nint main(void) { return 0; }\n",
    Language.C_SHARP: "namespace A;\nclass B { public int C => 1; }\n",
    Language.RUBY: "class A\n  def b = 1\nend\n",
    Language.DOCKERFILE: 'FROM python:3.12\nRUN pip install x\nCMD ["x"]\n',
    Language.MARKDOWN: "# A\n\nb\n",
    Language.TEXT: "a\n",
}
S, T = FaultKind.SYNTAX, FaultKind.TRUNCATED


def compile_or_skip(language: Language, source: str) -> tuple[SourceFault, ...]:
    if language in GRAMMARS:
        pytest.importorskip("tree_sitter", reason="the extra 'languages' is not installed")
    return compiler_of(language)(source)


@pytest.mark.parametrize("language", Language)
def test_a_correct_file_has_no_fault(language: Language) -> None:
    assert compile_or_skip(language, FILES[language]) == ()


@pytest.mark.parametrize(
    ("language", "source", "kind", "line", "column"),
    [
        ("python", "x = 1\ny = = 2\n", S, 2, 5),
        ("python", "é = 'ü' 1\n", S, 1, 9),
        ("python", "def f():\nreturn 1\n", S, 2, 1),
        ("python", "def f():\n\tif x:\n        return 1\n", S, 3, None),
        ("python", "return 1\n", S, 1, 1),
        ("python", "x = 0777\n", S, 1, 5),
        ("python", "# coding: martian\nx = 1\n", FaultKind.ENCODING, None, None),
        ("python", "# coding: latin-1\nx = 'é'\n", FaultKind.ENCODING, None, None),
        ("python", "foo(1, 2\nbar()\n", S, 1, 4),
        ("python", "foo(1,\n    2,", T, 1, 4),
        ("python", 'x = """abc\n', T, 1, 5),
        ("python", "x = 'abc", T, 1, 5),
        ("python", "class A", T, 1, 8),
        ("python", "try:\n    a()\n", T, 2, 8),
        ("json", '{"a": 1,\n "b": }', S, 2, 7),
        ("json", '{"a": [1,', T, 1, 10),
        ("toml", "a = 1\nb = \n", S, 2, 5),
        ("toml", "a = [1,\n", T, 1, 8),
        ("toml", "a = " + "9" * 5_000, S, None, None),
        ("yaml", "a: b: c\n", S, 1, 5),
        ("yaml", "a: [1, 2\n", T, 2, 1),
        ("yaml", "a: *b\n", S, 1, 4),
        ("javascript", "f(1, 2;\n", S, 1, 7),
        ("javascript", "let é = 1; let 3x = 4;", S, 1, 16),
        ("javascript", "function f() {\n  return 1;\n", T, 2, 12),
        ("typescript", "let a: = 1;\nlet b = 2;\n", S, 1, 6),
        ("tsx", "const a = (<b>c</b>\n", T, None, None),
        ("go", "package main\nfunc main() {\n  x := \n}\n", S, 3, 7),
        ("go", "package main\nfunc main() {\n  f(1,", T, 2, 13),
        ("bash", "if true; then\n  echo hi\n", T, None, None),
        ("bash", "echo )\n", S, 1, 6),
    ],
)  # fmt: skip
def test_a_fault_has_its_kind_and_place(
    language: str, source: str, kind: FaultKind, line: int | None, column: int | None
) -> None:
    found = compile_or_skip(Language(language), source)
    (fault,) = found
    assert (fault.kind, fault.is_warning) == (kind, False)
    assert line in (None, fault.line)
    assert column in (None, fault.column)


def test_what_the_compiler_of_python_warns_of_leaves_the_file_valid() -> None:
    assert [(fault.is_warning, fault.line) for fault in compiler_of(Language.PYTHON)("x = 1\nassert x is 'a'\n")] == [
        (True, 2)
    ]


HOSTILE = [
    (Language.PYTHON, "x = " + "(" * 100_000),
    (Language.PYTHON, "x = " + "-" * 1_000_000 + "1"),
    (Language.PYTHON, "x = " + "a." * 200_000 + "a"),
    (Language.PYTHON, "x = " + "1+" * 200_000 + "1"),
    (Language.PYTHON, "x = " + "9" * 1_000_000),
    (Language.PYTHON, "if x:\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 1_000))),
    (Language.PYTHON, "x = f'" + "{" * 10_000),
    (Language.TOML, "a = " + "[" * 200_000),
    (Language.YAML, "a: " + "[" * 200_000),
    (Language.YAML, "a: " + "{b: " * 100_000),
    (Language.JSON, "[" * 1_000_000),
]


@pytest.mark.parametrize(("language", "source"), HOSTILE)
def test_hostile_files_end_in_a_fault_and_the_next_file_is_judged(language: Language, source: str) -> None:
    compiler = compiler_of(language)
    assert any(not fault.is_warning for fault in compiler(source)) or language is Language.PYTHON
    assert compiler(FILES[language]) == ()


def test_a_word_in_thousands_of_brackets_does_nothing_either() -> None:
    word = compile_or_skip(Language.JAVASCRIPT, "(a)")
    assert word
    assert compile_or_skip(Language.JAVASCRIPT, "(" * 3_000 + "a" + ")" * 3_000) == word


@pytest.mark.parametrize("source", ["\ufeffx = 'é'\n", "# coding: utf-8\nx = 'é'\n", "# coding: ascii\nx = 1\n"])
def test_encodings_that_fit_are_taken(source: str) -> None:
    assert compiler_of(Language.PYTHON)(source) == ()


def test_a_bomb_of_aliases_is_not_expanded() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    assert compiler_of(Language.YAML)(bomb) == ()


def test_source_is_compiled_and_never_run(tmp_path: object) -> None:
    marker = f"{tmp_path}/marker"
    assert compiler_of(Language.PYTHON)(f"open({marker!r}, 'w')\n") == ()
    assert not os.path.exists(marker)  # noqa: PTH110 - the path is the source's


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_children_of_its_own() -> None:
    compiler = compiler_of(Language.PYTHON)
    assert compiler("x = 1\n") == ()
    threads = threading.active_count()
    script = (
        "import os, sys\n"
        "from retrycontract.contract.outputs.source_code import Language\n"
        "from retrycontract.languages import compiler_of\n"
        "compiler = compiler_of(Language.PYTHON)\n"
        "assert compiler('x = 1') == ()\n"
        "child = os.fork()\n"
        "faults = [compiler('y = =' if child else 'x = 1') for _ in range(50)]\n"
        "assert all(map(bool, faults)) if child else not any(faults)\n"
        "sys.exit(os.waitpid(child, 0)[1] if child else 0)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert threading.active_count() <= threads


def test_a_grammar_that_is_not_installed_is_told_when_the_tool_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)  # as where it is not installed
    with pytest.raises(MissingGrammarError, match=r"pip install 'retrycontract\[languages\]'"):
        require_grammar(Language.GO)


def test_the_library_judges_source_files() -> None:
    contract = RetryContract([Tool(name="app.py", input_schema=True, kind=Kind.SOURCE_FILE)])
    first = contract.check("app.py", "c1", "```python\ndef f(:\n```")
    assert first.tool_result is not None
    assert first.tool_result.content.startswith("Validation failed for file 'app.py' (attempt 1/3):")
    second = contract.check("app.py", "c1", "```python\ndef f(): ...\n```", call_id=first.call_id)
    assert (second.status, second.arguments) == ("valid", "def f(): ...\n")


WHOLE_AND_WRONG = (
    (Language.TOML, "a = 1\na = 2", 2), (Language.TOML, "a = 1\nb.c = 1\nb = 2", 3), (Language.TOML, "a={}\na.b=1", 2),
    (Language.TOML, "[a]\nb=1\n[a]", 3), (Language.TOML, "a = {b=1, b=2}", 1), (Language.TOML, "a = 1 b", 1),
    (Language.YAML, "a: 1\nb\n", 2), (Language.YAML, "a: *x", 1), (Language.YAML, "a: b: c", 1),
    (Language.YAML, "a: ]", 1),
    (Language.YAML, "a: 'x' y", 1), (Language.YAML, "a: 1\n- b", 2),
    (Language.JSON, '{"a": 1 "b": 2}', 1), (Language.JSON, '{"a": 1}}', 1), (Language.JSON, '{"a": b}', 1),
    (Language.PYTHON, "return 1", 1), (Language.PYTHON, "f(a=1, a=2)", 1), (Language.PYTHON, "def f(a, a): pass", 1),
    (Language.PYTHON, "x = 1\ny = )", 2), (Language.PYTHON, "x = 1\nbreak", 2),
)  # fmt: skip
UNFINISHED = (
    (Language.TOML, "a ="), (Language.TOML, "a = [1,"), (Language.TOML, 'a = "x'), (Language.TOML, "[a"),
    (Language.TOML, "a"),
    (Language.TOML, "a = {b=1"), (Language.YAML, "a: [1, 2"), (Language.YAML, 'a: "x'), (Language.YAML, "a: 1\nb"),
    (Language.YAML, "a: {b\n"), (Language.JSON, '{"a": [1'), (Language.JSON, '{"a'), (Language.PYTHON, "x = (1,"),
    (Language.PYTHON, "def f():"), (Language.PYTHON, "x = 'a"),
)  # fmt: skip


@pytest.mark.parametrize(("language", "source", "line"), WHOLE_AND_WRONG)
def test_a_whole_file_that_is_wrong_at_its_end_is_not_called_cut_off(
    language: Language, source: str, line: int
) -> None:
    """To send it again and shorter would mend nothing."""
    fault, *_ = compiler_of(language)(source)
    assert fault.kind is not FaultKind.TRUNCATED, fault
    assert fault.line == line, fault
    assert "cut off" not in fault.reason


@pytest.mark.parametrize(("language", "source"), UNFINISHED)
def test_a_file_that_ends_too_early_is_called_cut_off(language: Language, source: str) -> None:
    fault, *_ = compiler_of(language)(source)
    assert fault.kind is FaultKind.TRUNCATED, fault
