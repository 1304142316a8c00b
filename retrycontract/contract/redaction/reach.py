"""Tell over how many lines what a pattern matches may go: what is found on a few need not be sought on all others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from retrycontract.contract.redaction.signs import members_of, parsed_pattern

MOST_CROSSED = 10
_END, _BLANKS = ord("\n"), frozenset(b" \t\n\r\f")
_ANY_NUMBER = 1_000  # more than any pattern names


@cache
def ends_crossed(pattern: str) -> int | None:
    """Give how many ends of lines a match may hold, white space that goes on over several counted as one.

    None where they are many, or where the pattern is written as only RE2 reads it.
    """
    try:
        read = parsed_pattern(pattern.replace(r"\z", r"\Z"))
        ends = _ends(read, read.state.flags)
    except (re.error, LookupError):
        return None
    return ends if ends <= MOST_CROSSED else None


def _ends(read: Iterable[tuple[Any, Any]], flags: int) -> int:
    ends = 0
    for kind, value in read:
        match str(kind):
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
                ends += _END in _characters(str(kind), value, flags)
            case "SUBPATTERN":
                ends += _ends(value[-1], (flags | value[1]) & ~value[2])
            case "MAX_REPEAT" | "MIN_REPEAT":
                ends += _repeated(int(value[1]), value[2], flags)
            case "BRANCH":
                ends += max(_ends(branch, flags) for branch in value[1])
            case "AT":
                pass
            case other:
                raise LookupError(other)
    return ends


def _repeated(most: int, read: Any, flags: int) -> int:
    """Count what is repeated; white space goes on as one stretch however long it is."""
    if len(read) == 1 and str(read[0][0]) in ("LITERAL", "IN"):
        characters = _characters(str(read[0][0]), read[0][1], flags)
        if characters <= _BLANKS:
            return int(_END in characters)
    return _ends(read, flags) * min(most, _ANY_NUMBER)


def _characters(kind: str, value: Any, flags: int) -> frozenset[int]:
    """Give the ASCII characters that one of a pattern stands for."""
    if kind == "IN":
        listed, is_negated = members_of(value)
        return frozenset(range(128)) - listed if is_negated else frozenset(listed)
    if kind == "LITERAL":
        return frozenset((value,))
    left_out = value if kind == "NOT_LITERAL" else None if flags & re.DOTALL else _END
    return frozenset(range(128)) - {left_out}
