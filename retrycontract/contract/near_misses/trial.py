"""Try a patch before it is proposed: what it mends must be gone, and nothing else may become wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from retrycontract.contract.errors import ValidationError
from retrycontract.contract.patches import Operation, PatchError, apply_patch

Judge = Callable[[Any], Iterable[ValidationError]]
Mistake = tuple[str, str, str]  # pointer, code, keyword

MAX_NODES = 2_000  # of a document that is judged anew for each patch
MAX_TRIALS = 60  # of one submission


def mistake(error: ValidationError) -> Mistake:
    """Tell two mistakes apart, as the aggregation does."""
    return error.field_path, error.error_code, error.keyword


class Trial:
    """Judge a document as patches would leave it; the work is bounded, and beyond that every patch fails."""

    def __init__(self, document: Any, judge: Judge) -> None:
        self._document, self._judge = document, judge
        self._results: dict[str, frozenset[Mistake] | None] = {}
        # What was wrong before is asked when a patch is there to be tried, which is seldom.
        self._before: frozenset[Mistake] | None = None

    def remaining(self, patch: Sequence[Operation]) -> frozenset[Mistake] | None:
        """Tell what is still wrong with the patch applied; None when it does not fit or makes anything worse."""
        key = json.dumps(patch, sort_keys=True)
        if key not in self._results:
            if self._before is None:
                self._before = self._mistakes(self._document) if _is_small(self._document) else frozenset()
            within = len(self._results) < MAX_TRIALS and self._before
            self._results[key] = self._try(patch) if within else None
        return self._results[key]

    def mends(self, patch: Sequence[Operation], error: ValidationError) -> frozenset[Mistake] | None:
        """Tell what remains when the patch leaves nothing wrong at the error's place, else None."""
        remaining = self.remaining(patch)
        if remaining is None or mistake(error) not in (self._before or ()):
            return None
        here, below = error.field_path, f"{error.field_path}/"
        still_wrong = any(pointer == here or pointer.startswith(below) for pointer, _, _ in remaining)
        return None if still_wrong else remaining

    def _try(self, patch: Sequence[Operation]) -> frozenset[Mistake] | None:
        try:
            after = self._mistakes(apply_patch(self._document, patch))
        except PatchError:
            return None
        return after if self._before is not None and after < self._before else None

    def _mistakes(self, document: Any) -> frozenset[Mistake]:
        return frozenset(mistake(error) for error in self._judge(document))


def _is_small(document: Any) -> bool:
    pending, seen = [document], 0
    while pending and seen <= MAX_NODES:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
    return seen <= MAX_NODES
