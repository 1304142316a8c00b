"""Find every secret in a text: the table of detectors, the context, blocks, and what is merely random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

import re2

from retrycontract.contract.detection.assignments import HEADS, find_by_context
from retrycontract.contract.detection.detectors import DETECTORS, Span
from retrycontract.contract.detection.literals import word_end
from retrycontract.contract.detection.randomness import decode_base64, is_digest, is_uuid, looks_random

# Nothing shorter is a secret that shows by its value: the shortest, `pwd=abc`, has seven characters.
SHORTEST = 7
# Longer base64 is content, not a credential that hides one.
LONGEST_ENCODED = 65_536
# Generic tokens have 32 to 64 characters; a few vendors go on, files and images go on for much longer.
GENERIC_LENGTHS = range(32, 129)
# Redacting may join or lay bare what the next look finds; in practice the second look finds nothing.
MOST_LOOKS = 4

MARK: Final = "[REDACTED: "
MARK_PATTERN: Final = re2.compile(r"\[REDACTED: [A-Z0-9][A-Z0-9_]{1,30}\]")

_BEGIN = re2.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})-----|---- BEGIN (SSH2 [A-Z ]{0,30}) ----")
_PUTTY = re2.compile(r"Private-Lines: \d+\s+([A-Za-z0-9+/=\s]+)Private-MAC")
_BLOCK_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n\t \\"
_TOKEN = re2.compile(r"[A-Za-z0-9_+/-]{32,}={0,2}")
# Public keys of SSH, and digests that name their algorithm.
_PUBLIC = ("AAAA", "sha256-", "sha384-", "sha512-")
# What stands before a random token that is an address, a file, a digest or data, not a credential.
_ADDRESSES = re2.compile(r"(?:://[^\s\"'<>]*|[/\\.@#]|\.\.\.|sha\d+[-:]|base64,|0x)$")
_K8S_SECRET = re2.compile(r"(?mi)^\s*[\"']?kind[\"']?:\s*[\"']?(?:sealed|sops)?secret[\"']?\s*,?\s*$")
_K8S_DATA = re2.compile(r"^([ \t]*)[\"']?(?:data|stringData)[\"']?:\s*$")
_K8S_VALUE = re2.compile(
    r"^\s+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?([^\s\"'|>{\[#][^\"'#]*?)[\"']?\s*$|^\s+([A-Za-z0-9+/=]{8,})\s*$"
)


def _any_of(patterns: Iterable[str], *, of_bytes: bool = False) -> Any:
    """Join patterns to one that only says where any of them matches: one pass, however many they are."""
    options = re2.Options()
    options.never_capture = True
    options.max_mem = 64 << 20
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re2.compile(joined.encode() if of_bytes else joined, options)


_PUBLISHED = _any_of(detector.pattern for detector in DETECTORS)
# A text in which this finds nothing holds nothing: the one look that most texts get. On bytes it costs half.
_GATE = _any_of(
    (*(detector.pattern for detector in DETECTORS), *HEADS, _BEGIN.pattern, _PUTTY.pattern, _K8S_SECRET.pattern,
     r"[A-Za-z0-9_+/=-]{24}"), of_bytes=True
)  # fmt: skip
_CONTEXT = _any_of(HEADS, of_bytes=True)
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")


def _may_hold(text: str, gate: Any = _GATE) -> bool:
    return gate.search(text.encode("utf-8", "replace")) is not None


def redact_spans(text: str, *, generic: bool = True) -> str:
    """Replace every secret in the text by its mark; `generic=False` lets merely random tokens stand."""
    if len(text) < SHORTEST:
        return text
    scanned = scannable(text)
    for _ in range(MOST_LOOKS):
        redacted = _redact_between_marks(text, scanned, generic=generic)
        if redacted == text:
            return text
        text, scanned = redacted, scannable(redacted)
    return text


def whole_mark(text: str) -> str | None:
    """Give the kind of secret that fills the whole text, or None."""
    if len(text) < SHORTEST or not _may_hold(scanned := scannable(text)):
        return None
    found = next((span for span in find_by_value(scanned) if span.end - span.start >= len(text.strip())), None)
    return found.mark if found else None


def is_mark(text: str) -> bool:
    """Say whether the text is one redaction mark and nothing else."""
    return text.startswith(MARK) and bool(MARK_PATTERN.fullmatch(scannable(text)))


def without_marks(text: str) -> str:
    """Leave out the redaction marks."""
    return str(MARK_PATTERN.sub("", scannable(text))) if MARK in text else text


def scannable(text: str) -> str:
    """Copy the text, character for character: lone surrogates replaced, escaped line breaks as line breaks."""
    if not text.isascii() and not _encodes(text):
        text = text.translate(_SURROGATES)
    if "\\" in text:
        for escape in ("\\n", "\\r", "\\t"):
            text = text.replace(escape, " \n")
    return text


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _redact_between_marks(text: str, scanned: str, *, generic: bool) -> str:
    """Redact the stretches between marks that already stand in the text."""
    if MARK not in scanned:
        return _redact_stretch(text, scanned, generic=generic)
    pieces: list[str] = []
    position = 0
    for match in MARK_PATTERN.finditer(scanned):
        start, end = match.span()
        pieces += (_redact_stretch(text[position:start], scanned[position:start], generic=generic), text[start:end])
        position = end
    pieces.append(_redact_stretch(text[position:], scanned[position:], generic=generic))
    return "".join(pieces)


def _redact_stretch(text: str, scanned: str, *, generic: bool) -> str:
    if len(scanned) < SHORTEST or not _may_hold(scanned):
        return text
    pieces: list[str] = []
    position = 0
    for span in merge(find_secrets(scanned, generic=generic)):
        pieces += (text[position : span.start], f"{MARK}{span.mark}]")
        position = span.end
    return "".join([*pieces, text[position:]]) if pieces else text


def find_secrets(text: str, *, generic: bool) -> Iterator[Span]:
    """Give the spans of all secrets, the most specific kinds first; they may overlap."""
    yield from find_by_value(text)
    if _may_hold(text, _CONTEXT):
        yield from find_by_context(text)
    if "ind" in text:
        yield from _kubernetes_values(text)
    if generic:
        yield from _random_tokens(text)


def find_by_value(text: str) -> Iterator[Span]:
    """Give the spans of what is a secret by its own form."""
    yield from _private_blocks(text)
    yield from _published(text)
    if hidden := _hidden_in_base64(text):
        yield hidden


def _published(text: str) -> Iterator[Span]:
    """Run the detectors on the words in which any of them finds something."""
    done = 0
    for match in _PUBLISHED.finditer(text):
        begin, end = match.span()
        if begin < done:
            continue
        begin = max(done, *(text.rfind(blank, done, begin) for blank in " \n\t\r"))
        done = word_end(text, end)
        for detector in DETECTORS:
            for span in detector.find(text[begin:done]):
                yield Span(begin + span.start, begin + span.end, span.mark)


def merge(spans: Iterator[Span]) -> list[Span]:
    """Join overlapping spans; the one given first names the kind."""
    ranked = sorted((span.start, span.end, rank, span.mark) for rank, span in enumerate(spans) if span.end > span.start)
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, mark in ranked:
        if merged and start < merged[-1][1]:
            first, last, best, name = merged[-1]
            merged[-1] = (first, max(last, end), *min((best, name), (rank, mark)))
        else:
            merged.append((start, end, rank, mark))
    return [Span(start, end, mark) for start, end, _, mark in merged]


def _private_blocks(text: str) -> Iterator[Span]:
    """Find private keys in PEM and PuTTY form, whole; a block without its end reaches as far as its body does."""
    close = taken = 0
    for match in _BEGIN.finditer(text) if "BEGIN " in text else ():
        begin, after = match.span()
        if begin < taken or "PRIVATE KEY" not in match.group():
            continue
        if 0 <= close < after:
            close = text.find("-----END", after)
        taken = _block_end(text, after, close)
        yield Span(begin, taken, "PRIVATE_KEY")
    for match in _PUTTY.finditer(text) if "Private-Lines: " in text else ():
        yield Span.of(match, 1, "PRIVATE_KEY")


def _block_end(text: str, after: int, close: int) -> int:
    if close >= 0:
        tail = text.find("-----", close + 8, close + 60)
        return tail + 5 if tail >= 0 else close + 8
    following = text.find("-----BEGIN", after)
    body = text[after : following if following >= 0 else None]
    return after + len(body) - len(body.lstrip(_BLOCK_BODY))


def _hidden_in_base64(text: str) -> Span | None:
    """Decode a text that is base64 as a whole, once, and look inside."""
    if not 24 <= len(text) <= LONGEST_ENCODED or " " in text:
        return None
    decoded = decode_base64(text.strip())
    if not decoded or not _may_hold(decoded):
        return None
    inside = chain(_private_blocks(decoded), _published(decoded), find_by_context(decoded))
    found = next(inside, None)
    return Span(0, len(text), found.mark) if found else None


def _random_tokens(text: str) -> Iterator[Span]:
    """Find long random tokens that are no digest, UUID, address, file, public key or encoded text."""
    # Behind a certificate or a public key every line of base64 is taken for a part of it.
    block = text.find("-----BEGIN ")
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        token = match.group().strip("=/-_+")
        if len(token) not in GENERIC_LENGTHS or is_digest(token) or is_uuid(token) or "/" in token:
            continue
        if 0 <= block < start or token.startswith(_PUBLIC) or text[end : end + 1] in ("/", "\\"):
            continue
        if _ADDRESSES.search(text[max(0, start - 200) : start]):
            continue
        if looks_random(token, at_least=24) and decode_base64(token) is None:
            yield Span(start, end, "RANDOM_TOKEN")


def _kubernetes_values(text: str) -> Iterator[Span]:
    """Find the values below `data:` of a Kubernetes Secret, which are encoded, not encrypted."""
    if not _K8S_SECRET.search(text):
        return
    position, outer = 0, -1
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= outer:
            outer = -1
        if heading := _K8S_DATA.match(line):
            outer = len(heading.group(1))
        elif outer >= 0 and (value := _K8S_VALUE.match(line)):
            group = 1 if value.group(1) else 2
            yield Span(position + value.start(group), position + value.end(group), "SECRET")
        position += len(line)
