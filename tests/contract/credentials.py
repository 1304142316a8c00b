"""Random texts that a pattern describes, the same in every run, so that no credential stands in the repository."""

from __future__ import annotations

import re._constants as kinds
import re._parser as parser
from random import Random
from typing import Any

# Open repetitions go on for so many characters behind their least number.
MORE = 6
PRINTABLE = [chr(point) for point in range(33, 127)]
CATEGORIES = {
    kinds.CATEGORY_WORD: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
    kinds.CATEGORY_DIGIT: "0123456789",
    kinds.CATEGORY_SPACE: " ",
    kinds.CATEGORY_NOT_SPACE: "".join(PRINTABLE),
}


def sample(pattern: str, seed: int) -> str:
    """Make a text that the pattern describes."""
    return _write(parser.parse(pattern), Random(f"{pattern}{seed}"))


def _write(parsed: Any, random: Random) -> str:
    return "".join(_one(kind, argument, random) for kind, argument in parsed)


def _one(kind: Any, argument: Any, random: Random) -> str:
    if kind is kinds.LITERAL:
        return chr(argument)
    if kind is kinds.NOT_LITERAL:
        return random.choice([c for c in PRINTABLE if ord(c) != argument])
    if kind is kinds.IN:
        return random.choice(_characters(argument))
    if kind is kinds.SUBPATTERN:
        return _write(argument[-1], random)
    if kind is kinds.BRANCH:
        return _write(random.choice(argument[1]), random)
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        least, most, inner = argument
        return "".join(_write(inner, random) for _ in range(random.randint(least, min(most, least + MORE))))
    return ""  # anchors and boundaries take no room


def _characters(members: Any) -> list[str]:
    chosen: list[str] = []
    for kind, argument in members:
        if kind is kinds.LITERAL:
            chosen.append(chr(argument))
        elif kind is kinds.RANGE:
            chosen += map(chr, range(argument[0], argument[1] + 1))
        elif kind is kinds.CATEGORY:
            chosen += CATEGORIES[argument]
    negated = members[0][0] is kinds.NEGATE
    return [" "] if negated and " " not in chosen else [c for c in PRINTABLE if c not in chosen] if negated else chosen
