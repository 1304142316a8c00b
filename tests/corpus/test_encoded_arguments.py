"""Mistaken arguments of every real tool, with a part of them in another dress: as much is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import Tool, ValueSanitizer
from retrycontract.contract import pointers
from retrycontract.contract.checks.tool_arguments import check_arguments
from retrycontract.contract.codes import ErrorCode
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


def within(value: Any, pointer: str, held: Any) -> Any:
    return apply_patch(value, ({"op": "replace", "path": pointer, "value": held},))


def mistakes(errors: Iterable[ValidationError], at: str) -> set[Mistake]:
    """Give what is wrong at a pointer and below, each by where it is from there."""
    return {
        (error.field_path.removeprefix(at), error.error_code, error.keyword)
        for error in errors
        if f"{error.field_path}/".startswith(f"{at}/")
    }


DRESSES: dict[str, tuple[Callable[[Any], Any], str, str]] = {  # what is sent, where its content is, what is said of it
    "a-text": (json.dumps, "", "holds JSON"),
    "a-list-of-one": (lambda held: [held], "/0", "without the array around it"),
    "a-wrapper": (lambda held: {"arguments": held}, "/arguments", "send the content of 'arguments' itself as"),
}


@pytest.mark.parametrize("dress", DRESSES)
def test_what_arguments_would_tell_themselves_is_told_of_them_in_another_dress(corpus: Corpus, dress: str) -> None:
    put_on, step, said = DRESSES[dress]
    sanitizer, chance, seen = ValueSanitizer(), Random(SEED), Counter[str]()
    for number, row in enumerate(corpus("real_tools")):
        tool = CompiledTool.of(Tool(name="t", input_schema=row["schema"]))
        value = Instances(row["schema"], f"{SEED}-{number}").mistaken()
        plain = check_arguments(json.dumps(value), tool, sanitizer)
        places = list(containers(value))
        if not plain.is_parsed or not places:
            continue
        pointer, held = chance.choice(places)
        sent = check_arguments(json.dumps(within(value, pointer, put_on(held))), tool, sanitizer)
        # It may stand there as it is, or another kind of value should.
        hints = [str(error.hint) for error in sent.errors if error.field_path in (pointer, f"{pointer}{step}")]
        expected = mistakes(plain.errors, pointer)
        is_unknown = any(not at and code is ErrorCode.UNKNOWN_FIELD for at, code, _ in expected)
        if is_unknown or not any(said in hint for hint in hints):
            seen["other"] += 1
            continue
        content = mistakes(sent.errors, f"{pointer}{step}")
        # That it is dressed up is wrong there, too, and what is missing within a wrapper is missing around it.
        found = {each for each in content if each[0]} | (content | mistakes(sent.errors, pointer)) & expected
        assert found == expected, (row["id"], pointer, value)
        seen["mistaken" if expected else "right"] += 1
    assert min(seen["mistaken"], seen["right"]) > 100, seen
