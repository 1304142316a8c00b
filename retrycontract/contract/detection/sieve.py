"""Say in one pass over a text which finders need to look closer; most texts need none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import re2

from retrycontract.contract.detection.detectors import Detector, Span
from retrycontract.contract.detection.heads import Allowance, Head

# A repetition that must come at least so often is asked for no more often than this. Long counters multiply the states
# of the joined automaton until its memory is full; the sieve may let through what a finder then rejects.
MOST_COUNTED = 6
_COUNTER = re.compile(r"\{(\d+)(,?)(\d*)\}")
_EVERYTHING = rb"(?s:.)"


def loosened(pattern: str) -> str:
    """Give a pattern that matches wherever the given one does, without long counters."""
    return _COUNTER.sub(_loosened_counter, pattern)


def _loosened_counter(match: re.Match[str]) -> str:
    least, open_ended, most = int(match[1]), match[2], match[3]
    if max(least, int(most or 0)) <= MOST_COUNTED and (most or not open_ended):
        return match[0]
    return f"{{{min(least, MOST_COUNTED)},}}"


@dataclass(frozen=True, slots=True)
class Finder:
    """Pair what a text has to match, loosely, with what then looks closer."""

    prefilter: str
    find: Callable[[str, Allowance], Iterator[Span]]

    @classmethod
    def of(cls, source: Detector | Head, find: Callable[[str, Allowance], Iterator[Span]]) -> Finder:
        """Take the prefilter from a detector or a head."""
        return cls(loosened(source.pattern), find)


class Sieve:
    """Choose finders for a text."""

    __slots__ = ("_finders", "_set")

    def __init__(self, finders: Iterable[Finder]) -> None:
        self._finders = tuple(finders)
        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        options.max_mem = 64 << 20
        self._set: Any = re2.Set.SearchSet(options)
        for finder in self._finders:
            self._set.Add(finder.prefilter.encode())
        self._set.Add(_EVERYTHING)
        self._set.Compile()

    def finders_for(self, text: str) -> list[Finder]:
        """Give the finders that an ASCII text may hold something for, in their order."""
        found = self._set.Match(text.encode())
        if not found:  # any text matches at least the last pattern: without it the automaton ran out of memory
            return list(self._finders) if text else []
        return [] if len(found) == 1 else [self._finders[index] for index in sorted(found)[:-1]]
