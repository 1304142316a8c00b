"""Published Python sources, most of them wrong: the check agrees with the compiler and names the line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from retrycontract import Tool, ValueSanitizer
from retrycontract.contract.checks.source_file import check_source
from retrycontract.contract.outputs import Kind
from retrycontract.contract.tool import CompiledTool
from retrycontract.languages import compiler_of

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the verdicts are those of Python 3.11"),
]


def test_every_sample_has_its_verdict_and_its_line(corpus: Corpus) -> None:
    tool = CompiledTool.of(Tool(name="sample.py", input_schema=True, kind=Kind.SOURCE_FILE), compiler_of)
    wrong = []
    for row in corpus("code_samples"):
        found = check_source(row["code"], tool, ValueSanitizer())
        named = [error for error in found.errors if f"at line {row['line']}" in error.message]
        if found.is_valid != row["compiles_py311"] or not (found.is_valid or named):
            wrong.append((row["id"], [error.message for error in found.errors]))
    assert wrong == []
