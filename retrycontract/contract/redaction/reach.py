"""Tell over how many lines what a pattern matches may go: what is found on a few need not be sought on all others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from retrycontract.contract.redaction.field_names import NAME_WORDS
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
        # The words of secrets' names are hundreds, each in one line, and take most of the reading.
        read = parsed_pattern(pattern.replace(NAME_WORDS, "name").replace(r"\z", r"\Z"))
        ends = _ends(read, read.state.flags)
    except (re.error, LookupError):
        return None
    return ends if ends <= MOST_CROSSED else None


def _ends(read: Iterable[tuple[Any, Any]], flags: int) -> int:
    ends = 0
    for code, value in read:
        match code.name:
            case "LITERAL":
                ends += value == _END
            case "NOT_LITERAL":
                ends += value != _END
            case "ANY":
                ends += bool(flags & re.DOTALL)
            case "IN":
                listed, is_negated = members_of(value)
                ends += (_END in listed) != is_negated
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
    ends = _ends(read, flags)
    return ends if not ends or _is_blank(read) else ends * min(most, _ANY_NUMBER)


def _is_blank(read: Any) -> bool:
    """Say whether a part of a pattern is one sign of white space."""
    (code, value), *others = read
    if others or code.name not in ("LITERAL", "IN"):
        return False
    listed, is_negated = ({value}, False) if code.name == "LITERAL" else members_of(value)
    return not is_negated and listed <= _BLANKS
