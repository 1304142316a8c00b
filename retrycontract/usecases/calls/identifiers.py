"""Keep secrets out of identifiers, and identifiers apart: the door gives every one of them this form."""

from __future__ import annotations

from typing import Any, overload

from retrycontract.contract.redaction.sanitizer import elide_middle
from retrycontract.store.sealing import UnreadableError, keyed_hash, seal, unseal
from retrycontract.usecases.tools.contracts import sanitizer

MAX_IDENTIFIER = 200  # as the columns and the API have it
MAX_TOOL_NAME = 300
REDACTED = "[REDACTED: IDENTIFIER]"
HASH_DIGITS = 16  # 64 bits: of a million secrets no two meet
IDENTIFIER = "identifier"  # what was sealed for another purpose is none


@overload
def safe_identifier(text: str, limit: int = MAX_IDENTIFIER) -> str: ...
@overload
def safe_identifier(text: None, limit: int = MAX_IDENTIFIER) -> None: ...
def safe_identifier(text: str | None, limit: int = MAX_IDENTIFIER) -> str | None:
    """Give an identifier as it may be stored, shown and compared: itself, unless it holds a secret.

    One that does becomes its redacted form and a keyed hash, so that equal ones stay equal and others apart.
    """
    if text is None:
        return None
    redact = sanitizer().redact_identifier
    redacted = redact(text)
    if redacted == text:
        return text
    digits = keyed_hash(text)[:HASH_DIGITS]
    safe = f"{elide_middle(redacted, limit - HASH_DIGITS - 1)}-{digits}"
    # What is left of it may look like a secret again, together with the hash: then only the hash stays.
    return safe if redact(safe) == safe else f"{REDACTED}-{digits}"


def safe_tool_name(name: str) -> str:
    """Give a tool's name as it may be stored, shown and compared."""
    return safe_identifier(name, MAX_TOOL_NAME)


def safe_query(asked: dict[str, Any]) -> dict[str, Any]:
    """Give what was looked for as an address may repeat it: every text in the form in which it is stored."""
    return {
        name: safe_identifier(value, MAX_TOOL_NAME if name == "tool" else MAX_IDENTIFIER)
        if isinstance(value, str)
        else value
        for name, value in asked.items()
    }


def sealed_identifier(text: str) -> str:
    """Encrypt an identifier for an address that its agent asks again at."""
    return seal({IDENTIFIER: text}).decode()


def opened_identifier(sealed: str) -> str | None:
    """Decrypt it; None for anything else."""
    try:
        return unseal(sealed.encode()).get(IDENTIFIER)
    except UnreadableError:
        return None
