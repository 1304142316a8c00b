"""Find a submission's near misses, try the patch of each, and propose it with the words that would mend the error."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.advice import near_misses
from retrycontract.contract.advice.spot import Proposal, Spot
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.sensitive_places import sensitive_pointers
from retrycontract.contract.codes import ErrorCode
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.outputs.encoded import ABSENT
from retrycontract.contract.patches import Operation, Patch, PatchError, apply_patch
from retrycontract.contract.redaction.previews import elide_middle, visible
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, has_redaction

MAX_VALUE = 2_000  # characters of a value as JSON; a longer one is better sent anew than patched in
MAX_TEXT = 200  # characters of a text that may tell what stands beside it


class Discretion:
    """Decide whether a patch may travel: not with a value or a name that the sanitiser would change."""

    def __init__(self, document: Any, index: SchemaIndex, sanitizer: ValueSanitizer, marked: Collection[str]) -> None:
        self._outline = _outline(document)
        self._index, self._sanitizer = index, sanitizer
        # What is marked where it stands must not travel to where nothing marks it.
        held = (pointers.resolve(document, place) for place in (marked if sanitizer.redacts_secrets else ()))
        self._marked = {_written(each) for each in held if isinstance(each, str)}

    def allowed(self, patches: Collection[Patch], joined: Patch) -> list[Patch]:
        """List the patches whose every name and value is short and no secret; `joined` applies them all."""
        plain = [patch for patch in patches if self._is_plain(patch)]
        # Most often nothing is secret, and one look at the whole result says so for all of them.
        if any(map(_valued, plain)) and not self._is_open(joined, [each for patch in plain for each in _valued(patch)]):
            return [patch for patch in plain if not _valued(patch) or self._is_open(patch, _valued(patch))]
        return plain

    def _is_plain(self, patch: Patch) -> bool:
        names = [operation[key] for operation in patch for key in ("from", "path") if key in operation]
        values = [operation["value"] for operation in _valued(patch)]
        return all(self._sanitizer.redact_pointer(name) == name for name in names) and all(
            len(_written(value)) <= MAX_VALUE and not has_redaction(value) for value in values
        )

    def _is_open(self, patch: Patch, valued: Collection[Operation]) -> bool:
        """Redact the whole document as the patch leaves it: a neighbour may tell that a value is a secret."""
        if self._marked and any(each in _written(operation["value"]) for operation in valued for each in self._marked):
            return False
        patched = apply_patch(self._outline, patch)
        redacted = self._sanitizer.redact(patched, marked=sensitive_pointers(self._index, patched))
        return all(_stands(redacted, operation) for operation in valued)


def _valued(patch: Patch) -> list[Operation]:
    """List the operations that carry a value; an empty container tells nothing."""
    return [operation for operation in patch if operation.get("value", {}) not in ({}, [], [{}])]


def _stands(redacted: Any, operation: Operation) -> bool:
    """Tell whether the value came through unchanged, there where it was put."""
    try:
        return _written(pointers.resolve(redacted, operation["path"])) == _written(operation["value"])
    except LookupError:  # a name on the way was redacted
        return False


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _outline(value: Any) -> Any:
    """Copy a small document without its long texts: none of them says what a neighbour is."""
    if isinstance(value, dict):
        return {key: _outline(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_outline(item) for item in value]
    return value[:MAX_TEXT] if isinstance(value, str) else value


Judge = Callable[[Any], Iterable[ValidationError]]
Mistake = tuple[str, str, str]  # pointer, code and keyword tell two mistakes apart

MAX_NODES = 1_000  # of a document that is judged anew for each patch
MAX_JUDGED = 1_000  # mistakes told anew for one submission: about 20 µs each
PER_MISTAKE = 20  # characters of a patch that take as long to judge as telling a mistake


class PatchTrial:
    """Judge a document as patches would leave it; the work is bounded, and beyond that every patch fails."""

    def __init__(
        self, document: Any, errors: Iterable[ValidationError], judge: Judge, show: Callable[[str], str]
    ) -> None:
        """`judge` names places as they are, the errors as `show` writes them: without secrets."""
        self._document, self._judge, self._show = document, judge, show
        self._before = frozenset((error.field_path, error.error_code, error.keyword) for error in errors)
        # The joint trial, the single ones and the search for compatible patches ask for the same patches again.
        self._results: dict[str, frozenset[Mistake] | None] = {}
        self._room: int | None = None  # measured when there is a patch to try, which is seldom

    def mends_all(self, patch: Patch, errors: Iterable[ValidationError]) -> bool:
        """Tell whether a patch leaves nothing wrong at the places of all these errors, and makes nothing worse."""
        if self._room is None and not has_at_most(MAX_NODES, self._document):
            return False
        remaining = self.remaining(patch)
        return remaining is not None and not any(_is_left(error, remaining) for error in errors)

    def mends(self, patch: Patch, error: ValidationError) -> frozenset[Mistake] | None:
        """Tell what remains when the patch leaves nothing wrong at the error's place, else None."""
        remaining = self.remaining(patch) if self._has_room(written(patch)) else None
        return None if remaining is None or _is_left(error, remaining) else remaining

    def remaining(self, patch: Patch) -> frozenset[Mistake] | None:
        """Tell what is still wrong with the patch applied; None when it does not fit or makes anything worse."""
        key = written(patch)
        if key not in self._results:
            self._results[key] = self._try(patch)
        return self._results[key]

    def _has_room(self, key: str) -> bool:
        """Tell whether a trial is within bounds: none tells more than the mistakes there were, and one."""
        if key in self._results:
            return True
        if self._room is None:
            self._room = MAX_JUDGED if has_at_most(MAX_NODES, self._document) else 0
        self._room -= len(self._before) + len(key) // PER_MISTAKE
        return self._room >= 0

    def _try(self, patch: Patch) -> frozenset[Mistake] | None:
        try:
            patched = apply_patch(self._document, patch)
        except PatchError:
            return None
        after = set[Mistake]()
        for error in self._judge(patched):
            mistake = (self._show(error.field_path), error.error_code, error.keyword)
            # The judge yields its mistakes one by one: leaving at the first new one saves the
            # work of telling all the others.
            if mistake not in self._before:
                return None
            after.add(mistake)
        return frozenset(after) if len(after) < len(self._before) else None


