"""Find the near misses among a submission's errors, and give each the patch and the words that would mend it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.near_misses import fields, values
from retrycontract.contract.near_misses.discretion import Discretion, Patch
from retrycontract.contract.near_misses.spot import ABSENT, Proposal, Spot
from retrycontract.contract.near_misses.trial import Judge, Trial
from retrycontract.contract.patches import Operation
from retrycontract.contract.previews import elide_middle, visible
from retrycontract.contract.sanitizer import ValueSanitizer

Detector = Callable[[Spot], Iterator[Proposal]]

MAX_ERRORS = 100  # a submission with more mistakes than this misses by more than a little
MAX_PATCHES = 20  # of one submission
MAX_HINT = 160  # characters; an author's hint has as many
MAX_SHOWN = 80  # characters of a value that a hint spells out

OF_A_VALUE: tuple[Detector, ...] = (
    values.misspelt_choice,
    values.encoded,
    values.needless_null,
    values.scalar_of_other_type,
    values.level_too_many,
    values.level_too_few,
    values.other_emptiness,
)
OF_A_FIELD: tuple[Detector, ...] = (
    fields.misspelt_name,
    fields.other_level,
    fields.wrapped,
    fields.not_enclosed,
    fields.only_answer,
)
OF_A_UNION: tuple[Detector, ...] = (values.level_too_many,)
UNIONS = ("anyOf", "oneOf")
# The most literal reading comes first: it is taken where two mend equally much.
DETECTORS: dict[ErrorCode, tuple[Detector, ...]] = {
    ErrorCode.TYPE_MISMATCH: OF_A_VALUE,
    ErrorCode.INVALID_ENUM_VALUE: OF_A_VALUE,
    ErrorCode.REQUIRED_FIELD_MISSING: OF_A_FIELD,
    ErrorCode.DEPENDENCY_VIOLATION: OF_A_FIELD,
    ErrorCode.UNKNOWN_FIELD: OF_A_FIELD,
}


def propose(
    errors: list[ValidationError], value: Any, *, index: SchemaIndex, sanitizer: ValueSanitizer, judge: Judge
) -> list[ValidationError]:
    """Return the errors, those of near misses with a patch and a hint that says the same in words.

    `judge` lists what is wrong with another value, with nothing redacted; what a patch leaves is asked of it.
    """
    if len(errors) > MAX_ERRORS:
        return errors
    trial = Trial(value, errors, judge, sanitizer.redact_pointer)
    found: dict[int, tuple[Spot, Proposal]] = {}
    for position, error in enumerate(errors):
        detectors = _detectors(error)
        spot = Spot.find(value, index, error.field_path, sanitizer) if detectors else None
        if detectors and spot and len(found) < MAX_PATCHES:
            proposal = _best((each for detect in detectors for each in detect(spot)), error, trial)
            if proposal is not None:
                found[position] = (spot, proposal)
    if not found:
        return errors
    kept = _compatible({position: proposal.patch for position, (_, proposal) in found.items()}, trial)
    allowed = Discretion(value, index, sanitizer).allowed(kept.values(), _joined(kept.values()))
    return [
        _mended(error, *found[position], may_travel=found[position][1].patch in allowed) if position in kept else error
        for position, error in enumerate(errors)
    ]


def _detectors(error: ValidationError) -> tuple[Detector, ...]:
    if error.error_code is ErrorCode.OBJECT_SCHEMA_VIOLATION and error.keyword in UNIONS:
        return OF_A_UNION
    return DETECTORS.get(error.error_code, ())


def combined_patch(errors: Iterable[ValidationError]) -> tuple[Operation, ...]:
    """Join the patches of a submission's errors into one that can be applied as it stands.

    What two errors share comes once, and what changes the whole document comes before what changes its parts. No
    proposal shifts an array's items, so every pointer stays right.
    """
    return _joined(error.patch for error in errors)


def _joined(patches: Iterable[Patch]) -> Patch:
    distinct = {json.dumps(patch, sort_keys=True): patch for patch in patches if patch}
    ordered = sorted(distinct.values(), key=_breadth)
    return tuple(operation for patch in ordered for operation in patch)


def _breadth(patch: Patch) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    path = min((operation["path"] for operation in patch), key=lambda path: path.count("/"))
    return path.count("/"), pointers.sort_key(path)


def _best(proposals: Iterable[Proposal], error: ValidationError, trial: Trial) -> Proposal | None:
    """Take the proposal that leaves the fewest mistakes, the first of equals."""
    best, fewest = None, MAX_ERRORS + 1
    for proposal in proposals:
        remaining = trial.mends(proposal.patch, error)
        if remaining is not None and len(remaining) < fewest:
            best, fewest = proposal, len(remaining)
        if not fewest:
            break
    return best


def _compatible(patches: dict[int, Patch], trial: Trial) -> dict[int, Patch]:
    """Keep the patches that can be applied together without making anything worse."""
    if len(patches) == 1 or trial.remaining(_joined(patches.values())) is not None:
        return patches
    kept: dict[int, Patch] = {}
    for position, patch in patches.items():
        if trial.remaining(_joined([*kept.values(), patch])) is not None:
            kept[position] = patch
    return kept


def _mended(error: ValidationError, spot: Spot, proposal: Proposal, *, may_travel: bool) -> ValidationError:
    """Give an error its patch and its words; an author's hint stays, and what would tell a secret is left out."""
    hint = error.hint
    if proposal.words is not None and not _is_authors(hint, spot):
        hint = _words(proposal, show=may_travel)
    return replace(error, hint=hint, patch=proposal.patch if may_travel else ())


def _words(proposal: Proposal, *, show: bool) -> str:
    text = "" if proposal.shown is ABSENT or not show else visible(json.dumps(proposal.shown, ensure_ascii=False))
    words = str(proposal.words)
    return f"{elide_middle(words, MAX_HINT)}: {text}" if 0 < len(text) <= MAX_SHOWN else elide_middle(words, MAX_HINT)


def _is_authors(hint: str | None, spot: Spot) -> bool:
    """Tell a hint that stands in the schema; it was shortened on its way."""
    steps = spot.steps[-2:]
    written = [text for step in steps for schema in step.place.schemas for text in _author_hints(schema)]
    return hint in [elide_middle(visible(text), MAX_HINT) for text in written]


def _author_hints(schema: dict[str, Any]) -> Iterator[str]:
    by_keyword = schema.get("x-hints")
    for text in (schema.get("x-hint"), *(by_keyword.values() if isinstance(by_keyword, dict) else ())):
        if isinstance(text, str):
            yield text
