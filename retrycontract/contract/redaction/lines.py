"""Read a list of strings as the lines of one text: of a notebook's cell, of an edit, of what a program wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from retrycontract.contract.redaction.field_names import split_words, word_set
from retrycontract.contract.redaction.foreign import MARK

_OF_LINES = word_set(
    "line lines source code script body text content contents output stdout stderr log logs diff patch file cell"
)
# Of a list whose first and last items are shown, so many at each end are looked at for what they say of each other.
TOGETHER = 50


def redacted_lines(name: str, items: Any, redact: Callable[[str], str] | None, *, bounded: bool) -> Any:
    """Give a list of lines, a member of that name, without what is secret of them as lines of one text.

    What is no such list stays as it is, as all does without `redact`; `bounded`, only what may be shown is looked at.
    """
    if redact is None or not _are_lines(name, items):
        return items
    places = range(len(items))
    shown = [*places[:TOGETHER], *places[max(TOGETHER, len(items) - TOGETHER) :]] if bounded else places
    bare = [items[index].removesuffix("\n") for index in shown]
    text = "\n".join(bare)
    if (redacted := redact(text)) == text:
        return items
    lines, changed = _aligned(text.split("\n"), redacted.split("\n")), items.copy()
    for index, item in zip(shown, bare, strict=True):
        changed[index] = "\n".join(islice(lines, item.count("\n") + 1)) + items[index][len(item) :]
    return changed


def _are_lines(name: str, items: Any) -> bool:
    """Tell whether a list holds the lines of a text, by their ends or by its name."""
    if type(items) is not list or len(items) < 2 or set(map(type, items)) != {str}:
        return False
    return all(item.endswith("\n") for item in items[:-1]) or not _OF_LINES.isdisjoint(split_words(name))


def _aligned(before: list[str], after: list[str]) -> Iterator[str]:
    """Give for each line what became of it; of several that one mark took the place of, each is that mark."""
    at = 0
    for number, line in enumerate(after):
        yield line
        at += 1
        if MARK in line and len(before) - at > len(after) - number - 1:
            following = after[number + 1].partition(MARK)[0] if number + 1 < len(after) else None
            while at < len(before) and (following is None or not before[at].startswith(following)):
                yield f"{MARK}{line.rpartition(MARK)[2].partition(']')[0]}]"
                at += 1
