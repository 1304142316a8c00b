"""Our verdict beside jsonschema's, on instances made for every published tool.

RETRYCONTRACT_INSTANCES says how many are made for each; RETRYCONTRACT_SEED makes others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

from retrycontract import ErrorSeverity, ValueSanitizer
from retrycontract.contract import pointers
from retrycontract.contract.checks.schema_engine import violations
from retrycontract.contract.schemas.admission import examine
from retrycontract.contract.tool import CompiledSchema
from tests.corpus.schema_instances import Instances

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus

INSTANCES = int(os.environ.get("RETRYCONTRACT_INSTANCES", "24"))
SEED = os.environ.get("RETRYCONTRACT_SEED", "1")
# Where the two are meant to differ, by the keyword that one of them refuses with.
REASONS = {
    "email": "jsonschema takes whatever has an @",
    "unchecked": "jsonschema checks this format with packages that are not installed",
    "pattern": "Python's $ matches before a newline, and its classes take all of Unicode; ECMAScript's do neither",
    "multipleOf": "jsonschema divides binary fractions: 19.99 is no multiple of 0.01 to it",
}


class Judges:
    """Hold both judges of one schema."""

    def __init__(self, schema: Any) -> None:
        self._ours = CompiledSchema.of(schema, examine(schema))
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        self._checked = kind.FORMAT_CHECKER.checkers
        self._theirs = kind(schema, registry=REGISTRY, format_checker=kind.FORMAT_CHECKER)

    def differ(self, instance: Any) -> list[str]:
        """Give the reasons why the verdicts differ, an unknown one as its keyword; none when they agree."""
        ours = violations(self._ours, instance, strict=False, sanitizer=ValueSanitizer())
        ours = [error for error in ours if error.severity is ErrorSeverity.ERROR]
        try:
            theirs = list(self._theirs.iter_errors(instance))
        except Unresolvable:
            return []  # a part of the document that the tool was cut out of: jsonschema gives no verdict
        if bool(ours) is bool(theirs):
            return []
        if ours:
            return [
                self._reason(error.keyword, _at(instance, error.field_path), error.message.split()[-1])
                for error in ours
            ]
        return [self._reason(str(error.validator), error.instance, str(error.validator_value)) for error in theirs]

    def _reason(self, keyword: str, value: Any, constraint: str) -> str:
        match keyword:
            case "format" if constraint not in self._checked:
                return "unchecked"
            case "format" if constraint == "email":
                return "email"
            case "pattern" if isinstance(value, str) and (value.endswith("\n") or not value.isascii()):
                return "pattern"
            case "multipleOf" if isinstance(value, float):
                return "multipleOf"
        return f"{keyword} {constraint}"


def _at(instance: Any, pointer: str) -> Any:
    try:
        return pointers.resolve(instance, pointer)
    except LookupError:  # it is missing
        return None


@pytest.mark.parametrize("share", [pytest.param(6, id="a few"), pytest.param(1, id="all", marks=pytest.mark.soak)])
def test_jsonschema_has_the_same_verdict_or_there_is_a_reason(corpus: Corpus, share: int) -> None:
    unexplained: dict[str, Any] = {}
    verdicts = 0
    for number, row in enumerate(corpus("real_tools")[::share]):
        judges, instances = Judges(row["schema"]), Instances(row["schema"], f"{SEED}-{number}")
        for turn in range(INSTANCES):
            instance = instances.mistaken() if turn % 3 else instances.valid_ish()
            verdicts += 1
            if unknown := [reason for reason in judges.differ(instance) if reason not in REASONS]:
                unexplained[row["id"]] = (unknown, instance)
    assert verdicts
    assert unexplained == {}


@pytest.mark.parametrize(
    ("schema", "instance", "reason"),
    [
        ({"format": "email"}, '"@b.c', "email"),
        ({"format": "uri"}, "a b", "unchecked"),
        ({"pattern": "^a$"}, "a\n", "pattern"),
        ({"pattern": r"^\w$"}, "é", "pattern"),
        ({"multipleOf": 0.01}, 19.99, "multipleOf"),
    ],
)
def test_every_reason_holds(schema: Any, instance: Any, reason: str) -> None:
    assert Judges(schema).differ(instance) == [reason]


def test_the_generator_makes_valid_and_invalid_instances_of_most_schemas(corpus: Corpus) -> None:
    valid = wrong = 0
    rows = corpus("real_tools")[::20]
    for number, row in enumerate(rows):
        judge = examine(row["schema"]).validator
        instances = Instances(row["schema"], number)
        valid += any(judge.is_valid(instances.valid_ish()) for _ in range(5))
        wrong += any(not judge.is_valid(instances.mistaken()) for _ in range(20))
    assert valid > 0.9 * len(rows)
    assert wrong > 0.7 * len(rows)
