"""Mistaken arguments of every real tool, with an object or a list of them sent as a text: as much is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import Tool, ValueSanitizer
from retrycontract.contract import pointers
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.patches import apply_patch
from retrycontract.contract.tool import CompiledTool
from tests.corpus.schema_instances import Instances

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

SEED = 20261127
Mistake = tuple[str, str, str]


def containers(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        yield pointer, value
        for step, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from containers(member, pointers.join(pointer, step))


def as_text(value: Any, pointer: str, held: Any) -> Any:
    return apply_patch(value, ({"op": "replace", "path": pointer, "value": json.dumps(held)},))


def mistakes(errors: tuple[ValidationError, ...], around: str) -> set[Mistake]:
    return {
        (error.field_path, error.error_code, error.keyword) for error in errors
        if error.field_path == around or error.field_path.startswith(f"{around}/")
    }  # fmt: skip


def test_a_text_that_holds_arguments_tells_of_them_what_they_would_tell_themselves(corpus: Corpus) -> None:
    sanitizer, chance, seen = ValueSanitizer(), Random(SEED), Counter[str]()
    for number, row in enumerate(corpus("real_tools")):
        tool = CompiledTool.of(Tool(name="t", input_schema=row["schema"]))
        value = Instances(row["schema"], f"{SEED}-{number}").mistaken()
        plain = check_arguments(json.dumps(value), tool, sanitizer)
        places = list(containers(value))
        if not plain.is_parsed or not places:
            continue
        pointer, held = chance.choice(places)
        sent = check_arguments(json.dumps(as_text(value, pointer, held)), tool, sanitizer)
        text = [error for error in sent.errors if error.field_path == pointer and "holds JSON" in str(error.hint)]
        if not text:  # a text may stand there, or another kind of value should
            seen["other"] += 1
            continue
        expected = mistakes(plain.errors, pointer)
        found = {each for each in mistakes(sent.errors, pointer) if each[0] != pointer or each in expected}
        assert found == expected, (row["id"], pointer, value)
        seen["mistaken" if expected else "right"] += 1
    assert seen["mistaken"] > 500
    assert seen["right"] > 300
