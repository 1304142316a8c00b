"""Find what stands in blocks: private keys, and the values of a Kubernetes Secret; certificates are public."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator

import re2

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Finder, Head, loosened

_BEGIN = Head(
    r"-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}|OpenVPN Static key V[0-9])-----"
    r"|---- BEGIN SSH2 [A-Z ]{0,30}PRIVATE KEY ----"
)
# The beginnings of keys, and the ends of anything as "".
_EDGES = re.compile(rf"({_BEGIN.pattern})|----[- ]END ")
_KEY_LINE = re.compile(r"\s*(?:[A-Za-z0-9+/]{16,200}={0,2}|[A-Za-z0-9+/]{1,15}={1,2})\s*")
CLOSED = 8  # strings that are no lines of the key: paths and operations of edits stand between these, and headers
# `Version: GnuPG v2`, before what a block holds.
_HEADERS = re.compile(
    r"(?:\s|\\[nr])*(?:[A-Z][\w-]{1,30}: (?:[^\n\\]|\\(?![nr])){0,200}(?:\n|\\r?\\?n)(?:\s|\\[nr])*)*"
)
_PUTTY = Head(r"Private-Lines: \d+\s+([A-Za-z0-9+/=\s]+)Private-MAC")
# Public, or no key at all: its lines of base64 look random, and now and then like a key of some vendor.
_PUBLIC_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}(?:CERTIFICATE|REQUEST|PUBLIC KEY|PUBLIC KEY BLOCK|SIGNATURE|MESSAGE|PARAMETERS|CRL"
    r"|PKCS7|CMS|FILE)-----\s*(?:[A-Z][\w-]{0,30}: [^\n]{0,200}\n\s*)*"
    r"((?:[A-Za-z0-9+/]{60,}+={0,2}+\s*+)++[A-Za-z0-9+/]*={0,2}\s*(?:=[A-Za-z0-9+/]{4}\s*)?)(?=-----END |\Z)"
)
_PUBLIC_END = re.compile(
    r"-----END (?:[A-Z0-9]+ ){0,4}(?:CERTIFICATE|REQUEST|PUBLIC KEY|PUBLIC KEY BLOCK|SIGNATURE|CRL|PKCS7)-----"
)
_PUBLIC_LINE = re.compile(
    r"(?:\A|\n)[ \t]*(?:[A-Za-z0-9+/]{60,80}|[A-Za-z0-9+/]{1,80}={1,2}|=[A-Za-z0-9+/]{4})[ \t]*\r?\Z"
)
_LONG_LINE = re.compile(r"[A-Za-z0-9+/]{60,80}")
# What names the parts of a subject and the extensions of a certificate, which no key holds.
_OF_CERTIFICATE = (b"\x06\x03\x55\x04", b"\x06\x03\x55\x1d")
LONGEST_LINE, MOST_LINES = 100, 200
_BODY = re.compile(r"[A-Za-z0-9+/=\r\n\t \\]*")
_K8S_SECRET = re2.compile(r"(?mi)^\s*[\"']?kind[\"']?:\s*[\"']?(?:sealed|sops)?secret[\"']?\s*,?\s*$")
_K8S_DATA = re2.compile(r"^([ \t]*)[\"']?(?:data|stringData)[\"']?:\s*$")
_K8S_VALUE = re2.compile(
    r"^\s+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?([^\s\"'|>{\[#][^\"'#]*?)[\"']?\s*$|^\s+([A-Za-z0-9+/=]{8,})\s*$"
)


def find_private_keys(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find private keys in PEM and PuTTY form, whole; a block without its end reaches as far as its body does."""
    close = following = taken = 0
    for find in _BEGIN.telling(text, allowance):
        begin, after = find.span(0)
        if begin < taken:
            continue
        # Once no further one is found none is sought again: each heading would search all of the rest.
        if 0 <= close < after:
            close = text.find("-----END", after)
        if close >= 0:
            tail = text.find("-----", close + 8, close + 60)
            taken = tail + 5 if tail >= 0 else close + 8
        else:
            if 0 <= following < after:
                following = text.find("-----BEGIN", after)
            headers = _HEADERS.match(text, after)
            body = _BODY.match(text, headers.end() if headers else after, following if following >= 0 else len(text))
            taken = body.end() if body else after
        yield SecretSpan(begin, taken, "PRIVATE_KEY")
    for find in _PUTTY.telling(text, allowance):
        yield SecretSpan(*find.span(1), "PRIVATE_KEY")


