"""Choose what has to look closer at a text: of hundreds of patterns most need something that it has not."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from string import ascii_letters, digits
from typing import Any

import re2

from retrycontract.contract.forking import renew_lazy_parts
from retrycontract.contract.redaction.allowance import Stretches
from retrycontract.contract.redaction.detectors import Finder, Look, compiled, loosened, uncaptured
from retrycontract.contract.redaction.escapes import APART
from retrycontract.contract.redaction.field_names import NAME_WORDS
from retrycontract.contract.redaction.reach import ends_crossed
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
SIZES = {
    "counting": (6, 500), "named": (4, 2_500), "common": (16, 4_000), "rare": (32, 3_000),
    "rare and named": (32, 3_000),
}  # fmt: skip
# In a long text most match at few places, each within few lines: there alone those are then asked, and look, that do.
# An automaton that tells where any of several matches first has fewer states than one that tells which of them match.
LOCATED = {
    "counting": (6, 500), "named": (6, 6_000), "common": (18, 6_000), "rare": (48, 4_500),
    "rare and named": (12, 12_000),
}  # fmt: skip
MOST_PLACES = 400  # of a text in which those of a group may match: behind more they look everywhere
MEMORY = 32 << 20  # bytes that the states of one automaton may take
_PAIRS = "".join(first + second for first in map(chr, range(9, 127)) for second in map(chr, range(9, 127))).encode()
_EVERYTHING = rb"\A(?s:.)"
# Many short texts are asked for at once, as one text of so many characters. There each begins and ends a line, so that
# this goes before each prefilter.
TOGETHER = 10_000
_LINE_BY_LINE = "(?m)"


@dataclass(eq=False)
class _Group:
    """Hold prefilters that are asked for in one pass."""

    places: list[int]
    prefilters: list[str]
    members: frozenset[int]

    @classmethod
    def of(cls, places: list[int], prefilters: list[str]) -> _Group:
        return cls(places, prefilters, frozenset(places))

    @cached_property
    def automaton(self) -> Any:
        return _joined(self.prefilters)

    @cached_property
    def _either(self) -> Any:
        options = uncaptured()
        options.max_mem = MEMORY
        return re2.compile("|".join(f"(?:{each})" for each in self.prefilters).encode(), options)

    @cached_property
    def _ends(self) -> int | None:
        """Say how many ends of lines a match of any of them may hold at most; None: however many."""
        ends = [ends_crossed(each) for each in self.prefilters]
        return None if None in ends else max(filter(None, ends), default=0)

    def matching(self, text: bytes) -> Iterator[int]:
        """Give the places of those that match."""
        return (self.places[index] for index in _matches(self.automaton, text, len(self.places)))

    def placed(self, text: bytes) -> tuple[Iterator[int], Stretches | None]:
        """Give the places of those that match, and the lines of the text in which they do, unless these are many."""
        stretches = None if self._ends is None else self._stretches(text, self._ends)
        if not stretches:
            return iter(()) if stretches is not None else self.matching(text), stretches
        return self.matching(b"\n".join(text[start:end] for start, end in stretches)), stretches

    def _stretches(self, text: bytes, ends: int) -> Stretches | None:
        """Give stretches of whole lines in which every match of each begins and ends."""
        stretches, end = list[tuple[int, int]](), 0
        for _ in range(MOST_PLACES + 1):
            match = self._either.search(text, end)
            if match is None:
                return stretches
            first, last = match.span()
            # Whatever else begins up to here is looked for as well, so that no more of these lines need be read.
            end = _end_of_lines(text, last, ends)
            last = _end_of_lines(text, end, ends)
            if stretches and first <= stretches[-1][1]:
                stretches[-1] = stretches[-1][0], last
            else:
                stretches.append((text.rfind(b"\n", stretches[-1][1] if stretches else 0, first) + 1, last))
        return None


class Sieve:
    """Choose finders for a text; its automata are made when the first text comes that needs them."""

    def __init__(self, finders: Iterable[Finder]) -> None:
        self._finders = tuple(finders)
        self._known = dict[int, int]()
        self._idle = dict[frozenset[int], frozenset[int]]()

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
    def _groups(self) -> list[_Group]:
        """Join prefilters by their length: those that count, those of which the letters say little, and the others."""
        return self._joined_alike(range(len(self._finders)), SIZES)

    @cached_property
    def _located(self) -> list[_Group]:
        """Join those that match within few lines, of which ordinary texts hold few."""
        located = [
            place for place, finder in enumerate(self._finders)
            if not finder.is_usual and ends_crossed(finder.prefilter) is not None
        ]  # fmt: skip
        return self._joined_alike(located, LOCATED)

    @cached_property
    def _others(self) -> list[_Group]:
        located = frozenset[int]().union(*(group.members for group in self._located))
        others = [
            place for place, finder in enumerate(self._finders) if place not in located and not finder.is_usual
        ]  # fmt: skip
        return self._joined_alike(others, SIZES)

    def _joined_alike(self, places: Iterable[int], sizes: dict[str, tuple[int, int]]) -> list[_Group]:
        prefilters, common = [finder.prefilter for finder in self._finders], self._any_letters
        kinds, lengths = dict[int, str](), dict[int, int]()
        for place in places:
            each = prefilters[place]
            is_named, is_rare = NAME_WORDS in each, place not in common
            kinds[place] = (
                "counting" if loosened(each) != each else
                "rare and named" if is_rare and is_named else "rare" if is_rare else "named" if is_named else "common"
            )  # fmt: skip
            # Where rare letters are needed besides, all that ask for a name share the states of their names.
            lengths[place] = len(each.replace(NAME_WORDS, "") if is_rare else each)
        groups: list[list[int]] = []
        room, last = 0, ""
        for place in sorted(kinds, key=lambda place: (kinds[place], lengths[place])):
            most, characters = sizes[kinds[place]]
            if kinds[place] != last or lengths[place] > room or len(groups[-1]) == most:
                groups.append([])
                room, last = characters, kinds[place]
            groups[-1].append(place)
            room -= lengths[place]
        return [_Group.of(places, [prefilters[place] for place in places]) for places in groups]

    def looks_at(self, text: str, most: int | None = None) -> list[Look]:
        """Give the finders, of the first so many, that an ASCII text may hold something for, in their order."""
        encoded = text.encode()
        if len(encoded) > LONGEST_OF_SIGNS:
            found = self._found_in_lines(encoded)
            return [Look(self._finders[at], found[at]) for at in sorted(found) if most is None or at < most]
        at_once = self._found_at_once(encoded) if len(encoded) <= SHORT else None
        return self.at(sorted(self._found_in_passes(encoded) if at_once is None else at_once), most)

    def at(self, places: Iterable[int], most: int | None = None) -> list[Look]:
        """Give the finders at some places, of the first so many."""
        return [Look(self._finders[place]) for place in places if most is None or place < most]

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
        common = [place for group in self._groups if group.members & self._any_letters for place in group.places]
        needs = ((place, needed_signs(self._finders[place].prefilter)) for place in common)
        return [(place, [frozenset(bytes(need).translate(_SHAPE)) for need in each]) for place, each in needs if each]

    def _found_in_passes(self, encoded: bytes) -> set[int]:
        found = set(self._letters.Match(encoded, potential=True) or ())
        is_short = len(encoded) <= LONGEST_OF_SIGNS
        if is_short:
            found -= self._idle_for(encoded)
        for group in self._groups:
            # In a long text one alone looks for itself.
            if len(found & group.members) > (not is_short):
                found -= group.members.difference(group.matching(encoded))
        return found

    def _found_in_lines(self, encoded: bytes) -> dict[int, Stretches | None]:
        """Give what a long text may hold something for, and where; one alone looks for itself."""
        found: dict[int, Stretches | None] = dict.fromkeys(self._letters.Match(encoded, potential=True) or ())
        for group in (*self._located, *self._others):
            asked = found.keys() & group.members
            if len(asked) < 2:
                continue
            matching, stretches = group.placed(encoded)
            for place in asked:
                del found[place]
            found |= dict.fromkeys(asked.intersection(matching), stretches)
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


renew_lazy_parts(_Group, Sieve)
_BEHIND_BLANKS = re.compile(rb"\S|\Z")


def _end_of_lines(text: bytes, at: int, ends: int) -> int:
    """Give where a line ends: that of a place, or the one so many ends of lines behind it, blank lines not counted."""
    for _ in range(ends):
        if (end := text.find(b"\n", at)) < 0:
            return len(text)
        at = found.start() if (found := _BEHIND_BLANKS.search(text, end)) else len(text)
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


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
