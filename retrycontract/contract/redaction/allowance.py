"""Bound what is judged and looked at in one text, so that the work on any is bounded by construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

# This many finds are judged in any text, and one more for so many characters: what holds more is no text but a dump
# of secrets or an attack, and goes as a whole from there on. This bounds the work by construction. Of a short text
# fewer are, since many of these make as much work as a long one.
MOST_JUDGED = 500
CHARACTERS_EACH = 2000
MOST_JUDGED_IN_SHORT, CHARACTERS_EACH_IN_SHORT = 100, 50
# What only might lead to one is looked at so many times as often.
LOOKS_A_JUDGEMENT = 3
# Of the values beside names that may be harmless, such as `key`, so many characters are weighed, and each value as so
# many at least; behind that a mere mixture of letters and digits decides, for weighing all of 1 MB would take seconds.
MOST_WEIGHED, LEAST_OF_ONE = 150_000, 100
# Of names that are longer than any so many characters are read whole.
MOST_READ = 50_000


class SecretSpan(NamedTuple):
    """Name one stretch of a text and the kind of secret that stands in it."""

    start: int
    end: int
    mark: str


class TooDenseError(Exception):
    """Raised where a text holds more that looks like secrets than is judged one by one."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"too many secrets from character {position} on")


def _most_judged(size: int) -> int:
    return min(MOST_JUDGED + size // CHARACTERS_EACH, MOST_JUDGED_IN_SHORT + size // CHARACTERS_EACH_IN_SHORT)


# Where in a text, and up to where, matches of one pattern are sought: none begins elsewhere.
Stretches = Sequence[tuple[int, int]]


@dataclass(slots=True)
class Allowance:
    """Count what is judged in one text."""

    most: int
    precise: int = MOST_WEIGHED
    whole: int = MOST_READ
    judged: list[int] = field(default_factory=list)  # where they stand
    seen: list[int] = field(default_factory=list)
    known: list[SecretSpan] = field(default_factory=list)  # what others have found in the same text
    places: tuple[str, str, Stretches] | None = None  # of one pattern and one text, where the former may match

    @classmethod
    def of(cls, text: str, known: list[SecretSpan] | None = None) -> Allowance:
        """Allow what a text of that length may need."""
        return cls(_most_judged(len(text)), known=known or [])

    def stretches(self, pattern: str, text: str) -> Stretches | None:
        """Give where a pattern may match in a text; None: anywhere."""
        if self.places is None or self.places[0] != pattern or self.places[1] is not text:
            return None
        return self.places[2]

    def spend(self, position: int) -> None:
        """Count one more; raises TooDenseError when it is one too many."""
        self._count(self.judged, position, 1)

    def look(self, position: int) -> None:
        """Count one more that is looked at, most of which are none; raises TooDenseError when it is one too many."""
        self._count(self.seen, position, LOOKS_A_JUDGEMENT)

    def _count(self, places: list[int], position: int, times: int) -> None:
        places.append(position)
        if len(places) > times * self.most:
            # What is left of the text is shorter, which allows for less: it must not be too dense at another look.
            fits = (place for count, place in reversed([*enumerate(places)]) if count <= times * _most_judged(place))
            # A finder that goes through the text a second time has not seen what stands behind this one.
            raise TooDenseError(min(next(fits, 0), position))

    def reads(self, size: int) -> bool:
        """Count one very long name; say whether it may still be read whole."""
        self.whole -= size
        return self.whole >= 0

    def weighs(self, text: str) -> bool:
        """Count one value beside a weak name; say whether it may still be looked at closely."""
        self.precise -= max(len(text), LEAST_OF_ONE)
        return self.precise >= 0
