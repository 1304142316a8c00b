"""What users reported as endless loops, and what real models got wrong: told as the near miss that it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import ErrorSeverity, Tool, ValueSanitizer
from retrycontract.contract.advice import combined_patch, unmistakable
from retrycontract.contract.checks.failure import Findings
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.patches import apply_patch
from retrycontract.contract.tool import CompiledTool

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def fields(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


# By what a report says of the arguments: the schema that it speaks of, and the words of the advice.
REPORTED: dict[str, tuple[dict[str, Any], str]] = {
    "array sent as JSON-encoded string": (fields("paths", paths=TEXTS), "not as a string that holds JSON"),
    "numbers sent as strings (3 errors)": (
        fields("path", path=TEXT, maxBytes=WHOLE, pagesFrom=WHOLE, pagesTo=WHOLE), "as integer: "
    ),
    "object sent as JSON-encoded string": (
        fields("url", url=TEXT, headers={"type": "object"}), "not as a string that holds JSON"
    ),
    "null for an optional string": (fields("kind", "name", kind=TEXT, name=TEXT, namespace=TEXT), "leave out"),
    "required include_domains and exclude_domains missing": (
        fields(
            "query", "include_domains", "exclude_domains", query=TEXT, max_results=WHOLE, search_depth=TEXT,
            include_domains=TEXTS, exclude_domains=TEXTS,
        ),
        "[] if there are none",
    ),
    "arguments decode to a string, not an object": (fields("query", query=TEXT), "send the arguments as an object"),
    "arguments decode to an array, not an object": (fields(), "send the arguments as an empty object: {}"),
}  # fmt: skip
SAYS_NOTHING = {"file", "search", "path", "address", "number"}  # beside the word that says the same
# Nobody can know what was meant.
BEYOND_KNOWING: dict[str, tuple[dict[str, Any], str]] = {
    "required action missing; same call repeated 100+ times": (
        fields("action", action={"enum": ["list", "start"]}), "any of the allowed actions may have been meant"
    ),
    "four unexpected arguments plus a bad enum value; 25 of 25 calls failed, $1.30": (
        fields("action", action={"enum": ["create", "list", "cancel"]}, title=TEXT),
        "neither the action nor the fields resemble those of the tool",
    ),
}  # fmt: skip


def judged(schema: Any, arguments: Any, *, strict: bool = True) -> Findings:
    tool = CompiledTool.of(Tool(name="t", input_schema=schema, strict=strict))
    return check_arguments(arguments, tool, ValueSanitizer())


def wrong(findings: Findings) -> set[tuple[str, str]]:
    return {(error.field_path, error.error_code) for error in findings.errors if error.severity is ErrorSeverity.ERROR}


def mended(findings: Findings) -> str:
    return json.dumps(apply_patch(findings.parsed, combined_patch(findings.errors)))


def test_a_reported_loop_is_diagnosed_and_its_patch_makes_it_valid(corpus: Corpus) -> None:
    seen = set()
    for row in corpus("issue_reported_calls"):
        if row["what"] in REPORTED:
            schema, words = REPORTED[row["what"]]
            findings = judged(schema, row["arguments_raw"])
            assert findings.errors, row["id"]
            assert all(words in (error.hint or "") for error in findings.errors), row["id"]
            seen.add(row["what"])
            if words == "[] if there are none":  # whether there are none only the model knows
                assert not any(error.patch for error in findings.errors), row["id"]
                continue
            assert all(error.patch for error in findings.errors), row["id"]
            assert judged(schema, mended(findings)).errors == (), row["id"]
    assert seen


def test_a_reported_loop_that_nobody_can_read_is_not_guessed_at(corpus: Corpus) -> None:
    for row in corpus("issue_reported_calls"):
        if row["what"] in BEYOND_KNOWING:
            schema, reason = BEYOND_KNOWING[row["what"]]
            errors = judged(schema, row["arguments_raw"]).errors
            assert errors, reason
            assert [error.patch for error in errors if error.patch] == [], row["id"]


def words(name: str) -> list[str]:
    return re.sub("(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]", " ", name).lower().split()


def objects_of(schema: Any) -> Iterator[list[str]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield list(schema["properties"])
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        yield from objects_of(inner)


def test_no_field_of_a_real_tool_is_renamed_to_another_one_by_a_word(corpus: Corpus) -> None:
    """Two names within an object are two fields, and so are nearly all names of different tools that share a word."""
    objects = [names for row in corpus("real_tools") for names in objects_of(row["schema"])]
    by_word: dict[str, set[str]] = {}
    for names in objects:
        for name in names:
            others = [other for other in names if len(words(other)) != len(words(name))]
            assert unmistakable(name, others, of="") is None, (name, others)
            for word in words(name):
                by_word.setdefault(word, set()).add(name)
    sharing = [sorted(names) for _, names in sorted(by_word.items()) if len(names) > 1]
    seeded = Random(13)
    pairs = [seeded.sample(seeded.choice(sharing), 2) for _ in range(2_000)]
    renamed = [
        (one, other)
        for one, other in pairs
        if len(words(one)) != len(words(other)) and unmistakable(one, [other], of="")
    ]
    assert {word for one, other in renamed for word in {*words(one)} ^ {*words(other)}} <= SAYS_NOTHING


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
def test_a_real_call_only_gets_better_by_what_is_proposed(corpus: Corpus, strict: bool) -> None:
    rows = [row for row in corpus("real_invalid_calls") if row["kind"] == "schema_violation"]
    patched = valid = 0
    for row in rows:
        findings = judged(row["schema"], row["arguments_raw"], strict=strict)
        before, after = wrong(findings), wrong(judged(row["schema"], mended(findings), strict=strict))
        assert after < before or (after == before and not combined_patch(findings.errors)), row["id"]
        for error in findings.errors:
            alone = apply_patch(findings.parsed, error.patch)
            assert wrong(judged(row["schema"], json.dumps(alone), strict=strict)) <= before, row["id"]
        patched += bool(combined_patch(findings.errors))
        valid += not after
    print(f"{patched} of {len(rows)} real calls get a patch, {valid} become valid by it")
    assert patched > len(rows) / 2
