"""Read a bare value that a generator of passwords made, of which any sign may be a part: `pw=v(Nq3;kb<K+D!6`."""

from __future__ import annotations

import re

from retrycontract.contract.redaction.literals import Literal

# All to the next blank, or to the next member of a connection string or a query, or to the end of a quoted line.
_WORD = re.compile(
    r"[ \t]*((?=[!-~]{0,40}[0-9])(?=[!-~]{0,40}[A-Za-z])[!-~]{8,128}?)"
    r"(?=\s|\Z|[;&] ?[A-Za-z][A-Za-z_ ]{1,22}=|[\"'`][,;)\]}]{0,3}(?:\s|\Z))"
)
# What is put in later or quoted begins so, and what goes on behind a blank ends so.
_LEADS = re.compile(r"\$[A-Za-z{(]|\{\{|%\(|<%|//|[rRbBfFuU]{0,2}[\"']|`|[A-Za-z_][\w.]*\([rRbBfFuU]{0,2}[\"'\[]")
_OPEN, LONG = tuple(",({[\\&|<>=+"), 14
# Words and names of program text; a generator seldom gives three letters in a row that could be a part of one.
_SPELT = re.compile(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{3,}")
_MOST_SPELT, _MOST_IN_BRACKETS = 0.55, 0.3
_CAPITAL, _DIGIT, _SIGN, _ODD = map(re.compile, ("[A-Z]", "[0-9]", r"[^\w./:@-]", r"[#$%@^?~!*\\]"))
MANY_ODD, LEAST_CAPITALS = 3, 12  # kinds of signs; one capital letter in so many characters
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))


def read_generated(text: str, position: int) -> Literal | None:
    """Read such a value at the position, after blanks; None where program text or a plainer value stands."""
    found = _WORD.match(text, position)
    if not found or _LEADS.match(found[1]):
        return None
    word = found[1].rstrip(".,;")
    if "://" in word or not _SIGN.search(word) or (len(word) < LONG and word.endswith(_OPEN)):
        return None
    spelt, capitals, odd = sum(map(len, _SPELT.findall(word))), len(_CAPITAL.findall(word)), set(_ODD.findall(word))
    is_mixed = len(odd) >= MANY_ODD or capitals * LEAST_CAPITALS >= len(word)  # minified code has few of either
    most = _MOST_SPELT
    if _is_balanced(word):  # as program text is, which has few capitals and odd signs
        most = _MOST_IN_BRACKETS if capitals + len(odd) > 4 and len(_DIGIT.findall(word)) > 1 else 0.0
    if not is_mixed or spelt >= most * len(word):
        return None
    return Literal(word, found.start(1), found.start(1) + len(word), quoted=False)


def _is_balanced(word: str) -> bool:
    """Say whether a word has brackets, and each of them is closed."""
    brackets = [(word.count(opening), word.count(closing)) for opening, closing in _PAIRS]
    return any(map(any, brackets)) and all(opened == closed for opened, closed in brackets)