class KeyLines:
    """Follow private keys whose lines are strings of their own, as in a list of a file's lines or of edits to it."""

    def __init__(self) -> None:
        self._others = CLOSED  # strings since the last one that belongs to a key

    def holds(self, text: str) -> bool:
        """Tell whether a string is a line of a key, where it comes after those that were asked for before."""
        if "----" in text and (edges := _EDGES.findall(text)):
            self._others = 0 if edges[-1] else CLOSED
        elif self._others < CLOSED:
            self._others = 0 if (is_of_key := bool(_KEY_LINE.fullmatch(text))) else self._others + 1
            return is_of_key
        return False


def without_public_blocks(text: str) -> str:
    """Leave the bodies of certificates and public keys blank, also where the beginning of the block is cut off."""
    if "-----BEGIN " in text:
        text = _blanked(text, (block.span(1) for block in _PUBLIC_BLOCK.finditer(text)))
    return _blanked(text, _cut_off(text)) if "-----END " in text else text


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces, position = list[str](), 0
    for start, end in spans:
        pieces += (text[position:start], " " * (end - start))
        position = end
    return "".join([*pieces, text[position:]])


def _cut_off(text: str) -> Iterator[tuple[int, int]]:
    """Give the lines before the end of a public block that has no beginning."""
    taken = 0
    for end in _PUBLIC_END.finditer(text):
        start = stop = end.start()
        while start > taken:
            before = max(text.rfind("\n", taken, start - 1), taken)
            if start - before > LONGEST_LINE or not _PUBLIC_LINE.fullmatch(text[before : start - 1].rstrip("\n")):
                break
            start = before
        if start < stop:
            yield start, stop - 1
        taken = end.end()


class CertificateLines:
    """Tell the lines of certificates whose beginning and end are cut off, as their bytes tell; each line is read once.

    The lines of a text are to be asked for in their order.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = self._end = 0
        self._holds_names = False

    def holds(self, start: int, end: int) -> bool:
        """Say whether a stretch fills such a line."""
        if self._text[end : end + 1] not in ("", "\n", "\r"):
            return False
        if not self._begin <= start < self._end:
            self._read(start)
        return self._holds_names

    def _read(self, start: int) -> None:
        """Read the lines around a place that are like it, as far as they were not read."""
        text, lines, at = self._text, list[str](), start
        for _ in range(MOST_LINES - 1):  # up to the first line
            before = text.rfind("\n", max(at - 1 - LONGEST_LINE, 0), at - 1) + 1 if at > 1 else 0
            if at < 2 or before < self._end or not _LONG_LINE.fullmatch(text[before : at - 1].strip()):
                break
            at = before
        self._begin = self._end = at
        for _ in range(MOST_LINES):
            behind = text.find("\n", at, at + LONGEST_LINE)
            line = text[at : behind if behind >= 0 else min(at + LONGEST_LINE, len(text))].strip()
            if not _LONG_LINE.fullmatch(line):
                break
            lines.append(line)
            self._end = at = behind + 1 if behind >= 0 else len(text)
            if behind < 0:
                break
        written = "".join(lines)
        decoded = base64.b64decode(written[: len(written) // 4 * 4])
        self._holds_names = len(lines) > 1 and any(name in decoded for name in _OF_CERTIFICATE)


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
