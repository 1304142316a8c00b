"""JSON Pointers (RFC 6901): build, split, sort and generalise them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ROOT = ""


def escape(token: str) -> str:
    """Escape one reference token: `~` becomes `~0` and `/` becomes `~1`."""
    if "~" in token or "/" in token:
        return token.replace("~", "~0").replace("/", "~1")
    return token


def join(base: str, *tokens: str | int) -> str:
    """Append reference tokens to a pointer; integers are array indices."""
    return base + "".join(f"/{token if isinstance(token, int) else escape(token)}" for token in tokens)


def from_tokens(tokens: Iterable[str | int]) -> str:
    """Build a pointer from unescaped tokens; none gives the whole document."""
    return join(ROOT, *tokens)


def tokens(pointer: str) -> tuple[str, ...]:
    """Split a pointer into its unescaped tokens."""
    if not pointer:
        return ()
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/"))


def parent(pointer: str) -> str:
    """Give the pointer of the container; the whole document is its own parent."""
    return pointer.rpartition("/")[0]


def last(pointer: str) -> str:
    """Give the last token unescaped, or an empty string for the whole document."""
    parts = tokens(pointer)
    return parts[-1] if parts else ""


def resolve(document: Any, pointer: str) -> Any:
    """Return what the pointer names in the document; raises LookupError when nothing is there."""
    value = document
    for token in tokens(pointer):
        if isinstance(value, dict):
            value = value[token]
        elif isinstance(value, list) and token.isascii() and token.isdigit() and (token == "0" or token[0] != "0"):
            value = value[int(token)]
        else:
            raise LookupError(f"nothing is at {pointer!r}")
    return value


def sort_key(pointer: str) -> tuple[tuple[int, int, str], ...]:
    """Order pointers token by token, numeric tokens by number and before names."""
    return tuple(
        (0, int(token), "") if token.isascii() and token.isdigit() and len(token) < 19 else (1, 0, token)
        for token in tokens(pointer)
    )


def pattern(pointer: str) -> str:
    """Replace every array index by `*`, so that like errors in many items share one pattern."""
    return "/".join("*" if token.isascii() and token.isdigit() else token for token in pointer.split("/"))
