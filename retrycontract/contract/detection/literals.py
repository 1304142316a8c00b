"""Read the value that follows a name in text, and decide whether it is a literal secret, code or prose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import re2

from retrycontract.contract.detection.field_names import NameVerdict, word_set
from retrycontract.contract.detection.randomness import entropy, is_digest, is_uuid, looks_random

# A list of more secrets than these is data.
MOST_LISTED = 100
# What ends a clause or a call rather than a value.
_TRAILING = ".,;:!?)]}"
QUOTES = "\"'`"
# A quoted value that goes on for longer is no credential of one line; bounds the search for the closing quote.
LONGEST_QUOTED = 4096
# Bits per character: place-holders and counting digits stay below.
LEAST_DENSE = 2.5
_PLACEHOLDER = re2.compile(
    r"(?i)\$\{.*\}?|\$\(.*|\$[0-9]|\$[a-z_]*(?:pass|pwd|token|key|secret|user|auth)[a-z_]*|(?-i:\$[A-Z_][A-Z0-9_]{2,})"
    r"|\{\{.*|\{%.*|\{[a-z_][\w.]*\}?|%[sdr]|%\([a-z_]\w*\)s?|%[a-z_]\w*%|<[a-z][^<>]*>?|&lt;.*"
    r"|\*+|\.{3,}|…|x{3,}|\[redacted.*|\[[a-z _-]+\]|your[_ -].*|null|none|nil|undefined|true|false|nan|n/a|tbd|todo"
)
# What stands where a type, a kind or a switch is named, not a secret.
_KINDS = word_set(
    "string str text bytes int integer number float boolean bool any object array list dict map required optional "
    "basic bearer digest oauth oauth2 oidc saml jwt none null default enabled disabled on off yes no auto type "
    "undefined nil true false password token secret key apikey api_key header cookie session sessions anonymous "
    "public private hidden new test static final const let var async await function lambda return readonly import "
    "expired invalid valid missing unauthorized forbidden active inactive strict lax local global remote user"
)
_CODE = re2.compile(
    r"[A-Za-z_$][\w$]*(?:\(.*|\[.*|(?:\??\.[A-Za-z_$][\w$]*)+(?:\(.*|\[.*)?)|[({\[<&*|>!].*|[fFrRbBuU]{1,2}[\"'].*"
)
_WORD = re2.compile(r"[A-Za-z]*[a-z][_-]?[A-Za-z_-]*[.!?]?|[A-Z]+[.!?]?|\W+")
_RUN = re2.compile(r"[A-Za-z0-9]{20,}")
_PROSE = re2.compile(r"(?:[^\W\d]+[,.;:!?'’-]*[ \t]+){2,}.*")


@dataclass(frozen=True, slots=True)
class Literal:
    """Hold one value found in a text, without its quotes, and where it stands."""

    text: str
    start: int
    end: int
    quoted: bool

    @classmethod
    def of(cls, match: Any, group: int, *, quoted: bool = False, trailing: str = "") -> Self:
        """Take the text of a match's group, without any of the trailing characters."""
        text = match.group(group).rstrip(trailing) if trailing else match.group(group)
        return cls(text, match.start(group), match.start(group) + len(text), quoted)

    @classmethod
    def whole(cls, text: str) -> Self:
        """Take a whole string as one value; lone surrogates, which patterns cannot read, become question marks."""
        return cls(text.encode("utf-8", "replace").decode("utf-8"), 0, len(text), quoted=True)

    @property
    def is_placeholder(self) -> bool:
        """Say whether the value only stands for one, such as `${TOKEN}`, `<your key>` or `****`."""
        return bool(_PLACEHOLDER.fullmatch(self.text))

    @property
    def is_noise(self) -> bool:
        """Say whether the value looks random enough to be a credential of its own."""
        if "\\" in self.text or " " in self.text:
            return False
        return (
            looks_random(self.text, at_least=10)
            or is_uuid(self.text)
            or (is_digest(self.text) and entropy(self.text) > LEAST_DENSE)
        )

    @property
    def is_dense(self) -> bool:
        """Say whether a long stretch of letters and digits runs through the value."""
        if "\\" in self.text or " " in self.text:
            return False
        runs = (run for run in _RUN.findall(self.text) if not run.isdigit())
        return any(sum(c.isdigit() for c in run) >= 3 and entropy(run) > LEAST_DENSE for run in runs)

    @property
    def telling(self) -> bool:
        """Say whether the value is more than one plain word: digits, symbols or inner capitals."""
        return not _WORD.fullmatch(self.text)


def read_literal(text: str, position: int, *, in_query: bool = False) -> Literal | None:
    """Read the value that starts at the position, after white space; None where nothing stands."""
    end = len(text)
    start = position
    while start < end and start - position < 80 and text[start] in " \t":
        start += 1
    if start < end and text[start] in "\r\n":
        return _read_on_next_line(text, start)
    while start < end and text[start] == "\\" and text[start + 1 : start + 2] in ('"', "'"):
        start += 1
    if start >= end or text[start] in "\r\n":
        return None
    if text[start] in QUOTES:
        close = closing_quote(text, start)
        if close is not None:
            stop = close - (text[close - 1] == "\\" and close - 1 > start)
            return Literal(text[start + 1 : stop], start + 1, stop, quoted=True)
        start += 1
    stop = _query_end(text, start) if in_query else unquoted_end(text, start)
    return Literal(text[start:stop], start, stop, quoted=False) if stop > start else None


