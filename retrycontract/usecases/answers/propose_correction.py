"""Propose corrected arguments: what the agent sent, with its near misses mended."""

from __future__ import annotations

from typing import Any

from retrycontract.contract.advice import combined_patch
from retrycontract.contract.patches import PatchError, apply_patch, make_patch
from retrycontract.contract.redaction.sanitizer import has_redaction
from retrycontract.store.models import Attempt


def proposed_arguments(attempt: Attempt) -> Any | None:
    """Give the output of a judged attempt as it was meant, as far as that is plain; None when nothing is proposed."""
    patch = combined_patch(attempt.errors) if attempt.is_parsed else ()
    if not patch:
        return None
    try:
        mended = apply_patch(attempt.output, patch)
    except PatchError:  # a key of the output was redacted after the patch was made
        return None
    # Where a secret would have to move, only its mark is here to be sent.
    return None if has_redaction(make_patch(attempt.output, mended)) else mended