def _is_left(error: ValidationError, remaining: Iterable[Mistake]) -> bool:
    here, below = error.field_path, f"{error.field_path}/"
    return any(pointer == here or pointer.startswith(below) for pointer, _, _ in remaining)


# By it equal patches are known.
written = json.JSONEncoder(sort_keys=True).encode


Detector = Callable[[Spot], Iterator[Proposal]]

MAX_ERRORS = 100  # a submission with more mistakes than this misses by more than a little
MAX_PATCHES = 20  # of one submission
MAX_HINT = 160  # characters; an author's hint has as many
MAX_SHOWN = 80  # characters of a value that a hint spells out

OF_A_VALUE: tuple[Detector, ...] = (
    near_misses.misspelt_choice,
    near_misses.encoded,
    near_misses.needless_null,
    near_misses.scalar_of_other_type,
    near_misses.listed_entries,
    near_misses.level_too_many,
    near_misses.level_too_few,
    near_misses.other_emptiness,
)
OF_A_FIELD: tuple[Detector, ...] = (
    near_misses.misspelt_name,
    near_misses.other_level,
    near_misses.wrapped,
    near_misses.not_enclosed,
    near_misses.only_answer,
)
OF_A_UNION: tuple[Detector, ...] = (near_misses.level_too_many,)
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
    errors: list[ValidationError],
    value: Any,
    *,
    index: SchemaIndex,
    sanitizer: ValueSanitizer,
    judge: Judge,
    marked: Collection[str],
    called: str = "",
) -> list[ValidationError]:
    """Return the errors, those of near misses with a patch and a hint that says the same in words.

    `marked` are the secret places of the value, which is of a call of the tool `called`. `judge` lists what is wrong
    with another value, with nothing redacted; what a patch leaves is asked of it.
    """
    if len(errors) > MAX_ERRORS:
        return errors
    trial = PatchTrial(value, errors, judge, sanitizer.redact_pointer)
    # Near misses are yielded one by one, so that no further trial is made once there are enough patches.
    found = dict(islice(_near_misses(errors, _options(errors, value, index, sanitizer, called), trial), MAX_PATCHES))
    if not found:
        return errors
    # Each patch was tried alone; two of them may still change the same place, or make a keyword around both fail.
    sure = {position: proposal.patch for position, (_, proposal) in found.items() if not proposal.is_guess}
    guessed = found.keys() - sure.keys()
    kept, joined = _compatible(sure, trial)
    # Asked last and once for all: it redacts the whole document, and most patches need no closer look than that.
    allowed = Discretion(value, index, sanitizer, marked).allowed(kept.values(), joined)
    return [
        _mended(error, *found[position], may_travel=position in kept and found[position][1].patch in allowed)
        if position in kept or position in guessed
        else error
        for position, error in enumerate(errors)
    ]


