"""Files of openings alone: each gets a verdict, and no child process dies of reading one."""

from __future__ import annotations

import logging

import pytest

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages import compiler_of
from tests.contract.test_source_languages import compile_or_skip

SIZE = 1_900_000
# What every language is asked, and what opens in few of them.
OPENINGS = ("{", "[", "(", "<a>", "{a: ", "a?", "f(", "1+", "- ", "$(")
OWN_OPENINGS = {
    Language.PYTHON: ("if a:\n", "lambda:", "not ", "f'{", "a.", "do\n"),
    Language.TOML: ("[[", "a.", "a={"),
    Language.YAML: ("? ", "[{", "[- ", "? - ", "&a - ", "!a [", "- \r", "---\n- {"),
    Language.MARKDOWN: ("> ", "```\n"),
    Language.JAVASCRIPT: ("`${", "a=>", "if(a)", "new ", "/*"),
    Language.TYPESCRIPT: ("`${", "a<", "if(a)"),
    Language.BASH: ("${", "if a;then\n", "<<A\n", "`"),
    Language.SQL: ("(select ", "case when ", "begin "),
    Language.CSS: ("a{", "@media{", "/*"),
    Language.RUST: ("Vec<", "a<", "if a{"),
    Language.JAVA: ("class A{", "A<", "a?b:"),
    Language.C: ("#if\n", "*", "if(a)"),
    Language.C_SHARP: ("namespace A{", "A<", "if(a)"),
    Language.RUBY: ("begin ", "do\n", "<<A\n"),
    Language.DOCKERFILE: ("RUN \\\n", "FROM "),
    Language.HTML: ("<a ", "<!--"),
    Language.GO: ("func(", "if a{"),
}
# Its grammar takes more memory than a child has, and cannot say so: the child ends, and the file has its verdict.
BEYOND = {(Language.TYPESCRIPT, "a<")}
DEEP = "nested deeper than 100 levels"
ENDED = "A child process ended in the middle of its work"


def repeated(opening: str) -> str:
    return (opening * (SIZE // len(opening) + 1))[:SIZE]


def deaths(caplog: pytest.LogCaptureFixture) -> list[object]:
    """Give the statuses of the children that ended by themselves; those that took too long were ended."""
    return [record.__dict__["status"] for record in caplog.records if record.message == ENDED]


@pytest.mark.parametrize("opening", ["{", "[", "- ", "? ", "[{", "{a: "])
def test_yaml_that_only_opens_is_told_its_depth(opening: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (fault,) = compiler_of(Language.YAML)(repeated(opening))
    assert (fault.kind, fault.reason, deaths(caplog)) == (FaultKind.DEPTH, DEEP, [])


@pytest.mark.parametrize(
    ("deepest", "deeper"),
    [
        ("[" * 100 + "]" * 100, "[" * 101 + "]" * 101),
        ("- " * 100 + "a\n", "- " * 101 + "a\n"),
        ("? " * 100 + "a\n", "? " * 101 + "a\n"),
        *(
            tuple("".join(f"{' ' * level}a:{end}" for level in range(levels)) for levels in (100, 101))
            for end in ("\n", "\r", "\r\n")
        ),
        ("a: 1\n---\n" + "[" * 100 + "]" * 100, "a: 1\n---\n" + "[" * 101 + "]" * 101),
        ("a:\n  " + "- " * 98 + "{}", "a:\n  " + "- " * 98 + "{a: []}"),
    ],
)
def test_yaml_nests_as_deep_as_json(deepest: str, deeper: str) -> None:
    compiler = compiler_of(Language.YAML)
    assert compiler(deepest) == ()
    assert [(fault.kind, fault.reason) for fault in compiler(deeper)] == [(FaultKind.DEPTH, DEEP)]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("a: 1\n---\nb: [1\n---\nc: 2\n", 4),
        ("a: 1\n---\nb: *c\n", 3),
        ("a: &b 1\n---\nc: *b\n", 3),
        ("{a: 1}\n}\n", 2),
    ],
)
def test_what_is_wrong_in_a_later_document_of_yaml_is_found(source: str, line: int) -> None:
    assert [(fault.kind, fault.line) for fault in compiler_of(Language.YAML)(source)] == [(FaultKind.SYNTAX, line)]


@pytest.mark.parametrize(
    "source",
    [
        "a: &b {c: 1}\nd:\n  <<: *b\n", "&a [*a]\n", "---\n---\n~\n---\na: 1\n",
        "a: !!python/object/apply:os.system [ls]\n",
        "a: &b 1\n---\na: &b 2\n", "- a\r- b\r", "- {a: [1,\n  2]}\n- |\n  {[\n",
    ],
)  # fmt: skip
def test_yaml_of_whatever_is_allowed_is_taken(source: str) -> None:
    assert compiler_of(Language.YAML)(source) == ()


def test_a_file_whose_reader_gives_it_back_level_by_level_ends_no_child(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert compile_or_skip(Language.JAVASCRIPT, "{a: " * 100_000)
    assert deaths(caplog) == []


@pytest.mark.soak
@pytest.mark.parametrize(
    ("language", "opening"),
    [(language, opening) for language in Language for opening in (*OPENINGS, *OWN_OPENINGS.get(language, ()))],
)
def test_no_file_of_openings_ends_a_child(language: Language, opening: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert isinstance(compile_or_skip(language, repeated(opening)), tuple)
    assert deaths(caplog) == [] or (language, opening) in BEYOND
