"""Trying all patches in one go proposes what trying each alone would: on thousands of real calls made wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from retrycontract import Tool, ValidationError, ValueSanitizer
from retrycontract.contract import pointers
from retrycontract.contract.advice import propose
from retrycontract.contract.advice.proposals import (
    MAX_ERRORS,
    MAX_NODES,
    MAX_PATCHES,
    Discretion,
    _joined,
    _mended,
    _options,
)
from retrycontract.contract.checks import schema_engine
from retrycontract.contract.checks.sensitive_places import sensitive_pointers
from retrycontract.contract.explaining.parts import StepBudget
from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.patches import Patch
from retrycontract.contract.schemas.document import InvalidSchema
from retrycontract.contract.tool import CompiledTool
from tests.corpus.mutations import mutated_calls

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

SANITIZER = ValueSanitizer()


class OneByOne:
    """Propose as plainly as can be: every patch is applied to a whole copy, which is judged anew by itself."""

    def __init__(self, tool: CompiledTool, value: Any) -> None:
        self.tool, self.value = tool, value
        seen = schema_engine.QuickCheck.of(value, tool.schema)
        ways: dict[str, Any] = {"strict": True, "budget": StepBudget()}
        self.errors = list(schema_engine._violations(tool.schema, value, seen, sanitizer=SANITIZER, **ways))
        self.judge = partial(schema_engine._verdict, tool.schema, **ways)
        self.before = set(map(mistake, self.errors))

    def remaining(self, patch: Patch) -> set[tuple[str, str, str]] | None:
        try:
            patched = applied(self.value, patch)
        except LookupError:
            return None
        after = {
            (SANITIZER.redact_pointer(error.field_path), error.error_code, error.keyword)
            for error in self.judge(patched)
        }
        return after if after < self.before else None

    def proposed(self) -> list[ValidationError]:
        index = self.tool.schema.index
        if not self.errors or len(self.errors) > MAX_ERRORS or not has_at_most(MAX_NODES, self.value):
            return self.errors
        found = {}
        for at, (spot, proposals) in _options(self.errors, self.value, index, SANITIZER, "").items():
            here = self.errors[at].field_path
            mending = [
                (len(left), order, proposal)
                for order, proposal in enumerate(proposals)
                if (left := self.remaining(proposal.patch)) is not None
                and not any(place == here or place.startswith(f"{here}/") for place, _, _ in left)
            ]
            if mending and len(found) < MAX_PATCHES:
                found[at] = spot, min(mending, key=lambda each: each[:2])[2]
        kept: dict[int, Patch] = {}
        for at, (_, proposal) in found.items():
            if not proposal.is_guess and self.remaining(_joined([*kept.values(), proposal.patch])) is not None:
                kept[at] = proposal.patch
        if not found:
            return self.errors
        marked = sensitive_pointers(index, self.value)
        allowed = Discretion(self.value, index, SANITIZER, marked).allowed(kept.values(), _joined(kept.values()))
        return [
            _mended(error, *found[at], may_travel=at in kept and found[at][1].patch in allowed)
            if at in kept or (at in found and found[at][1].is_guess)
            else error
            for at, error in enumerate(self.errors)
        ]


def mistake(error: ValidationError) -> tuple[str, str, str]:
    return error.field_path, error.error_code, error.keyword


def applied(document: Any, patch: Patch) -> Any:
    """Apply a patch to a copy of the whole document, by the letter of RFC 6902."""
    result = {"": copy.deepcopy(document)}
    for operation in patch:
        value = copy.deepcopy(operation.get("value"))
        if operation["op"] == "move":
            value = pointers.resolve(result[""], operation["from"])
            changed(result, "remove", operation["from"], None)
        changed(result, "add" if operation["op"] == "move" else operation["op"], operation["path"], value)
    return result[""]


def changed(result: dict[str, Any], name: str, path: str, value: Any) -> None:
    container: Any = pointers.resolve(result[""], pointers.parent(path)) if path else result
    key: Any = pointers.last(path) if path else ""
    if isinstance(container, list):
        key = len(container) if key == "-" else int(key)
        if name == "add":
            container.insert(key, value)
            return
    elif name != "add" and key not in container:
        raise LookupError(key)
    if name == "remove":
        del container[key]
    else:
        container[key] = value


def compared(corpus: Corpus, count: int, seed: int) -> Iterator[int]:
    """Hold the findings of so many calls against those of single trials; yields the patches of each."""
    tools: dict[str, CompiledTool | None] = {}
    for schema, value in mutated_calls(corpus("real_valid_calls"), count, seed=seed):
        text = json.dumps(schema)
        if text not in tools:
            try:
                tools[text] = CompiledTool.of(Tool(name="t", input_schema=schema))
            except InvalidSchema:  # a few published schemas are
                tools[text] = None
        tool = tools[text]
        if tool is not None:
            kept = copy.deepcopy(value)
            alone, index = OneByOne(tool, value), tool.schema.index
            judge = partial(schema_engine._verdict, tool.schema, strict=True, budget=StepBudget())
            marked = sensitive_pointers(index, value)
            found = propose(alone.errors, value, index=index, sanitizer=SANITIZER, judge=judge, marked=marked)
            slowly = alone.proposed()
            assert [error.to_json() for error in found] == [error.to_json() for error in slowly], value
            assert value == kept
            yield sum(1 for error in found if error.patch)


def test_trying_together_proposes_what_trying_alone_does(corpus: Corpus) -> None:
    patched = list(compared(corpus, 400, seed=20))
    assert sum(count > 1 for count in patched) > 30  # several at once: what a joint trial is for


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_trying_together_proposes_what_trying_alone_does_in_thousands_of_calls(corpus: Corpus, seed: int) -> None:
    assert sum(count > 1 for count in compared(corpus, 1_000, seed=seed)) > 75
