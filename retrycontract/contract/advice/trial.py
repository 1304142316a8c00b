"""Judge a patch before it is proposed: it shows no secret, mends what it should, and nothing else becomes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex, sensitive_pointers
from retrycontract.contract.errors import ValidationError
from retrycontract.contract.json_types import has_at_most
from retrycontract.contract.patches import Operation, Patch, PatchError, apply_patch
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, has_redaction

MAX_VALUE = 2_000  # characters of a value as JSON; a longer one is better sent anew than patched in
MAX_TEXT = 200  # characters of a text that may tell what stands beside it


class Discretion:
    """Decide whether a patch may travel: not with a value or a name that the sanitiser would change."""

    def __init__(self, document: Any, index: SchemaIndex, sanitizer: ValueSanitizer) -> None:
        self._outline = _outline(document)
        self._index, self._sanitizer = index, sanitizer

    def allowed(self, patches: Collection[Patch], joined: Patch) -> list[Patch]:
        """List the patches whose every name and value is short and no secret; `joined` applies them all."""
        plain = [patch for patch in patches if self._has_plain_names(patch) and all(map(_is_plain, _valued(patch)))]
        # Most often nothing is secret, and one look at the whole result says so for all of them.
        if any(map(_valued, plain)) and not self._is_open(joined, [each for patch in plain for each in _valued(patch)]):
            return [patch for patch in plain if not _valued(patch) or self._is_open(patch, _valued(patch))]
        return plain

    def _has_plain_names(self, patch: Patch) -> bool:
        names = [operation[key] for operation in patch for key in ("from", "path") if key in operation]
        return all(self._sanitizer.redact_pointer(name) == name for name in names)

    def _is_open(self, patch: Patch, valued: Collection[Operation]) -> bool:
        """Redact the whole document as the patch leaves it: a neighbour may tell that a value is a secret."""
        patched = apply_patch(self._outline, patch)
        redacted = self._sanitizer.redact(patched, marked=sensitive_pointers(self._index, patched))
        return all(_stands(redacted, operation) for operation in valued)


def _valued(patch: Patch) -> list[Operation]:
    """List the operations that carry a value; an empty container tells nothing."""
    return [operation for operation in patch if operation.get("value", {}) not in ({}, [])]


def _stands(redacted: Any, operation: Operation) -> bool:
    """Tell whether the value came through unchanged, there where it was put."""
    try:
        return _written(pointers.resolve(redacted, operation["path"])) == _written(operation["value"])
    except LookupError:  # a name on the way was redacted
        return False


def _is_plain(operation: Operation) -> bool:
    return len(_written(operation["value"])) <= MAX_VALUE and not has_redaction(operation["value"])


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
