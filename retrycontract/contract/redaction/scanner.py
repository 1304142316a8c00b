"""Find every secret in a text: by its own form, by what stands around it, in blocks, and what is merely random."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import re2

from retrycontract.contract.redaction import assignments, file_forms, neighbours, program_text, surroundings
from retrycontract.contract.redaction.credentials import CREDENTIALS, PERSONAL_DATA
from retrycontract.contract.redaction.detectors import (
    Allowance,
    Finder,
    Head,
    SecretSpan,
    Sieve,
    TooDenseError,
    loosened,
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
from retrycontract.contract.redaction.scan_copies import ESCAPE, ascii_copy, decoded_copy, folded_copy

_BEGIN = Head(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|---- BEGIN SSH2 [A-Z ]{0,30}PRIVATE KEY ----")
_PUTTY = Head(r"Private-Lines: \d+\s+([A-Za-z0-9+/=\s]+)Private-MAC")
_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n\t \\"
_K8S_SECRET = re2.compile(r"(?mi)^\s*[\"']?kind[\"']?:\s*[\"']?(?:sealed|sops)?secret[\"']?\s*,?\s*$")
_K8S_DATA = re2.compile(r"^([ \t]*)[\"']?(?:data|stringData)[\"']?:\s*$")
_K8S_VALUE = re2.compile(
    r"^\s+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?([^\s\"'|>{\[#][^\"'#]*?)[\"']?\s*$|^\s+([A-Za-z0-9+/=]{8,})\s*$"
)


def find_private_keys(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find private keys in PEM and PuTTY form, whole; a block without its end reaches as far as its body does."""
    close = taken = 0
    for find in _BEGIN.telling(text, allowance):
        begin, after = find.span(0)
        if begin < taken:
            continue
        # Once no further end is found none is sought again: each heading would search all of the rest.
        if 0 <= close < after:
            close = text.find("-----END", after)
        if close >= 0:
            tail = text.find("-----", close + 8, close + 60)
            taken = tail + 5 if tail >= 0 else close + 8
        else:
            following = text.find("-----BEGIN", after)
            body = text[after : following if following >= 0 else None]
            taken = after + len(body) - len(body.lstrip(_BODY))
        yield SecretSpan(begin, taken, "PRIVATE_KEY")
    for find in _PUTTY.telling(text, allowance):
        yield SecretSpan(*find.span(1), "PRIVATE_KEY")


