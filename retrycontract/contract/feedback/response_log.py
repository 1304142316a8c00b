"""How an agent's response is logged."""

from __future__ import annotations

from enum import StrEnum


class ResponseStatus(StrEnum):
    """Name how a reply is logged."""

    SUCCESS = "SUCCESS"
    MALFORMED = "MALFORMED"
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"


def response_status(*, is_valid: bool, is_parsed: bool) -> ResponseStatus:
    """Tell how a reply is logged: what is no JSON is malformed, whatever else is wrong with it."""
    if is_valid:
        return ResponseStatus.SUCCESS
    return ResponseStatus.SCHEMA_VIOLATION if is_parsed else ResponseStatus.MALFORMED
