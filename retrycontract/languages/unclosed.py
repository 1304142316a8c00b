"""Tell a file that goes on to its end with something left open from one that was cut off, and find what is open.

A file that was cut off ends within a statement, a string or a block. Where the last line stands at the left margin and
is complete, somebody forgot a bracket on the way, and the indentation shows which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from retrycontract.contract.outputs.source_code import Language

CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}
OPEN_WORDS = {
    Language.BASH: {b"if": b"fi", b"case": b"esac"} | dict.fromkeys((b"for", b"while", b"until", b"select"), b"done"),
    Language.RUBY: dict.fromkeys(
        (b"def", b"class", b"module", b"if", b"unless", b"while", b"until", b"case", b"begin", b"for"), b"end"
    ),
}
# Statements of theirs end with a sign, those of others with their line.
WITH_SEMICOLONS = frozenset({Language.C, Language.CSS, Language.RUST, Language.JAVA, Language.C_SHARP})
_COMPLETE = re.compile(rb"[;}]\Z|\*/\Z|\A(?:#|//|@)")
_GOES_ON = re.compile(rb"(?:[-(\[{,=+*/&|<>:?.\\]|\b(?:then|do|else|in))\Z")
# A regular expression of JavaScript may hold half a bracket. What is not ended takes the rest, or each would be tried.
_SCRIPT_PATTERN = (
    rb"(?:(?<=[(,=:!&|?])|(?<=[(,=:!&|?][ ]))/(?![*/ ])(?:\\.|\[(?:\\.|[^\]\\\n]){0,99}\]|[^/\\\n\[]){1,300}/|"
)
_LINE_COMMENT = rb"//[^\n]*|"
_QUOTES = rb"""/\*(?:.*?\*/|.*)|`(?:\\.|[^`\\])*`?|"(?:\\.|[^"\\\n])*"?|"""
_STRING = _SCRIPT_PATTERN + _LINE_COMMENT + _QUOTES
_BRACKET = rb"|(?P<bracket>[()\[\]{}])|(?P<line>\n[ \t]*)"
_PARTS = re.compile(_STRING + rb"""'(?:\\.|[^'\\\n])*'?""" + _BRACKET, re.DOTALL)
_PARTS_OF = {
    # Its lifetimes begin like strings.
    Language.RUST: re.compile(_STRING + rb"""'(?:\\[^\n']{1,9}|[^'\\\n])'""" + _BRACKET, re.DOTALL),
    Language.CSS: re.compile(_QUOTES + rb"""'(?:\\.|[^'\\\n])*'?""" + _BRACKET, re.DOTALL),
}


@dataclass(frozen=True, slots=True)
class Unclosed:
    """Say what is never closed, where it begins, and what would close it."""

    text: str
    start: int
    closing: str
    is_certain: bool = False  # whether a line of an outer indentation closes what is around it


def is_ended(language: Language, text: bytes) -> bool:
    """Tell whether the last line closes something at the left margin, or is a complete statement there."""
    said = text.rstrip()
    last = said[said.rfind(b"\n") + 1 :]
    if not last or last[:1].isspace() or b"\n" not in said:
        return False
    kinds = [found["bracket"] for found in _parts(language).finditer(last) if found["bracket"]]
    opened = sum(kind in CLOSING for kind in kinds)
    first = re.split(rb"[^\w]", last, maxsplit=1)[0]
    words = OPEN_WORDS.get(language, {})
    if opened > len(kinds) - opened or any(last.count(quote) % 2 for quote in (b'"', b"`")):
        return False
    if last[:1] in (b"}", b"]", b")") or first in words.values():
        return not _GOES_ON.search(last)
    if not text.endswith((b"\n", b"\r")) or (first in words and not re.search(rb"\b%s\b" % words[first], last)):
        return False
    return bool(_COMPLETE.search(last)) if language in WITH_SEMICOLONS else not _GOES_ON.search(last)


def likeliest_unclosed(language: Language, text: bytes) -> Unclosed | None:
    """Find the bracket or block that is never closed: by its line's indentation, or else the last that is open."""
    opened: list[tuple[bytes, bytes, int]] = []  # indentation, what closes it, place
    odd: tuple[bytes, bytes, int] | None = None
    for start, word, closing, indentation, is_first in _marks(language, text):
        if closing is not None:
            opened.append((indentation, closing, start))
            continue
        is_outer = is_first and opened and opened[-1][0] != indentation
        near = enumerate(opened[-MOST_LEVELS:]) if is_outer else ()
        same = [at for at, one in near if one[0] == indentation and one[1] == word]
        if same:
            # A line that closes an outer one leaves open all that is in it.
            odd = odd or opened[-1]
            del opened[max(len(opened) - MOST_LEVELS, 0) + same[-1] :]
        elif opened and opened[-1][1] == word:
            opened.pop()
    if odd is None and not opened:
        return None
    _, closing, start = odd or opened[-1]
    name = re.compile(rb"\w+|.").match(text, start)
    return Unclosed(name[0].decode() if name else "", start, closing.decode(), odd is not None)


MOST_LEVELS = 50  # levels in which a line of the same indentation is sought


def _parts(language: Language) -> re.Pattern[bytes]:
    return _PARTS_OF.get(language, _PARTS)


def _marks(language: Language, text: bytes) -> Iterator[tuple[int, bytes, bytes | None, bytes, bool]]:
    """Yield what opens and closes: its place, text, what closes it, its line's indentation, whether it begins that."""
    words = OPEN_WORDS.get(language)
    if words is None:
        indentation, begin = b"", 0
        for found in _parts(language).finditer(text):
            if found["line"] is not None:
                indentation, begin = found["line"][1:], found.end()
            elif (sign := found["bracket"]) is not None:
                yield found.start(), sign, CLOSING.get(sign), indentation, found.start() == begin
        return
    # Where words open blocks, only whole lines are looked at.
    for line in re.finditer(rb"^([ \t]*)(\w+|[{}])?[^\n]*", text, re.MULTILINE):
        indentation, first, said, start = line[1], line[2] or b"", line[0].rstrip(), line.end(1)
        if first in words and not re.search(rb"\b%s\b" % words[first], said):
            yield start, first, words[first], indentation, True
        elif first in (*words.values(), b"}"):
            yield start, first, None, indentation, True
        elif language is Language.RUBY and (block := re.search(rb"\bdo\b(?:[ \t]*\|[^|\n]{0,200}\|)?\Z", said)):
            yield line.start() + block.start(), b"do", b"end", indentation, False
        elif said.endswith(b"{"):
            yield line.start() + len(said) - 1, b"{", b"}", indentation, False


_QUOTED = re.compile(rb"""\\.|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|(?P<odd>")""")


def unclosed_quote(text: bytes) -> Unclosed | None:
    """Find the first quote that its own line does not end."""
    found = next((one for one in _QUOTED.finditer(text) if one["odd"]), None)
    return Unclosed('"', found.start(), '"') if found else None
