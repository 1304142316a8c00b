"""Make text fit to be shown: visible characters, relative paths, middle elision, one-line JSON literals."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2
import regex

from retrycontract.contract.redaction.field_names import word_set
from retrycontract.contract.redaction.foreign import MARK, MARK_PATTERN

ELLIPSIS = "..."
# In a middle-elided text three quarters of the room go to the beginning, which tells most.
HEAD_SHARE = 3, 4
# One grapheme cluster may be thousands of code points: the window in which a suffix is looked for.
SUFFIX_WINDOW = 16
# Numbers of more bits than this are described, for Python refuses to print the largest.
MOST_BITS = 2_000

_UNIT = regex.compile(rf"{MARK_PATTERN.pattern}|\X")
LONGEST_MARK = 48
_REGIONAL_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Characters that `category` calls letters or marks, and that show as nothing or as a blank.
_BLANKS = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0})
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ZWJ, _ZWNJ, _EMOJI_STYLE, _KEYCAP = "\u200d", "\u200c", "\ufe0f", "\u20e3"
_VIRAMA = 9  # the combining class of what mutes the vowel of an Indic consonant
_JOINERS = frozenset({_ZWJ, _ZWNJ, _EMOJI_STYLE})


@dataclass(slots=True)
class Cut:
    """Hold the shown part of a container: pairs of key (or nothing) and value, and the number there are in all."""

    is_object: bool
    total: int
    entries: list[tuple[str, Any]]


class _Escapes(dict[int, str]):
    """Map code points to what shows them, decided when first met."""

    def __missing__(self, point: int) -> str:
        shown = _escape(chr(point)) if _is_invisible(point) else chr(point)
        # Bounded: Unicode has over a million code points, and the model chooses which of them come.
        if len(self) < 10_000:
            self[point] = shown
        return shown


def _is_invisible(point: int) -> bool:
    if point in _BLANKS or any(point in selectors for selectors in _SELECTORS):
        return True
    return unicodedata.category(chr(point)) in _INVISIBLE


def _escape(character: str) -> str:
    """Write a character as JSON escapes it, outside the basic plane as a pair."""
    if character in _SHORT:
        return _SHORT[character]
    point = ord(character)
    if point < 0x10000:
        return f"\\u{point:04x}"
    return f"\\u{0xD800 + (point - 0x10000 >> 10):04x}\\u{0xDC00 + (point - 0x10000 & 0x3FF):04x}"


_ESCAPES = _Escapes()


def visible(text: str) -> str:
    """Make control, bidi, zero-width and unassigned characters and lone surrogates visible as escapes.

    A joiner or style selector stays where it holds an emoji together, and where a script is written with it: between
    Arabic letters, behind an Indic consonant without its vowel (IDNA's rule for joiners, RFC 5892).
    """
    if text.isprintable() and (text.isascii() or not bool(_blank_pattern().search(text))):
        return text
    if _JOINERS.isdisjoint(text):
        return text.translate(_ESCAPES)
    return "".join(
        character if _joins(text, index) else _ESCAPES[ord(character)] for index, character in enumerate(text)
    )


@lru_cache(maxsize=1)
def _blank_pattern() -> Any:
    points = [chr(point) for point in sorted(_BLANKS)]
    return re2.compile("[" + "".join(points) + "\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def _joins(text: str, index: int) -> bool:
    """Say whether the joiner or selector at the index stands between, or after, symbols or letters that it joins."""
    character = text[index]
    if character in (_ZWJ, _ZWNJ) and index and text[index + 1 : index + 2].isalpha():
        before = text[index - 1]
        if unicodedata.combining(before) == _VIRAMA:
            return True
        is_arabic = unicodedata.bidirectional(text[index + 1]) == "AL" == unicodedata.bidirectional(before)
        if is_arabic and character == _ZWNJ:
            return True
    if character == _ZWJ:
        before = text[index - 1] if index else ""
        return (
            bool(before) and (_is_symbol(before) or before == _EMOJI_STYLE) and _is_symbol(text[index + 1 : index + 2])
        )
    if character == _EMOJI_STYLE and index:
        return _is_symbol(text[index - 1]) or text[index + 1 : index + 2] == _KEYCAP
    return False


def _is_symbol(character: str) -> bool:
    return (
        bool(character)
        and ord(character) not in _BLANKS
        and unicodedata.category(character) in ("So", "Sk", "Sm")
        and ord(character) > 0x7F
    )


def elide_middle(text: str, limit: int) -> str:
    """Shorten to at most `limit` code points: prefix...suffix, never cutting a grapheme cluster or a mark."""
    return fit(text, limit, str)[0]


def beginning(text: str, limit: int) -> str:
    """Give at most `limit` code points from the start of a text, never cutting a grapheme cluster or a mark."""
    if len(text) <= limit:
        return text
    return "".join(_take((match.group() for match in _UNIT.finditer(text[: limit + LONGEST_MARK])), limit, str))


def fit(text: str, limit: int, show: Callable[[str], str]) -> tuple[str, bool]:
    """Show the text cluster by cluster in at most `limit` code points; also say whether it was shortened."""
    if len(text) <= limit:
        shown = show(text)
        if len(shown) <= limit:
            return shown, False
    room = limit - len(ELLIPSIS)
    if room <= 0:
        return ELLIPSIS[: max(limit, 0)], True
    head_room = room * HEAD_SHARE[0] // HEAD_SHARE[1]
    # What starts in the room, a mark at its end included, ends in this slice or does not fit.
    beginning = text[: room + LONGEST_MARK]
    ends = beginning + text[-room - LONGEST_MARK :]
    head, tail = [text[:head_room]], [text[head_room - room :]]
    # Of what is ASCII each character is a cluster of its own.
    is_plain = ends.isascii() and ends.isprintable() and MARK[0] not in ends
    if not is_plain or show(head[0]) != head[0] or show(tail[0]) != tail[0]:
        head = _take((match.group() for match in _UNIT.finditer(beginning)), head_room, show)
        tail = _take(_units_backwards(text, room), room - head_room, show)
    return "".join(head) + ELLIPSIS + "".join(reversed(tail)), True


def _take(units: Iterable[str], room: int, show: Callable[[str], str]) -> list[str]:
    taken: list[str] = []
    for unit in units:
        # A cluster that is longer than the room is left out without being rendered.
        shown = show(unit) if len(unit) <= room else unit
        room -= len(shown)
        if room < 0:
            break
        taken.append(shown)
    return taken


def _units_backwards(text: str, room: int) -> Iterator[str]:
    """Give the clusters of the text's end, last first; the first of the window may be cut and is left out."""
    start = max(0, len(text) - room * SUFFIX_WINDOW - 64)
    opened = text.rfind(MARK, max(0, start - LONGEST_MARK), start + len(MARK))
    start = opened if opened >= 0 else start - _half_flag(text, start)
    units = _UNIT.findall(text[start:])
    yield from reversed(units if start == 0 or opened >= 0 else units[1:])


def _half_flag(text: str, start: int) -> int:
    """Count the letters that belong to the flag at that place: regional letters pair from the first of their run."""
    if text[start : start + 1] not in _REGIONAL_LETTERS:
        return 0
    before = text[:start]
    return (len(before) - len(before.rstrip(_REGIONAL_LETTERS))) % 2


# A URL is matched first, so that its path is none; a path starts a text or follows white space or punctuation.
_PATHS = re2.compile(
    r"[A-Za-z][A-Za-z0-9+.-]+://\S*|(?:^|[\s\"'`(\[{<>=,:;|])((?:/|[A-Za-z]:[\\/]|\\\\)[^\s\"'`<>|;,:]+)"
)
# Over none of these a path goes on.
_NO_PATH = regex.compile(r"[ \t\n\f\r\"'`<>|;,]|(?<![A-Za-z]):")
# Paths are sought in so many previews' lengths at either end of a long text: in more, where near ones left little.
NEAR_ENDS, ENDS = 6, 40
_BOUNDARIES = " \t\r\n\"'`([{<>=,:;|"
# A text without any of these is one path or one word.
_BREAKS = frozenset("\"'`<>|;,:=([{ \t\n\v\f\r")
# How many leading components of these folders say nothing but where a home or a temporary folder is.
_PERSONAL = {("home",): 2, ("Users",): 2, ("root",): 1, ("tmp",): 1, ("var", "tmp"): 2, ("private", "tmp"): 2,
             ("var", "folders"): 5, ("private", "var"): 6, ("dev", "shm"): 2}  # fmt: skip
# Paths below these are paths even without a file's ending; `/items/0/sku` may be a JSON pointer or a route.
_SYSTEM = word_set(
    "bin boot dev etc home lib lib64 media mnt opt private proc run sbin srv sys tmp usr var Users Library "
    "Applications System Volumes nix snap"
)
_FILE = re2.compile(r"[^.]\.[A-Za-z][A-Za-z0-9]{0,7}$")


def is_url(text: str) -> bool:
    """Say whether all of a text is one URL."""
    return text.partition("://")[0].isalnum() and len(text.split(None, 1)) == 1


def relativize(text: str, roots: Iterable[str] = ()) -> str:
    """Make absolute paths relative to the roots; others keep their end behind an ellipsis. URLs are no paths."""
    if "/" not in text and "\\" not in text:
        return text
    if is_url(text):
        return text
    for root in roots:
        text = _strip_root(text, root.rstrip("/\\"))
    # Patterns cannot read lone surrogates; in the copy a question mark stands for each.
    scanned = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    if scanned[:1] == "/" and _BREAKS.isdisjoint(scanned):
        cut = _left_out(scanned)
        return f"…{text[cut:]}" if cut else text
    pieces: list[str] = []
    position = 0
    for match in _PATHS.finditer(scanned):
        start, end = match.span(1)
        cut = _left_out(scanned[start:end]) if end > start else 0
        if cut:
            pieces += (text[position:start], "…")
            position = start + cut
    return "".join([*pieces, text[position:]]) if pieces else text


def relativize_ends(text: str, limit: int, roots: Iterable[str] = ()) -> str:
    """Make paths relative as `relativize` does; of a long text where its ends are shown, `limit` characters in all."""
    for ends in (NEAR_ENDS, ENDS):
        window = limit * ends
        if len(text) <= 2 * window or is_url(text):  # whose end alone would look like a path
            break
        first, last = window, len(text) - window
        if ends < ENDS:
            before = [each.end() for each in _NO_PATH.finditer(text, window // 2, window)]
            behind = _NO_PATH.search(text, last, last + window // 2)
            if not before or not behind:
                continue
            first, last = before[-1], behind.end()
        head, tail = relativize(text[:first], roots), relativize(text[last:], roots)
        if ends == ENDS or min(len(head), len(tail)) > limit + LONGEST_MARK:
            return head + text[first:last] + tail
    return relativize(text, roots)


def _left_out(path: str) -> int:
    """Count the leading characters of an absolute path that are left out; none where it may be no path."""
    parts = path.replace("\\", "/").split("/")
    names = [index for index, part in enumerate(parts) if part]
    if path[0] == "/":
        words = [parts[index] for index in names[:2]]
        known = max(_PERSONAL.get(tuple(words[:1]), 0), _PERSONAL.get(tuple(words), 0))
        if not known and not (words and (words[0] in _SYSTEM or (len(names) > 1 and _FILE.search(parts[-1])))):
            return 0
        skipped = known or 1
    elif path[1] == ":":
        folder = parts[names[1]].casefold() if len(names) > 1 else ""
        skipped = 3 if folder in ("users", "documents and settings") else 2
    else:
        skipped = 2
    skipped = min(skipped, len(names) - 1)
    if skipped < 1:
        return 0
    # The separator before the first part that stays belongs to it.
    return sum(len(part) + 1 for part in parts[: names[skipped]]) - 1


def _strip_root(text: str, root: str) -> str:
    """Cut an absolute project root where a path starts with it."""
    absolute = root.startswith(("/", "\\\\")) or root[1:2] == ":"
    # Without its slash the root `/` is empty and would be found everywhere; relative roots begin no absolute path.
    if len(root) < 2 or not absolute or root not in text:
        return text
    if text == root:
        return "."
    pieces: list[str] = []
    position = 0
    while (found := text.find(root, position)) >= 0:
        end = found + len(root)
        cut = text[end : end + 1] in ("/", "\\") and (found == 0 or text[found - 1] in _BOUNDARIES)
        pieces.append(text[position : found if cut else end])
        position = end + 1 if cut else end
    return "".join([*pieces, text[position:]])


def literal_text(text: str) -> str:
    """Write the inside of a JSON string literal on one line, everything visible."""
    shown = visible(text.replace("\\", "\\\\") if "\\" in text else text)
    return shown.replace('"', '\\"')


def quote(text: str, limit: int) -> str:
    """Show a string in double quotes, at most `limit` characters of it, and say when it is truncated."""
    shown, truncated = fit(text, limit, literal_text)
    return f'"{shown}" (truncated)' if truncated else f'"{shown}"'


def render_number(value: float, limit: int) -> str:
    """Show a number as JSON does, a very long one shortened or described."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"(a whole number of about {int(value.bit_length() * 0.30103) + 1} digits)"
    return elide_middle(json.dumps(value), limit)
