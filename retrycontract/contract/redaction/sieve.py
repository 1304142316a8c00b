"""Choose what has to look closer at a text: of hundreds of patterns most need something that it has not."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from string import ascii_letters, digits
from typing import Any

import re2

from retrycontract.contract.redaction.detectors import Finder, compiled, loosened, uncaptured
from retrycontract.contract.redaction.escapes import APART
from retrycontract.contract.redaction.field_names import NAME_WORDS
from retrycontract.contract.redaction.parts import has_name, needed_part
from retrycontract.contract.redaction.scan_copies import LONG
from retrycontract.contract.redaction.signs import needed_signs

# Of a joined automaton only those states are made that texts lead to. In a long text of noise each prefilter is
# somewhere else, and their combinations never end: all joined take 2 s for 1 MB. So the letters that a match cannot do
# without are sought first, all at once, which takes few states. What asks for no more than pairs of letters is in any
# long text: few of these are joined, fewer the longer they are, like beside like. A short text would feel the passes:
# all joined take 2 µs for one that differs from another in its numbers alone, such as the next date of a list, but a
# fifth of a millisecond for one that is like no other. So they are asked for what came so often but for numbers.
SHORT, OFTEN, MOST_KNOWN = 100, 8, 4_000
LONGEST_OF_SIGNS = 1_000  # characters of a text whose signs are looked at: longer ones have most of them
_LETTERS = (ascii_letters + digits).encode()
_SHAPE = bytes.maketrans(_LETTERS, b"a" * len(ascii_letters) + b"0" * len(digits))
_NUMBER = re.compile(rb"[0-9]+")
# So many at most, and of so many characters. Those with the name of a secret are the ones that take the most states.
COUNTING, NAMED, COMMON, RARE = (6, 500), (4, 2_500), (16, 4_000), (32, 3_000)
MEMORY = 32 << 20  # bytes that the states of one automaton may take
_PAIRS = "".join(first + second for first in map(chr, range(9, 127)) for second in map(chr, range(9, 127))).encode()
_EVERYTHING = rb"\A(?s:.)"
# Names of secrets are in most prefilters of which the letters say little. In a long text two passes, for what these
# need beside a name, spare most of the others, each of which takes as long.
# Many short texts are asked for at once, as one text of so many characters. There each begins and ends a line, so that
# this goes before each prefilter.
TOGETHER = 10_000
_LINE_BY_LINE = "(?m)"


class Sieve:
    """Choose finders for a text; its automata are made when the first text comes that needs them."""

    def __init__(self, finders: Iterable[Finder]) -> None:
        self._finders = tuple(finders)
        self._known = dict[int, int]()
        self._idle = dict[frozenset[int], frozenset[int]]()

    @cached_property
    def _parts(self) -> list[tuple[frozenset[int], list[int], Any]]:
        """Join the parts that prefilters with the name of a secret need; those that begin with it take few states."""
        parts = {place: needed_part(finder.prefilter) for place, finder in enumerate(self._finders)}
        named, others = (
            [place for place, part in parts.items() if part and part.is_named is is_named] for is_named in (True, False)
        )
        return [
            (frozenset(places), places, _joined(part.pattern for place in places if (part := parts[place])))
            for places in (named, others)
        ]

    @cached_property
    def _joined(self) -> Any:
        return _joined(finder.prefilter for finder in self._finders)

    @cached_property
    def _letters(self) -> Any:
        """Join the letters that the prefilters ask for, whatever stands between them."""
        letters, options = re2.Filter(), uncaptured()
        for finder in self._finders:
            letters.Add(finder.prefilter.encode(), options)
        letters.Compile()
        return letters

    @cached_property
    def _any_letters(self) -> frozenset[int]:
        """Give the places of the prefilters that ask for no more than pairs of letters, if for any."""
        return frozenset(self._letters.Match(_PAIRS, potential=True) or ())

    @cached_property
    def _groups(self) -> list[tuple[frozenset[int], list[int], Any]]:
        """Join prefilters by their length: those that count, those of which the letters say little, and the others."""
        prefilters = [finder.prefilter for finder in self._finders]
        common = self._any_letters
        kinds = [
            COUNTING if loosened(each) != each else RARE if at not in common else NAMED if has_name(each) else COMMON
            for at, each in enumerate(prefilters)
        ]
        # Where rare letters are needed besides, all that ask for a name share the states of their names.
        sizes = [
            len(each.replace(NAME_WORDS, "") if kind == RARE else each)
            for each, kind in zip(prefilters, kinds, strict=True)
        ]
        groups: list[list[int]] = []
        room, last = 0, None
        for place in sorted(range(len(prefilters)), key=lambda place: (kinds[place], sizes[place])):
            most, characters = kinds[place]
            if kinds[place] != last or sizes[place] > room or len(groups[-1]) == most:
                groups.append([])
                room, last = characters, kinds[place]
            groups[-1].append(place)
            room -= sizes[place]
        return [(frozenset(places), places, _joined(prefilters[place] for place in places)) for places in groups]

    def finders_for(self, text: str, most: int | None = None) -> list[Finder]:
        """Give the finders, of the first so many, that an ASCII text may hold something for, in their order."""
        encoded = text.encode()
        found = self._found_at_once(encoded) if len(encoded) <= SHORT else None
        if found is None:
            found = self._found_in_passes(encoded)
        return self.at(sorted(found), most)

    def at(self, places: Iterable[int], most: int | None = None) -> list[Finder]:
        """Give the finders at some places, of the first so many."""
        return [self._finders[place] for place in places if most is None or place < most]

    def places_for_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Give of each ASCII text the places of the finders that it may hold something for; many cost little."""
        found: list[list[int]] = [[] for _ in texts]
        some, length = list[int](), 0
        for number, text in enumerate(texts):
            if len(text) <= SHORT and (at_once := self._found_at_once(text.encode())) is not None:
                found[number] = sorted(at_once)
                continue
            some.append(number)
            length += len(text)
            if length >= TOGETHER:
                self._find_together(texts, some, found)
                some, length = [], 0
        self._find_together(texts, some, found)
        return found

    def _find_together(self, texts: Sequence[str], some: list[int], found: list[list[int]]) -> None:
        """Add what the texts of some numbers may hold something for."""
        joined = APART.join(texts[number] for number in some).encode()
        ends = list(accumulate((len(texts[number]) + len(APART) for number in some), initial=-len(APART)))[1:]
        known = dict[str, list[int]]()
        for place in sorted(self._found_in_passes(joined)):
            prefilter = self._finders[place].prefilter
            if (matching := known.get(prefilter)) is None:
                matching = known[prefilter] = [some[at] for at in _texts_that_match(prefilter, joined, ends)]
            for number in matching:
                found[number].append(place)

    def _found_at_once(self, encoded: bytes) -> Iterable[int] | None:
        but_for_numbers = hash(_NUMBER.sub(b"0", encoded))  # what may be a secret is not kept
        times = self._known.get(but_for_numbers, 0)
        if times >= OFTEN:
            return _matches(self._joined, encoded, len(self._finders))
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[but_for_numbers] = times + 1
        return None

    @cached_property
    def _signs(self) -> list[tuple[int, list[frozenset[int]]]]:
        """Give the signs, shaped as those of a text, that the prefilters need of which the letters say little."""
        common = [place for grouped, places, _ in self._groups if grouped & self._any_letters for place in places]
        needs = ((place, needed_signs(self._finders[place].prefilter)) for place in common)
        return [(place, [frozenset(bytes(need).translate(_SHAPE)) for need in each]) for place, each in needs if each]

    def _found_in_passes(self, encoded: bytes) -> set[int]:
        found = set(self._letters.Match(encoded, potential=True) or ())
        is_short, is_long = len(encoded) <= LONGEST_OF_SIGNS, len(encoded) > LONG
        if is_short:
            found -= self._idle_for(encoded)
        for grouped, places, group in (*(self._parts if is_long else ()), *self._groups):
            # In a long text one alone looks for itself.
            if len(found & grouped) > (not is_short):
                found -= grouped.difference(places[index] for index in _matches(group, encoded, len(places)))
        return found

    def _idle_for(self, encoded: bytes) -> frozenset[int]:
        """Give the places of prefilters that need a sign which an ASCII text has not."""
        signs = frozenset(encoded.translate(_SHAPE))
        if (idle := self._idle.get(signs)) is None:
            if len(self._idle) >= MOST_KNOWN:
                self._idle.clear()
            idle = frozenset(place for place, needs in self._signs if any(need.isdisjoint(signs) for need in needs))
            self._idle[signs] = idle
        return idle