def _read_on_next_line(text: str, start: int) -> Literal | None:
    """Read a value on the line below its name, when it is quoted."""
    window = text[start : start + 80]
    indent = len(window) - len(window.lstrip())
    after = start + indent
    if text[after : after + 1] in QUOTES and text[after : after + 1]:
        literal = read_literal(text, after)
        return literal if literal and literal.quoted else None
    return None


def read_list(text: str, position: int) -> Iterator[Literal]:
    """Read the quoted strings of a list whose bracket opens just before the position."""
    for _ in range(MOST_LISTED):
        literal = read_literal(text, position)
        if literal is None or not literal.quoted:
            return
        if literal.text and not literal.is_placeholder and not literal.text.startswith("[REDACTED: "):
            yield literal
        after = literal.end + 1 + (text[literal.end : literal.end + 1] == "\\")
        if text[after : after + 1] != ",":
            return
        position = after + 1


def closing_quote(text: str, start: int) -> int | None:
    """Find the quote that closes the one at `start`, on the same line, or None; escaped quotes are passed over."""
    quote, position = text[start], start + 1
    escaped_opening = text[start - 1 : start] == "\\"
    limit = min(len(text), start + LONGEST_QUOTED)
    newline = text.find("\n", start, limit)
    limit = limit if newline < 0 else newline
    while (position := text.find(quote, position, limit)) >= 0:
        if text[position - 1] != "\\" or escaped_opening:
            return position
        position += 1
    return None


_STOPS = re2.compile(r"[;\s\"'`<>\\]|[,;)}\]](?:\s|$|[\"'])")
_BLANK = re2.compile(r"\s")
_QUERY_STOPS = re2.compile(r"[;\s\"'`<>\\&#;,)\]}]")


def unquoted_end(text: str, start: int) -> int:
    """Give the end of an unquoted value: white space, a quote, a bracket or a comma before one of these."""
    return _first(text, start, _STOPS)


def word_end(text: str, start: int) -> int:
    """Give the position of the next white space."""
    return _first(text, start, _BLANK)


def _query_end(text: str, start: int) -> int:
    return _first(text, start, _QUERY_STOPS)


def _first(text: str, start: int, stops: Any) -> int:
    """Find the first stop in windows, so that a long text is never encoded again and again."""
    size, position = 256, start
    while position < len(text):
        match = stops.search(text[position : position + size])
        if match:
            return position + int(match.start())
        position, size = position + size, size * 2
    return len(text)


def is_secret_literal(
    literal: Literal, verdict: NameVerdict, name: str, *, operator: str, spaced: bool, starts_line: bool
) -> bool:
    """Decide whether the value beside a name is a literal secret rather than a place-holder, code or prose."""
    if not literal.quoted:
        literal = replace(literal, text=literal.text.rstrip(_TRAILING))
    text = literal.text
    if not text.strip() or literal.is_placeholder or text.casefold() in _KINDS:
        return False
    if not verdict.mark:
        return verdict.weak and (literal.is_noise or literal.is_dense)
    if "://" in text and verdict.mark not in ("CONNECTION_STRING", "PASSWORD", "SECRET"):
        return False  # what is secret in a URL is found as such
    if literal.quoted:
        return _is_quoted_secret(literal, verdict.mark)
    if _CODE.fullmatch(text) and not literal.is_noise:
        return False
    return _is_bare_secret(literal, verdict.mark, name, operator=operator, spaced=spaced, starts_line=starts_line)


def _is_quoted_secret(literal: Literal, mark: str) -> bool:
    text = literal.text
    if mark in ("SESSION", "AUTHORIZATION", "COOKIE", "PIN", "OTP", "CVV", "SSN"):
        return len(text) >= 3 and any(c.isdigit() for c in text) and not _PROSE.fullmatch(text)
    if mark == "PASSWORD":
        return not _PROSE.fullmatch(text) or any(c.isdigit() for c in text)
    return len(text) >= 4 and not _PROSE.fullmatch(text) and (literal.telling or len(text) >= 8)


def _is_bare_secret(literal: Literal, mark: str, name: str, *, operator: str, spaced: bool, starts_line: bool) -> bool:
    text = literal.text
    if len(text) < 3 or text.casefold() in name.casefold():
        return False
    if mark in ("SESSION", "AUTHORIZATION", "COOKIE", "PIN", "OTP", "CVV", "SSN"):
        return (
            any(c.isdigit() for c in text)
            and (len(text) >= 8 or mark in ("PIN", "OTP", "CVV", "SSN"))
            and not text.isalpha()
        )
    if text.isdigit():
        return len(text) >= (4 if mark == "PASSWORD" else 6)
    if literal.telling and any(c.isdigit() or not c.isalnum() for c in text):
        return any(c.isdigit() for c in text) or mark in ("PASSWORD", "SECRET") or len(text) >= 12
    if operator == "--":
        return True
    assigned = "=" in operator and not spaced
    return (
        (mark == "PASSWORD" and starts_line and (spaced or operator != ":"))
        or (assigned and len(text) >= 6)
        or (literal.telling and len(text) >= 16)
    )
