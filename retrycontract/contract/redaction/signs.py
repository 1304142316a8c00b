"""Tell which signs a text must hold so that a pattern may match in it: without an equals sign nothing is assigned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

# Python has what reads its patterns, under a name that type checkers do not know.
_parser: Any = import_module("re._parser")
ASCII = frozenset(range(128))
_DIGITS, LETTERS = frozenset(b"0123456789"), frozenset(range(65, 91)) | frozenset(range(97, 123))
_BLANKS, _WORD = frozenset(b" \t\n\r\f"), LETTERS | _DIGITS | frozenset(b"_")  # as RE2 has them, without `\v`
_CATEGORIES = {
    "CATEGORY_DIGIT": _DIGITS, "CATEGORY_NOT_DIGIT": ASCII - _DIGITS, "CATEGORY_SPACE": _BLANKS,
    "CATEGORY_NOT_SPACE": ASCII - _BLANKS, "CATEGORY_WORD": _WORD, "CATEGORY_NOT_WORD": ASCII - _WORD,
}  # fmt: skip


def parsed_pattern(pattern: str) -> Any:
    """Read a pattern as Python does; raises re.error for what it reads in another way than RE2."""
    return _parser.parse(pattern)


def needed_signs(pattern: str) -> tuple[frozenset[int], ...]:
    """Give sets of ASCII characters of each of which an ASCII text holds one, where the pattern matches in it.

    None of them has letters, which all texts have. What Python cannot read, as RE2 writes it, needs nothing.
    """
    try:
        parsed = parsed_pattern(pattern)
    except re.error:
        return ()
    needs = {need for need in _needs(parsed) if not need & LETTERS}
    return tuple(need for need in needs if not any(other < need for other in needs))


def _needs(parts: Iterable[tuple[Any, Any]]) -> Iterator[frozenset[int]]:
    for kind, value in parts:
        match kind.name:
            case "LITERAL":
                yield frozenset((value,))
            case "IN":
                found, is_negated = members_of(value)
                yield ASCII - found if is_negated else frozenset(found)
            case "SUBPATTERN":
                yield from _needs(value[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" if value[0]:
                yield from _needs(value[2])
            case "BRANCH":
                each = [[need for need in _needs(branch) if not need & LETTERS] for branch in value[1]]
                if all(each):  # whichever it is that matches
                    yield frozenset().union(*(min(needs, key=len) for needs in each))


def members_of(listed: Iterable[tuple[Any, Any]]) -> tuple[set[int], bool]:
    """Give the characters that a class lists, and whether it stands for all others."""
    found, is_negated = set[int](), False
    for kind, value in listed:
        match kind.name:
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                found.add(value)
            case "RANGE":
                found |= set(range(value[0], value[1] + 1))
            case _:
                found |= _CATEGORIES[str(value)]
    return found, is_negated