def _joined(patterns: Iterable[str]) -> Any:
    """Compile patterns into one automaton."""
    options = uncaptured()
    options.max_mem = MEMORY
    automaton = re2.Set.SearchSet(options)
    for pattern in patterns:
        automaton.Add(f"{_LINE_BY_LINE}{pattern}".encode())
    automaton.Add(_EVERYTHING)
    automaton.Compile()
    return automaton


def _texts_that_match(prefilter: str, joined: bytes, ends: list[int]) -> Iterator[int]:
    """Give the numbers of the joined texts in which a prefilter may match, of all in which it matches by themselves."""
    search = compiled(f"{_LINE_BY_LINE}{prefilter}", captures=False).search
    begin = 0
    # The first match begins in or before the first text that has one of its own.
    while begin < len(joined) and (match := search(joined, begin)):
        number = bisect_right(ends, match.start())
        if number == len(ends):
            return
        yield number
        begin = ends[number] + len(APART)


def _matches(automaton: Any, text: bytes, finders: int) -> Iterable[int]:
    """List the positions of the finders whose prefilter matches."""
    found: list[int] = automaton.Match(text)
    if not found:  # any text matches at least the last pattern: without it the automaton ran out of memory
        return range(finders) if text else ()
    return sorted(found)[:-1] if len(found) > 1 else ()
