"""Say in one pass over a text which finders need to look closer; most texts need none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import re2

from retrycontract.contract.redaction.detectors import Detector, SecretSpan
from retrycontract.contract.redaction.heads import Allowance, Head

# A repetition that must come at least so often is asked for no more often than this. Long counters multiply the states
# of the joined automaton until its memory is full; the sieve may let through what a finder then rejects.
MOST_COUNTED = 6
# Of a joined automaton only those states are made that texts lead to. In a long text of noise each prefilter is
# somewhere else, and their combinations never end: a hundred joined took 2 s for 1 MB, sixteen take 0.1 s. Joined by
# sixteen they take seven passes, which a short text would feel: 0.5 us became 3.
SHORT = 100
GROUP = 16
MEMORY = 32 << 20  # bytes that the states of one automaton may take
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
    find: Callable[[str, Allowance], Iterator[SecretSpan]]

    @classmethod
    def of(cls, source: Detector | Head, find: Callable[[str, Allowance], Iterator[SecretSpan]]) -> Finder:
        """Take the prefilter from a detector or a head."""
        return cls(loosened(source.pattern), find)


class Sieve:
    """Choose finders for a text; its automata are made when the first text comes that needs them."""

    def __init__(self, finders: Iterable[Finder]) -> None:
        self._finders = tuple(finders)

    @cached_property
    def _joined(self) -> Any:
        return _joined(self._finders)

    @cached_property
    def _groups(self) -> tuple[tuple[int, Any], ...]:
        starts = range(0, len(self._finders), GROUP)
        return tuple((start, _joined(self._finders[start : start + GROUP])) for start in starts)

    def finders_for(self, text: str) -> list[Finder]:
        """Give the finders that an ASCII text may hold something for, in their order."""
        if len(text) <= SHORT:
            found = _matches(self._joined, text, len(self._finders))
            return [self._finders[index] for index in found] if found else []
        encoded = text.encode()
        return [
            self._finders[start + index]
            for start, group in self._groups
            for index in _matches(group, encoded, min(GROUP, len(self._finders) - start))
        ]


def _joined(finders: Iterable[Finder]) -> Any:
    """Compile prefilters into one automaton."""
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = MEMORY
    automaton = re2.Set.SearchSet(options)
    for finder in finders:
        automaton.Add(finder.prefilter.encode())
    automaton.Add(_EVERYTHING)
    automaton.Compile()
    return automaton


def _matches(automaton: Any, text: str | bytes, finders: int) -> Iterable[int]:
    """List the positions of the finders whose prefilter matches."""
    found: list[int] = automaton.Match(text)
    if not found:  # any text matches at least the last pattern: without it the automaton ran out of memory
        return range(finders) if text else ()
    return sorted(found)[:-1] if len(found) > 1 else ()
