"""Find every secret in a text: by its own form, by what stands around it, in blocks, and what is merely random."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice, pairwise
from typing import Any

from retrycontract.contract.redaction import (
    assignments,
    commands,
    file_forms,
    known_calls,
    neighbours,
    pairs,
    places,
    program_text,
    sentences,
    surroundings,
    tables,
)
from retrycontract.contract.redaction.blocks import MANIFESTS, PRIVATE_KEYS, without_public_blocks
from retrycontract.contract.redaction.credentials import CREDENTIALS, PERSONAL_DATA
from retrycontract.contract.redaction.detectors import (
    MOST_JUDGED,
    Allowance,
    Finder,
    Head,
    SecretSpan,
    TooDenseError,
)
from retrycontract.contract.redaction.field_names import judge
from retrycontract.contract.redaction.foreign import MARK, MARK_PATTERN
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.randomness import (
    decoded_whole,
    find_any_random_tokens,
    find_aws_secrets,
    find_random_tokens,
)
from retrycontract.contract.redaction.scan_copies import (
    ANY,
    APART,
    ESCAPE,
    FOREIGN,
    LONG,
    REACH,
    Surroundings,
    ascii_copy,
    decoded_copy,
    folded_copy,
    near_escapes,
    undone_pattern,
)
from retrycontract.contract.redaction.sieve import Sieve

# Nothing shorter is a secret that shows by its value: the shortest, `pwd=abc`, has seven characters.
SHORTEST = 7
# Nor is a shorter word merely random, or base64 that hides a secret.
LONG_WORD = "[A-Za-z0-9_+/=-]{20}"
# A flag among the words of a list, quoted or in lines of YAML, tells of itself or the next word; and what needs none.
LISTED_COMMAND = (
    r"[\"']\s*,\s*[\"']-|[\"']-[\w-]*[\"']\s*,\s*[\"']|\n[ \t]*-[ \t]+[\"']?-[\w-]"
    rf"|[\"'](?:[\w./\\-]*[/\\])?{commands.WITHOUT_FLAG}(?:\.exe)?[\"']\s*,\s*[\"']"
)
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

# A list of more words than these, or a longer word in it, is no command line.
MOST_ARGUMENTS, LONGEST_WORD = 1000, 4096
# So many are read in one go, so that the patterns are asked once for all of them.
TOGETHER = 50
COMMAND_LINES = Sieve((*commands.COMMAND_FINDERS, pairs.SETTINGS))

_DATA_URL = Head(r"(?i)\bdata:[\w.+/;=-]*;base64,([A-Za-z0-9+/_-]{20,}={0,2})")
_QUOTED = r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
_LISTED = rf"(?:{_QUOTED})(?:\s*,\s*(?:{_QUOTED}))+"
_LIST = Head(_LISTED, common=_LISTED)
_QUOTED_WORD = re.compile(r"[\"']([^\"'\n]*)[\"']")
_FLAG = re.compile(r"(?:[\"']|-[ \t]+[\"']?)-[\w-]")
_LINES = Head(r"(?m)(?:^[ \t]*-[ \t]+\S[^\n]*\n?){2,}")
_WORD_OF_LINE = re.compile(r"(?m)^[ \t]*-[ \t]+[\"']?([^\n\"']*)")

_READERS = (assignments, pairs, neighbours, sentences, file_forms, surroundings, program_text, known_calls, places,
            tables)  # fmt: skip
CONTEXT = (*(finder for each in _READERS for finder in each.FINDERS), *commands.COMMAND_FINDERS, MANIFESTS)


class Scanner:
    """Redact texts; a strict one redacts personal data and whatever looks random, too."""

    __slots__ = ("_harmless", "_inside", "_named", "_sieve", "_values", "strict")

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        detectors = (*CREDENTIALS, *PERSONAL_DATA) if strict else CREDENTIALS
        tokens = find_any_random_tokens if strict else find_random_tokens
        values = (PRIVATE_KEYS, *(Finder.of(detector, detector.find) for detector in detectors))
        inside = (*values, *CONTEXT, Finder(LISTED_COMMAND, find_listed_words), Finder(LONG_WORD, find_aws_secrets))
        # Where an identifier or a digest is expected, what is merely random stays.
        hidden = (Finder(LONG_WORD, self._find_hidden), Finder.of(_DATA_URL, self._find_in_data_urls))
        named = (*inside, Finder(ESCAPE, self._find_decoded), *hidden)
        self._sieve = Sieve((*named, Finder(LONG_WORD, tokens)))
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

    def redact(self, text: str, *, generic: bool = True, places: list[int] | None = None) -> str:
        """Replace every secret in the text by its mark; `generic=False` lets merely random tokens stand.

        `places` is what `places_of` says of the text, where it was asked.
        """
        if len(text) < SHORTEST or text in self._harmless:
            return text
        most = None if generic or self.strict else self._named
        if MARK in text:
            redacted = self._look_between(most, text, whole=True)
        else:
            redacted = text if places == [] else self._redacted(most, text, places)
        if most is None and redacted == text and len(text) <= LONGEST_KNOWN:
            if len(self._harmless) >= MOST_KNOWN:
                self._harmless.clear()
            self._harmless.add(text)
        for _ in range(MOST_LOOKS - 1):
            if redacted == text:
                break
            text, redacted = redacted, self._look_between(most, redacted, whole=len(redacted) <= LONG)
        return redacted

    def _look_between(self, most: int | None, text: str, *, whole: bool) -> str:
        """Redact what stands between the marks: the words of one, such as API_KEY, read like the name of a secret.

        All stretches are looked at in one go, `whole` or, where only their ends have changed, near these. What reaches
        over a mark, as an open quote makes it, or is found near the ends of a long stretch is looked at by itself.
        """
        marks = [match.span() for match in MARK_PATTERN.finditer(text)]
        pieces = [text[start:end] for start, end in list(pairwise([0, *chain.from_iterable(marks), len(text)]))[::2]]
        near = [
            f"{piece[:REACH]}{APART}{piece[-REACH:]}" if len(piece) > 4 * REACH and not whole
            else piece if len(piece) >= SHORTEST else ""
            for piece in pieces
        ]  # fmt: skip
        ends = list(accumulate(len(piece) + len(APART) for piece in near))
        found, doubtful = dict[int, list[SecretSpan]](), set[int]()
        for start, end, mark in self._spans(most, APART.join(near)):
            first, last = bisect_right(ends, start), min(bisect_right(ends, end - 1), len(near) - 1)
            begin = ends[first] - len(APART) - len(near[first])
            if end <= begin + len(near[first]) and near[first] is pieces[first]:
                found.setdefault(first, []).append(SecretSpan(start - begin, end - begin, mark))
            else:
                doubtful.update(range(first, last + 1))
        for number, spans in found.items():
            if number not in doubtful:
                pieces[number] = _marked(pieces[number], iter(spans))
        left = len(text)
        for looked, number in enumerate(sorted(doubtful)):
            piece = pieces[number]
            if near[number] is not piece:
                if self._redacted(most, near[number]) == near[number]:
                    continue
                if (shortly := self._with_ends_redacted(most, piece)) is not None:
                    pieces[number] = shortly
                    continue
            left -= len(piece)
            if looked < MOST_DOUBTFUL and left >= 0:
                pieces[number] = self._redacted(most, piece)
            elif len(piece) >= SHORTEST:  # nothing has so many of these that was no dump of secrets before
                pieces[number] = f"{MARK}SECRET]"
        between = [text[start:end] for start, end in marks]
        return "".join(chain.from_iterable(zip(pieces, [*between, ""], strict=True))) if found or doubtful else text

    def _with_ends_redacted(self, most: int | None, piece: str) -> str | None:
        """Redact what begins or ends near the ends of a long stretch; None where that is not all by itself."""
        if len(piece) <= 2 * WIDE:
            return None
        first, last = piece[:WIDE], piece[-WIDE:]
        heads = [span for span in self._spans(most, first) if span.start <= REACH]
        tails = [span for span in self._spans(most, last) if span.end >= WIDE - REACH]
        if any(span.end >= WIDE for span in heads) or any(span.start <= 0 for span in tails):
            return None
        return f"{_marked(first, iter(heads))}{piece[WIDE:-WIDE]}{_marked(last, iter(tails))}"

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
        return next((span.mark for span in self._find(folded, self._values) if span.end - span.start >= whole), None)

    def _find_decoded(self, text: str, _: Allowance, times: int = MOST_DECODED) -> Iterator[SecretSpan]:
        """Look at the text as it is when its escapes are decoded."""
        around = near_escapes(text) if len(text) > LONG else None
        found = None
        if around is not None and 2 * len(around.text) < len(text):
            # In most long texts the escapes are few, and few of them hide anything: only there is looked wider.
            hidden = [span[:2] for span in self._decoded(around.text, times)]
            plain = {span[:2] for span in self._find(around.text, self._inside)} if hidden else set()
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
            yield from map(decoded.original, self._find(decoded.text, self._inside))
            if times > 1:
                again = self._find_decoded(decoded.text, Allowance.of(decoded.text), times - 1)
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

    def _redacted(self, most: int | None, text: str, places: list[int] | None = None) -> str:
        return _marked(text, self._spans(most, text, places))

    def _spans(self, most: int | None, text: str, places: list[int] | None = None) -> Iterator[SecretSpan]:
        if len(text) < SHORTEST:
            return iter(())
        copy = folded_copy(text)
        return map(copy.original, self._find(copy.text, most, places))

    def _find(self, text: str, most: int | None, places: list[int] | None = None) -> Iterator[SecretSpan]:
        text = without_public_blocks(text)
        finders = self._sieve.finders_for(text, most) if places is None else self._sieve.at(places, most)
        return bounded(finders, text)


def _marked(text: str, spans: Iterator[SecretSpan]) -> str:
    """Put marks in the place of the spans."""
    pieces: list[str] = []
    position = 0
    for span in merge(spans):
        pieces += (text[position : span.start], f"{MARK}{span.mark}]")
        position = span.end
    return "".join([*pieces, text[position:]]) if pieces else text


def find(sieve: Sieve, text: str) -> Iterator[SecretSpan]:
    """Give the spans of the secrets in an ASCII text, the most specific kinds first; they may overlap."""
    return bounded(sieve.finders_for(text), text)


def bounded(finders: Iterable[Finder], text: str) -> Iterator[SecretSpan]:
    """Let each finder judge what it may; from where one finds too much on, everything is taken for a secret."""
    end = len(text)
    for finder in finders:
        found, rest = list[SecretSpan](), list[SecretSpan]()
        try:
            found.extend(finder.find(text, Allowance.of(text)))  # what comes before an error stays
        except TooDenseError as dense:
            rest = [SecretSpan(dense.position, end, "SECRET")]
            # From that place on all is taken, so that nothing is left there for the other finders.
            text, end = text[: dense.position], dense.position
        yield from chain((span for span in found if span.start < end), rest)


def redacted_words(words: Sequence[Any], before: str = "") -> dict[int, str]:
    """Read a list as a command line, behind the program `before`; give the words that it tells are secret, redacted."""
    (told,) = _told_words([words], before)
    return {index: f"{words[index][:start]}{MARK}{mark}]" for index, (start, mark) in told.items()}


def _told_words(lists: Sequence[Sequence[Any]], before: str = "") -> list[dict[int, tuple[int, str]]]:
    """Give of each word of each list that is secret where the secret begins in it, and its kind."""
    parts, places = list[str](), list[tuple[int, int]]()
    for number, words in enumerate(lists):
        parts.append(f"{before} " if before else APART if number else "")
        places.append((number, -1))
        for index, word in enumerate(words[:MOST_ARGUMENTS]):
            copy = ascii_copy(word) if type(word) is str and len(word) <= LONGEST_WORD else "_"
            parts.append(f"{commands.one_word(copy, is_first=not index)} ")
            places.append((number, index))
    told: list[dict[int, tuple[int, str]]] = [{} for _ in lists]
    begins = list(accumulate(map(len, parts), initial=0))
    for span in find(COMMAND_LINES, "".join(parts)):
        first = last = bisect_right(begins, span.start) - 1
        if span.end == begins[-1]:  # of too many everything is taken, from one of them on
            last = len(places) - 1
        for place in range(first, last + 1):
            number, index = places[place]
            # The word is the secret to its end, whatever a shell would make of the characters in it.
            if index >= 0 and type(word := lists[number][index]) is str:
                start = max(span.start - begins[place], 0) if len(parts[place]) == len(word) + 1 else 0  # else unseen
                told[number].setdefault(index, (start, span.mark))
    return told


def find_listed_words(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what lists of words tell that are written in code, in broken JSON or in YAML."""
    lists = _lists(text, allowance)
    while some := list(islice(lists, TOGETHER)):
        words_of = [[text[start:end] for start, end in spans] for spans in some]
        for spans, words, told in zip(some, words_of, _told_words(words_of), strict=True):
            for index, (before, value) in enumerate(pairwise(words), 1):
                is_pair = before.startswith("-") and not value.startswith("-") and value.strip()
                if is_pair and (named := judge(before).mark) and not Literal.whole(value).is_placeholder:
                    told.setdefault(index, (0, named))
            for index, (offset, mark) in told.items():
                # Help texts of options stand where their values would, and have blanks.
                if " " not in words[index]:
                    yield SecretSpan(spans[index][0] + offset, spans[index][1], mark)


def _lists(text: str, allowance: Allowance) -> Iterator[list[tuple[int, int]]]:
    """Give of each list that may be a command line where its words stand."""
    left = MOST_JUDGED
    for pattern, word in ((_LIST, _QUOTED_WORD), (_LINES, _WORD_OF_LINE)):
        for listed in pattern.each(text):
            begin, lines = listed.span(0)[0], listed[0]
            # Tables are lists as well: many without a flag make no text too dense, they are left alone.
            if _FLAG.search(lines):
                allowance.spend(begin)
            elif (left := left - 1) < 0:
                continue
            yield [(begin + found.start(1), begin + found.end(1)) for found in word.finditer(lines)]


def redacted_tail(text: str, before: str) -> str:
    """Redact a text as the end of the command line that begins with the program `before`."""
    line, start = f"{before} {text}", len(before) + 1
    pieces, position = list[str](), start
    for span in merge(span for span in find(COMMAND_LINES, ascii_copy(line)) if span.start >= start):
        pieces += (line[position : span.start], f"{MARK}{span.mark}]")
        position = span.end
    return "".join([*pieces, line[position:]])


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


BALANCED, STRICT = Scanner(strict=False), Scanner(strict=True)
