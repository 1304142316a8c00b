"""Keep secrets out of patches: they go to the model, the database, the dashboard and the API."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex, sensitive_pointers
from retrycontract.contract.patches import Operation, Patch, apply_patch
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
