"""Find what stands where in readable JSON, and change it there: the rest stays as it was written."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from retrycontract.contract.outputs.json_text import end_of_value

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


def equal_keys(text: str, only: str | None = None) -> str | None:
    """Name a member of readable JSON's object that stands there twice: readers differ in which one counts."""
    names = Counter(name for name, _, _ in members_at(text, start_of(text, ())) if only in (None, name))
    return next((name for name, count in names.items() if count > 1), None)


def replaced(text: str, path: tuple[str, ...], written: str) -> str:
    """Write something else where readable JSON has a value."""
    start = start_of(text, path, any_value=True)
    assert start is not None, "the caller has seen that it is there"
    return text[:start] + written + text[end_of_value(text, start) :]


def items_at(text: str, *path: str) -> list[str]:
    """List the items of an array in readable JSON, as they were written."""
    start = start_of(text, path, any_value=True)
    return [] if start is None or text[start] != "[" else [text[begins:end] for begins, end in items_from(text, start)]


def start_of(text: str, path: tuple[str, ...], *, any_value: bool = False) -> int | None:
    """Find where the value at a path begins; None where there is none, or no object unless any will do."""
    start: int | None = skip(text, 0)
    for name in path:
        found = [begins for key, begins, _ in members_at(text, start) if key == name]
        # Of equal names the last one counts, as in the value that Python reads.
        start = found[-1] if found else None
    return start if start is None or any_value or text[start] == "{" else None


def members_at(text: str, start: int | None) -> Iterator[tuple[str, int, int]]:
    """Yield name, beginning and end of an object's values in readable JSON; of anything else nothing."""
    at = len(text) if start is None or text[start] != "{" else skip(text, start + 1)
    while at < len(text) and text[at] == '"':
        name, at = _DECODER.raw_decode(text, at)
        begins = skip(text, skip(text, at) + 1)
        end = end_of_value(text, begins)
        yield name, begins, end
        at = skip(text, skip(text, end) + 1)


def items_from(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield beginning and end of each item of an array in readable JSON."""
    at = skip(text, start + 1)
    while text[at] != "]":
        end = end_of_value(text, at)
        yield at, end
        at = skip(text, end)
        at = skip(text, at + 1) if text[at] == "," else at


def skip(text: str, at: int) -> int:
    """Give where what is no blank begins."""
    if text[at : at + 1] not in " \t\r\n":
        return at
    found = _SPACE.match(text, at)
    return found.end() if found else at


def stands_once(text: str, name: str) -> bool:
    """Tell that a name is no key twice, without a walk; False where that takes one."""
    return text.count(f'"{name}"') < 2 and "\\u" not in text
