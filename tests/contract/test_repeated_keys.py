"""A key that stands twice in one mapping of YAML is refused, as in JSON and TOML."""

from __future__ import annotations

import pytest

from retrycontract import RetryContract, Tool
from retrycontract.contract.outputs import Kind
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language
from retrycontract.languages.compiling import compiler_here


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("a: 1\na: 2\n", [(2, 1)]),
        ('a: 1\n"a": 2\n', [(2, 1)]),
        ("a: 1\nb:\n  c: 1\n  d: [x, y]\n  c: 2\ne: 3\nb: 4\n", [(5, 3), (7, 1)]),
        ("- {a: 1, b: 2, a: 3}\n", [(1, 16)]),
        ("a: 1\n---\nb: 1\nb: 2\n", [(4, 1)]),
        ("1: a\n1: b\n", [(2, 1)]),
        ("? [a, b]\n: 1\nc: 2\nc: 3", [(4, 1)]),
        ("a: 1\na: 2\na: 3\n", [(2, 1), (3, 1)]),
    ],
)
def test_a_key_that_stands_twice_is_told_where_it_does(source: str, places: list[tuple[int, int]]) -> None:
    found = compiler_here(Language.YAML)(source)
    assert [(fault.line, fault.column) for fault in found] == places
    assert {fault.kind for fault in found} == {FaultKind.SYNTAX}


@pytest.mark.parametrize(
    "source",
    [
        "a: 1\nb:\n  a: 1\nc:\n  - a: 1\n  - a: 2\n",
        "a: a\nb: a\n",
        "a: 1\n---\na: 2\n",
        '1: a\n"1": b\n',
        "a: &x {b: 1}\nc: &y {d: 2}\ne:\n  <<: *x\n  <<: *y\n",
        "a: &x b\n*x : c\n? {b: 1}\n: d\n? {b: 2}\n: e\n",
    ],
)
def test_keys_of_different_mappings_or_types_are_different(source: str) -> None:
    assert compiler_here(Language.YAML)(source) == ()


def test_an_anchor_may_be_given_again() -> None:
    assert compiler_here(Language.YAML)("a: &x 1\nb: &x 2\nc: *x\n") == ()


def test_several_merges_of_one_mapping_are_taken_as_most_readers_do_though_a_list_is_the_way() -> None:
    anchors = "a: &x {b: 1}\nc: &y {d: 2}\n"
    assert compiler_here(Language.YAML)(f"{anchors}e:\n  <<: *x\n  <<: *y\n") == ()
    assert compiler_here(Language.YAML)(f"{anchors}e:\n  <<: [*x, *y]\n") == ()


def test_the_model_is_told_the_key_and_its_line() -> None:
    tool = Tool(name="a.yaml", kind=Kind.SOURCE_FILE, input_schema={"type": "string"})
    outcome = RetryContract(tools=[tool]).check("a.yaml", "c", "```yaml\na: 1\nb: 1\na: 2\n```")
    assert outcome.tool_result is not None
    assert 'Invalid YAML: the key "a" appears twice in one mapping at line 3, column 1' in outcome.tool_result.content
    assert "Please correct line 3 and send the whole file again." in outcome.tool_result.content
