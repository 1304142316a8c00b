"""Find where escapes stand in a text, those of URLs, of JSON in JSON, of program text and of HTML, and what is near."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, cast

from retrycontract.contract.redaction.detectors import compiled

# What decodes to a character.
ESCAPE = (
    r"%[0-7][0-9A-Fa-f]|%[c-dC-D][0-9A-Fa-f](?:%[89abAB][0-9A-Fa-f])|%[eE][0-9A-Fa-f](?:%[89abAB][0-9A-Fa-f]){2}"
    r"|%[fF][0-7](?:%[89abAB][0-9A-Fa-f]){3}|\\+u[dD][89abAB][0-9A-Fa-f]{2}\\+u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\+(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-7][0-9A-Fa-f]|[\"'/])"
    r"|&(?:quot|apos|amp|lt|gt|colon|equals|nbsp|shy|#[0-9]{2,7}|#[xX][0-9A-Fa-f]{2,6});"
)
# From the first of a run of backslashes only: begun at each of them, a run that leads to nothing takes its square.
# With the assertion behind it: a search passes quickly over what none of its alternatives begins with.
_FIRST = r"\\(?<!\\\\)\\*"
_ESCAPES = re.compile(ESCAPE.replace(r"|\\+", f"|{_FIRST}"))
PARTED = re.compile(f"({_ESCAPES.pattern})")
_BACKSLASHES, LONGEST_ESCAPE = re.compile(r"\\*"), 12  # of one without such a run: four bytes of a URL
# No escape holds such a character, so that a text can be cut before it.
_NO_ESCAPE, A_PIECE = re.compile(r"[^%\\&;#0-9A-Za-z{}\"'/]"), 1_000
_SIGNS = "%\\&"  # each begins with one of these
# To search for a sign takes a twentieth of what Python takes to search for the pattern. Where more than one in so many
# characters is a sign that begins no escape, RE2 searches for it; where there are more escapes, Python parts the text.
CHARACTERS_A_SIGN, CHARACTERS_A_MATCH = 2_000, 1_000
# Behind so many signs that begin none, as seen from the end of a stretch, that stretch is searched for the pattern.
FEW_SIGNS = 6


class EscapeSearch:
    """Find the escapes of an ASCII text in their order."""

    __slots__ = ("_left", "_next", "_text", "_written")

    def __init__(self, text: str) -> None:
        self._text, self._written = text, b""
        self._next = dict.fromkeys(_SIGNS, -1)  # where each of them stands, from the place on that was asked for
        self._left = len(text) // CHARACTERS_A_SIGN

    def first(self, position: int) -> tuple[int, int] | None:
        """Say where the first stands from a place on, which is behind the places that were asked for before."""
        while self._left >= 0:
            place = min(self._place(sign, position) for sign in _SIGNS)
            if place == len(self._text):
                return None
            if found := _ESCAPES.match(self._text, place):
                return found.span()
            self._left -= 1
            position = place + 1
        self._written = self._written or self._text.encode()
        match = compiled(ESCAPE, captures=False).search(self._written, position)
        return match.span() if match else None

    def last(self, start: int, stop: int) -> tuple[int, int] | None:
        """Say where the last stands that begins between two places."""
        end = stop
        for _ in range(FEW_SIGNS):
            place = max(self._text.rfind(sign, start, end) for sign in _SIGNS)
            if place < 0:
                return None
            while place > start and self._text[place] == "\\" == self._text[place - 1]:
                place -= 1
            if found := _ESCAPES.match(self._text, place):
                return found.span()
            end = place
        behind = cast(re.Match[str], _BACKSLASHES.match(self._text, stop)).end() + LONGEST_ESCAPE
        found = None
        for each in _ESCAPES.finditer(self._text, start, behind):
            if each.start() >= stop:
                break
            found = each
        # One of two halves may go on behind what was searched.
        return cast(re.Match[str], _ESCAPES.match(self._text, found.start())).span() if found else None

    def _place(self, sign: str, position: int) -> int:
        if self._next[sign] < position:
            found = self._text.find(sign, position)
            self._next[sign] = found if found >= 0 else len(self._text)
        return self._next[sign]


def parted(text: str) -> list[str]:
    """Give what stands between the escapes of an ASCII text and the escapes, in turn."""
    search, parts, end = EscapeSearch(text), list[str](), 0
    for _ in range(len(text) // CHARACTERS_A_MATCH):
        found = search.first(end)
        if found is None:
            return [*parts, text[end:]]
        parts += (text[end : found[0]], text[slice(*found)])
        end = found[1]
    return [*parts, *PARTED.split(text[end:])]


def cut_apart(text: str) -> list[str]:
    """Cut a long text where no escape can stand: the way back is then sought in the pieces that hold something."""
    pieces, begin = list[str](), 0
    while cut := _NO_ESCAPE.search(text, begin + A_PIECE):
        pieces.append(text[begin : cut.start()])
        begin = cut.start()
    return [*pieces, text[begin:]]


# What an escape or a mark has to do with stands within so many characters; APART keeps two such places apart: no value
# goes on behind it, on the next line or in quotes.
REACH: Final = 300
MOST_AROUND = 0.75  # of a text may be near escapes
APART: Final = "\n;\n"


class Surroundings:
    """Join what stands around some places of a text, and know the way back."""

    __slots__ = ("_joined", "_starts", "text")

    def __init__(self, text: str, stretches: Iterable[tuple[int, int]]) -> None:
        """Take stretches in their order; they may overlap."""
        pieces: list[str] = []
        self._starts: list[int] = []  # in the text, and below in what is joined
        self._joined: list[int] = []
        taken = length = 0
        for begin, end in stretches:
            if begin > taken or not pieces:
                taken = max(begin, taken)
                self._starts.append(taken)
                self._joined.append(length + len(APART))
                pieces.append(APART)
                length += len(APART)
            pieces.append(text[taken:end])
            length += len(pieces[-1])
            taken = max(taken, end)
        self.text = "".join(pieces)

    def original(self, start: int, end: int) -> tuple[int, int] | None:
        """Say where a stretch of the joined text stands in the original; None for one over several pieces."""
        piece = bisect_right(self._joined, start) - 1
        if piece < 0 or (piece + 1 < len(self._joined) and end > self._joined[piece + 1] - len(APART)):
            return None
        moved = self._starts[piece] - self._joined[piece]
        return start + moved, end + moved


def near_escapes(text: str) -> Surroundings | None:
    """Join what stands around the escapes of a text, None where that is most of it."""
    stretches: list[tuple[int, int]] = []
    search, taken, left = EscapeSearch(text), 0, 0
    found = search.first(0)
    while found:
        start, end = found
        # Of those that stand within reach of each other only the last one tells more.
        while found := search.last(end, end + 2 * REACH + 1):
            end = found[1]
        stretches.append((start - REACH, end + REACH))
        left += max(start - REACH - taken, 0)
        taken = end + REACH
        if taken - left > MOST_AROUND * len(text):
            return None
        found = search.first(end)
    return Surroundings(text, stretches)
