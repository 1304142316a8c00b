"""JSON that was sent as a text, as in `"{\\"a\\": 1}"`: what such a text holds."""

from __future__ import annotations

import json
from typing import Any, Final

from retrycontract.contract.outputs.json_text import parse_json

ABSENT: Final = object()
MAX_ENCODED = 8_000  # characters of a string that is tried as JSON; a patch carries far less
JSON_STARTS = tuple('[{"-0123456789tfnTF')  # a word is told from JSON without parsing it
LITERALS = ("true", "false", "null", "True", "False")
LITERAL_STARTS = tuple("tfnTF")


def decoded(text: Any, most: int = MAX_ENCODED) -> Any:
    """Read a string of so many characters at most as JSON, strictly but for Python's True and False; ABSENT for none.

    A string that holds a string that holds JSON is read as what that holds.
    """
    if not isinstance(text, str) or len(text) > most:
        return ABSENT
    plain = text.strip()
    if plain[:1] not in JSON_STARTS or (plain[:1] in LITERAL_STARTS and plain not in LITERALS):
        return ABSENT
    plain = plain.lower() if plain in ("True", "False") else plain
    try:
        json.loads(plain)  # most texts are none, and where they go wrong need not be found
    except (ValueError, RecursionError):
        return ABSENT
    value, fault = parse_json(plain)
    if fault:
        return ABSENT
    inner = decoded(value, most)  # each layer doubles the backslashes, so that there are few
    return value if inner is ABSENT else inner
