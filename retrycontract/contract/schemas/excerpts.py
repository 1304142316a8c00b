"""Quote of a schema what fits and is no secret."""

from __future__ import annotations

from typing import Final

from retrycontract.contract import pointers
from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.previews import fit, visible
from retrycontract.contract.redaction.sanitizer import ValueSanitizer, redacted_ends

# Strict, as a service may be: whoever redacts what quotes an excerpt comes too late for what was cut.
_STRICT: Final = ValueSanitizer(RetryConfiguration(sanitizer_mode="strict"))


def printable(text: str, limit: int) -> str:
    """Shorten a text to at most `limit` printable characters without secrets."""
    # Redacted first: of a secret that is cut in two no half is recognised.
    return fit(redacted_ends(text, limit, _STRICT.redact_identifier), limit, visible)[0]


def printable_place(pointer: str, limit: int) -> str:
    """Shorten a JSON Pointer to at most `limit` printable characters, with no name that is a secret."""
    steps = (_STRICT.redact_identifier(_STRICT.redact_name(step)) for step in pointers.tokens(pointer))
    return fit(pointers.from_tokens(steps), limit, visible)[0]
