"""Show the lines of a source file around a fault: numbered, with a caret, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrycontract.contract.outputs.json_faults import CARET, CONTEXT, LIKE_CARET
from retrycontract.contract.redaction.sanitizer import ValueSanitizer

NEIGHBOURS = 2  # lines shown on each side
MAX_LINE = 100  # characters of a line
LEAD = 60  # of them before the caret
TAB = 4
_BREAK = re.compile(r"\r\n|\r|\n")


def excerpt(source: str, line: int, column: int | None, sanitizer: ValueSanitizer) -> str | None:
    """Show a line and its neighbours; None where a secret hides which line is which.

    What surrounds them is redacted along, since a part of a secret is not recognised as one.
    """
    starts = [0, *(found.end() for found in _BREAK.finditer(source))]
    at = min(line, len(starts)) - 1
    place = min(starts[at] + (column or 1) - 1, len(source))
    first, window = _window(source, starts, at, place)
    redacted = _lines(sanitizer.redact_text(window))
    index = _image(_lines(window), redacted, at - first)
    if index is None:
        return None
    original = _lines(window)[at - first]
    caret = _column_in(original, redacted[index], place - starts[at]) if column else None
    return "\n".join(_numbered(redacted, index, at + 1, caret, sanitizer))


def _window(source: str, starts: list[int], at: int, place: int) -> tuple[int, str]:
    """Cut whole lines around a place, as far as secrets reach; a line that is longer is cut itself."""
    first = at
    while first and place - starts[first - 1] <= CONTEXT:
        first -= 1
    return first, source[starts[first] : max(place, starts[at]) + CONTEXT]


def _lines(text: str) -> list[str]:
    return _BREAK.split(text)


def _image(before: list[str], after: list[str], index: int) -> int | None:
    """Find a line again after the redaction, which may have joined lines above or below it."""
    if len(before) == len(after) or before[:index] == after[:index]:
        return index if index < len(after) else None
    mirrored = index + len(after) - len(before)
    return mirrored if mirrored >= 0 and before[index + 1 :] == after[mirrored + 1 :] else None


def _column_in(before: str, after: str, column: int) -> int | None:
    """Find a column again in a redacted line; None when it stood between or inside secrets."""
    if before[:column] == after[:column]:
        return column
    rest = len(before) - column
    return len(after) - rest if before[column:] == after[len(after) - rest :] else None


def _numbered(lines: list[str], index: int, number: int, caret: int | None, sanitizer: ValueSanitizer) -> Iterator[str]:
    first, last = max(0, index - NEIGHBOURS), min(len(lines), index + NEIGHBOURS + 1)
    last -= last - 1 > index and not lines[last - 1]  # a line break ends the file
    width = len(str(number + last - 1 - index))
    for at in range(first, last):
        line = lines[at].expandtabs(TAB).replace(CARET, LIKE_CARET)
        shown = sanitizer.preview_text(line, MAX_LINE)
        if at == index and caret is not None:
            shown = _with_caret(lines[at], caret, sanitizer)
        yield f"{number + at - index:>{width}} | {shown}".rstrip()


def _with_caret(line: str, caret: int, sanitizer: ValueSanitizer) -> str:
    before, after = (part.expandtabs(TAB).replace(CARET, LIKE_CARET) for part in (line[:caret], line[caret:]))
    return f"{sanitizer.preview_text(before, LEAD)}{CARET}{sanitizer.preview_text(after, MAX_LINE - LEAD)}"
