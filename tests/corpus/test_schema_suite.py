"""The JSON-Schema-Test-Suite, judged as a submission is: by admission and all that is said of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import ErrorSeverity, ValueSanitizer
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.schemas.admission import InvalidSchema, SchemaFault, examine
from retrycontract.contract.tool import CompiledSchema

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

# Where our verdict is meant to differ: the file, how the test is called there, and why.
EXCEPTIONS = {
    ("tests/draft2020-12/format.json", "is only an annotation by default"): "we assert every format",
}
# What a schema of the suite may refer to that we never load.
ELSEWHERE = {SchemaFault.REMOTE_REF: "nothing is fetched", SchemaFault.UNKNOWN_DRAFT: "no metaschemas of one's own"}


def verdict(row: dict[str, Any]) -> bool:
    """Say whether we take the instance; raises InvalidSchema."""
    schema = row["schema"]
    if isinstance(schema, dict):
        schema = {"$schema": row["draft"], **schema}
    compiled = CompiledSchema.of(schema, examine(schema))
    found = violations(compiled, row["instance"], strict=False, sanitizer=ValueSanitizer())
    return not any(error.severity is ErrorSeverity.ERROR for error in found)


def is_excepted(row: dict[str, Any]) -> bool:
    return any(row["file"] == file and row["test"].endswith(name) for file, name in EXCEPTIONS)


def test_every_verdict_is_the_suites_but_for_the_exceptions(corpus: Corpus) -> None:
    differing, unneeded, refused = {}, [], {}
    for row in corpus("jsonschema_test_suite"):
        try:
            agrees = verdict(row) is row["valid"]
        except InvalidSchema as fault:
            if not row["needs_remote"] or fault.code not in ELSEWHERE:
                refused[row["id"]] = str(fault)
            continue
        if is_excepted(row):
            unneeded += [row["id"]] if agrees else []
        elif not agrees:
            differing[row["id"]] = f"{row['file']}: {row['schema_desc']}: {row['test']}"
    assert (differing, unneeded, refused) == ({}, [], {})


def test_every_exception_is_met(corpus: Corpus) -> None:
    rows = corpus("jsonschema_test_suite")
    for file, name in EXCEPTIONS:
        assert any(row["file"] == file and row["test"].endswith(name) for row in rows), (file, name)
