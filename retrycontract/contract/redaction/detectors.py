"""Detectors: a pattern on the bytes of a text, what proves the find, and one pass that says which must look closer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import re2

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan, Stretches, TooDenseError


@cache
def compiled(pattern: str, *, captures: bool = True) -> Any:
    """Compile a pattern for bytes; where its automaton outgrows its memory RE2 takes a slower one, without a word.

    At first use, not at import: all of them together take a third of a second, and a client redacts little.
    """
    return re2.compile(pattern.encode(), _options() if captures else uncaptured())


@cache
def _with_bounds(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode())


def uncaptured() -> Any:
    """Give the options of a pattern that is only asked whether it matches."""
    options = _options()
    options.never_capture = True
    return options


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    # The texts are ASCII: classes such as `[^"]` need no states for characters of several bytes.
    options.encoding = re2.Options.Encoding.LATIN1
    return options


class WholePattern:
    """Say whether whole texts, in ASCII, are of one form."""

    __slots__ = ("_pattern",)

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def fits(self, text: str) -> bool:
        """Say whether all of the text is of the form."""
        return compiled(self._pattern).fullmatch(text.encode()) is not None


@dataclass(slots=True)  # which makes it in half the time that a frozen one takes; texts have tens of thousands
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

    @property
    def told(self) -> str:
        """Give the first group that took part."""
        return next(filter(None, (self[group] for group in range(1, self.match.re.groups + 1))), "")


@dataclass(slots=True)
class MatchPlace:
    """Hold where one match stands; to tell its groups takes most of the time that a match takes."""

    text: str
    written: bytes
    start: int
    end: int
    pattern: str

    def read(self) -> Find:
        """Give the match with its groups."""
        return Find(self.text, compiled(self.pattern).match(self.written, self.start, self.end))


# Behind so many matches Python's own engine goes on where it may: each costs a fifth of what the wrapper of RE2 takes,
# but to look for them takes ten times as long. In a text of so few characters it is quicker from the beginning on.
FEW_MATCHES, FEW_CHARACTERS = 2_000, 200


def _matches_of(pattern: str, common: str | None, written: bytes, stretches: Stretches | None = None) -> Iterator[Any]:
    """Give every match, in some stretches or anywhere.

    `common` is the pattern for Python's own engine, with no repetition that goes back far.
    """
    # Where they are much of a text, so may be the matches.
    if stretches is not None and (common is None or 2 * sum(end - start for start, end in stretches) < len(written)):
        yield from _matches_at(pattern, stretches, written)
        return
    if common is None:
        yield from compiled(pattern).finditer(written)
        return
    if len(written) <= FEW_CHARACTERS:
        yield from _with_bounds(common).finditer(written)
        return
    matches = end = 0
    for match in islice(compiled(pattern).finditer(written), FEW_MATCHES):
        matches, end = matches + 1, match.end()
        yield match
    if matches == FEW_MATCHES:
        yield from _with_bounds(common).finditer(written, end)


def _matches_within(pattern: str, reach: int, written: bytes) -> Iterator[Any]:
    """Give every match, sought within reach where the last one was."""
    search, position, is_near = compiled(pattern).search, 0, False
    while position < len(written):
        match = search(written, position, position + reach) if is_near else None
        # What goes on to the end of the reach may go on behind it.
        if match is None or match.end() >= position + reach:
            match = search(written, position)
        if match is None:
            return
        yield match
        is_near, position = match.end() < position + reach, max(match.end(), position + 1)


def _matches_before(pattern: str, ending: str, written: bytes) -> Iterator[Any]:
    """Give every match, each of which is in one line behind the last ending before its own."""
    done = 0
    for end in _with_bounds(ending).finditer(written):
        begin = max(written.rfind(b"\n", done, end.start()), done)
        if match := compiled(pattern).search(written, begin, end.end()):
            yield match
        done = end.end()


def _matches_at(pattern: str, stretches: Stretches, written: bytes, *, captures: bool = True) -> Iterator[Any]:
    """Give every match, each of which begins and ends in one of the stretches, in the order of the text."""
    search, done = compiled(pattern, captures=captures).search, 0
    for start, end in stretches:
        while match := search(written, max(start, done), end):
            yield match
            done = max(match.end(), match.start() + 1)
            if done >= end:
                break


class Head:
    """Find what a pattern describes; linear in the text, for RE2 does not go back."""

    __slots__ = ("_common", "_ending", "_reach", "pattern")

    def __init__(
        self, pattern: str, *, common: str | None = None, reach: int | None = None, ending: str | None = None
    ) -> None:
        """Take a pattern, and the same for Python's own engine where a text may hold very many matches.

        One of many alternatives that each go on to the end of their line has a `reach`: where one of them matches, RE2
        looks whether another one, which comes before it in the pattern, does so further on, each time to that end.
        One of a line with an `ending`, which begins with a sign that nothing before it holds, is sought before each of
        these alone: for a counter between RE2 takes many states behind whatever may begin a match.
        """
        self.pattern, self._common, self._reach, self._ending = pattern, common, reach, ending

    def first(self, text: str) -> Find | None:
        """Give the first match in an ASCII text."""
        match = compiled(self.pattern).search(text.encode())
        return Find(text, match) if match else None

    def each(self, text: str, allowance: Allowance | None = None) -> Iterator[Find]:
        """Give every match in an ASCII text, however many there are."""
        written = text.encode()
        stretches = allowance.stretches(self.pattern, text) if allowance else None
        if self._reach and len(written) > self._reach and stretches is None:
            matches = _matches_within(self.pattern, self._reach, written)
        elif self._ending and stretches is None:
            matches = _matches_before(self.pattern, self._ending, written)
        else:
            matches = _matches_of(self.pattern, self._common, written, stretches)
        for match in matches:
            yield Find(text, match)

    def all(self, text: str, allowance: Allowance) -> Iterator[Find]:
        """Give every match, most of which lead to nothing; raises TooDenseError for too many."""
        for find in self.each(text, allowance):
            allowance.look(find.span(0)[0])
            yield find

    def places(self, text: str, allowance: Allowance) -> Iterator[MatchPlace]:
        """Give where every match stands, as `all` does, without its groups."""
        written = text.encode()
        stretches = allowance.stretches(self.pattern, text)
        matches = (
            compiled(self.pattern, captures=False).finditer(written)
            if stretches is None
            else _matches_at(self.pattern, stretches, written, captures=False)
        )
        for match in matches:
            start, end = match.span()
            allowance.look(start)
            yield MatchPlace(text, written, start, end, self.pattern)

    def telling(self, text: str, allowance: Allowance) -> Iterator[Find]:
        """Give every match, each of which is to be judged."""
        for find in self.each(text, allowance):
            allowance.spend(find.span(0)[0])
            yield find


@dataclass(frozen=True, slots=True)
class Detector:
    """Find one kind of secret, which `mark` names.

    The pattern's first group, or the whole match where there is none, is the secret; `verify` may reject it.
    The texts are ASCII, so that a pattern can run on their bytes and its positions are those of the text.
    """

    mark: str
    pattern: str
    verify: Callable[[str], bool] | None = None
    # Each line may hold a match, as in a table of numbers; no repetition of the pattern is without a bound.
    is_common: bool = False
    is_other: Callable[[str, int, int], bool] | None = None  # by what stands around it in the text

    def find(self, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
        """Give the spans of the credentials in the text."""
        group = 1 if compiled(self.pattern).groups else 0
        common, stretches = self.pattern if self.is_common else None, allowance.stretches(self.pattern, text)
        for match in _matches_of(self.pattern, common, text.encode(), stretches):
            start, end = match.span(group)
            is_verified = self.verify is None or self.verify(text[start:end])
            if is_verified and not (self.is_other and self.is_other(text, start, end)):
                allowance.spend(start)
                yield SecretSpan(start, end, self.mark)


def varied(text: str) -> bool:
    """Reject place-holders such as xxxx: fewer than six different characters are no credential."""
    return len(set(text)) >= 6


def mixed(text: str) -> bool:
    """Ask for a digit beside letters, which kebab-case names and words lack."""
    return has_digit(text) and varied(text) and not text.isdigit()


_DIGIT = re.compile("[0-9]")


def has_digit(text: str) -> bool:
    """Say whether a digit is in the text."""
    return _DIGIT.search(text) is not None


def prefixed(mark: str, prefixes: str, body: str, verify: Callable[[str], bool] | None = varied) -> Detector:
    """Describe credentials of a fixed prefix: one of the prefixes (separated by spaces), then the body."""
    return Detector(mark, rf"(?:^|[^A-Za-z0-9])((?:{_any(prefixes)}){body})", verify)


def anywhere(mark: str, prefixes: str, body: str) -> Detector:
    """Describe credentials whose prefix is so rare that it may follow a letter, as behind an escape."""
    return Detector(mark, rf"(?:{_any(prefixes)}){body}", varied)


def _any(prefixes: str) -> str:
    return "|".join(map(re2.escape, prefixes.split()))


# A repetition that must come at least so often is asked for no more often than this. Long counters multiply the states
# of the joined automaton until its memory is full; the sieve may let through what a finder then rejects.
MOST_COUNTED = 6
_COUNTER = re.compile(r"\{(\d+)(,?)(\d*)\}")
_NEEDLESS = re.compile(r"\A(\(\?[im]+\))?\((?:\(\?:(?:[^()]|\([^()]*\))*\)\?|\[[^\]]*\]\*)+")


def loosened(pattern: str) -> str:
    """Give a pattern that matches in whatever text the given one does, with fewer states.

    Long counters go, and what the first group may begin with and need not.
    """
    return _COUNTER.sub(_loosened_counter, _NEEDLESS.sub(r"\1(", pattern))


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
    pattern: str | None = None  # what it seeks first of all, where that is what the prefilter is made of
    is_usual: bool = False  # ordinary texts hold many matches

    @classmethod
    def of(
        cls,
        source: Detector | Head,
        find: Callable[[str, Allowance], Iterator[SecretSpan]],
        *,
        is_usual: bool = False,
    ) -> Finder:
        """Take the prefilter from a detector or a head."""
        return cls(loosened(source.pattern), find, source.pattern, is_usual)


class Look(NamedTuple):
    """Pair a finder with where in a text it has to look; None: everywhere."""

    finder: Finder
    stretches: Stretches | None = None


def bounded(looks: Iterable[Look], text: str) -> Iterator[SecretSpan]:
    """Let each finder judge what it may; from where one finds too much on, everything is taken for a secret."""
    end, known = len(text), list[SecretSpan]()
    for finder, stretches in looks:
        found, rest, allowance = list[SecretSpan](), list[SecretSpan](), Allowance.of(text, known)
        if stretches is not None and finder.pattern:
            allowance.places = finder.pattern, text, stretches
        try:
            found.extend(finder.find(text, allowance))  # what comes before an error stays
        except TooDenseError as dense:
            rest = [SecretSpan(dense.position, end, "SECRET")]
            # From that place on all is taken, so that nothing is left there for the other finders.
            text, end = text[: dense.position], dense.position
        told = [*(span for span in found if span.start < end), *rest]
        known += told
        yield from told


def merge(spans: Iterator[SecretSpan]) -> list[SecretSpan]:
    """Join overlapping spans; the one given first names the kind."""
    ranked = sorted((span.start, span.end, rank, span.mark) for rank, span in enumerate(spans) if span.end > span.start)
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, mark in ranked:
        if merged and start < merged[-1][1]:
            first, last, best, name = merged[-1]
            merged[-1] = (first, max(last, end), *min((best, name), (rank, mark)))
        else:
            merged.append((start, end, rank, mark))
    return [SecretSpan(start, end, mark) for start, end, _, mark in merged]
