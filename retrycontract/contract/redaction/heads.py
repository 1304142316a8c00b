"""Patterns that run on the bytes of an ASCII text, and how many of their finds are judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

# This many finds are judged in any text, and one more for so many characters: what holds more is no text but a dump
# of secrets or an attack, and goes as a whole from there on. This bounds the work by construction.
MOST_JUDGED = 1000
CHARACTERS_EACH = 500
# Values beside a name that may be harmless, such as `key`, are weighed one by one so often; behind that a mere mixture
# of letters and digits decides, for weighing a hundred thousand of them would take seconds.
MOST_WEIGHED = 2000


@cache
def compiled(pattern: str) -> Any:
    """Compile a pattern for bytes; where its automaton outgrows its memory RE2 takes a slower one, without a word.

    At first use, not at import: all of them together take a third of a second, and a client redacts little.
    """
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


class TooDenseError(Exception):
    """Raised where a text holds more that looks like secrets than is judged one by one."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"too many secrets from character {position} on")


@dataclass(slots=True)
class Allowance:
    """Count what is judged in one text."""

    left: int
    precise: int = MOST_WEIGHED

    @classmethod
    def of(cls, text: str) -> Allowance:
        """Allow what a text of that length may need."""
        return cls(MOST_JUDGED + len(text) // CHARACTERS_EACH)

    def spend(self, position: int) -> None:
        """Count one more; raises TooDenseError when it is one too many."""
        self.left -= 1
        if self.left < 0:
            raise TooDenseError(position)

    def weighs(self) -> bool:
        """Count one value beside a weak name; say whether it may still be looked at closely."""
        self.precise -= 1
        return self.precise >= 0


@dataclass(frozen=True, slots=True)
class Find:
    """Hold one match: the text of its groups, and where they stand."""

    text: str
    match: Any

    def __getitem__(self, group: int) -> str:
        start, end = self.match.span(group)
        return self.text[start:end]

    def span(self, group: int) -> tuple[int, int]:
        """Give where a group stands; (-1, -1) when it took no part."""
        start, end = self.match.span(group)
        return start, end


class Head:
    """Find what a pattern describes; linear in the text, for RE2 does not go back."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def all(self, text: str) -> Iterator[Find]:
        """Give every match in an ASCII text."""
        for match in compiled(self.pattern).finditer(text.encode()):
            yield Find(text, match)

    def outside(self, text: str, taken: list[int]) -> Iterator[Find]:
        """Give every match that starts behind the place in `taken`, which the caller moves on."""
        encoded = text.encode()
        found = True
        while found:
            found, position = False, taken[0]
            for match in compiled(self.pattern).finditer(encoded, position):
                yield Find(text, match)
                if found := taken[0] > match.end():
                    break

    def telling(self, text: str, allowance: Allowance) -> Iterator[Find]:
        """Give every match, each of which is to be judged."""
        for find in self.all(text):
            allowance.spend(find.span(0)[0])
            yield find
