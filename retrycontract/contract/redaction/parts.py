"""Cut out of a pattern the part that tells most: a text without it holds no match of the whole."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from retrycontract.contract.redaction.field_names import NAME_WORDS
from retrycontract.contract.redaction.signs import ASCII, LETTERS, members_of, parsed_pattern

# Stands for the words that the names of secrets are made of, which need not be read again with each pattern.
_NAMED, _NAMES = "\x02", f"(?:{NAME_WORDS})"
# What repeats more characters than these runs on through most of a text. Several of these that wait at once for what
# comes behind them, each for something else, take more states than there is memory for.
MANY, MOST_COUNTED = 75, 6
# As if each of so many characters were as likely in a text as any other; names and edges of words are more so.
USUAL, BITS_OF_NAME, BITS_OF_PLACE = 100, 11.0, 0.3
_PLACES = {
    "AT_BEGINNING": "(?m:^)", "AT_END": "(?m:$)", "AT_BOUNDARY": r"\b", "AT_NON_BOUNDARY": r"\B",
    "AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\z",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NeededPart:
    """Hold a pattern that matches in each text that another one matches in, and whether it begins with a name."""

    pattern: str
    is_named: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """Hold what a pattern says of a few characters, and how many bits it tells of a text that they stand in it."""

    written: str
    bits: float
    is_name: bool = False
    is_needless: bool = False
    is_many: bool = False  # any of most characters
    runs_on: bool = False  # through most of a text: then `written` is empty, and these are what it has of it
    least: tuple[_Piece, ...] = ()  # at its beginning and at its end
    within: tuple[_Piece, ...] = ()  # somewhere


def has_name(pattern: str) -> bool:
    """Say whether a pattern asks for the name of a secret, of whatever kind."""
    return _NAMES in pattern


def needed_part(pattern: str) -> NeededPart | None:
    """Give the part that tells most of a pattern with the name of a secret; None for any other.

    None also where the pattern is written as only RE2 reads it.
    """
    if not has_name(pattern):
        return None
    try:
        read = parsed_pattern(pattern.replace(_NAMES, _NAMED).replace(r"\z", r"\Z"))
        best = _best(list(_pieces(read, read.state.flags)))
    except (re.error, LookupError):
        return None
    return NeededPart(_joined(best), best[0].is_name) if _bits(best) else None


def _joined(pieces: Iterable[_Piece]) -> str:
    return "".join(piece.written for piece in pieces)


def _bits(pieces: Iterable[_Piece]) -> float:
    return sum(piece.bits for piece in pieces)


def _best(pieces: Iterable[_Piece]) -> list[_Piece]:
    """Choose the stretch that tells most among those between what runs on."""
    stretches, stretch = list[list[_Piece]](), list[_Piece]()
    for piece in pieces:
        if piece.runs_on:
            stretches += ([*stretch, *piece.least], [*piece.within])
            stretch = [*piece.least]
        else:
            stretch.append(piece)
    # Parted before a name, so that all that hold one begin alike.
    begins = [next((at for at, piece in enumerate(each) if piece.is_name), 0) for each in (*stretches, stretch)]
    halves = [half for each, at in zip((*stretches, stretch), begins, strict=True) for half in (each[:at], each[at:])]
    return max(map(_trimmed, halves), key=_bits)


def _trimmed(pieces: list[_Piece]) -> list[_Piece]:
    """Leave out what need not be at either end."""
    needed = [at for at, piece in enumerate(pieces) if not piece.is_needless]
    return pieces[needed[0] : needed[-1] + 1] if needed else []


def _pieces(read: Iterable[tuple[Any, Any]], flags: int) -> Iterator[_Piece]:
    is_any_case = bool(flags & re.IGNORECASE)
    for kind, value in read:
        match str(kind):
            case "LITERAL" if chr(value) == _NAMED:
                yield _Piece(f"(?i:{NAME_WORDS})", BITS_OF_NAME, is_name=True)
            case "LITERAL":
                yield _one_of(frozenset((value,)), is_any_case)
            case "NOT_LITERAL":
                yield _one_of(frozenset((value,)), is_any_case, is_negated=True)
            case "IN":
                listed, is_negated = members_of(value)
                yield _one_of(frozenset(listed), is_any_case, is_negated=is_negated)
            case "ANY":
                yield _one_of(frozenset(() if flags & re.DOTALL else b"\n"), False, is_negated=True)
            case "SUBPATTERN":
                yield from _pieces(value[-1], (flags | value[1]) & ~value[2])
            case "MAX_REPEAT" | "MIN_REPEAT":
                yield from _repeated(int(value[0]), int(value[1]), tuple(_pieces(value[2], flags)))
            case "BRANCH":
                yield _any_of([list(_pieces(branch, flags)) for branch in value[1]])
            case "AT":
                yield _Piece(_PLACES[str(value)], BITS_OF_PLACE)
            case other:
                raise LookupError(other)


@lru_cache(maxsize=500)
def _one_of(listed: frozenset[int], is_any_case: bool, *, is_negated: bool = False) -> _Piece:
    if is_any_case:
        listed = listed | {each ^ ord(" ") for each in LETTERS & listed}
    characters = ASCII - listed if is_negated else ASCII & listed
    bits = max(math.log2(USUAL / max(len(characters), 1)), 0.0)
    written = "".join(f"\\x{each:02x}" for each in sorted(characters))
    return _Piece(f"[{written}]", bits, is_many=len(characters) > MANY)


def _repeated(least: int, most: int, pieces: tuple[_Piece, ...]) -> Iterator[_Piece]:
    if least == most == 1:
        yield from pieces
        return
    few = min(least, MOST_COUNTED)
    is_open = most > MOST_COUNTED
    if any(piece.runs_on for piece in pieces):
        yield _Piece("", 0, runs_on=True, within=tuple(_best(pieces)) if least else ())
    elif is_open and any(piece.is_many for piece in pieces):
        yield _Piece("", 0, runs_on=True, least=pieces * few)
    else:
        count = f"{{{few},{'' if is_open else most}}}"
        is_many = any(piece.is_many for piece in pieces)
        yield _Piece(f"(?:{_joined(pieces)}){count}", few * _bits(pieces), is_needless=not least, is_many=is_many)


def _any_of(branches: list[list[_Piece]]) -> _Piece:
    runs_on = any(piece.runs_on for branch in branches for piece in branch)
    if runs_on:  # of each what tells most
        branches = [_best(branch) for branch in branches]
    bits = -math.log2(min(sum(2 ** -_bits(branch) for branch in branches), 1.0))
    is_many = any(piece.is_many for branch in branches for piece in branch)
    either = _Piece(f"(?:{'|'.join(map(_joined, branches))})", bits, is_many=is_many)
    return _Piece("", 0, runs_on=True, within=(either,)) if runs_on else either
