"""Resolve a preprocessor's conditional directives, so that a grammar reads one of the files that they stand for."""

from __future__ import annotations

import re

DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b((?:\\\r?\n|[^\n])*)", re.MULTILINE
)
# What does not hold in any of our files: nobody compiles them as C++, and `0` hides what is no code.
FALSE = re.compile(rb"\s*(?:0|\(?\s*(?:defined\b\s*\(?\s*)?__cplusplus\b[\s\S]*)(?:\s*(?://|/\*)[\s\S]*)?\s*\Z")
UNPAIRED = "an '#endif' is missing, or one too many"
_ANY = re.compile(rb"[^\r\n]")


def resolve(text: bytes) -> bytes | None:
    """Keep the first branch of every conditional, or the next where that cannot hold; None where one is not ended.

    Directives and the other branches become blanks, so that every place stays what it was.
    """
    kept: list[bytes] = []
    is_open = [True]  # for each level whether its text counts
    has_taken: list[bool] = []
    last = 0
    for found in DIRECTIVE.finditer(text):
        between = text[last : found.start()]
        kept += [between if is_open[-1] else blank(between), blank(found[0])]
        last, word = found.end(), found[1]
        if word.startswith(b"if"):
            holds = word == b"ifndef" or not FALSE.match(found[2])
            has_taken.append(holds)
            is_open.append(is_open[-1] and holds)
        elif not has_taken:
            return None
        elif word == b"endif":
            has_taken.pop()
            is_open.pop()
        else:
            holds = not has_taken[-1] and (word in (b"else", b"elifndef") or not FALSE.match(found[2]))
            is_open[-1] = is_open[-2] and holds
            has_taken[-1] |= holds
    kept.append(text[last:])
    return None if has_taken else b"".join(kept)


def odd_conditional(text: bytes) -> tuple[int, int]:
    """Find the conditional that is not ended, or the directive that has none."""
    opened: list[tuple[int, int]] = []
    for found in DIRECTIVE.finditer(text):
        if found[1].startswith(b"if"):
            opened.append(found.span())
        elif not opened:
            return found.span()
        elif found[1] == b"endif":
            opened.pop()
    return opened[-1]


# A comment that begins on a directive's line may end on a later one.
_EVERY = re.compile(rb"^[ \t]*#(?:\\\r?\n|/\*(?:[^*]|\*(?!/))*\*/|[^\n])*", re.MULTILINE)


def without_directives(text: bytes) -> bytes:
    """Blank every directive: what a macro stands for is no code until somebody names it."""
    return _EVERY.sub(lambda found: blank(found[0]), text)


def blank(text: bytes) -> bytes:
    """Put blanks in the place of a text, its line breaks kept."""
    return _ANY.sub(b" ", text)
