"""Find every secret in a text: by its own form, by what stands around it, in blocks, and what is merely random."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from retrycontract.contract.redaction import (
    assignments,
    checks,
    commands,
    consoles,
    file_forms,
    known_calls,
    neighbours,
    pairs,
    places,
    program_text,
    rows,
    sentences,
    surroundings,
    tables,
)
from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.blocks import MANIFESTS, PRIVATE_KEYS, without_public_blocks
from retrycontract.contract.redaction.credentials import CREDENTIALS, PERSONAL_DATA, WORD_LIKE
from retrycontract.contract.redaction.detectors import Finder, Head, bounded, merge
from retrycontract.contract.redaction.echoes import Echoes
from retrycontract.contract.redaction.escapes import APART, ESCAPE, REACH, Surroundings, near_escapes
from retrycontract.contract.redaction.foreign import MARK, MARK_PATTERN
from retrycontract.contract.redaction.listed_words import LISTED_COMMAND, find_listed_words
from retrycontract.contract.redaction.randomness import (
    decoded_whole,
    find_any_random_tokens,
    find_aws_secrets,
    find_random_tokens,
)
from retrycontract.contract.redaction.scan_copies import (
    ANY,
    FOREIGN,
    LONG,
    ascii_copy,
    decoded_copy,
    folded_copy,
    undone_pattern,
)
from retrycontract.contract.redaction.sieve import Sieve

# Nothing shorter is a secret that shows by its value: the shortest, `pwd=abc`, has seven characters.
SHORTEST = 7
# Nor is a shorter word merely random, or base64 that hides a secret.
LONG_WORD = "[A-Za-z0-9_+/=-]{20}"
# A text of up to so many characters in which nothing was found is known again, of so many of these: values repeat.
LONGEST_KNOWN, MOST_KNOWN = 100, 4_000
LONGEST_ASKED, FEW_ASKED = 500, 10  # a longer text, or a few, would gain little from being asked for with others
# Redacting may join or lay bare what the next look finds; in practice the second look finds nothing.
MOST_LOOKS = 4
# Stretches between marks that are looked at by themselves: behind these each that would be goes as a whole.
MOST_DOUBTFUL = 100
# Characters on either side of an escape that hides something: what is one find does not reach further.
WIDE = 10 * REACH
# JSON in a string of JSON in a URL: escapes are decoded so often.
MOST_DECODED = 2

_DATA_URL = Head(r"(?i)\bdata:[\w.+/;=-]*;base64,([A-Za-z0-9+/_-]{20,}={0,2})")
_READERS = (assignments, pairs, neighbours, sentences, file_forms, surroundings, program_text, known_calls, places,
            tables, rows, checks, consoles)  # fmt: skip
CONTEXT = (*(finder for each in _READERS for finder in each.FINDERS), *commands.COMMAND_FINDERS, MANIFESTS)

# By scanner, text, and what was asked of it: what was found in the texts of one check, whose places are looked at from
# several sides.
_Remembered: TypeAlias = "dict[tuple[Scanner, str, str], Any] | None"
_REMEMBERED: ContextVar[_Remembered] = ContextVar("remembered", default=None)
_Told = TypeVar("_Told")


@contextmanager
def remembering() -> Iterator[None]:
    """Search no text twice while the block runs; what was seen is forgotten at its end: it may hold secrets."""
    if _REMEMBERED.get() is not None:
        yield
        return
    token = _REMEMBERED.set({})
    try:
        yield
    finally:
        _REMEMBERED.reset(token)


class _Scope(NamedTuple):
    """Say for one text which finders look, the first so many or all of them, and where what they find is kept."""

    most: int | None
    echoes: Echoes


class Scanner:
    """Redact texts; a strict one redacts personal data and whatever looks random, too."""

    __slots__ = ("_harmless", "_inside", "_named", "_sieve", "_values", "strict")

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        detectors = (*CREDENTIALS, *PERSONAL_DATA) if strict else CREDENTIALS
        tokens = find_any_random_tokens if strict else find_random_tokens
        values = (
            PRIVATE_KEYS,
            *(Finder.of(detector, detector.find, is_usual=detector is WORD_LIKE) for detector in detectors),
        )
        words = partial(Finder, LONG_WORD, is_usual=True)
        inside = (*values, *CONTEXT, Finder(LISTED_COMMAND, find_listed_words), words(find_aws_secrets))
        # Where an identifier or a digest is expected, what is merely random stays.
        hidden = (words(self._find_hidden), Finder.of(_DATA_URL, self._find_in_data_urls))
        named = (*inside, Finder(ESCAPE, self._find_decoded, is_usual=True), *hidden)
        self._sieve = Sieve((*named, words(tokens)))
        self._values, self._inside, self._named = len(values), len(inside), len(named)
        self._harmless = set[str]()

    def places_of(self, texts: Iterable[str]) -> dict[str, list[int]]:
        """Ask for many texts at once what has to look closer at each, which `redact` then need not ask; see `Sieve`."""
        asked = [
            text for text in dict.fromkeys(texts)
            if SHORTEST <= len(text) <= LONGEST_ASKED and text not in self._harmless and MARK not in text
        ]  # fmt: skip
        if len(asked) < FEW_ASKED:
            return {}
        copies = [without_public_blocks(folded_copy(text).text) for text in asked]
        return dict(zip(asked, self._sieve.places_for_each(copies), strict=True))

    def redact(
        self, text: str, *, generic: bool = True, places: list[int] | None = None, echoes: Echoes | None = None
    ) -> str:
        """Replace every secret in the text by its mark; `generic=False` lets merely random tokens stand.

        `places` is what `places_of` says of the text, where it was asked; `echoes` gets what was found.
        """
        if len(text) < SHORTEST or text in self._harmless or places == []:
            return text
        remembered, key = _REMEMBERED.get(), (self, text, "generic" if generic else "named")
        if remembered is None or (known := remembered.get(key)) is None:
            found = Echoes()
            known = self._search(text, generic=generic, places=places, echoes=found), found
            # Short ones in which nothing was found are known to be harmless.
            if remembered is not None and (len(text) > LONGEST_KNOWN or known[0] != text):
                remembered[key] = known
        redacted, found = known
        if echoes is not None:
            echoes.update(found)
        return redacted

    def redact_again(self, texts: Collection[str]) -> dict[str, str]:
        """Redact texts with marks, by what stands beside these: in most that tells nothing."""
        pieces = {text: MARK_PATTERN.split(text) for text in texts}
        distinct = dict.fromkeys(chain.from_iterable(pieces.values()))
        places = self.places_of(distinct)
        clean = {piece for piece in distinct if self.redact(piece, places=places.get(piece)) == piece}
        return {text: text if clean.issuperset(beside) else self.redact(text) for text, beside in pieces.items()}

    def _search(self, text: str, *, generic: bool, places: list[int] | None, echoes: Echoes) -> str:
        scope = _Scope(None if generic or self.strict else self._named, echoes)
        if MARK in text:
            redacted = self._look_between(scope, text, set(), whole=True)
        else:
            redacted = self._redacted(scope, text, places)
        if scope.most is None and redacted == text and len(text) <= LONGEST_KNOWN:
            if len(self._harmless) >= MOST_KNOWN:
                self._harmless.clear()
            self._harmless.add(text)
        clean = set[str]()
        for _ in range(MOST_LOOKS - 1):
            if redacted == text:
                break
            redacted = echoes.hidden_in(redacted)
            text, redacted = redacted, self._look_between(scope, redacted, clean, whole=len(redacted) <= LONG)
        return redacted

    def _look_between(self, scope: _Scope, text: str, clean: set[str], *, whole: bool) -> str:
        """Redact what stands between the marks: the words of one, such as API_KEY, read like the name of a secret.

        Stretches are looked at `whole` or, where only their ends have changed, near these; in which nothing was found
        is kept in `clean`, and not looked at again.
        """
        marks = [match.span() for match in MARK_PATTERN.finditer(text)]
        pieces = [text[start:end] for start, end in list(pairwise([0, *chain.from_iterable(marks), len(text)]))[::2]]
        asked, alike = dict[int, str](), dict[str, list[int]]()
        for number, piece in enumerate(pieces):
            if len(piece) > 4 * REACH and not whole:
                near = f"{piece[:REACH]}{APART}{piece[-REACH:]}"
            else:  # the same command comes with ever the same words around its secret
                alike.setdefault(piece, []).append(number)
                near = piece if len(piece) >= SHORTEST and alike[piece][0] == number else ""
            if near and near not in clean:
                asked[number] = near
        redacted = self._redacted_apart(scope, pieces, asked)
        clean.update(near for number, near in asked.items() if redacted.get(number, pieces[number]) == pieces[number])
        for first, *others in alike.values():
            redacted |= dict.fromkeys(others, redacted.get(first, pieces[first]))
        between = [text[start:end] for start, end in marks]
        looked = (redacted.get(number, piece) for number, piece in enumerate(pieces))
        return "".join(chain.from_iterable(zip(looked, [*between, ""], strict=True)))

    def _redacted_apart(self, scope: _Scope, pieces: list[str], asked: dict[int, str]) -> dict[int, str]:
        """Give redacted what holds something of the stretches of which something is asked: all of one, or its ends.

        All are looked at in one go. What reaches over several, as an open quote makes it, or is found near the ends of
        a long stretch is looked at by itself.
        """
        numbers, ends = [*asked], [*accumulate(len(near) + len(APART) for near in asked.values())]
        found, doubtful = dict[int, list[SecretSpan]](), dict[int, None]()
        for start, end, mark in self._spans(scope.most, APART.join(asked.values())):
            first, last = bisect_right(ends, start), min(bisect_right(ends, end - 1), len(ends) - 1)
            number = numbers[first]
            begin = ends[first] - len(APART) - len(asked[number])
            if end <= begin + len(asked[number]) and asked[number] is pieces[number]:
                found.setdefault(number, []).append(SecretSpan(start - begin, end - begin, mark))
            else:
                doubtful |= dict.fromkeys(numbers[first : last + 1])
        redacted = {
            number: _marked(pieces[number], iter(spans), scope.echoes)
            for number, spans in found.items() if number not in doubtful
        }  # fmt: skip
        for looked, number in enumerate(sorted(doubtful)):
            piece, near = pieces[number], asked[number]
            if near is not piece:
                if self._redacted(scope, near) == near:
                    continue
                if (shortly := self._with_ends_redacted(scope, piece)) is not None:
                    redacted[number] = shortly
                    continue
            # Nothing has so many of these that was no dump of secrets before.
            redacted[number] = self._redacted(scope, piece) if looked < MOST_DOUBTFUL else f"{MARK}SECRET]"
        return redacted

    def _with_ends_redacted(self, scope: _Scope, piece: str) -> str | None:
        """Redact what begins or ends near the ends of a long stretch; None where that is not all by itself."""
        if len(piece) <= 2 * WIDE:
            return None
        first, last = piece[:WIDE], piece[-WIDE:]
        heads = [span for span in self._spans(scope.most, first) if span.start <= REACH]
        tails = [span for span in self._spans(scope.most, last) if span.end >= WIDE - REACH]
        if any(span.end >= WIDE for span in heads) or any(span.start <= 0 for span in tails):
            return None
        middle = piece[WIDE:-WIDE]
        return f"{_marked(first, iter(heads), scope.echoes)}{middle}{_marked(last, iter(tails), scope.echoes)}"

    def redact_word(self, text: str) -> str:
        """Redact an identifier or a word of a schema, a pattern also as the text that it stands for."""
        text = self.redact(text, generic=False)
        undone = undone_pattern(MARK_PATTERN.sub(lambda match: ANY * len(match[0]), text))
        if undone is None:
            return text
        spans = self._find(undone.text, self._inside)
        # Where it leaves a choice, as in `ghp_\w{36}`, a pattern holds no secret.
        literal = (span for span in spans if FOREIGN not in undone.text[span.start : span.end])
        return _marked(text, map(undone.original, literal))

    def whole_mark(self, text: str) -> str | None:
        """Give the kind of secret that fills the whole text, or None."""
        folded = ascii_copy(text)
        whole = len(folded.strip())
        if whole < SHORTEST:
            return None
        return self.once(text, "whole", lambda _: self._whole_mark(folded, whole))

    def _whole_mark(self, text: str, whole: int) -> str | None:
        return next((span.mark for span in self._find(text, self._values) if span.end - span.start >= whole), None)

    def once(self, text: str, asked: str, find: Callable[[str], _Told]) -> _Told:
        """Give what is found in a text, which is sought once while `remembering` runs."""
        remembered, key = _REMEMBERED.get(), (self, text, asked)
        if remembered is None:
            return find(text)
        if key not in remembered:
            remembered[key] = find(text)
        found: _Told = remembered[key]
        return found

    def _find_decoded(self, text: str, allowance: Allowance, times: int = MOST_DECODED) -> Iterator[SecretSpan]:
        """Look at the text as it is when its escapes are decoded."""
        around = near_escapes(text) if len(text) > LONG else None
        found: list[SecretSpan] | None = None
        if around is not None:
            # In most long texts few escapes hide what is not found without: only there is looked wider.
            known = merge(iter(allowance.known))
            decoded = (span[:2] for span in self._decoded(around.text, times))
            hidden = [span for span in decoded if not _is_within(known, around.original(*span))]
            if not hidden:
                found = []
            elif 2 * len(around.text) < len(text):
                plain = {span[:2] for span in self._find(around.text, self._inside)}
                places = [around.original(*span) for span in hidden if span not in plain]
                found = self._find_around(text, places, times)
        yield from self._decoded(text, times) if found is None else found

    def _find_around(self, text: str, places: list[tuple[int, int] | None], times: int) -> list[SecretSpan] | None:
        """Decode the text around some places alone; None where that is most of it, or tells of more than a place."""
        if None in places:
            return None
        wide = Surroundings(text, sorted((max(start - WIDE, 0), end + WIDE) for start, end in filter(None, places)))
        if 2 * len(wide.text) > len(text):
            return None
        found = []
        for span in self._decoded(wide.text, times) if places else ():
            place = wide.original(span.start, span.end)
            if place is None:
                return None
            found.append(SecretSpan(*place, span.mark))
        return found

    def _decoded(self, text: str, times: int) -> Iterator[SecretSpan]:
        if decoded := decoded_copy(text):
            found = [*self._find(decoded.text, self._inside)]
            yield from map(decoded.original, found)
            if times > 1:
                again = self._find_decoded(decoded.text, Allowance.of(decoded.text, found), times - 1)
                yield from map(decoded.original, again)

    def _find_hidden(self, text: str, _: Allowance) -> Iterator[SecretSpan]:
        """Decode a text that is base64 as a whole, once, and look inside."""
        if found := self._mark_inside(text):
            yield SecretSpan(0, len(text), found)

    def _find_in_data_urls(self, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
        """Decode what `data:` URLs hold, and look inside."""
        for find in _DATA_URL.telling(text, allowance):
            if found := self._mark_inside(find[1]):
                yield SecretSpan(*find.span(1), found)

    def _mark_inside(self, encoded: str) -> str | None:
        decoded = decoded_whole(encoded)
        return next((span.mark for span in self._find(ascii_copy(decoded), self._inside)), None) if decoded else None

    def _redacted(self, scope: _Scope, text: str, places: list[int] | None = None) -> str:
        return _marked(text, self._spans(scope.most, text, places), scope.echoes)

    def _spans(self, most: int | None, text: str, places: list[int] | None = None) -> Iterator[SecretSpan]:
        if len(text) < SHORTEST:
            return iter(())
        copy = folded_copy(text)
        return map(copy.original, self._find(copy.text, most, places))

    def _find(self, text: str, most: int | None, places: list[int] | None = None) -> Iterator[SecretSpan]:
        text = without_public_blocks(text)
        finders = self._sieve.looks_at(text, most) if places is None else self._sieve.at(places, most)
        return bounded(finders, text)


def _is_within(known: list[SecretSpan], place: tuple[int, int] | None) -> bool:
    """Say whether one of the known, which follow each other, takes all of a place."""
    if place is None or not (before := bisect_right(known, place[0], key=itemgetter(0))):
        return False
    return place[1] <= known[before - 1].end


def _marked(text: str, spans: Iterator[SecretSpan], echoes: Echoes | None = None) -> str:
    """Put marks in the place of the spans."""
    pieces: list[str] = []
    position = 0
    for span in merge(spans):
        pieces += (text[position : span.start], f"{MARK}{span.mark}]")
        position = span.end
        if echoes is not None:
            echoes.add(text[span.start : span.end], span.mark)
    return "".join([*pieces, text[position:]]) if pieces else text


BALANCED, STRICT = Scanner(strict=False), Scanner(strict=True)
