"""Find the near misses among a submission's errors, and give each the patch and the words that would mend it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice import fields, values
from retrycontract.contract.advice.spot import ABSENT, Proposal, Spot
from retrycontract.contract.advice.trial import Discretion, Judge, PatchTrial, written
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.patches import Patch
from retrycontract.contract.redaction.previews import elide_middle, visible
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

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
# Keywords whose verdict on an object or array hangs on several of its members at once.
COUPLING = frozenset(
    {
        "anyOf", "oneOf", "not", "if", "enum", "const", "dependencies", "dependentRequired", "dependentSchemas",
        "minProperties", "maxProperties", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedProperties",
        "unevaluatedItems",
    }
)  # fmt: skip
PLACES = ("path", "from")  # of an operation
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
    trial = PatchTrial(value, errors, judge, sanitizer.redact_pointer)
    # Near misses are yielded one by one, so that no further trial is made once there are enough patches.
    found = dict(islice(_near_misses(errors, _options(errors, value, index, sanitizer), trial), MAX_PATCHES))
    if not found:
        return errors
    # Each patch was tried alone; two of them may still change the same place, or make a keyword around both fail.
    kept, joined = _compatible({position: proposal.patch for position, (_, proposal) in found.items()}, trial)
    # Asked last and once for all: it redacts the whole document, and most patches need no closer look than that.
    allowed = Discretion(value, index, sanitizer).allowed(kept.values(), joined)
    return [
        _mended(error, *found[position], may_travel=found[position][1].patch in allowed) if position in kept else error
        for position, error in enumerate(errors)
    ]


Options = dict[int, tuple[Spot, list[Proposal]]]  # by the error's position


def _options(errors: Sequence[ValidationError], value: Any, index: SchemaIndex, sanitizer: ValueSanitizer) -> Options:
    """List what could mend each error, the most literal reading first."""
    options: Options = {}
    for position, error in enumerate(errors):
        spot = Spot.find(value, index, error.field_path, sanitizer) if _detectors(error) else None
        if spot is not None and (proposals := [each for detect in _detectors(error) for each in detect(spot)]):
            options[position] = spot, proposals
    return options


def _near_misses(
    errors: Sequence[ValidationError], options: Options, trial: PatchTrial
) -> Iterator[tuple[int, tuple[Spot, Proposal]]]:
    """Yield the positions of the errors that a patch would mend, each with the place and the proposal."""
    settled = _settled_together(errors, options, trial)
    for position, (spot, proposals) in options.items():
        best = proposals[0] if position in settled else _best(proposals, errors[position], trial)
        if best is not None:
            yield position, (spot, best)


def _settled_together(errors: Sequence[ValidationError], options: Options, trial: PatchTrial) -> Collection[int]:
    """Try all errors' only proposals in one go; gives their positions when that mends each of them, else none.

    Most often it does, and then no error is judged anew for the sake of another. It holds for each patch alone as
    long as no keyword looks at what two of them change; where there is a choice, only single trials tell the best.
    """
    sole = {at: proposals[0].patch for at, (_, proposals) in options.items() if len(proposals) == 1}
    if not 1 < len(sole) <= MAX_PATCHES or _meet([(options[at][0], patch) for at, patch in sole.items()]):
        return ()
    return sole if trial.mends_all(_joined(sole.values()), [errors[at] for at in sole]) else ()


def _meet(patches: Iterable[tuple[Spot, Patch]]) -> bool:
    """Tell whether some keyword looks at the changes of two patches at once, as a union around both does."""
    first: dict[str, Patch] = {}
    for spot, patch in patches:
        around = f"{spot.container.pointer}/" if spot.container else ""
        if not all(operation[key].startswith(around) for operation in patch for key in operation if key in PLACES):
            return True  # it reaches further than its error's own object
        for step in spot.steps:
            couples = any(not COUPLING.isdisjoint(schema) for schema in step.place.schemas)
            if couples and first.setdefault(step.pointer, patch) != patch:
                return True
    return False


def _detectors(error: ValidationError) -> tuple[Detector, ...]:
    if error.error_code is ErrorCode.OBJECT_SCHEMA_VIOLATION and error.keyword in UNIONS:
        return OF_A_UNION
    return DETECTORS.get(error.error_code, ())


def combined_patch(errors: Iterable[ValidationError]) -> Patch:
    """Join the patches of a submission's errors into one that can be applied as it stands.

    What two errors share comes once, and what changes the whole document comes before what changes its parts. No
    proposal shifts an array's items, so every pointer stays right.
    """
    return _joined(error.patch for error in errors)


def _joined(patches: Iterable[Patch]) -> Patch:
    distinct = {written(patch): patch for patch in patches if patch}
    ordered = sorted((_breadth(patch), text, patch) for text, patch in distinct.items())
    return tuple([operation for *_, patch in ordered for operation in patch])


def _breadth(patch: Patch) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    path = min([operation["path"] for operation in patch], key=lambda path: path.count("/"))
    return path.count("/"), pointers.sort_key(path)


def _best(proposals: Iterable[Proposal], error: ValidationError, trial: PatchTrial) -> Proposal | None:
    """Take the proposal that leaves the fewest mistakes, the first of equals."""
    # More than any trial can leave: with more than MAX_ERRORS mistakes nothing is proposed at all.
    best, fewest = None, MAX_ERRORS + 1
    for proposal in proposals:
        remaining = trial.mends(proposal.patch, error)
        if remaining is not None and len(remaining) < fewest:
            best, fewest = proposal, len(remaining)
        if not fewest:
            break
    return best


def _compatible(patches: dict[int, Patch], trial: PatchTrial) -> tuple[dict[int, Patch], Patch]:
    """Keep the patches that can be applied together without making anything worse, and join them."""
    joined = _joined(patches.values())
    if len(patches) == 1 or trial.remaining(joined) is not None:
        return patches, joined
    kept: dict[int, Patch] = {}
    for position, patch in patches.items():
        if trial.remaining(_joined([*kept.values(), patch])) is not None:
            kept[position] = patch
    return kept, _joined(kept.values())


def _mended(error: ValidationError, spot: Spot, proposal: Proposal, *, may_travel: bool) -> ValidationError:
    """Give an error its patch and its words; an author's hint stays, and what would tell a secret is left out."""
    hint = error.hint
    if proposal.words is not None and not _is_authors(hint, spot):
        value = _shown(proposal.shown, spot.sanitizer) if may_travel else ""
        hint = elide_middle(proposal.words, MAX_HINT) + value
    return replace(error, hint=hint, patch=proposal.patch if may_travel else ())


def _shown(value: Any, sanitizer: ValueSanitizer) -> str:
    """Write a value to the end of a hint, where a preview shows all of it: a path made relative would mislead."""
    text = "" if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return f": {text}" if text and sanitizer.preview_text(text, MAX_SHOWN) == text else ""


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
