"""JSON Pointers (RFC 6901): build, split, sort and generalise them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

ROOT = ""
# The steps to a place, the last one outside; of a million places few are ever written as pointers.
Steps = tuple["Steps", str | int] | None
MAX_DIGITS = 19  # of an array index
_INDEX = re.compile(rf"(?<![^/])[0-9]{{1,{MAX_DIGITS - 1}}}(?![^/])")  # a whole token


def escape(token: str) -> str:
    """Escape one reference token: `~` becomes `~0` and `/` becomes `~1`."""
    if "~" in token or "/" in token:
        return token.replace("~", "~0").replace("/", "~1")
    return token


def join(base: str, *tokens: str | int) -> str:
    """Append reference tokens to a pointer; integers are array indices."""
    return base + from_tokens(tokens)


def from_tokens(tokens: Iterable[str | int]) -> str:
    """Build a pointer from unescaped tokens; none gives the whole document."""
    return "".join([f"/{token if isinstance(token, int) else escape(token)}" for token in tokens])


def from_steps(place: Steps) -> str:
    """Build a pointer from the steps that lead to a place."""
    steps = list[str | int]()
    while place is not None:
        place, step = place
        steps.append(step)
    return from_tokens(reversed(steps))


def tokens(pointer: str) -> tuple[str, ...]:
    """Split a pointer into its unescaped tokens."""
    if not pointer:
        return ()
    parts = pointer.removeprefix("/").split("/")
    # RFC 6901 asks for this order: the other way round `~01` would become `/` instead of `~1`.
    return tuple([part.replace("~1", "/").replace("~0", "~") for part in parts] if "~" in pointer else parts)


def parent(pointer: str) -> str:
    """Give the pointer of the container; the whole document is its own parent."""
    return pointer.rpartition("/")[0]


def last(pointer: str) -> str:
    """Give the last token unescaped, or an empty string for the whole document."""
    parts = tokens(pointer)
    return parts[-1] if parts else ""


def label(pointer: str) -> str:
    """Name a place in a sentence: its last name, with the indices that follow it ('tags/0')."""
    name = pointer.rpartition("/")[2]
    if "~" not in name and not _is_number(name):
        return name
    parts = tokens(pointer)
    start = len(parts) - 1
    while start > 0 and _is_number(parts[start]):
        start -= 1
    return "/".join(parts[max(start, 0) :])


def resolve(document: Any, pointer: str) -> Any:
    """Return what the pointer names in the document; raises LookupError when nothing is there."""
    value = document
    for token in tokens(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list | tuple) and (index := index_of(token)) is not None and index < len(value):
            value = value[index]
        else:
            raise LookupError(f"nothing is at {pointer!r}")
    return value


def index_of(token: str) -> int | None:
    """Read a token as an array index, or None: RFC 6901 knows neither signs nor leading zeros."""
    if token == "0" or (_is_number(token) and token[0] != "0"):
        return int(token)
    return None


def sort_key(pointer: str) -> tuple[tuple[int, int, str], ...]:
    """Order pointers token by token, numeric tokens by number and before names."""
    return tuple(
        [
            (0, int(token), token) if token.isdigit() and _is_number(token) else (1, 0, token)
            for token in tokens(pointer)
        ]
    )


def pattern(pointer: str) -> str:
    """Replace every array index by `*`, so that like errors in many items share one pattern."""
    return _INDEX.sub("*", pointer)


def _is_number(token: str) -> bool:
    # Python refuses to read thousands of digits, and no array is that long.
    return token.isdigit() and token.isascii() and len(token) < MAX_DIGITS