def find_manifest_values(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the values below `data:` of a Kubernetes Secret, which are encoded, not encrypted."""
    if not _K8S_SECRET.search(text):
        return
    position, outer = 0, -1
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= outer:
            outer = -1
        if heading := _K8S_DATA.match(line) if "ata" in line else None:
            outer = len(heading.group(1))
        elif outer >= 0 and (value := _K8S_VALUE.match(line)):
            allowance.spend(position)
            group = 1 if value.group(1) else 2
            yield SecretSpan(position + value.start(group), position + value.end(group), "SECRET")
        position += len(line)


PRIVATE_KEYS = Finder(loosened(f"{_BEGIN.pattern}|{_PUTTY.pattern}"), find_private_keys)
MANIFESTS = Finder(_K8S_SECRET.pattern, find_manifest_values)


# Nothing shorter is a secret that shows by its value: the shortest, `pwd=abc`, has seven characters.
SHORTEST = 7
# Nor is a shorter word merely random, or base64 that hides a secret.
LONG_WORD = "[A-Za-z0-9_+/=-]{20}"
# A flag among the words of a list, quoted or in lines of YAML: what it tells of is the same or the next word.
LISTED_FLAG = r"[\"']\s*,\s*[\"']-|[\"']-[\w-]*[\"']\s*,\s*[\"']|\n[ \t]*-[ \t]+[\"']?-[\w-]"
# Redacting may join or lay bare what the next look finds; in practice the second look finds nothing.
MOST_LOOKS = 4
# JSON in a string of JSON in a URL: escapes are decoded so often.
MOST_DECODED = 2

# A list of more words than these, or a longer word in it, is no command line.
MOST_ARGUMENTS = 1000
LONGEST_WORD = 4096
_SETTINGS = (finder for finder in assignments.FINDERS if finder.find is assignments.find_settings)
COMMAND_LINES = Sieve((*program_text.COMMAND_FINDERS, *_SETTINGS))

_QUOTED = r"\"[^\"\\\n]*\"|'[^'\\\n]*'"
_LIST = Head(rf"(?:{_QUOTED})(?:\s*,\s*(?:{_QUOTED}))+")
_QUOTED_WORD = re.compile(r"[\"']([^\"'\n]*)[\"']")
_LINES = Head(r"(?m)(?:^[ \t]*-[ \t]+\S[^\n]*\n?){2,}")
_WORD_OF_LINE = re.compile(r"(?m)^[ \t]*-[ \t]+[\"']?([^\n\"']*)")

CONTEXT = (
    *assignments.FINDERS,
    *neighbours.FINDERS,
    *file_forms.FINDERS,
    *surroundings.FINDERS,
    *program_text.COMMAND_FINDERS,
    *program_text.FINDERS,
    MANIFESTS,
)


class Scanner:
    """Redact texts; a strict one redacts personal data and whatever looks random, too."""

    __slots__ = ("_everything", "_identifiers", "_inside", "_values", "strict")

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        detectors = (*CREDENTIALS, *PERSONAL_DATA) if strict else CREDENTIALS
        tokens = find_any_random_tokens if strict else find_random_tokens
        values = (PRIVATE_KEYS, *(Finder.of(detector, detector.find) for detector in detectors))
        inside = (*values, *CONTEXT, Finder(LISTED_FLAG, find_listed_words), Finder(LONG_WORD, find_aws_secrets))
        # Where an identifier or a digest is expected, what is merely random stays.
        named = (*inside, Finder(ESCAPE, self._find_decoded), Finder(LONG_WORD, self._find_hidden))
        self._values, self._inside, self._identifiers = Sieve(values), Sieve(inside), Sieve(named)
        self._everything = Sieve((*named, Finder(LONG_WORD, tokens)))

    def redact(self, text: str, *, generic: bool = True) -> str:
        """Replace every secret in the text by its mark; `generic=False` lets merely random tokens stand."""
        if len(text) < SHORTEST:
            return text
        sieve = self._everything if generic or self.strict else self._identifiers
        for _ in range(MOST_LOOKS):
            if MARK not in text:
                redacted = _redact_stretch(sieve, text)
            else:
                pieces: list[str] = []
                position = 0
                # Only between the marks: the words of a mark, such as API_KEY, read like the name of a secret.
                for match in MARK_PATTERN.finditer(text):
                    start, end = match.span()
                    pieces += (_redact_stretch(sieve, text[position:start]), text[start:end])
                    position = end
                pieces.append(_redact_stretch(sieve, text[position:]))
                redacted = "".join(pieces)
            if redacted == text:
                return text
            text = redacted
        return text

    def whole_mark(self, text: str) -> str | None:
        """Give the kind of secret that fills the whole text, or None."""
        folded = ascii_copy(text)
        whole = len(folded.strip())
        if whole < SHORTEST:
            return None
        return next((span.mark for span in find(self._values, folded) if span.end - span.start >= whole), None)

    def _find_decoded(self, text: str, allowance: Allowance, times: int = MOST_DECODED) -> Iterator[SecretSpan]:
        """Look at the text as it is when its escapes are decoded."""
        decoded = decoded_copy(text) if times else None
        if decoded:
            yield from map(decoded.original, find(self._inside, decoded.text))
            yield from map(decoded.original, self._find_decoded(decoded.text, allowance, times - 1))

    def _find_hidden(self, text: str, _: Allowance) -> Iterator[SecretSpan]:
        """Decode a text that is base64 as a whole, once, and look inside."""
        decoded = decoded_whole(text)
        found = next(find(self._inside, ascii_copy(decoded)), None) if decoded else None
        if found:
            yield SecretSpan(0, len(text), found.mark)


def _redact_stretch(sieve: Sieve, text: str) -> str:
    if len(text) < SHORTEST:
        return text
    copy = folded_copy(text)
    finders = sieve.finders_for(copy.text)
    if not finders:
        return text
    pieces: list[str] = []
    position = 0
    for span in merge(map(copy.original, bounded(finders, copy.text))):
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
        try:
            yield from finder.find(text, Allowance.of(text))
        except TooDenseError as dense:
            yield SecretSpan(dense.position, end, "SECRET")
            # From that place on all is taken, so that nothing is left there for the other finders.
            text, end = text[: dense.position], dense.position


def redacted_words(words: Sequence[Any], before: str = "") -> dict[int, str]:
    """Read a list as a command line, behind the program `before`; give the words that it tells are secret, redacted."""
    told = _told_words(words, before)
    return {index: f"{words[index][:start]}{MARK}{mark}]" for index, (start, mark) in told.items()}


def _told_words(words: Sequence[Any], before: str = "") -> dict[int, tuple[int, str]]:
    """Give of each word that is secret where the secret begins in it, and its kind."""
    parts = [f"{before} "] if before else [""]
    for word in words[:MOST_ARGUMENTS]:
        is_text = type(word) is str and len(word) <= LONGEST_WORD
        parts.append(f"{program_text.one_word(word, is_first=len(parts) == 1) if is_text else '_'} ")
    line = ascii_copy("".join(parts))
    told: dict[int, tuple[int, str]] = {}
    ends = list(accumulate(map(len, parts)))
    for span in find(COMMAND_LINES, line):
        index = bisect_right(ends, span.start) - 1
        # The word is the secret to its end, whatever a shell would make of the characters in it.
        if index >= 0 and index not in told and type(words[index]) is str:
            told[index] = span.start - ends[index], span.mark
    return told


def find_listed_words(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what lists of words tell that are written in code, in broken JSON or in YAML."""
    for pattern, word in ((_LIST, _QUOTED_WORD), (_LINES, _WORD_OF_LINE)):
        for listed in pattern.telling(text, allowance):
            begin, lines = listed.span(0)[0], listed[0]
            spans = [(begin + found.start(1), begin + found.end(1)) for found in word.finditer(lines)]
            words = [text[start:end] for start, end in spans]
            told = _told_words(words)
            for index, (before, value) in enumerate(pairwise(words), 1):
                is_pair = before.startswith("-") and not value.startswith("-") and value.strip()
                if is_pair and (named := judge(before).mark) and not Literal.whole(value).is_placeholder:
                    told.setdefault(index, (0, named))
            for index, (offset, mark) in told.items():
                # Help texts of options stand where their values would, and have blanks.
                if " " not in words[index]:
                    yield SecretSpan(spans[index][0] + offset, spans[index][1], mark)


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
