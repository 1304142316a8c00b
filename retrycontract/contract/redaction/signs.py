"""Tell which signs a text must hold so that a pattern may match in it: without an equals sign nothing is assigned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

# Python has what reads its patterns, under a name that type checkers do not know.
_parser: Any = import_module("re._parser")
_ASCII = frozenset(range(128))
_DIGITS, _LETTERS = frozenset(b"0123456789"), frozenset(range(65, 91)) | frozenset(range(97, 123))
_BLANKS, _WORD = frozenset(b" \t\n\r\f\v"), _LETTERS | _DIGITS | frozenset(b"_")
_CATEGORIES = {
    "CATEGORY_DIGIT": _DIGITS, "CATEGORY_NOT_DIGIT": _ASCII - _DIGITS, "CATEGORY_SPACE": _BLANKS,
    "CATEGORY_NOT_SPACE": _ASCII - _BLANKS, "CATEGORY_WORD": _WORD, "CATEGORY_NOT_WORD": _ASCII - _WORD,
}  # fmt: skip


def needed_signs(pattern: str) -> tuple[frozenset[int], ...]:
    """Give sets of ASCII characters of each of which an ASCII text holds one, where the pattern matches in it.

    None of them has letters, which all texts have. What Python cannot read, as RE2 writes it, needs nothing.
    """
    try:
        parsed = _parser.parse(pattern)
    except re.error:
        return ()
    needs = {need for need in _needs(parsed) if not need & _LETTERS}
    return tuple(need for need in needs if not any(other < need for other in needs))


def _needs(parts: Iterable[tuple[Any, Any]]) -> Iterator[frozenset[int]]:
    for kind, value in parts:
        match str(kind):
            case "LITERAL":
                yield frozenset((value,))
            case "IN":
                yield _class(value)
            case "SUBPATTERN":
                yield from _needs(value[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" if value[0]:
                yield from _needs(value[2])
            case "BRANCH":
                each = [[need for need in _needs(branch) if not need & _LETTERS] for branch in value[1]]
                if all(each):  # whichever it is that matches
                    yield frozenset().union(*(min(needs, key=len) for needs in each))


def _class(members: Iterable[tuple[Any, Any]]) -> frozenset[int]:
    found, is_negated = set[int](), False
    for kind, value in members:
        match str(kind):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                found.add(value)
            case "RANGE":
                found |= set(range(value[0], value[1] + 1))
            case _:
                found |= _CATEGORIES[str(value)]
    return _ASCII - found if is_negated else frozenset(found)