Options = dict[int, tuple[Spot, list[Proposal]]]  # by the error's position


def _options(
    errors: Sequence[ValidationError], value: Any, index: SchemaIndex, sanitizer: ValueSanitizer, called: str
) -> Options:
    """List what could mend each error, the most literal reading first."""
    options: Options = {}
    for position, error in enumerate(errors):
        spot = Spot.find(value, index, error.field_path, sanitizer, called) if _detectors(error) else None
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
        around = spot.container.pointer if spot.container else ""
        own = (spot.here.pointer, f"{spot.here.pointer}/")
        for place in (operation[key] for operation in patch for key in operation if key in PLACES):
            if place.rpartition("/")[0] != around and place != own[0] and not place.startswith(own[1]):
                return True  # it reaches further than its error's own object, or into what stands beside it
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
    ranked = list[tuple[int, Any, str, Patch]]()  # what reaches widest comes first
    for text, patch in distinct.items():
        path = min([operation["path"] for operation in patch], key=lambda path: path.count("/"))
        ranked.append((path.count("/"), pointers.sort_key(path), text, patch))
    return tuple([operation for *_, patch in sorted(ranked) for operation in patch])


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
    if len(patches) < 2 or trial.remaining(joined) is not None:
        return patches, joined
    kept: dict[int, Patch] = {}
    for position, patch in patches.items():
        if trial.remaining(_joined([*kept.values(), patch])) is not None:
            kept[position] = patch
    return kept, _joined(kept.values())


def _mended(error: ValidationError, spot: Spot, proposal: Proposal, *, may_travel: bool) -> ValidationError:
    """Give an error its patch and its words; an author's hint stays, and what would tell a secret is left out."""
    hint = error.hint
    if proposal.words is not None and not is_authors(hint, spot):
        hint = elide_middle(proposal.words, MAX_HINT)
        if may_travel and proposal.shown is not ABSENT:
            value = json.dumps(proposal.shown, ensure_ascii=False)
            # Only where a preview shows all of it: a path made relative would mislead.
            hint += f": {value}" if spot.sanitizer.preview_text(value, MAX_SHOWN) == value else ""
    return replace(error, hint=hint, patch=proposal.patch if may_travel else ())


def is_authors(hint: str | None, spot: Spot) -> bool:
    """Tell a hint that stands in the schema; it was shortened on its way."""
    texts: list[Any] = []
    for schema in (schema for step in spot.steps[-2:] for schema in step.place.schemas):
        by_keyword = schema.get("x-hints")
        texts += (schema.get("x-hint"), *(by_keyword.values() if isinstance(by_keyword, dict) else ()))
    return hint in [elide_middle(visible(text), MAX_HINT) for text in texts if isinstance(text, str)]
