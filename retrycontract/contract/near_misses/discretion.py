"""Keep secrets out of patches: they go to the model, the database, the dashboard and the API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex, sensitive_pointers
from retrycontract.contract.patches import Operation, apply_patch
from retrycontract.contract.sanitizer import ValueSanitizer, has_redaction

MAX_VALUE = 2_000  # characters of a value as JSON; a longer one is better sent anew than patched in
MAX_TEXT = 200  # characters of a text that may tell what stands beside it


class Discretion:
    """Decide whether a patch may travel: not with a value or a name that the sanitiser would change."""

    def __init__(self, document: Any, index: SchemaIndex, sanitizer: ValueSanitizer) -> None:
        self._outline = _outline(document)
        self._index, self._sanitizer = index, sanitizer

    def allows(self, patch: Sequence[Operation]) -> bool:
        """Say whether every name and every value in the patch is short and no secret."""
        names = [operation[key] for operation in patch for key in ("from", "path") if key in operation]
        if any(self._sanitizer.redact_pointer(name) != name for name in names):
            return False
        valued = [operation for operation in patch if "value" in operation]
        return not valued or (all(_is_plain(operation["value"]) for operation in valued) and self._is_open(patch))

    def _is_open(self, patch: Sequence[Operation]) -> bool:
        """Redact the whole document as the patch leaves it: a neighbour may tell that a value is a secret."""
        patched = apply_patch(self._outline, patch)
        redacted = self._sanitizer.redact(patched, marked=sensitive_pointers(self._index, patched))
        return all(_same(patched, redacted, operation["path"]) for operation in patch if "value" in operation)


def _same(document: Any, redacted: Any, pointer: str) -> bool:
    try:
        return _written(pointers.resolve(document, pointer)) == _written(pointers.resolve(redacted, pointer))
    except LookupError:  # a name on the way was redacted
        return False


def _is_plain(value: Any) -> bool:
    return len(_written(value)) <= MAX_VALUE and not has_redaction(value)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _outline(value: Any) -> Any:
    """Copy a small document without its long texts: none of them says what a neighbour is."""
    if isinstance(value, dict):
        return {key: _outline(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_outline(item) for item in value]
    return value[:MAX_TEXT] if isinstance(value, str) else value
